"""Every git command of this package. None runs under the configuration of the repository it looks at.

A repository may come from a stranger, and its configuration names programs: filters, monitors, hooks,
helpers. So git gets a folder of ours as its repository (`scratch_git`), with the stranger's objects,
index and files beside it, an environment of ours, and nothing but plumbing and `diff` to do. `OwnRepository`
is the other case: a bare repository of ours, and remotes that the person chose.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import select
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from claude_memory.errors import StoreFault
from claude_memory.platform import repository as repositories
from claude_memory.platform.repository import Repository

CHANGED_SECONDS = 0.15
WALK_SECONDS = 5.0
MAX_FILES = 50
MOST_ROOTS = 4  # of a repository that joined several histories; the oldest
PUBLIC_SECONDS = 20.0
_OVER_SSH = re.compile(r"(?:ssh://)?(?:[^@/]+@)([\w.-]+)(?::\d+)?[:/](.+)")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_READ_BYTES = 1 << 16
_MOST_OUTPUT = 4 << 20
_SCRATCH = Path(__file__).parent / "scratch_git"
# What a program needs of the caller's environment to run at all; never a variable that git obeys.
_PASSED_ON = ("PATH", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "TMPDIR")


def roots(repository: Repository) -> tuple[str, ...]:
    """The commits without a parent that are really in the repository, the oldest first.

    Each is told from the bytes of its own object: neither a graft nor a list made for speed, nor the
    cut end of a shallow clone, nor an object under a wrong name passes for one.
    """
    tips = repositories.tips(repository)
    if not tips or not repositories.holds_its_objects(repository):
        return ()
    asked = ["rev-list", "--ignore-missing", "--timestamp", "--max-parents=0", "--stdin"]
    lines = (
        _answer(repository, asked, "".join(f"{tip}\n" for tip in tips)).decode("ascii", "replace").split("\n")
    )
    named = sorted(
        (int(age), name) for age, _, name in (line.partition(" ") for line in lines) if age.isdecimal()
    )
    return _verified(repository, [name for _, name in named[:MOST_ROOTS]])


def _verified(repository: Repository, names: Sequence[str]) -> tuple[str, ...]:
    format_ = repositories.object_format(repository.common)
    rest = (
        _answer(repository, ["cat-file", "--batch"], "".join(f"{name}\n" for name in names)) if names else b""
    )
    found = []
    for name in names:
        header, _, rest = rest.partition(b"\n")
        words = header.split(b" ")
        if len(words) != 3 or not words[2].isdigit():
            break
        size = int(words[2])
        content, rest = rest[:size], rest[size + 1 :]
        if (
            words[1] != b"commit"
            or hashlib.new(format_, b"commit %d\0%b" % (size, content)).hexdigest() != name
        ):
            continue
        loose = repository.common / "objects" / name[:2] / name[2:]
        if not loose.is_symlink() and b"\nparent " not in content.partition(b"\n\n")[0]:
            found.append(name)
    return tuple(found)


class ChangedFiles:
    """Which files differ from the last commit: git looks beside us, and whoever does not wait loses nothing.

    Started without the module subprocess, which takes longer to load than git takes to answer.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process = 0
        self._pipe = -1
        self._deadline = 0.0

    def __enter__(self) -> Self:
        found = repositories.find(self._root) if hasattr(os, "posix_spawn") else None
        ours = found is not None and found.proven and found.top == self._root != found.git_dir
        head = repositories.head_commit(found) if found and ours else ""
        program = _program(self._root) if head else None
        if found and program:
            # A submodule would be looked at under a configuration of its own.
            asked = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]
            command = [program, "-C", str(self._root), *asked, "--ignore-submodules=all", head, "--"]
            self._start(command, _environment(found, work_tree=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            os.close(self._pipe)
            with contextlib.suppress(OSError):
                if os.waitpid(self._process, os.WNOHANG)[0] == 0:
                    os.kill(self._process, 9)
                    os.waitpid(self._process, 0)

    def names(self) -> tuple[str, ...]:
        """Paths from the repository's top; none if git does not answer quickly."""
        if not self._process:
            return ()
        text = b""
        while text.count(b"\0") < MAX_FILES:
            left = max(self._deadline - time.monotonic(), 0.0)
            if not select.select([self._pipe], [], [], left)[0]:
                return ()
            part = os.read(self._pipe, _READ_BYTES)
            if not part:
                break
            text += part
        return tuple(name for name in text.decode("utf-8", "replace").split("\0")[:-1])[:MAX_FILES]

    def _start(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._pipe, end = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        redirect = [
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, end, 1),
            (os.POSIX_SPAWN_DUP2, null, 2),
        ]
        self._deadline = time.monotonic() + CHANGED_SECONDS
        try:
            self._process = os.posix_spawn(command[0], command, environment, file_actions=redirect)
        except OSError:
            os.close(self._pipe)
        finally:
            os.close(end)
            os.close(null)


class OwnRepository:
    """A bare repository of ours, which takes objects to a remote of the person's choice and back.

    The person's own git settings hold here, because they know how to reach the remote. Nothing asks on a
    terminal. Whatever fails is a StoreFault of one line, which begins with the name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        program = _program(folder)
        if program is None:
            raise StoreFault(f"{name}: there is no git on this machine")
        self._program, self._folder, self._name = program, folder, name
        if not (folder / "HEAD").is_file():
            self.run("init", "--quiet", "--bare", "--template=", str(folder))

    def run(self, *words: str, given: bytes = b"", seconds: float = 600.0) -> bytes:
        """What one command prints."""
        import subprocess

        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {"GIT_DIR": str(self._folder), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        environment |= dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "claude-memory")
        environment |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "claude-memory@localhost")
        safe = ["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=", "-c", "gc.auto=0"]
        try:
            done = subprocess.run(
                [self._program, *safe, *words],
                env=environment,
                cwd=self._folder,
                input=given,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise StoreFault(f"{self._name}: git got no answer in time") from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
            raise StoreFault(f"{self._name}: {lines[-1][:200]}")
        return done.stdout


def anybody_can_read(url: str) -> bool:
    """Whether a remote answers without any of the person's credentials."""
    import subprocess

    program = _program(_SCRATCH)
    if url.startswith("git://"):
        return True
    found = _OVER_SSH.fullmatch(url)
    if found:
        url = f"https://{found.group(1)}/{found.group(2)}"
    if program is None or not url.startswith(("http://", "https://")):
        return False
    passed = {name: os.environ[name] for name in (*_PASSED_ON, *_PROXIES) if name in os.environ}
    alone = {"HOME": str(_SCRATCH), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
    command = [program, "-c", "credential.helper=", "ls-remote", "--quiet", "--", url]
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            command, env=passed | alone | quiet, capture_output=True, timeout=PUBLIC_SECONDS, check=False
        )
        return done.returncode == 0
    return False


def _answer(repository: Repository, arguments: Sequence[str], given: str) -> bytes:
    """What git prints, up to a bound; nothing if there is no git or it takes too long."""
    import subprocess  # costs more than all the rest of this module
    import threading

    program = _program(repository.top)
    if program is None:
        return b""
    try:
        process = subprocess.Popen(
            [program, *arguments],
            env=_environment(repository),
            cwd=_SCRATCH,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return b""
    with process:
        late = threading.Timer(WALK_SECONDS, process.kill)
        late.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(OSError):  # it ended without reading
                process.stdin.write(given.encode("ascii"))
                process.stdin.close()
            printed = process.stdout.read(_MOST_OUTPUT)
            process.stdout.close()
            process.wait()
        finally:
            late.cancel()
    return printed if process.returncode == 0 else b""


def _environment(repository: Repository, *, work_tree: bool = False) -> dict[str, str]:
    scratch = _SCRATCH / repositories.object_format(repository.common)
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = {
        "GIT_DIR": scratch,
        "GIT_OBJECT_DIRECTORY": repository.common / "objects",
        "GIT_SHALLOW_FILE": repository.common / "shallow",
        "GIT_INDEX_FILE": repository.git_dir / "index",
        "GIT_CONFIG_NOSYSTEM": 1,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "HOME": scratch,  # where a git that does not know the line above looks
        "XDG_CONFIG_HOME": scratch,
        "GIT_ATTR_NOSYSTEM": 1,
        "GIT_NO_REPLACE_OBJECTS": 1,
        "GIT_OPTIONAL_LOCKS": 0,
        "GIT_NO_LAZY_FETCH": 1,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": 0,
        "LC_ALL": "C",
    }
    if work_tree:
        own["GIT_WORK_TREE"] = repository.top
    return {**passed, **{name: str(value) for name, value in own.items()}}


def _program(work_tree: Path) -> str | None:
    """The git of the machine: never one from a relative place of the search path, nor from the work tree."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder):  # noqa: PTH117
            continue
        path = Path(folder) / ("git.exe" if os.name == "nt" else "git")
        if os.access(path, os.X_OK) and not Path(os.path.realpath(path)).is_relative_to(work_tree):
            return str(path)
    return None
