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
    from collections.abc import Iterator, Sequence

    from claude_memory.context.moments import Scene
    from claude_memory.store.sqlite.glance import Seen

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

    from claude_memory.platform.git import current_branch

    due = scene.reminders(files=(path,))
    try:
        if not edit:
            with open(path, encoding="utf-8") as handle:  # noqa: PTH123
                edit = handle.read(MAX_FILE_CHARACTERS)
    except (OSError, ValueError):
        pass  # not text, or a NUL in its name
    file = _File(scene.root, path, edit, current_branch(Path(scene.root)))
    known = [seen for seen in scene.glance.of_file(file.paths) if seen.id not in scene.given]
    found = file.lines([seen for seen in known if not seen.session or seen.session != scene.session])
    return due + scene.offer(f"About {quoted(file.name, 80)}, from earlier sessions:", found, MAX_TOKENS)


class _File:
    """The file that is about to be edited: its spellings, and the names that the edit touches."""

    def __init__(self, root: str, path: str, edit: str, branch: str) -> None:
        inside = os.path.relpath(path, root).replace(os.sep, "/")
        self.paths = list(dict.fromkeys((path, inside) if not inside.startswith("..") else (path,)))
        self.name, self.branch = path.rpartition("/")[2], branch
        # Folders and the file's own name are no names that the edit touches.
        self.touched = set(_WORD.findall(edit)).difference(_WORD.findall(path))
        self._named = re.compile(rf"(?<![\w-]){re.escape(self.name)}\b")

    def lines(self, fresh: Sequence[Seen]) -> list[Line]:
        files = [(seen, [path for path, _ in seen.record.get("files_edited", ())]) for seen in fresh]
        edited = [seen for seen, paths in files if not set(self.paths).isdisjoint(paths)]
        told = [line for line in (self._refused(fresh) or _stated(fresh), self._explained(edited)) if line]
        told = told or list(filter(None, map(self._check_failed, edited)))[:1]
        told = told or list(filter(None, map(self._described, edited[:LATEST])))[:1]
        for line in told:
            line.file = self.paths[-1]
        return told

    def _refused(self, fresh: Sequence[Seen]) -> Line | None:
        """The person's last reason to refuse an edit of this file, on this branch or of these names."""
        for seen in fresh:
            for spoken in reversed(seen.record.get("asked", ())):
                words = str(spoken["words"])
                telling = [term for term in query_terms(words) if not is_stop_term(term)]
                if spoken.get("file") not in self.paths or len(telling) < REFUSAL_WORDS:
                    continue
                if self._is_at_home(seen) or self._shared(words):
                    text = f"the person refused an edit of it with {quoted(words, 200)} [{seen.id}]"
                    return Line(f"- {day(seen.created)}: {text}", seen.id, "an edit of this file was refused")
        return None

    def _explained(self, edited: Sequence[Seen]) -> Line | None:
        """What was said at the end of earlier work on this file about the names that the edit touches.

        One name is enough where the sentence is about this file, or the work was on this branch.
        """
        best, said = 0, None
        for seen in edited:
            at_home = self._is_at_home(seen)
            for sentence in self._sentences(seen):
                shared = self._shared(sentence) if len(sentence) >= SHORTEST_SAID else set()
                telling = [name for name in shared if _NAME.fullmatch(name)]
                is_named = bool(telling) and self._named.search(sentence) is not None
                is_long = at_home and any(len(name) >= _LONG_NAME for name in telling)
                weight = 2 * len(shared) + is_named + at_home
                enough = telling and (len(shared) > 1 or is_named or is_long)
                if enough and weight > best:
                    reason = f"said of {', '.join(sorted(shared)[:3])}, which the edit touches"
                    best, said = weight, self._said(seen, sentence, reason)
        return said

    def _check_failed(self, seen: Seen) -> Line | None:
        """A check named this file and the rule that it broke."""
        runs = seen.record.get("commands", ())
        if f"{self.name}:" not in str(runs):
            return None
        from claude_memory.context.for_command import rules
        from claude_memory.understand.commands import checks_of, failed_family

        for place, run in enumerate(runs):
            command, error = str(run["command"]), str(run.get("error", "")) if run.get("failed") else ""
            broken = [line for line in error.splitlines() if re.search(rf"{self._named.pattern}:\d", line)]
            broken = [line for line in broken if rules(line)]
            if broken and (checks := checks_of(command)):
                check = failed_family(command, error) or checks[-1][0]
                passed = any(not one.get("failed") and check in str(one["command"]) for one in runs[place:])
                text = f"- {day(seen.created)}: `{check}` failed on it with {quoted(broken[0], 160)}"
                text += "; it passed later in that exchange" if passed else ""
                return Line(f"{text} [{seen.id}]", seen.id, "a check failed on this file")
        return None

    def _described(self, seen: Seen) -> Line | None:
        """What the closing words of the latest work on this file say was done in it."""
        for sentence in self._sentences(seen):
            told = _MARKUP.sub(r"\1", sentence.replace(self.name, " "))
            names = {*_NAME.findall(told), *_CODE.findall(sentence)}
            if self._named.search(sentence) and names and len(told.split()) >= DESCRIBED_WORDS:
                return self._said(seen, sentence, "what was done last in this file")
        return None

    def _sentences(self, seen: Seen) -> Iterator[str]:
        """The sentences of closing words, without those about other files, and without what was wrong before
        it was mended. Below a heading or an item that names files, everything is about these until the next.
        """
        subject = set[str]()
        for line in str(seen.record.get("closing", ""))[:6_000].splitlines():
            files = {name.rpartition("/")[2] for name in _FILE.findall(line)}
            if files or line.startswith("#"):
                subject = files
            if not subject or self.name in subject:
                sentences = _SENTENCE.split(line)
                yield from (one for one in sentences if not _TROUBLE.match(one) and one[-1:] != ":")

    def _is_at_home(self, seen: Seen) -> bool:
        """Whether it was work on this branch; the trunk is everybody's."""
        return self.branch not in _TRUNKS and seen.record.get("branch") == self.branch

    def _shared(self, text: str) -> set[str]:
        """What the edit touches and a text uses as a name of code: by its form, or between backticks."""
        return self.touched.intersection((*_NAME.findall(text), *_CODE.findall(text)))

    def _said(self, seen: Seen, sentence: str, reason: str) -> Line:
        where = seen.record.get("branch") or ""
        elsewhere = f" on {quoted(where, 60)}" if where not in (self.branch, "HEAD", "") else ""
        hashes = [str(commit.get("hash", ""))[:8] for commit in seen.record.get("commits", ())]
        commit = f", commit {hashes[0]}" if len(hashes) == 1 and hashes[0] else ""  # else which one was it?
        said = quoted(_MARKUP.sub(r"\1", sentence).strip(), SAID_CHARACTERS)
        return Line(f"- {day(seen.created)}{elsewhere}{commit}: {said} [{seen.id}]", seen.id, reason)


def _stated(fresh: Sequence[Seen]) -> Line | None:
    """The last statement that somebody wrote down and tied to the file; a person's before an agent's."""
    stated = [one for one in fresh if one.kind in _KINDS and one.files <= FEW_FILES]
    stated = [one for one in stated if one.trust == "user" or one.source not in _UNDERSTOOD]
    if not stated:
        return None
    one = min(stated, key=lambda one: one.trust != "user")
    text = f"- {one.kind}, {day(one.created)}: {of_memory(one, 220)} [{one.id}]"
    return Line(text, one.id, f"a {one.kind} tied to this file")
