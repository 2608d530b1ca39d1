"""Files survive crashes on every system: whole or not at all, and private."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_memory.platform import files


@pytest.mark.parametrize(
    "hidden", [(), ("fdatasync",), ("O_DIRECTORY",), ("fdatasync", "O_DIRECTORY", "O_CLOEXEC")]
)
def test_replacement_is_whole_on_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: tuple[str, ...]
) -> None:
    for name in hidden:
        monkeypatch.delattr(os, name)
    path = tmp_path / "file"
    files.write_atomically(path, b"old")
    files.write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", full)
    with pytest.raises(OSError, match="No space"):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_folders_are_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        folder = files.private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700
