"""What a compaction took: the last request, how it stands, what is open, then the story, the newest in full.

The summary is made by a process that PreCompact starts; where it is not ready, the agent's own file is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.context.file_sections import identity
from claude_memory.context.moments import Line
from claude_memory.text.quotation import named, quoted, tokens

if TYPE_CHECKING:
    from claude_memory.context.sections import Situation

EARLIER = 2  # summaries before the last one
# Tokens: of all right after a compaction, of what others need of it then, and when a session goes on. Of 161
# facts that an agent needed after 12 real compactions, 1,850 tokens tell 81%.
AFTER, OTHERS, GOING_ON = 1_850, 350, 600
FILES, NAMES, COMMITS, PENDING = 14, 3, 10, 14
REQUEST, STATE, ENTRY, DONE = 500, 900, 220, 90  # characters
SHORTEST = 40  # what would be cut to less is left out
TAIL_BYTES = 1 << 18
SLACK = timedelta(seconds=5)  # between the clocks of a hook and of a transcript
_BEGINS = ("Asked: ", "Plan: ", "Given: ", "Went on with: ")
_ENDS = ("Answered: ", "Last said: ")
_DECIDES = ("Answer: ", "Refused: ")


def compactions(situation: Situation) -> list[Line]:
    """The last compaction of this session in full, those before it in a line each."""
    if situation.session is None:
        return []
    from claude_memory.errors import InvalidInput
    from claude_memory.summaries.shelf import Shelf

    try:
        kept = Shelf(situation.home).of(situation.session)[-1 - EARLIER :]
    except InvalidInput:
        return []
    last = kept[-1] if kept else None
    fresh = _from_transcript(situation, str(last.document.get("timestamp", "")) if last else "")
    if fresh is None and last is None:
        return []
    summary, id_ = (last.summary, last.id) if fresh is None and last is not None else (fresh or {}, "")
    room = GOING_ON
    if situation.source == "compact":
        room = AFTER - (OTHERS if identity(situation) else 0)
    lines = [Line(text, reason="the last compaction", source=id_) for text in summary_lines(summary, room)]
    for one in reversed(kept[:-1] if fresh is None else kept[-EARLIER:]):
        text = f"- Before that: {quoted(one.executive, ENTRY)} [{one.id}]"
        lines.append(Line(text, reason="an earlier compaction", source=one.id))
    if last:
        lines.append(Line(f"In full: get_summary, or `claude-memory summary {last.id}`.", source=last.id))
    return lines


# --- what a summary tells


def summary_lines(summary: Mapping[str, Any], room: int) -> list[str]:
    """What a summary tells within so many tokens."""
    told = summary.get("important_context", ())
    # What was typed while the agent worked is often handed over once more as a prompt.
    story = list({text.partition(": ")[2] or text: text for text in reversed(told)}.values())[::-1]
    begun = [place for place, text in enumerate(story) if text.startswith(_BEGINS)]
    request = story.pop(begun[-1]) if begun else ""
    state = _state(str(summary.get("executive", "")), story)
    decided = [text for text in story if text.startswith(_DECIDES)]
    lines = list(_present(summary, request, state))
    if decided:
        lines.append("Decided: " + "; ".join(quoted(text.partition(": ")[2], ENTRY) for text in decided[-6:]))
    rest = [text for text in story if text not in decided]
    rest += [f"{one.get('error')}: {one.get('solution')}" for one in summary.get("error_solutions", ())]
    return lines + _story(rest, room - _size(lines))


def _state(executive: str, story: list[str]) -> str:
    """How it stands; the agent's last words are taken out of the story for it, for they stand there whole."""
    _, mark, state = executive.rpartition("How it stands: ")
    if not mark:
        return executive  # a language model's has no such part
    state = state.partition(" Open: ")[0]
    said = story[-1].partition(": ")[2] if story and story[-1].startswith(_ENDS) else ""
    outcome, _, words = state.partition(": ")
    if said and words and said.startswith(words.rstrip("…")[:SHORTEST]):
        story.pop()
        return f"{outcome}: {said}"
    return state


def _present(summary: Mapping[str, Any], request: str, state: str) -> Iterator[str]:
    """Where things stand: the request at work, the state, what is open, files, what is done."""
    from claude_memory.understand.calls import is_scratch

    mark, _, words = request.partition(": ")
    if words:
        yield f"{'Last asked' if mark == 'Asked' else mark}: {quoted(words, REQUEST)}"
    if state:
        yield f"How it stands: {quoted(state, STATE)}"
    pending = summary.get("tasks_pending", ())[:PENDING]
    if pending:
        yield f"Open: {'; '.join(quoted(text, ENTRY) for text in pending)}"
    files = [one for one in summary.get("files_modified", ()) if not is_scratch(str(one.get("path")))]
    if files:
        yield f"Files in flight: {_by_folder(files[:FILES])}"
    done = summary.get("tasks_completed", ())[-COMMITS:]
    if done:
        yield f"Done: {'; '.join(quoted(text, DONE) for text in done)}"


def _by_folder(files: Sequence[Mapping[str, Any]]) -> str:
    """Files of a folder together, each with the names that its edits define, the newest first."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, slash, name = str(file.get("path")).rpartition("/")
        names = [str(name) for name in file.get("definitions", ())][: -1 - NAMES : -1]
        defined = f" ({quoted(', '.join(names), DONE)})" if names else ""
        folders.setdefault(folder + slash, []).append(named(name) + defined)
    return "; ".join(
        named(folder) + own[0] if len(own) == 1 else f"{named(folder or './')}: {', '.join(own)}"
        for folder, own in folders.items()
    )


def _story(texts: Sequence[str], room: int) -> list[str]:
    """What was said, oldest first, cut to fit: the last exchange least, those before it ever more."""
    weighted, back = list[tuple[str, float]](), 1
    for text in reversed(texts):
        weighted.append((text, 1 / back))
        back += text.startswith(_BEGINS)
    weighted.reverse()
    length = _longest(weighted, room)
    shown = [one for one in weighted if _is_shown(one, length)]
    return _cut(shown, _longest(shown, room, length))  # what was left out leaves room for the others


def _longest(weighted: Sequence[tuple[str, float]], room: int, least: int = 0) -> int:
    low, high = least, 8_000
    while high - low > 8:
        middle = (low + high) // 2
        shown = weighted if least else [one for one in weighted if _is_shown(one, middle)]
        low, high = (middle, high) if _size(_cut(shown, middle)) <= room else (low, middle)
    return low


def _is_shown(entry: tuple[str, float], length: int) -> bool:
    text, weight = entry
    return length * weight >= min(SHORTEST, len(text))


def _cut(weighted: Sequence[tuple[str, float]], length: int) -> list[str]:
    return [f"- {_said(text, int(length * weight))}" for text, weight in weighted]


def _said(text: str, most: int) -> str:
    mark, colon, words = text.partition(": ")
    is_mark = colon and len(mark) < 25 and mark[:1].isupper() and mark.replace(" ", "").isalpha()
    return f"{mark}: {quoted(words, most)}" if is_mark else quoted(text, most)


def _size(lines: Sequence[str]) -> int:
    return sum(tokens(line) + 1 for line in lines)


# --- where the summary is not ready


def _from_transcript(situation: Situation, summed_up: str) -> Mapping[str, Any] | None:
    """The summary of the transcript's open end, if something was said in it that no summary holds."""
    path = Path(situation.transcript)
    if situation.source != "compact" or not situation.transcript or not _grew(path, summed_up):
        return None
    from claude_memory.errors import InvalidInput
    from claude_memory.redact.erasure import without
    from claude_memory.summaries.stretches import open_material

    try:
        summary = open_material(path, situation.settings).summary
    except (InvalidInput, OSError):
        return None
    erased = situation.store.memories.erased_sentences(
        situation.project.id
    )  # an agent's own file may still say it
    return {name: without(value, erased, pieces=True) for name, value in summary.items()}


def _grew(path: Path, summed_up: str) -> bool:
    """Whether a person or the agent said something after the last summary was made."""
    from claude_memory.transcripts.model import moment_of
    from claude_memory.transcripts.sources import json_object

    until = moment_of(summed_up)
    try:
        with path.open("rb") as handle:
            handle.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = handle.read().splitlines()
    except OSError:
        return False
    for raw in reversed(lines):
        line = json_object(raw) or {}
        if line.get("type") in ("user", "assistant") and not line.get("isCompactSummary"):
            at = moment_of(line.get("timestamp"))
            return until is None or (at is not None and at > until + SLACK)
    return until is None
