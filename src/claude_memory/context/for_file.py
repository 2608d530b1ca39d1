"""What earlier sessions know of a file, said before its first edit in a session.

Every line is a dated fact about this very file, and quotes it: an edit that the person refused, what somebody
wrote down, what was said at the end of earlier work about the names that the edit touches, a rule that a
check found broken in it. In doubt nothing is said.
"""

from __future__ import annotations

import os
import re

from claude_memory.context.moments import Line, Offer, day, of_memory
from claude_memory.text.quotation import quoted
from claude_memory.text.words import is_stop_term, query_terms

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from claude_memory.context.moments import Scene
    from claude_memory.store.sqlite.glance import Glance, Seen

MAX_TOKENS = 150
MAX_FILE_CHARACTERS = 200_000
SAID_CHARACTERS = 240
FEW_FILES = 4  # of a statement that is about each of its files
REFUSAL_WORDS = 4  # that say something; "let's discuss" is about the step, not about the file
SHORTEST_SAID = 40
DESCRIBED_WORDS = 8
LATEST = 3  # exchanges that edited the file; what was done in it before those is history
_KINDS = ("correction", "convention", "lesson", "decision", "fix", "preference")
_UNDERSTOOD = ("understood", "exchange", "compaction")  # by rules; else somebody wrote it down
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FILE = re.compile(
    r"[\w./@-]*\w\.(?:go|py|rs|rb|c|h|cc|cpp|hpp|cs|java|kt|swift|php|[cm]?[jt]sx?|vue|svelte|html|s?css|mdx?|txt"
    r"|json[lc5]?|ya?ml|toml|xml|sql|sh|bash|zsh|fish|ps1|lua|nu|ex|exs|dart|proto|tf|lock|mod|svg)\b"
)
_TROUBLE = re.compile(
    r"\W*(?:bug|problem|issue|before|(?:root )?cause|finding|concern|symptom)\b[^:]{0,20}:", re.IGNORECASE
)
_MARKUP = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)|[*`#|]|^\s*(?:[-•>]|\d+[.)])\s+")
# A name that code alone has: InitializeSession, needSave, strategy_options.
_NAME = re.compile(r"\b(?=\w*(?:[a-z][A-Z]|[A-Za-z]_[A-Za-z]))[A-Za-z_]\w{5,}\b")
_WORD = re.compile(r"[A-Za-z_]\w{5,}")
_CODE = re.compile(r"`([A-Za-z_]\w{6,})(?:\(\))?`")
_LONG_NAME = 10  # characters; a short one alone may be anybody's
_TRUNKS = ("main", "master", "next", "develop", "dev", "trunk", "HEAD", "")


def at_file(scene: Scene, path: str, edit: str = "") -> Offer:
    """What was refused, noted or explained about a file, before it is edited, and reminders it calls for.

    `edit` is what the edit replaces and puts there; where that is not known, the file as it stands.
    """
    from pathlib import Path

    from claude_memory.platform.repository import current_branch

    due = scene.reminders(files=(path,))
    branch = current_branch(Path(scene.root))
    found = for_file(
        scene.glance,
        _spellings(scene.root, path),
        edit or _content(path),
        branch=branch,
        session=scene.session,
        given=scene.given,
    )
    heading = f"About {quoted(path.rpartition('/')[2], 80)}, from earlier sessions:"
    return due + scene.offer(heading, found, MAX_TOKENS)


def _content(path: str) -> str:
    """The first part of a file; empty if it cannot be read as text."""
    try:
        with open(path, encoding="utf-8") as handle:  # noqa: PTH123
            return handle.read(MAX_FILE_CHARACTERS)
    except (OSError, ValueError):  # not text, or a NUL in its name
        return ""


def _spellings(root: str, path: str) -> list[str]:
    """A file as memories may name it: as given, and relative to the project."""
    try:
        names = [path, os.path.relpath(path, root).replace(os.sep, "/")]
    except ValueError:  # another drive
        return [path]
    return list(dict.fromkeys(name for name in names if not name.startswith("..")))


def for_file(
    glance: Glance, paths: Sequence[str], edit: str, *, branch: str, session: str, given: Collection[str]
) -> list[Line]:
    """At most two lines; `paths` are spellings of the file, `edit` is what is replaced and put there."""
    earlier = [seen for seen in glance.of_file(paths) if not seen.session or seen.session != session]
    fresh = [seen for seen in earlier if seen.id not in given]
    worked_on = [seen for seen in fresh if _edits(seen, paths)]
    # Folders and the file's own name are no names that the edit touches.
    names = set(_WORD.findall(edit)).difference(_WORD.findall(paths[0]))
    lines = [
        _refused(fresh, paths, names, branch) or _stated(fresh),
        _explained(worked_on, paths, names, branch),
    ]
    told = [line for line in lines if line is not None]
    told = told or [line for seen in worked_on if (line := _check_failed(seen, paths))][:1]
    told = told or [line for seen in worked_on[:LATEST] if (line := _described(seen, paths, branch))][:1]
    for line in told:
        line.file = paths[-1]
    return told


def _edits(seen: Seen, paths: Sequence[str]) -> bool:
    return any(path in paths for path, _ in seen.record.get("files_edited", ()))


def _refused(seen: Sequence[Seen], paths: Sequence[str], names: set[str], branch: str) -> Line | None:
    """The person's last reason to refuse an edit of this file, on this branch or of these names."""
    for one in seen:
        for spoken in reversed(one.record.get("asked", ())):
            words = str(spoken["words"])
            if spoken.get("file") not in paths or _content_words(words) < REFUSAL_WORDS:
                continue
            if _is_of(one, branch) or _shared(names, words):
                text = f"- {day(one.created)}: the person refused an edit of it with {quoted(words, 200)}"
                return Line(f"{text} [{one.id}]", one.id, "an edit of this file was refused")
    return None


def _is_of(seen: Seen, branch: str) -> bool:
    """Whether it was work on this branch; the trunk is everybody's."""
    return branch not in _TRUNKS and seen.record.get("branch") == branch


def _content_words(words: str) -> int:
    return sum(not is_stop_term(term) for term in query_terms(words))


def _stated(seen: Sequence[Seen]) -> Line | None:
    """The last statement that somebody wrote down and tied to the file; a person's before an agent's."""
    stated = [
        one
        for one in seen
        if one.kind in _KINDS
        and (one.trust == "user" or one.source not in _UNDERSTOOD)
        and one.files <= FEW_FILES
    ]
    for one in sorted(stated, key=lambda one: one.trust != "user"):
        text = f"- {one.kind}, {day(one.created)}: {of_memory(one, 220)} [{one.id}]"
        return Line(text, one.id, f"a {one.kind} tied to this file")
    return None


def _explained(seen: Sequence[Seen], paths: Sequence[str], names: set[str], branch: str) -> Line | None:
    """What was said at the end of earlier work on this file about the names that the edit touches.

    One name is enough where the sentence is about this file, or the work was on this branch.
    """
    best: tuple[int, Seen, str, set[str]] | None = None
    for one in seen:
        at_home = _is_of(one, branch)
        for sentence in _sentences(one, paths):
            shared = _shared(names, sentence) if len(sentence) >= SHORTEST_SAID else set()
            is_named = bool(shared) and _named_in(sentence, paths)
            telling = [name for name in shared if _NAME.fullmatch(name)]
            long = at_home and any(len(name) >= _LONG_NAME for name in telling)
            weight = 2 * len(shared) + is_named + at_home
            if telling and (len(shared) > 1 or is_named or long) and (best is None or weight > best[0]):
                best = weight, one, sentence, shared
    if best is None:
        return None
    _, one, sentence, shared = best
    return _said(one, sentence, branch, f"said of {', '.join(sorted(shared)[:3])}, which the edit touches")


def _described(seen: Seen, paths: Sequence[str], branch: str) -> Line | None:
    """What the closing words of the latest work on this file say was done in it."""
    for sentence in _sentences(seen, paths):
        told = _MARKUP.sub(r"\1", sentence.replace(paths[0].rpartition("/")[2], " "))
        names = {*_NAME.findall(told), *_CODE.findall(sentence)}
        if _named_in(sentence, paths) and names and len(told.split()) >= DESCRIBED_WORDS:
            return _said(seen, sentence, branch, "what was done last in this file")
    return None


def _sentences(seen: Seen, paths: Sequence[str]) -> Iterator[str]:
    """The sentences of closing words, without those about other files, and without what was wrong before it
    was mended. Below a heading or an item that names files, everything is about these until the next one.
    """
    own, subject = paths[0].rpartition("/")[2], set[str]()
    for line in str(seen.record.get("closing", ""))[:6_000].splitlines():
        files = {name.rpartition("/")[2] for name in _FILE.findall(line)}
        if files or not line.strip() or line.startswith("#"):
            subject = files or (subject if not line.strip() else set())
        if not subject or own in subject:
            yield from (one for one in _SENTENCE.split(line) if not _TROUBLE.match(one) and one[-1:] != ":")


def _named_in(sentence: str, paths: Sequence[str]) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(paths[0].rpartition('/')[2])}\b", sentence) is not None


def _said(seen: Seen, sentence: str, branch: str, reason: str) -> Line:
    where = seen.record.get("branch") or ""
    elsewhere = f" on {quoted(where, 60)}" if where not in (branch, "HEAD", "") else ""
    hashes = [str(commit.get("hash", ""))[:8] for commit in seen.record.get("commits", ())]
    commit = f", commit {hashes[0]}" if len(hashes) == 1 and hashes[0] else ""  # else which of them it was?
    said = quoted(_MARKUP.sub(r"\1", sentence).strip(), SAID_CHARACTERS)
    return Line(f"- {day(seen.created)}{elsewhere}{commit}: {said} [{seen.id}]", seen.id, reason)


def _shared(names: set[str], text: str) -> set[str]:
    """Those of the names that a text uses as names of code: by their form, or alone between backticks."""
    return names.intersection((*_NAME.findall(text), *_CODE.findall(text)))


def _check_failed(seen: Seen, paths: Sequence[str]) -> Line | None:
    """A check named this file and the rule that it broke."""
    name = paths[0].rpartition("/")[2]
    if f"{name}:" not in str(seen.record.get("commands", "")):
        return None
    from claude_memory.context.for_command import rules
    from claude_memory.understand.commands import checks_of, failed_family

    runs = seen.record.get("commands", ())
    for place, run in enumerate(runs):
        lines = str(run.get("error", "")).splitlines() if run.get("failed") else []
        broken = [line for line in lines if re.search(rf"(?<![\w-]){re.escape(name)}:\d", line)]
        broken = [line for line in broken if rules(line)]
        checks = checks_of(str(run["command"])) if broken else []
        if checks:
            check = failed_family(str(run["command"]), str(run["error"])) or checks[-1][0]
            passed = any(not one.get("failed") and check in str(one["command"]) for one in runs[place:])
            text = f"- {day(seen.created)}: `{check}` failed on it with {quoted(broken[0], 160)}"
            text += "; it passed later in that exchange" if passed else ""
            return Line(f"{text} [{seen.id}]", seen.id, "a check failed on this file")
    return None
