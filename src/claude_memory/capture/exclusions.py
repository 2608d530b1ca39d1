"""Whether a path is meant by a list of glob patterns, in time that grows with its length and nothing else.

The patterns may come from a stranger's repository, and every word of every command is asked for: so they
are matched together, by an engine that never goes back. What they mean is what `fnmatch` makes of them,
for the path, whatever it ends in, and whatever lies below.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

LONGEST_COMMAND = 65_536  # characters that are looked through for names
LONGEST_PATH = 4_096  # what no system opens names no file
_TOGETHER = 16  # patterns in one expression: more would outgrow what the engine keeps of its states


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns means the path, a part at its end, or a folder it lies in."""
    plain = _plain(path)
    if len(plain) > LONGEST_PATH:
        return False
    return any(expression.fullmatch(plain) is not None for expression in _compiled(patterns))


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> tuple[Any, ...]:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    found = []
    wanted = [_expression(_plain(pattern)) for pattern in patterns]
    for start in range(0, len(wanted), _TOGETHER):
        some = wanted[start : start + _TOGETHER]
        try:
            found.append(re2.compile("(?s)" + "|".join(some), options))
        except re2.error:
            found += [one for text in some if (one := _alone(text, options)) is not None]
    return tuple(found)


def _alone(expression: str, options: Any) -> Any:
    """One pattern by itself; none if it means nothing, such as a range that runs backwards."""
    import re2

    try:
        return re2.compile("(?s)" + expression, options)
    except re2.error:
        return None


def _expression(pattern: str) -> str:
    inner = _translated(pattern)
    if not pattern.startswith("/"):
        return f"(?:.*/)?(?:{inner})(?:/.*)?"
    return f"(?:{inner})(?:/.*)?|.*/(?:{inner})|.*/(?:{_translated(pattern.lstrip('/'))})/.*"


def _translated(pattern: str) -> str:
    """A glob in the engine's words."""
    parts, place = [], 0
    while place < len(pattern):
        character = pattern[place]
        end = _end_of_set(pattern, place) if character == "[" else 0
        if end:
            parts.append(_set(pattern[place + 1 : end]))
        elif character == "*":
            if parts[-1:] != [".*"]:
                parts.append(".*")
        else:
            parts.append("." if character == "?" else _literal(character))
        place = end + 1 if end else place + 1
    return "".join(parts)


def _end_of_set(pattern: str, start: int) -> int:
    """Where a set that opens here closes; 0 if it does not, and the bracket stands for itself."""
    first = start + 1
    if pattern[first : first + 1] == "!":
        first += 1
    return max(pattern.find("]", first + 1), 0)


def _set(members: str) -> str:
    negated = members.startswith("!")
    kept = "".join(character if character == "-" else _literal(character) for character in members[negated:])
    return f"[{'^' if negated else ''}{kept}]"


def _literal(character: str) -> str:
    return (
        character
        if character.isalnum() or character in "/_ " or ord(character) > 127
        else f"\\x{ord(character):02x}"
    )


def _plain(text: str) -> str:
    """With the slashes of one system, and without halves of characters, which the engine cannot read."""
    return text.replace("\\", "/").rstrip("/").encode("utf-8", "replace").decode("utf-8")
