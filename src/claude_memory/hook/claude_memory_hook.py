"""Capture one event of a coding agent: standard input to one file in the spool, byte for byte.

Run as `python -I -S claude_memory_hook.py EVENT [--agent NAME]`. Standard library only, and of it
only os, sys and time: every further import costs more than the capture itself. It parses nothing,
prints nothing, takes no lock, opens no port, and exits 0 whatever happens.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # importing typing or collections.abc would cost 2 ms of every hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FORMAT_VERSION = 1
DEFAULT_AGENT = "claude-code"

_CHUNK = 1 << 20
_NAME_LIMIT = 40
_LOG_LIMIT = 1 << 20
_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def main(argv: Sequence[str], stdin_fd: int = 0, environ: Mapping[str, str] = os.environ) -> int:
    """Spool what stands on `stdin_fd`; always 0, because a memory must never stop the agent."""
    if environ.get("CLAUDE_MEMORY_DISABLE", "0") not in ("", "0"):
        return 0  # Our own summariser runs an agent too: without this it would capture itself.
    home = event = ""
    umask = os.umask(0o077)
    try:
        home = home_folder(environ)
        event, agent = _arguments(argv)
        spool(home, event, agent, _chunks(stdin_fd))
    except BaseException as fault:  # noqa: BLE001 - an interrupt, too, must not reach the agent
        _log(home, event, fault)
    finally:
        os.umask(umask)
    return 0


def home_folder(environ: Mapping[str, str]) -> str:
    """The folder everything is kept in."""
    return os.path.expanduser(environ.get("CLAUDE_MEMORY_HOME") or "~/.claude/memory")  # noqa: PTH111


def spool(home: str, event: str, agent: str, chunks: Iterable[bytes]) -> str:
    """Write one event file and return its path. Once this returns, the event survives a crash."""
    folder = home + "/spool/"
    name = file_name(event, agent)
    temporary, final = folder + "tmp/" + name, folder + "new/" + name
    try:
        descriptor = os.open(temporary, _FLAGS | os.O_EXCL, 0o600)
    except FileNotFoundError:
        _make_folders(home)
        descriptor = os.open(temporary, _FLAGS | os.O_EXCL, 0o600)
    try:
        try:
            for chunk in chunks:
                _write(descriptor, chunk)
            getattr(os, "fdatasync", os.fsync)(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, final)  # noqa: PTH104 - Rename is the commit: no reader sees half an event.
    except BaseException:
        _discard(temporary)
        raise
    _sync_folder(folder + "new")
    return final


def file_name(event: str, agent: str) -> str:
    """All that is known beside the bytes: version, time, process, chance, event, agent."""
    moment, chance = time.time_ns(), os.urandom(6).hex()
    return f"{FORMAT_VERSION}-{moment}-{os.getpid()}-{chance}-{_plain(event)}-{_plain(agent)}.json"


def _plain(word: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in word[:_NAME_LIMIT])
    return kept or "unknown"


def _arguments(argv: Sequence[str]) -> tuple[str, str]:
    words, agent = list(argv), DEFAULT_AGENT
    if "--agent" in words:
        place = words.index("--agent")
        agent = "".join(words[place + 1 : place + 2]) or DEFAULT_AGENT
        del words[place : place + 2]
    return (words[0] if words else "unknown"), agent


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _write(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _make_folders(home: str) -> None:
    for folder in (home, home + "/spool", *(f"{home}/spool/{part}" for part in ("tmp", "new", "rejected"))):
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
    _sync_folder(home + "/spool")
    _sync_folder(home)


def _sync_folder(folder: str) -> None:
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some file systems refuse to sync a folder; the rename stands all the same
    finally:
        os.close(descriptor)


def _discard(path: str) -> None:
    try:  # noqa: SIM105 - contextlib is an import
        os.unlink(path)  # noqa: PTH108
    except OSError:
        pass


def _log(home: str, event: str, fault: BaseException) -> None:
    """One line without a byte of the event; where even that fails there is nobody left to tell."""
    reason = getattr(fault, "strerror", None) or ""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{moment} hook {_plain(event)}: not captured: {type(fault).__name__} {reason}".rstrip() + "\n"
    path = home + "/logs/hook.log"
    try:
        os.makedirs(home + "/logs", 0o700, exist_ok=True)  # noqa: PTH103
        descriptor = os.open(path, _FLAGS | os.O_APPEND, 0o600)
        try:
            _write(descriptor, line.encode("utf-8", "replace"))
            full = os.fstat(descriptor).st_size > _LOG_LIMIT
        finally:
            os.close(descriptor)
        if full:
            os.replace(path, path + ".1")
    except (OSError, ValueError):
        pass


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # nothing is buffered: tearing the interpreter down would only take time
