"""Names: of tasks and sessions as pieces of file names, and of whoever writes.

A file name is readable, portable and never a path. The exact name stands in the document's front matter, so
nothing here needs to be reversible; two names that a file system could take for one are told apart by a
short hash (see `apart`).
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Collection

from claude_memory.errors import InvalidInput
from claude_memory.platform.caller import at_terminal, inside_agent, require_person
from claude_memory.redact import kept

MAX_NAME_CHARACTERS = 1000
_MAX_STEM_BYTES = 120  # leaves room for session, time stamp and phase within the usual 255
WRITER_VARIABLE = "CLAUDE_MEMORY_BY"
_REDACTED = re.compile(r"\[(private|secret:[a-z0-9-]+)\]")  # an entry's heading ends at a bracket
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)")  # devices on Windows


def checked(name: str, what: str = "task") -> str:
    """The name without blanks at its ends, or InvalidInput that says what is wrong with it."""
    name = kept(name.strip())
    if not name:
        raise InvalidInput(f"a {what} needs a name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidInput(
            f"a {what} name of {len(name)} characters is too long: {MAX_NAME_CHARACTERS} at most"
        )
    bad = next((c for c in name if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")), None)
    if bad is not None:
        raise InvalidInput(f"the {what} name holds U+{ord(bad):04X}, a character no file can be named with")
    return name


def stem(name: str) -> str:
    """A portable piece of a file name for a task; a plain name stays as it is."""
    spaced = "".join("-" if character.isspace() else character for character in name)
    encoded = "".join(c if c.isalnum() or c in "-_." else _percent(c) for c in spaced)
    if encoded[0] == "." or _RESERVED.match(encoded):
        encoded = _percent(encoded[0]) + encoded[1:]
    if encoded[-1] == ".":
        encoded = encoded[:-1] + _percent(".")
    if len(encoded.encode("utf-8")) <= _MAX_STEM_BYTES:
        return encoded
    head = encoded.encode("utf-8")[: _MAX_STEM_BYTES - 9].decode("utf-8", "ignore")
    return f"{head}~{digest(name)}"


def apart(name: str, taken: Collection[str]) -> str:
    """A stem for the name that no file system confuses with one of the stems already taken."""
    plain = stem(name)
    folded = {fold(other) for other in taken}
    return plain if fold(plain) not in folded else f"{plain}~{digest(name)}"


def folder_name(session_id: str) -> str:
    """The folder of a session; the usual ids stay as they are."""
    if re.fullmatch(r"[a-z0-9_-]{1,80}", session_id) and not _RESERVED.match(session_id):
        return session_id
    return f"{stem(session_id)}~{digest(session_id)}"


def fold(text: str) -> str:
    """What a file system that ignores letter case and Unicode form makes of a name."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def digest(name: str) -> str:
    """A short hash of the exact name."""
    return hashlib.sha256(name.encode("utf-8")).hexdigest()[:8]


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))


# --- who writes: a person, an agent, or one of its sub-agents


def me() -> str:
    """By whom entries of this process are: told by the environment, else an agent, a person, or a script."""
    told = os.environ.get(WRITER_VARIABLE)
    if told and not (is_person(told) and inside_agent()):  # a clone's settings may set it, too
        return signature(told)
    if inside_agent():
        return "agent"
    import getpass

    kind = "person" if at_terminal() else "script"
    try:
        return signature(f"{kind}:{getpass.getuser()}")
    except (OSError, KeyError):
        return kind


def signed(by: str) -> str:
    """By whom, as the caller says it; an agent cannot sign as a person."""
    if is_person(by):
        require_person("signing as a person")
    return signature(by)


def is_person(by: str) -> bool:
    """Whether an entry's signature names a person."""
    return signature(by).startswith("person")


def signature(text: str) -> str:
    """One short line without the characters that end a name in an entry's heading."""
    return re.sub(r"[\s\[\];·]+", " ", _REDACTED.sub(r"(\1)", kept(text))).strip()[:100] or "unknown"
