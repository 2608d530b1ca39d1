"""Which files a session changed, as the net effect: created, modified, deleted, renamed.

Pure. Reads edits and the few shell commands whose effect is certain; a failed call changes nothing.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from claude_memory.distil.turns import TOOL, Turn, relative

MAX_COMMAND = 8_000
_WRITING = frozenset("write write_file create_file".split())
_READING = frozenset("read read_file notebookread view".split())
_CREATED = re.compile(r"\bcreated\b", re.IGNORECASE)
_UPDATED = re.compile(r"\b(?:updated|overwritten|modified)\b", re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_APART = frozenset(["&&", "||", ";", "|", "&", "\n", "(", ")"])
_REDIRECTED = frozenset([">", ">>", "&>", ">|"])
_WITHOUT_ENDING = frozenset(
    "Makefile Dockerfile LICENSE Procfile Jenkinsfile Gemfile Rakefile Justfile README".split()
)
_EXPRESSION = re.compile(r"[sy]([^\w\s]).*\1.*\1\w*$|/.*/[a-z]?$|\d+(?:,\d+|,\$)?[a-z]|\$[a-z]", re.DOTALL)
_WRAPPERS = frozenset("sudo command env time nice".split())
# What tools write by themselves, and what nobody keeps.
_PASSING = re.compile(r"\.(?:log|out|tmp|pid|lock|pyc|swp)$|^(?:dist|build|target|node_modules|\.git)/")


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one file, and the turns that did it."""

    path: str
    action: str
    turns: tuple[int, ...]
    renamed_from: str = ""


@dataclass(slots=True)
class Ledger:
    """The state of every file that was touched, in the order of the first touch."""

    cwd: str
    known: dict[str, Change] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)  # files that were there before they were changed
    folders: set[str] = field(default_factory=set)  # that were made on the way
    base: str = ""  # where a command was run, if it went there first

    def named(self, path: str) -> str:
        """The file as the project knows it; empty for what lies outside."""
        name = relative(path.strip(), self.cwd)
        while name.startswith("./"):
            name = name[2:]
        outside = name.startswith(("/", "~", "../", "$")) or re.match(r"[A-Za-z]:[\\/]", name)
        odd = not name or any(c in name for c in "*?<>|\n{}")
        return "" if outside or odd else name

    def passing(self, path: str) -> bool:
        """Whether it is what tools write by themselves, or what nobody keeps."""
        return _PASSING.search(self.named(path)) is not None

    def expanded(self, word: str) -> list[str]:
        """A word of a shell line as file names: from where it was run, braces and stars filled in."""
        if word.startswith("~/") and (home := re.match(r"/(?:home|Users)/[^/]+", self.cwd)):
            word = home[0] + word[1:]
        if self.base and not word.startswith(("/", "~", "$")):
            word = f"{self.base}/{word}"
        if brace := re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", word):
            return [brace[1] + part + brace[3] for part in brace[2].split(",")]
        if any(mark in word for mark in "*?["):
            pattern = relative(word, self.cwd)
            return sorted(name for name in self.seen | set(self.known) if fnmatch.fnmatchcase(name, pattern))
        return [word]

    def holds(self, folder: str) -> list[str]:
        """Files of a folder that the session knows."""
        return sorted(
            name for name in self.seen | set(self.known) if name.startswith(folder.rstrip("/") + "/")
        )

    def wrote(self, path: str, index: int, *, created: bool) -> None:
        name = self.named(path)
        if not name:
            return
        old = self.known.get(name)
        if old is None:
            self.known[name] = Change(name, "created" if created else "modified", (index,))
        else:
            action = "modified" if old.action == "deleted" else old.action
            self.known[name] = replace(old, action=action, turns=(*old.turns, index))
        self.seen.add(name)

    def removed(self, path: str, index: int) -> None:
        name = self.named(path.rstrip("/"))
        if not name:
            return
        inside = [key for key in self.known if key.startswith(name + "/")]
        for key in inside:
            self._removed(key, index)
        if not inside or name in self.known:
            self._removed(name, index)

    def _removed(self, name: str, index: int) -> None:
        old = self.known.pop(name, None)
        if old is not None and old.action == "created":
            return  # came and went within the session
        gone = old.renamed_from if old is not None and old.renamed_from else name
        turns = (*old.turns, index) if old is not None else (index,)
        self.known[gone] = Change(gone, "deleted", turns)

    def moved(self, source: str, target: str, index: int) -> None:
        old_name, new_name = self.named(source.rstrip("/")), self.named(target)
        if not old_name and new_name:
            self.wrote(target, index, created=True)
        if not old_name or not new_name or old_name == new_name:
            return
        if self._is_folder(target, old_name, new_name):
            new_name = f"{new_name.rstrip('/')}/{_last(old_name)}"
        inside = self.holds(old_name)
        if inside and old_name not in self.known:
            for name in inside:
                self._moved(name, f"{new_name}/{name[len(old_name) + 1 :]}", index)
        else:
            self._moved(old_name, new_name, index)

    def _moved(self, old_name: str, new_name: str, index: int) -> None:
        old = self.known.pop(old_name, None)
        if old is not None and old.action == "deleted":
            self.known[old_name] = old
            return
        self.seen.discard(old_name)
        self.seen.add(new_name)
        turns = (*old.turns, index) if old is not None else (index,)
        if old is not None and old.action == "created":
            self.known[new_name] = Change(new_name, "created", turns)
            return
        origin = old.renamed_from if old is not None and old.renamed_from else old_name
        if origin == new_name:  # moved back
            self.known[new_name] = Change(new_name, "modified", turns)
        else:
            self.known[new_name] = Change(new_name, "renamed", turns, origin)

    def _is_folder(self, target: str, old_name: str, new_name: str) -> bool:
        """Whether a file is moved into what is named, not to that name."""
        if target.endswith("/") or new_name in self.folders or self.holds(new_name):
            return True
        old, new = _last(old_name), _last(new_name)
        named_alike = old.partition(".")[0].lower() == new.lower() or new in _WITHOUT_ENDING
        return "." in old.lstrip(".") and "." not in new and not named_alike

    def taken_back(self, path: str) -> None:
        """`git checkout -- FILE`: as it was."""
        name = self.named(path)
        if name in self.known and self.known[name].action in ("modified", "deleted"):
            del self.known[name]


def changes(turns: Sequence[Turn], cwd: str) -> list[Change]:
    """The net effect of all turns on files, in the order of the first touch."""
    ledger = Ledger(cwd)
    for index, turn in enumerate(turns):
        if turn.role != TOOL or turn.failed:
            continue
        tool = turn.tool.lower()
        if tool in _READING:
            ledger.seen.add(ledger.named(turn.path))
        elif turn.changed_file:
            ledger.wrote(turn.changed_file, index, created=_creates(tool, turn, ledger))
        elif turn.command:
            ledger.base = ""
            for words in _commands(turn.command):
                _run(words, ledger, index)
    return list(ledger.known.values())


def _creates(tool: str, turn: Turn, ledger: Ledger) -> bool:
    """Agents read a file before they write it anew, so one that was never seen is new."""
    if tool not in _WRITING:
        fresh = ledger.named(turn.changed_file) not in ledger.seen
        return turn.given.get("old_string") == "" and fresh
    head = turn.output[:300]
    if _CREATED.search(head):
        return True
    return not _UPDATED.search(head) and ledger.named(turn.changed_file) not in ledger.seen


def _commands(command: str) -> Iterator[list[str]]:
    """Each simple command of a shell line, as words; what cannot be read is passed over."""
    text = _HEREDOC.sub(" ", command[:MAX_COMMAND]).replace("\\\n", " ")
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue
        current: list[str] = []
        for word in words:
            if word in _APART:
                if current:
                    yield current
                current = []
            else:
                current.append(word)
        if current:
            yield current


def _run(words: list[str], ledger: Ledger, index: int) -> None:
    """What one simple command does to files."""
    words = _redirected(words, ledger, index)
    while words and (words[0] in _WRAPPERS or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words:
        return
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program == "cd":
        _go(ledger, rest)
        return
    options = [word for word in rest if word.startswith("-") and word != "-"]
    names = [word for word in rest if word and not word.startswith("-")]
    if program == "git" and names:
        program, names = names[0] if names[0] in ("rm", "mv") else f"git {names[0]}", names[1:]
    if program in ("sed", "perl"):
        names = [name for name in names if not _EXPRESSION.match(name)]
    names = [name for word in names for name in ledger.expanded(word)]
    effect = _EFFECTS.get(program)
    if effect is not None:
        effect(ledger, options, names, index)


def _go(ledger: Ledger, rest: list[str]) -> None:
    """`cd FOLDER`: what follows in the same line is meant from there."""
    target = next((word for word in rest if not word.startswith("-")), "~")
    if target.startswith("/"):
        ledger.base = target.rstrip("/")
    elif target not in (".", "./"):
        ledger.base = f"{ledger.base}/{target}" if ledger.base else target


def _make_folder(ledger: Ledger, _: list[str], names: list[str], __: int) -> None:
    ledger.folders |= {ledger.named(name.rstrip("/")) for name in names}


def _remove(ledger: Ledger, options: list[str], names: list[str], index: int) -> None:
    for name in names if "--cached" not in options else ():
        if not _PASSING.search(f"{ledger.named(name.rstrip('/'))}/") and not ledger.passing(name):
            ledger.removed(name, index)


def _move(ledger: Ledger, _: list[str], names: list[str], index: int) -> None:
    target = names[-1] if len(names) == 2 else (names or [""])[-1].rstrip("/") + "/"
    for name in names[:-1]:
        ledger.moved(name, target, index)


def _edit(ledger: Ledger, options: list[str], names: list[str], index: int) -> None:
    if any(re.match(r"-\w*i|--in-place", one) for one in options):
        for name in names:
            ledger.wrote(name, index, created=False)


def _copy(ledger: Ledger, _: list[str], names: list[str], index: int) -> None:
    if len(names) == 2 and "." in _last(names[1]):
        ledger.wrote(names[1], index, created=ledger.named(names[1]) not in ledger.seen)


def _touch(ledger: Ledger, options: list[str], names: list[str], index: int) -> None:
    for name in names:
        if ledger.named(name) not in ledger.seen and not ledger.passing(name):
            ledger.wrote(name, index, created="-a" not in options)


def _take_back(ledger: Ledger, _: list[str], names: list[str], __: int) -> None:
    for name in names:
        ledger.taken_back(name)


_EFFECTS: dict[str, Callable[[Ledger, list[str], list[str], int], None]] = {
    "rm": _remove,
    "mv": _move,
    "sed": _edit,
    "perl": _edit,
    "cp": _copy,
    "touch": _touch,
    "mkdir": _make_folder,
    "tee": _touch,
    "git checkout": _take_back,
    "git restore": _take_back,
}


def _redirected(words: list[str], ledger: Ledger, index: int) -> list[str]:
    kept: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word in _REDIRECTED and place + 1 < len(words):
            error_only = bool(kept) and kept[-1] in ("1", "2")
            if error_only:
                kept.pop()
            for name in ledger.expanded(words[place + 1]) if not error_only else ():
                if not ledger.passing(name):
                    fresh = word != ">>" and ledger.named(name) not in ledger.seen
                    ledger.wrote(name, index, created=fresh)
            place += 2
        elif word in (">&", "<", "<<", "<<<"):
            if kept and kept[-1] in ("1", "2"):
                kept.pop()
            place += 2
        else:
            kept.append(word)
            place += 1
    return kept


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]
