"""A markdown file taken apart: front matter, title, sections by heading, tags. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SECTION_CHARACTERS = 1_500  # a shorter note stays one piece
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_KEY = re.compile(r"^([A-Za-z_][\w -]*):\s*(.*)$")
_TAG = re.compile(r"(?:^|[\s(])#([A-Za-z][\w/-]{1,40})\b")
_LINK = re.compile(r"!?\[\[([^\]|#\n]{1,200})(?:#[^\]|\n]{0,200})?(?:\|([^\]\n]{1,200}))?\]\]")

Numbered = tuple[int, str]


class TextSection(NamedTuple):
    path: tuple[str, ...]
    text: str
    line: int


class Note(NamedTuple):
    title: str
    sections: tuple[TextSection, ...] = ()
    tags: tuple[str, ...] = ()


def parse(lines: Sequence[Numbered], name: str) -> Note:
    """The note in these numbered lines; `name` is its file's, for want of a title."""
    # The front matter ends at its second fence, both included; where none is, there is no front matter.
    ends = (place for place, (_, line) in enumerate(lines[1:200], 2) if line.strip() in ("---", "..."))
    end = next(ends, 0) if lines and lines[0][1].strip() == "---" else 0
    meta = front_matter([line for _, line in lines[:end]])
    sections = _sections(lines[end:])
    headings = (section.path[0] for section in sections if section.path)
    title = first(meta, "title") or next(headings, "") or name
    text = "\n".join(section.text for section in sections)
    if not text.strip():
        sections = []  # headings alone, such as a form nobody has filled in, say nothing yet
    elif len(text) <= SECTION_CHARACTERS:
        shown = (f"{part.path[-1]}\n{part.text}" if part.path else part.text for part in sections)
        sections = [TextSection((), "\n".join(shown).strip(), sections[0].line)]
    tags = [*meta.get("tags", ()), *meta.get("tag", ()), *_TAG.findall(text)]
    return Note(
        title=title,
        # A heading without text of its own stands in the path of the sections below it.
        sections=tuple(section for section in sections if section.text.strip()),
        tags=tuple(dict.fromkeys(tag.lstrip("#").lower() for tag in tags if tag))[:20],
    )


def spoken(text: str) -> str:
    """The text as it reads: a wiki link is its name."""
    return _LINK.sub(lambda link: link[2] or link[1], text) if "[[" in text else text


def front_matter(lines: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values by key of a head's lines; a list has several."""
    meta: dict[str, tuple[str, ...]] = {}
    key = ""
    for line in lines:
        if pair := _KEY.match(line):
            key, value = pair[1].strip().lower(), pair[2].strip()
            listed = value[1:-1].split(",") if value.startswith("[") and value.endswith("]") else [value]
            meta[key] = tuple(filter(None, map(_unquoted, listed)))
        elif key and line.strip().startswith("- "):
            meta[key] = (*meta[key], _unquoted(line.strip()[2:]))
    return meta


def first(meta: Mapping[str, tuple[str, ...]], key: str) -> str:
    return next(iter(meta.get(key, ())), "")


def _unquoted(text: str) -> str:
    text = text.strip()
    try:
        return str(json.loads(text)) if text.startswith('"') else text.strip("'").strip()
    except ValueError:
        return text.strip("\"'").strip()


def _sections(lines: Sequence[Numbered]) -> list[TextSection]:
    sections: list[TextSection] = []
    path: list[Numbered] = []
    current: list[str] = []
    start = lines[0][0] if lines else 1
    fenced = False
    for number, line in [*lines, (0, "# ")]:
        fenced = fenced != bool(_FENCE.match(line))
        heading = _HEADING.match(line) if number == 0 or not fenced else None
        if heading:
            sections.append(TextSection(tuple(name for _, name in path), "\n".join(current).strip(), start))
            depth = len(heading[1])
            path = [item for item in path if item[0] < depth] + [(depth, heading[2])]
            current, start = [], number
        else:
            current.append(line)
    return [section for section in sections if section.text or section.path]
