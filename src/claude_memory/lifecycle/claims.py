"""What a memory claims of a file, checked against the working tree: a symbol it holds, a value it sets.

Two forms are read: `path::symbol`, and a sentence that names one file and sets a value in backticks, such as
"`retries = 5` in `src/client.py`". What has neither form claims nothing. Reads files of the project only.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from claude_memory.text.sentences import sentences

_MOST_CLAIMS, _MOST_BYTES, _READ_CHARACTERS = 5, 1 << 20, 20_000
_PATH = r"(?:[\w.@-]+/)*[\w.@-]+\.\w{1,8}"
_SYMBOL = re.compile(rf"(?<![\w/])({_PATH})::([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)(?:\(\))?")
_FILE = re.compile(rf"(?<![\w/.:-])({_PATH})(?![\w/:-])")
_VALUE = re.compile(r"""`([A-Za-z_][\w.-]{1,60})\s*(?:=|:)\s*["']?([\w.%+-]{1,40})["']?`""")


class Claim(NamedTuple):
    """One thing said of a file: that it holds a name, and perhaps the value of it."""

    path: str
    name: str
    value: str = ""


def claims(text: str) -> list[Claim]:
    """What a text says of files, in its order; few, and only what has a plain form."""
    return list(dict.fromkeys(_claims(text[:_READ_CHARACTERS])))[:_MOST_CLAIMS]


def checked(text: str, root: Path) -> str:
    """In words what of a text's claims no longer holds; empty if all holds or nothing can be told."""
    return "; ".join(words for claim in claims(text) if (words := _against(claim, root)))


def _claims(text: str) -> Iterator[Claim]:
    for match in _SYMBOL.finditer(text):
        yield Claim(match[1], match[2])
    for sentence in (item.said for item in sentences(text)):
        values = _VALUE.findall(sentence)
        files = set(_FILE.findall(_VALUE.sub(" ", sentence))) if values else set()
        if len(files) == 1:
            (path,) = files
            yield from (Claim(path, name, value) for name, value in values)


def _against(claim: Claim, root: Path) -> str:
    content = read_inside(root, claim.path)
    if content is None:
        # A path that never was in this tree may be another machine's or a sentence's own: nothing is told.
        gone = "/" in claim.path and (root / claim.path).parent.is_dir() and not (root / claim.path).exists()
        return f"{claim.path} is gone" if gone else ""
    text = content.decode("utf-8", "replace")
    last = re.split(r"\.|::", claim.name)[-1] if not claim.value else claim.name
    lines = [line for line in text.splitlines() if re.search(rf"(?<!\w){re.escape(last)}(?!\w)", line)]
    if not lines:
        return f"{claim.name} is gone from {claim.path}"
    if not claim.value or any(
        re.search(rf"(?<![\w.]){re.escape(claim.value)}(?![\w.])", line) for line in lines
    ):
        return ""
    set_to = (re.search(rf"{re.escape(last)}[\"']?\s*[=:]\s*[\"']?([\w.%+-]+)", line) for line in lines)
    now = next((match[1] for match in set_to if match), "")
    return f"{claim.name} in {claim.path} changed since" + (f", now {now}" if now else "")


def read_inside(root: Path, file: str) -> bytes | None:
    """A file's first bytes, if it is a regular file inside the project; a link that leads out is none."""
    if "\0" in file:  # no file can be called so
        return None
    base = os.path.realpath(root)
    path = os.path.realpath(Path(base) / file)
    if not path.startswith(base + os.sep):
        return None
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # a pipe would be waited for without end
            return None
        with Path(path).open("rb") as handle:
            return handle.read(_MOST_BYTES)
    except OSError:
        return None
