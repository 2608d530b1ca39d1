"""A task as one document: a mapping for JSON, markdown, or a page of HTML. Reads, never writes."""

from __future__ import annotations

import html
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.tasks import checking, documents
from claude_memory.tasks.book import TaskBook
from claude_memory.tasks.model import Entry, Part

FORMATS = ("json", "md", "html")
_STYLE = (
    "body{max-width:48rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}"
    "pre{white-space:pre-wrap;background:#f5f5f5;padding:1rem;border-radius:.5rem}"
    "dt{font-weight:600}.problem{color:#a00}"
)


def export(book: TaskBook, task: str, kind: str = "json", session: str | None = None) -> dict[str, Any] | str:
    """The task in one of the formats; a mapping for `json`, text for the others."""
    kind = {"markdown": "md"}.get(kind, kind)
    if kind not in FORMATS:
        raise InvalidInput(f"unknown format {kind!r}: {', '.join(FORMATS)} are known")
    data = collected(book, task, session)
    if kind == "json":
        return data
    return markdown(data) if kind == "md" else page(data)


def collected(book: TaskBook, task: str, session: str | None = None) -> dict[str, Any]:
    """Everything a task holds, as plain values."""
    summary = book.summary(task, session)
    owner = summary.session_id
    plan = book.entries(task, Part.PLAN, owner)
    return {
        "task": summary.name,
        "session": owner,
        "phase": summary.current_phase.value,
        "created": documents.stamp(summary.created_at),
        "updated": documents.stamp(summary.updated_at),
        "files": [{"phase": file.part.value, "path": str(file.path)} for file in summary.files],
        "scratchpad": book.text(task, Part.SCRATCHPAD, owner),
        "scratchpad_versions": [
            {"number": v.number, "saved": documents.stamp(v.saved_at), "by": v.by}
            for v in book.history(task, owner)
        ],
        "plan": plan[0].text if plan else None,
        "amendments": [_entry(entry) for entry in plan[1:]],
        "progress": [_entry(entry) for entry in book.entries(task, Part.PROGRESS, owner)],
        "problems": [str(problem) for problem in checking.verify_book(book, task, owner)],
    }


def markdown(data: dict[str, Any]) -> str:
    """The task to read in any viewer."""
    lines = [
        f"# {data['task']}",
        "",
        f"Phase: {data['phase']} · session {data['session']} · {data['updated']}",
    ]
    lines += [f"\n> **Problem:** {problem}" for problem in data["problems"]]
    for title, text in _sections(data):
        lines += ["", f"## {title}", "", text]
    return "\n".join(lines).rstrip() + "\n"


def page(data: dict[str, Any]) -> str:
    """The task as a page that needs nothing else; every text is escaped."""
    title = html.escape(data["task"])
    body = [f"<h1>{title}</h1>", f"<p>Phase: {data['phase']} · session {html.escape(data['session'])}</p>"]
    body += [f'<p class="problem">{html.escape(problem)}</p>' for problem in data["problems"]]
    body += [
        f"<h2>{html.escape(name)}</h2>\n<pre>{html.escape(text)}</pre>" for name, text in _sections(data)
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _sections(data: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("Scratchpad", data["scratchpad"]), ("Plan", data["plan"])]
    found += [(f"Amendment · {_line(entry)}", entry["text"]) for entry in data["amendments"]]
    found += [(f"Progress · {_line(entry)}", entry["text"]) for entry in data["progress"]]
    return [(title, text) for title, text in found if text]


def _line(entry: dict[str, Any]) -> str:
    marks = f" [{', '.join(entry['marks'])}]" if entry["marks"] else ""
    return f"{entry['time'] or 'undated'} · {entry['by'] or 'unknown'}{marks}"


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": documents.stamp(entry.time) if entry.time else None,
        "by": entry.by,
        "marks": list(entry.marks),
        "text": entry.text,
    }
