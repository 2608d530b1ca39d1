"""Capture one event of a coding agent: standard input to one file in the spool, byte for byte.

Run as `python -I -S claude_memory_hook.py EVENT [--agent NAME] [--site FOLDERS]`. Standard library
only, and to capture only os, sys and time: every further import costs more than the capture itself.
It parses nothing, takes no lock, opens no port, and exits 0 whatever happens. Only with `--site`,
the folders our package is imported from, does an event that wants context get an answer, after it
was spooled; and the end of a turn starts a drain that outlives this process.
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

# Events whose answer may hold context; the three that search are asked of a running server first.
ANSWERED = ("SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart")
SERVED = ("UserPromptSubmit", "PreToolUse", "SubagentStart")
DRAINING = ("Stop", "SubagentStop")
# Agents whose hooks read context in the form we give it; others are captured only.
LISTENING = (DEFAULT_AGENT, "codex", "gemini-cli")
SERVER_SECONDS = 0.15
ANSWER_SECONDS = 3.0
DRAIN_PROGRAM = (
    "import os, sys; sys.path[:0] = sys.argv[1].split(os.pathsep); "
    "from claude_memory.surfaces.hooks.background import drain_all; drain_all(sys.argv[2])"
)

_CHUNK = 1 << 20
_ANSWER_LIMIT = 4 << 20
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
        event, agent, site = _arguments(argv)
        answered = bool(site) and event in ANSWERED and agent in LISTENING
        chunks = list(_chunks(stdin_fd)) if answered else _chunks(stdin_fd)
        spool(home, event, agent, chunks)
        if answered:
            _answer(home, event, b"".join(chunks), site)
        elif site and event in DRAINING:
            start_drain(home, site)
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


def _arguments(argv: Sequence[str]) -> tuple[str, str, str]:
    words = list(argv)
    agent = _option(words, "--agent") or DEFAULT_AGENT
    site = _option(words, "--site")
    return (words[0] if words else "unknown"), agent, site


def _option(words: list[str], name: str) -> str:
    if name not in words:
        return ""
    place = words.index(name)
    value = "".join(words[place + 1 : place + 2])
    del words[place : place + 2]
    return value


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _write(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _answer(home: str, event: str, raw: bytes, site: str) -> None:
    """Print the context for an event, if there is any. The event is safe in the spool already."""
    if len(raw) > _ANSWER_LIMIT:
        return
    _give_up_after(ANSWER_SECONDS)
    text = _ask_server(home, event, raw) if event in SERVED else None
    if text is None:
        sys.path[:0] = site.split(os.pathsep)
        from pathlib import Path

        from claude_memory.surfaces.hooks import respond  # the package, from the folders of --site

        text = respond(event, raw, Path(home))
    if text.strip():
        _write(1, text)


def _ask_server(home: str, event: str, raw: bytes) -> bytes | None:
    """The answer of a running server of this store; None if there is none or it takes too long."""
    try:
        with open(home + "/cache/hook-server", "rb") as handle:  # noqa: PTH123
            kind, *rest = handle.read(400).decode().split()
    except (OSError, ValueError):
        return None
    import socket

    deadline = time.monotonic() + SERVER_SECONDS
    try:
        if kind == "unix":
            if os.stat(rest[0]).st_uid != os.getuid():  # noqa: PTH116
                return None
            channel, token = socket.socket(socket.AF_UNIX), ""
        else:
            channel, token = socket.socket(), rest[1]
        with channel:
            channel.settimeout(SERVER_SECONDS)
            channel.connect(rest[0] if kind == "unix" else ("127.0.0.1", int(rest[0])))
            channel.sendall(f"{token} {event}\n".encode() + raw)
            channel.shutdown(socket.SHUT_WR)
            parts: list[bytes] = []
            while True:
                channel.settimeout(max(deadline - time.monotonic(), 0.001))
                part = channel.recv(1 << 16)
                if not part:
                    return b"".join(parts) or None
                parts.append(part)
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _give_up_after(seconds: float) -> None:
    """End quietly rather than keep a person waiting; where there is no alarm, the agent's limit holds."""
    try:
        import signal

        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, seconds)
    except (ImportError, AttributeError, ValueError):
        pass


def start_drain(home: str, site: str) -> None:
    """Start a detached process that drains, embeds, and ends when nothing is left."""
    command = [sys.executable, "-I", "-S", "-c", DRAIN_PROGRAM, site, home]
    if not hasattr(os, "fork"):
        import subprocess

        flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
        null = subprocess.DEVNULL
        subprocess.Popen(command, stdin=null, stdout=null, stderr=null, close_fds=True, creationflags=flags)
        return
    if os.fork():
        return
    try:
        os.setsid()  # the agent's process group may be killed as soon as this hook is done
        null_fd = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null_fd, descriptor)
        os.chdir("/")
        os.execv(sys.executable, command)  # noqa: S606
    finally:
        os._exit(0)


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
