"""Capture one event of a coding agent: standard input to one file in the spool, byte for byte.

Run as `python -I -S claude_memory_hook.py EVENT [--agent NAME] [--home FOLDER] [--site FOLDERS]`. Standard
library only. A script is compiled anew at every run, so each line and import here is paid for by each event:
it parses nothing, takes no lock, opens no port, and exits 0 whatever happens. What an event wants
beyond its capture is done by the package found in `--site`, in claude_memory.surfaces.hooks.after.
"""

import sys
import time

try:
    import posix as system  # all that is needed of os, which takes as long to load as a capture
except ImportError:  # Windows
    import os as system  # type: ignore[no-redef]

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FORMAT_VERSION = 1
DEFAULT_AGENT = "claude-code"
# Events that want more than to be kept: context, or a drain that outlives this process.
FOLLOWED = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
)

_CHUNK = 1 << 20
_LOG_LIMIT = 1 << 20
_FLAGS = system.O_WRONLY | system.O_CREAT
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(system, _name, 0)


def main(argv: "Sequence[str]", stdin_fd: int = 0, environ: "Mapping[str, str] | None" = None) -> int:
    """Spool what stands on `stdin_fd`; always 0, because a memory must never stop the agent."""
    environ = _environment() if environ is None else environ
    if environ.get("CLAUDE_MEMORY_DISABLE", "0") not in ("", "0"):
        return 0  # Our own summariser runs an agent too: without this it would capture itself.
    home = event = ""
    missed = "not captured"
    umask = system.umask(0o077)
    try:
        words = list(argv)
        pinned = _option(words, "--home")
        home = pinned or home_folder(environ)
        agent, site = _option(words, "--agent") or DEFAULT_AGENT, _option(words, "--site")
        event = words[0] if words else "unknown"
        followed = bool(site) and event in FOLLOWED
        content = list(_chunks(stdin_fd)) if followed else _chunks(stdin_fd)
        if environ.get("CLAUDE_MEMORY_READONLY", "0") in ("", "0"):
            spool(home, event, agent, content)
        if followed:
            missed = "captured, not answered"
            if pinned:  # only the installation says which store is used: a clone's settings set variables
                import os

                os.environ["CLAUDE_MEMORY_HOME"] = home
                os.environ.pop("CLAUDE_MEMORY_STORE", None)
            _follow(home, event, agent, b"".join(content), site)
    except BaseException as fault:  # noqa: BLE001 - an interrupt, too, must not reach the agent
        _log(home, event, missed, fault)
    finally:
        system.umask(umask)
    return 0


def home_folder(environ: "Mapping[str, str]") -> str:
    """The folder everything is kept in."""
    named = environ.get("CLAUDE_MEMORY_HOME") or "~/.claude/memory"
    if named[0] != "~":
        return named
    if named[:2] == "~/" and environ.get("HOME"):
        return environ["HOME"].rstrip("/") + named[1:]
    import os.path

    return os.path.expanduser(named)  # noqa: PTH111


def spool(home: str, event: str, agent: str, chunks: "Iterable[bytes]", *, sync: bool = True) -> str:
    """Write one event file and return its path. Once this returns, a synced event survives a crash."""
    folder = home + "/spool/"
    name = file_name(event, agent)
    temporary, final = folder + "tmp/" + name, folder + "new/" + name
    try:
        descriptor = system.open(temporary, _FLAGS | system.O_EXCL, 0o600)
    except FileNotFoundError:
        import os

        for path in (home, folder, *(folder + part for part in ("tmp", "new", "rejected"))):
            os.makedirs(path, 0o700, exist_ok=True)  # noqa: PTH103
        _sync_folder(folder)
        _sync_folder(home)
        descriptor = system.open(temporary, _FLAGS | system.O_EXCL, 0o600)
    try:
        try:
            for chunk in chunks:
                _write(descriptor, chunk)
            if sync:
                getattr(system, "fdatasync", system.fsync)(descriptor)
        finally:
            system.close(descriptor)
        system.rename(temporary, final)  # noqa: PTH104 - Rename is the commit: no reader sees half an event.
    except BaseException:
        _discard(temporary)
        raise
    if sync:
        _sync_folder(folder + "new")
    return final


def file_name(event: str, agent: str) -> str:
    """All that is known beside the bytes: version, time, process, chance, event, agent."""
    moment, chance = time.time_ns(), system.urandom(6).hex()
    return f"{FORMAT_VERSION}-{moment}-{system.getpid()}-{chance}-{_plain(event)}-{_plain(agent)}.json"


def _plain(word: str) -> str:
    kept = "".join([c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in word[:40]])
    return kept or "unknown"


def _environment() -> "dict[str, str]":
    """The environment as text; posix has it in bytes."""

    def text(word: "bytes | str") -> str:
        return word if isinstance(word, str) else word.decode(code, errors)

    code, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    return {text(name): text(value) for name, value in system.environ.items()}


def _option(words: "list[str]", name: str) -> str:
    place = words.index(name) if name in words else len(words)
    value = "".join(words[place + 1 : place + 2])
    del words[place : place + 2]
    return value


def _chunks(descriptor: int) -> "Iterator[bytes]":
    while chunk := system.read(descriptor, _CHUNK):
        yield chunk


def _write(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[system.write(descriptor, rest) :]


def _follow(home: str, event: str, agent: str, raw: bytes, site: str) -> None:
    import os

    # An upgrade may come with another Python, and so with another folder in the same environment.
    root, version = os.path.dirname(os.path.dirname(sys.executable)), sys.version_info  # noqa: PTH120
    site += f"{os.pathsep}{root}/lib/python{version[0]}.{version[1]}/site-packages"
    sys.path += site.split(os.pathsep)
    # Copies of this file outlive releases: the package keeps this name and these arguments.
    try:
        from claude_memory.surfaces.hooks.after import follow
    except ImportError:  # the next command tells the person how to mend it
        os.makedirs(home + "/cache", 0o700, exist_ok=True)  # noqa: PTH103
        with open(home + "/cache/hook-gone", "w") as mark:  # noqa: PTH123
            mark.write(sys.executable)
        raise
    _discard(home + "/cache/hook-gone")  # all is there again, whatever an upgrade took away meanwhile
    follow(home, event, agent, raw, site)


def _sync_folder(folder: str) -> None:
    if not hasattr(system, "O_DIRECTORY"):
        return
    descriptor = system.open(folder, system.O_RDONLY | system.O_DIRECTORY | getattr(system, "O_CLOEXEC", 0))
    try:
        system.fsync(descriptor)
    except OSError:
        pass  # some file systems refuse to sync a folder; the rename stands all the same
    finally:
        system.close(descriptor)


def _discard(path: str) -> None:
    try:  # noqa: SIM105 - contextlib is an import
        system.unlink(path)  # noqa: PTH108
    except OSError:
        pass


def _log(home: str, event: str, missed: str, fault: BaseException) -> None:
    """One line without a byte of the event; where even that fails there is nobody left to tell."""
    reason = getattr(fault, "strerror", None) or ""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{moment} hook {_plain(event)}: {missed}: {type(fault).__name__} {reason}".rstrip() + "\n"
    path = home + "/logs/hook.log"
    try:
        import os

        os.makedirs(home + "/logs", 0o700, exist_ok=True)  # noqa: PTH103
        descriptor = system.open(path, _FLAGS | system.O_APPEND, 0o600)
        try:
            _write(descriptor, line.encode("utf-8", "replace"))
            full = system.fstat(descriptor).st_size > _LOG_LIMIT
        finally:
            system.close(descriptor)
        if full:
            system.replace(path, path + ".1")
    except (OSError, ValueError):
        pass


if __name__ == "__main__":
    code = main(sys.argv[1:])
    system._exit(code)  # nothing is buffered: tearing the interpreter down would only take time
