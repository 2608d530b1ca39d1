"""What a memory speaks of, found by its form alone: files, symbols, packages, commands, errors, and so on.

Pure and deterministic. A name that is not sure to be one is left out: a graph of guesses connects
everything with everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_memory.model import Kind, MemoryId, StoredMemory
from claude_memory.store.model import Entity, Mention

MOST_MENTIONS = 40
_READ = 20_000
_FILE = re.compile(
    r"(?<![\w/@.])(?:[\w.-]+/)*[\w-][\w.-]*\.(?:py|pyi|js|jsx|ts|tsx|mjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift"
    r"|sql|sh|toml|ya?ml|json|md|rst|html|css|scss|cfg|ini|lock|proto|tf|ipynb|vue|xml|gradle)\b(?![/\w])"
)
_ERROR = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Warning|Fault)|E[A-Z]{3,}|(?:TS|CS|E)\d{3,5}|SIG[A-Z]{3,5})\b"
)
_SYMBOL = re.compile(
    r"\b(?:[a-z_]\w*\.)*[a-z_]\w*\(\)|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b|\b[a-z]+(?:_[a-z0-9]+)+\b"
)
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_COMMAND = re.compile(
    r"^(?:\$ )?((?:git|npm|pnpm|yarn|npx|pip|uv|poetry|cargo|go|make|just|docker|kubectl|helm|terraform"
    r"|pytest|ruff|mypy|python3?|node|gradle|mvn|brew|apt|systemctl|psql|redis-cli|curl|claude-memory)"
    r"(?: [\w./:=-]+){0,2})"
)
_PACKAGE = re.compile(
    r"\b(?:pip install|npm install|npm i|yarn add|pnpm add|cargo add|go get|uv add|poetry add)"
    r" (?:-\S+ )*([@\w./-]+)"
    r"|\b(?:from|import) ([a-z_]\w+)(?= import|\b)(?=[ .]import|$)|\b([A-Za-z][\w-]+)[=~<>]=\d[\w.]*"
)
_CAUSE = re.compile(
    r"\b(?:because of|caused by|due to|comes from|came from|triggered by)\b([^.;\n]*)", re.IGNORECASE
)
_NEED = re.compile(r"\b(?:depends on|relies on|requires|needs|built on)\b([^.;\n]*)", re.IGNORECASE)


_BEARS = {(Kind.FIX, "error"): "fixes"} | {
    (Kind.DECISION, kind): "decides" for kind in ("topic", "package", "symbol")
}


def mentions(memory: StoredMemory) -> list[Mention]:
    """Everything a memory bears on, each once per relation, at most so many."""
    found = list(dict.fromkeys(_all(memory)))[:MOST_MENTIONS]
    return [Mention(memory.id, relation, entity) for relation, entity in found]


def named(text: str) -> list[Entity]:
    """The things a text names, in order of appearance by kind."""
    return list(dict.fromkeys(_entities(text[:_READ])))


def _all(memory: StoredMemory) -> Iterator[tuple[str, Entity]]:
    for file in memory.files:
        yield "touches", Entity("file", plain_path(file))
    for topic in memory.topics:
        yield _BEARS.get((memory.kind, "topic"), "mentions"), Entity("topic", topic.casefold())
    if memory.task:
        yield "mentions", Entity("task", memory.task)
    if memory.session:
        yield "mentions", Entity("session", memory.session)
    text = f"{memory.title}\n{memory.body}"[:_READ]
    for relation, pattern in (("caused_by", _CAUSE), ("depends_on", _NEED)):
        for stated in pattern.findall(text):
            yield from ((relation, entity) for entity in _entities(stated))
    for entity in _entities(text):
        yield _BEARS.get((memory.kind, entity.kind), "mentions"), entity


def _entities(text: str) -> Iterator[Entity]:
    for match in _FILE.finditer(text):
        yield Entity("file", plain_path(match.group()))
    for match in _ERROR.finditer(text):
        yield Entity("error", match.group())
    for match in _PACKAGE.finditer(text):
        yield Entity("package", next(group for group in match.groups() if group).lower())
    lines = (line for line in text.splitlines() if line.startswith("$ "))
    for quoted in map(str.strip, (*_QUOTED.findall(text), *lines)):
        if command := _COMMAND.match(quoted):
            yield Entity("command", command.group(1))
        elif re.fullmatch(r"[A-Za-z_][\w.]*(?:\(\))?", quoted) and not _FILE.fullmatch(quoted):
            yield Entity("symbol", quoted.removesuffix("()"))
    for match in _SYMBOL.finditer(_FILE.sub(" ", text)):
        if not _ERROR.fullmatch(match.group()):
            yield Entity("symbol", match.group().removesuffix("()"))


def plain_path(path: str) -> str:
    """A path with forward slashes and no leading `./`."""
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


def memory_entity(id_: MemoryId) -> Entity:
    return Entity("memory", id_)
