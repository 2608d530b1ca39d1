"""What follows once a hook's event is safe in the spool: an answer with context, or a drain.

Called by the hook program of this or any older release, so `follow` keeps its name and arguments.
Loads next to nothing itself: a running server's answer should cost no more than the question.
"""

from __future__ import annotations

import gc
import os
import sys
import time

# All but the start, which drains, are asked of a running server first.
SERVED = ("UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "SubagentStart")
DRAINING = ("Stop", "SubagentStop", "PreCompact", "PostCompact")
# Agents whose hooks read context in the form we give it; others are captured only.
LISTENING = ("claude-code", "codex", "gemini-cli")
SERVER_SECONDS = 0.15
ANSWER_SECONDS = 3.0
ANSWER_LIMIT = 4 << 20
DRAIN_PROGRAM = (
    "import os, sys; os.chdir(sys.argv[2]); sys.path += sys.argv[1].split(os.pathsep); "
    "from claude_memory.surfaces.hooks.background import drain_all; drain_all(sys.argv[2])"
)


def follow(home: str, event: str, agent: str, raw: bytes, site: str) -> None:
    """Do what this event wants; the process ends after it."""
    if event in DRAINING:
        if os.environ.get("CLAUDE_MEMORY_READONLY", "") in ("", "0"):
            start_drain(home, site)
    elif agent in LISTENING and len(raw) <= ANSWER_LIMIT:
        # It ends quietly rather than keep a person waiting; where there is no alarm, the agent's limit holds.
        try:
            signal = sys.modules.get("_signal") or __import__("signal")  # it is there; its wrapper costs more
            signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
            signal.setitimer(signal.ITIMER_REAL, ANSWER_SECONDS)
        except (ImportError, AttributeError, ValueError):
            pass
        text = ask_server(home, event, raw) if event in SERVED else None
        if text is None:
            gc.disable()  # for a process that lives a tenth of a second
            from claude_memory.surfaces.hooks.answers import respond

            text = respond(event, raw, home)
        rest = memoryview(text.strip())
        while rest:
            rest = rest[os.write(1, rest) :]


def ask_server(home: str, event: str, raw: bytes) -> bytes | None:
    """The answer of a running server of this store; None if there is none or it takes too long."""
    try:
        with open(home + "/cache/hook-server", "rb") as handle:  # noqa: PTH123
            _, place = handle.read(400).decode().split()
        if os.stat(place).st_uid != os.getuid():  # noqa: PTH116
            return None
        import _socket as socket  # what the module socket wraps, at a tenth of its price

        deadline = time.monotonic() + SERVER_SECONDS
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            channel.settimeout(SERVER_SECONDS)
            channel.connect(place)
            channel.sendall(f"{event}\n".encode() + raw)
            channel.shutdown(socket.SHUT_WR)
            parts: list[bytes] = []
            while part := channel.recv(1 << 16):
                parts.append(part)
                channel.settimeout(max(deadline - time.monotonic(), 0.001))
            return b"".join(parts) or None
        finally:
            channel.close()
    except (OSError, ValueError, AttributeError, ImportError):  # no server, or a system without such sockets
        return None


def start_drain(home: str, site: str) -> None:
    """Start a detached process that drains, embeds, and ends when nothing is left."""
    command = [sys.executable, "-I", "-S", "-c", DRAIN_PROGRAM, site, home]
    try:
        files = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        # A session of its own: the agent's process group may be killed as soon as this hook is done.
        os.posix_spawn(sys.executable, command, os.environ, file_actions=files, setsid=True)
    except (AttributeError, NotImplementedError):  # Windows; macOS knows no setsid here
        import subprocess

        flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
        null = subprocess.DEVNULL
        subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, start_new_session=True, creationflags=flags
        )
