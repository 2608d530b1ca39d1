"""What was decided about a file in earlier sessions, or went wrong with it; for its first edit in a session.

One line for what went wrong (a person's refusal while it was worked on, a check that named it), one for what
was decided last (a statement tied to it, a commit). Exchanges that touched many files say nothing about one.
"""

from __future__ import annotations

import re

from claude_memory.context.hints import Hint, day, of_memory, refusals
from claude_memory.text.quotation import quoted
from claude_memory.text.words import is_stop_term, query_terms

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from claude_memory.store.sqlite.glance import Glance, Seen

MAX_TOKENS = 150
FEW_FILES = 4  # of a statement or an exchange that is about each of its files
LEAST_SHARE = 0.25  # of an exchange's edits, for one that touched more
REFUSAL_WORDS = 6  # that say something; "too slow" is about the step, not about the file
_KINDS = ("correction", "convention", "lesson", "decision", "fix", "preference")
_UNFINISHED = re.compile(r"(?:fixup!|squash!|amend!|wip\b|merge |revert )", re.IGNORECASE)


def heading(path: str) -> str:
    """The line above the hints."""
    return f"About {quoted(path.rpartition('/')[2], 80)}, from earlier sessions:"


def for_file(glance: Glance, paths: Sequence[str], *, session: str, given: Collection[str]) -> list[Hint]:
    """At most two lines; `paths` are spellings of the file."""
    name = paths[0].rpartition("/")[2]
    earlier = [seen for seen in glance.of_file(paths) if not seen.session or seen.session != session]
    fresh = [seen for seen in earlier if seen.id not in given]
    worked_on = [seen for seen in fresh if seen.record and _share(seen, paths) >= LEAST_SHARE]
    wrong = next((hint for seen in worked_on if (hint := _went_wrong(seen, name))), None)
    decided = _stated(fresh) or next((hint for seen in worked_on if (hint := _committed(seen))), None)
    hints = [hint for hint in (wrong, decided) if hint is not None]
    for hint in hints:
        hint.file = paths[-1]
    return hints


def _share(seen: Seen, paths: Sequence[str]) -> float:
    """How much of an exchange's edits went into the file; all, where it touched few."""
    edits = {str(path): int(count) for path, count in seen.record.get("files_edited", ())}
    own = sum(edits.get(path, 0) for path in paths)
    if not own:
        return 0.0
    return 1.0 if len(edits) <= FEW_FILES else own / sum(edits.values())


def _went_wrong(seen: Seen, name: str) -> Hint | None:
    refused = [words for words in refusals(seen.record) if _says_something(words)]
    if refused and len(seen.record.get("files_edited", ())) == 1:
        text = f"- {day(seen.created)}: the person refused a step with {quoted(refused[-1], 200)} [{seen.id}]"
        return Hint(text, seen.id, "a step of work on this file was refused")
    runs = seen.record.get("commands", ())
    for place, run in enumerate(runs):
        named = [line for line in str(run.get("error", "")).splitlines() if f"{name}:" in line]
        if not named or not run.get("failed"):
            continue
        from claude_memory.context.for_command import reasons
        from claude_memory.understand.commands import checks_of

        checks = checks_of(str(run["command"]))
        if checks and reasons("\n".join(named)):
            check = checks[-1][0]
            passed = any(not one.get("failed") and check in str(one["command"]) for one in runs[place:])
            text = f"- {day(seen.created)}: `{check}` failed on it with {quoted(named[0], 160)}"
            text += "; fixed then" if passed else ""
            return Hint(f"{text} [{seen.id}]", seen.id, "a check failed on this file")
    return None


def _says_something(words: str) -> bool:
    return sum(not is_stop_term(term) for term in query_terms(words)) >= REFUSAL_WORDS


def _stated(seen: Sequence[Seen]) -> Hint | None:
    """The last statement that is about few files; a person's before an agent's."""
    stated = [one for one in seen if one.kind in _KINDS and _is_about_few(one)]
    for one in sorted(stated, key=lambda one: one.trust != "user"):
        text = f"- {one.kind}, {day(one.created)}: {of_memory(one, 220)} [{one.id}]"
        return Hint(text, one.id, f"a {one.kind} tied to this file")
    return None


def _is_about_few(seen: Seen) -> bool:
    return seen.trust == "user" or seen.files <= FEW_FILES


def _committed(seen: Seen) -> Hint | None:
    commits = [
        one for one in seen.record.get("commits", ()) if not _UNFINISHED.match(str(one.get("subject", "")))
    ]
    if not commits:
        return None
    last = commits[-1]
    commit = f" (commit {str(last['hash'])[:8]})" if last.get("hash") else ""
    text = f"- {day(seen.created)}: last changed for {quoted(last['subject'], 160)}{commit}"
    return Hint(f"{text} [{seen.id}]", seen.id, "the last commit that changed this file")
