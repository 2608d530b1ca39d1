"""A markdown note taken apart: front matter, title, sections by heading, tags, wiki links. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

SECTION_CHARACTERS = 1_500  # a shorter note stays one piece
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_KEY = re.compile(r"^([A-Za-z_][\w -]*):\s*(.*)$")
_TAG = re.compile(r"(?:^|[\s(])#([A-Za-z][\w/-]{1,40})\b")
_LINK = re.compile(r"!?\[\[([^\]|#\n]{1,200})(?:#[^\]|\n]{0,200})?(?:\|([^\]\n]{1,200}))?\]\]")
_MARK = re.compile(r"^<!-- claude-memory:(?:begin|end) .*-->$")


@dataclass(frozen=True, slots=True)
class Section:
    """One piece of a note: the headings above it, its text and its first line."""

    path: tuple[str, ...]
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Note:
    """What a note says of itself, and its sections."""

    title: str
    sections: tuple[Section, ...] = ()
    id: str = ""
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    meta: dict[str, tuple[str, ...]] = field(default_factory=dict)


def parse(lines: Sequence[tuple[int, str]], name: str, *, whole_under: int = SECTION_CHARACTERS) -> Note:
    """The note in these numbered lines; `name` is its file's, for want of a title."""
    meta, rest = _front_matter(list(lines))
    sections = _sections([(number, line) for number, line in rest if not _MARK.match(line)])
    headed = _first_heading(sections)
    if not any(section.text for section in sections):
        sections = []  # headings alone, such as a form nobody has filled in, say nothing yet
    text = "\n".join(section.text for section in sections)
    title = _one(meta, "title") or headed or name
    if len(text) <= whole_under and sections:
        whole = "\n".join(_with_heading(section) for section in sections)
        sections = [Section((), whole.strip(), sections[0].line)]
    tags = [*meta.get("tags", ()), *meta.get("tag", ()), *_TAG.findall(text)]
    return Note(
        title=title,
        # A heading without text of its own stands in the path of the sections below it.
        sections=tuple(section for section in sections if section.text.strip()),
        id=_one(meta, "id") or _one(meta, "permalink") or _one(meta, "uid"),
        tags=tuple(dict.fromkeys(tag.lstrip("#").lower() for tag in tags if tag))[:20],
        links=tuple(dict.fromkeys(target.strip() for target, _ in _LINK.findall(text)))[:100],
        meta=meta,
    )


def spoken(text: str) -> str:
    """The text as it reads: a wiki link is its name."""
    return _LINK.sub(lambda found: found[2] or found[1], text) if "[[" in text else text


def _front_matter(lines: list[tuple[int, str]]) -> tuple[dict[str, tuple[str, ...]], list[tuple[int, str]]]:
    if not lines or lines[0][1].strip() != "---":
        return {}, lines
    end = next((i for i, (_, line) in enumerate(lines[1:200], 1) if line.strip() in ("---", "...")), None)
    if end is None:
        return {}, lines
    meta: dict[str, tuple[str, ...]] = {}
    key = ""
    for _, line in lines[1:end]:
        found = _KEY.match(line)
        if found:
            key = found[1].strip().lower()
            meta[key] = _values(found[2])
        elif key and line.strip().startswith("- "):
            meta[key] = (*meta[key], _unquoted(line.strip()[2:]))
    return meta, lines[end + 1 :]


def _values(text: str) -> tuple[str, ...]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return tuple(value for part in text[1:-1].split(",") if (value := _unquoted(part)))
    return (_unquoted(text),) if _unquoted(text) else ()


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'").strip()


def _sections(lines: Sequence[tuple[int, str]]) -> list[Section]:
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    current: list[str] = []
    start = lines[0][0] if lines else 1
    fenced = False
    for number, line in lines:
        fenced = fenced != bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            found.append(Section(tuple(text for _, text in path), "\n".join(current).strip(), start))
            depth = len(heading[1])
            path = [item for item in path if item[0] < depth] + [(depth, heading[2])]
            current, start = [], number
        else:
            current.append(line)
    found.append(Section(tuple(text for _, text in path), "\n".join(current).strip(), start))
    return [section for section in found if section.text or section.path]


def _with_heading(section: Section) -> str:
    return f"{section.path[-1]}\n{section.text}" if section.path else section.text


def _first_heading(sections: Sequence[Section]) -> str:
    return next((section.path[0] for section in sections if section.path), "")


def _one(meta: dict[str, tuple[str, ...]], key: str) -> str:
    return next(iter(meta.get(key, ())), "")
