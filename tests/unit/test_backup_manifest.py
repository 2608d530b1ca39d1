"""Names and figures in a backup's manifest: what is accepted is safe on every system."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.backup import home_state as manifest
from claude_memory.backup.home_state import (
    BackupEntry,
    BackupManifest,
    Skipped,
    belongs,
    decode,
    encode,
    unfit,
)
from claude_memory.errors import MemoryFault, StoreCorrupt

PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "CON",
        "nul.txt",
        "C:",
        "\\",
        "/",
        " ",
        ".",
        "é",
        "\u202e",
        "\x00",
        "x" * 200,
        "sessions",
        "LPT9",
        "$",
    ]
)


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(PIECES, max_size=8).map("".join),
        st.lists(PIECES, max_size=8).map("/".join),
    )
)
def test_whatever_is_accepted_stays_inside_on_every_system(name: str) -> None:
    if unfit(name) is not None:
        return
    windows, posix = PureWindowsPath(name), PurePosixPath(name)
    assert not windows.drive
    assert not windows.root
    assert not posix.is_absolute()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # moved to another place in Python 3.13
        assert not windows.is_reserved()
    assert windows.parts == posix.parts == tuple(name.split("/"))
    assert not {"..", ".", ""} & set(posix.parts)
    assert belongs(name)
    name.encode("utf-8")


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.db", "memories-2026-10.jsonl", "sessions/session_a b/x.json", "数据/é.md",
                                  "spool/new/1-2-3.json", ".hidden", "console.md", "com.md", "a" * 255])  # fmt: skip
def test_ordinary_names_are_accepted(name: str) -> None:
    assert unfit(name) is None


def sample(*paths: str) -> BackupManifest:
    entries = tuple(BackupEntry(path, 1, "0" * 64, 0o600) for path in ("memory.db", *paths))
    return BackupManifest(
        datetime(2026, 11, 15, tzinfo=UTC), "0.1.0", 1, entries, (Skipped("odd\\udcff", "why"),)
    )


def test_a_manifest_reads_back_as_it_was_written() -> None:
    assert decode(encode(sample("a", "b/c"))) == sample("a", "b/c")


def test_too_many_files_or_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encode(sample("a", "b"))
    with monkeypatch.context() as patched:
        patched.setattr(manifest, "MAX_FILES", 2)
        with pytest.raises(StoreCorrupt, match="more than 2 files"):
            decode(content)
    monkeypatch.setattr(manifest, "MAX_TOTAL_BYTES", 2)
    with pytest.raises(StoreCorrupt):
        decode(content)


def complaint(content: bytes) -> str:
    try:
        decode(content)
    except MemoryFault as fault:
        return str(fault)
    return ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["format", "created", "package_version", "schema", "files", "skipped"]), JSON)
def test_any_value_in_any_field_is_read_or_refused_in_one_line(field: str, value: object) -> None:
    document = json.loads(encode(sample("a"))) | {field: value}
    assert "\n" not in complaint(json.dumps(document).encode())


@given(st.sampled_from(["path", "size", "sha256", "mode"]), JSON)
def test_any_value_in_any_entry_is_read_or_refused_in_one_line(field: str, value: object) -> None:
    document = json.loads(encode(sample("a")))
    document["files"][1][field] = value
    assert "\n" not in complaint(json.dumps(document).encode())
