"""Git repositories: what their files tell, and every git command of this package.

A repository may come from a stranger. A pointer counts only where what it points to points back, so that no
folder can pass itself off as the work tree of somebody else's repository. Its configuration names programs
(filters, monitors, hooks, helpers), so no command runs under it: git gets a folder of ours as its repository
(`scratch_git`), with the stranger's objects, index and files beside it, an environment of ours, and nothing
but plumbing and `diff` to do. `run_own` is the other case: a bare repository of ours, and remotes that the
person chose.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from claude_memory.errors import StoreFault

CHANGED_SECONDS = 0.15
WALK_SECONDS = 5.0
MAX_FILES = 50
MOST_ROOTS = 4  # of a repository that joined several histories; the oldest
PUBLIC_SECONDS, REMOTE_SECONDS = 20.0, 600.0
_LARGEST_FILE = 1 << 20
_MOST_OUTPUT = 4 << 20
_MOST_REFERENCES = 2_000
_BRANCHES = ("refs/heads", "refs/remotes", "refs/tags")  # not what git itself notes: stashes, replacements
_SECTION = re.compile(r'^\[\s*([a-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$', re.IGNORECASE)
_KEY = re.compile(r"^([a-z][a-z0-9-]*)\s*=\s*(.*)$", re.IGNORECASE)
_QUOTED_OR_COMMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|[#;].*')
_OBJECT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_OVER_SSH = re.compile(r"(?:ssh://)?(?:[^@/]+@)([\w.-]+)(?::\d+)?[:/](.+)")
_SCRATCH = Path(__file__).parent / "scratch_git"
# What a program needs of the caller's environment to run at all; never a variable that git obeys.
_PASSED_ON = ("PATH", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")


class Repository(NamedTuple):
    """The work tree's top, the folder with its HEAD and index, and the folder that all work trees share."""

    top: Path
    git_dir: Path
    common: Path
    proven: bool = True  # false where a link or a `.git` file leads out, and nothing there leads back

    @property
    def place(self) -> Path:
        """The folder that stands for all work trees of the repository."""
        return self.common.parent if self.common.name == ".git" else self.common


# --- what the files tell


def find(start: Path) -> Repository | None:
    """The repository that a folder, given by its real path, belongs to.

    A bare repository inside a work tree is content of that work tree: anyone can commit one.
    """
    bare = None
    for folder in (start, *start.parents):
        with contextlib.suppress(OSError):
            if found := _at(folder):
                return found
            if bare is None and folder.name != ".git" and _is_git_folder(folder):
                bare = Repository(folder, folder, folder)
    return bare


def _at(folder: Path) -> Repository | None:
    """The repository whose work tree a folder is the top of; `.git` is a folder, or a file that points."""
    dot_git = git_dir = folder / ".git"
    if is_pointer := dot_git.is_file():
        pointer = _beginning(dot_git)
        if not pointer.startswith("gitdir:"):
            return None
        git_dir = folder / pointer.removeprefix("gitdir:").strip()
    elif not dot_git.is_dir():
        return None
    git_dir = common = Path(os.path.realpath(git_dir))
    if is_pointer:  # a submodule shares nothing
        common = Path(os.path.realpath(git_dir / _beginning(git_dir / "commondir").strip()))
    if not _is_git_folder(common):
        return None
    if common != git_dir:  # a linked work tree
        back = git_dir / _first_line(git_dir / "gitdir")
        proven = git_dir.parent == common / "worktrees" and os.path.realpath(back) == os.path.realpath(
            dot_git
        )
    # It lies in the folder, and is not that of another work tree in there.
    elif git_dir == dot_git or (git_dir.is_relative_to(folder) and git_dir.name != ".git"):
        proven = True
    else:
        named = _setting(common, "core", "worktree") if is_pointer else ""
        proven = bool(named) and os.path.realpath(git_dir / named) == str(folder)
    return Repository(folder, git_dir, common, proven)


def _is_git_folder(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def settings(common: Path) -> Iterator[tuple[str, str, str, str]]:
    """Section, subsection, key and value of the repository's configuration; includes are not followed."""
    section = name = ""
    for raw in _beginning(common / "config").replace("\\\n", "").splitlines():
        line = raw.strip()
        if line.startswith("["):
            found = _SECTION.match(line)
            section, name = (found[1].lower(), found[2] or "") if found else ("", "")
            line = found[3].strip() if found else ""
        if section and (key := _KEY.match(line)):
            value = _QUOTED_OR_COMMENT.sub(lambda match: match[1] or "", key[2])
            yield section, name, key[1].lower(), re.sub(r"\\(.)", r"\1", value).strip()


def _setting(common: Path, section: str, key: str) -> str:
    values = [value for one, _, name, value in settings(common) if (one, name) == (section, key)]
    return values[-1] if values else ""


def _object_format(common: Path) -> str:
    return "sha256" if _setting(common, "extensions", "objectformat").lower() == "sha256" else "sha1"


def _head_commit(repository: Repository) -> str:
    """The commit that HEAD stands at; empty before the first one."""
    reference = _first_line(repository.git_dir / "HEAD")
    for _ in range(5):  # as many steps as git itself goes
        if _OBJECT.match(reference):
            return reference
        name = reference.removeprefix("ref:").strip()
        if not reference.startswith("ref:") or ".." in name or not name.startswith("refs/"):
            return ""
        reference = _first_line(repository.common / name) or _packed(repository.common).get(name, "")
    return ""


def current_branch(folder: Path) -> str:
    found = find(Path(os.path.realpath(folder))) if "\0" not in str(folder) else None
    head = _first_line(found.git_dir / "HEAD") if found else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def _tips(repository: Repository) -> list[str]:
    """Where HEAD and all branches and tags stand, as far as they can be read; each once."""
    found = {_head_commit(repository): None}
    for kind in _BRANCHES:
        for folder, _, names in os.walk(repository.common / kind):
            found |= dict.fromkeys(_first_line(Path(folder) / name) for name in names[:_MOST_REFERENCES])
            if len(found) > _MOST_REFERENCES:
                break
    packed = _packed(repository.common)
    found |= dict.fromkeys(packed[name] for name in packed if name.startswith(_BRANCHES))
    return [commit for commit in found if _OBJECT.match(commit)][:_MOST_REFERENCES]


def _packed(common: Path) -> dict[str, str]:
    lines = _beginning(common / "packed-refs").splitlines()
    return {name: commit for commit, _, name in (line.partition(" ") for line in lines)}


def _holds_its_objects(repository: Repository) -> bool:
    """Whether every object found here stands in the repository itself, not in one that it borrows from."""
    objects = repository.common / "objects"
    try:
        inside = [*objects.iterdir(), *(objects / "pack").glob("*")]
        borrows = (objects / "info" / "alternates").exists() or objects.is_symlink()
        return not borrows and not any(path.is_symlink() for path in inside)
    except OSError:
        return False


def _first_line(path: Path) -> str:
    return _beginning(path).partition("\n")[0].strip()


def _beginning(path: Path) -> str:
    """The beginning of a file, which may hold anything; empty where there is none that can be read."""
    with contextlib.suppress(OSError):
        if path.is_file():  # a pipe would wait for ever
            with path.open("rb") as handle:
                # No path may hold a NUL: where one is meant, there is nothing.
                return handle.read(_LARGEST_FILE).decode("utf-8", "replace").replace("\0", "\ufffd")
    return ""


# --- what git says of a stranger's repository


def roots(repository: Repository) -> tuple[str, ...]:
    """The commits without a parent that are really in the repository, the oldest first.

    Each is told from the bytes of its own object: neither a graft nor a list made for speed, nor the
    cut end of a shallow clone, nor an object under a wrong name passes for one.
    """
    import hashlib

    tips = _tips(repository)
    if not tips or not _holds_its_objects(repository):
        return ()
    asked = ["rev-list", "--ignore-missing", "--timestamp", "--max-parents=0", "--stdin"]
    lines = _answer(repository, asked, tips).decode("ascii", "replace").split("\n")
    aged = (line.split(" ") for line in lines if line[:1].isdecimal())
    names = [line[1] for line in sorted(aged, key=lambda line: int(line[0]))[:MOST_ROOTS]]
    rest = _answer(repository, ["cat-file", "--batch"], names)
    found, format_ = [], _object_format(repository.common)
    for name in names:
        header, _, rest = rest.partition(b"\n")
        if not (told := re.fullmatch(rb"\S+ (\S+) (\d+)", header)):
            break
        size = int(told[2])
        content, rest = rest[:size], rest[size + 1 :]
        whole = hashlib.new(format_, b"commit %d\0%b" % (size, content)).hexdigest()
        loose = repository.common / "objects" / name[:2] / name[2:]
        is_root = b"\nparent " not in content.partition(b"\n\n")[0]
        if told[1] == b"commit" and whole == name and is_root and not loose.is_symlink():
            found.append(name)
    return tuple(found)


@contextlib.contextmanager
def changed_files(root: Path) -> Iterator[Callable[[], tuple[str, ...]]]:
    """Which files differ from the last commit: git looks beside us, and whoever does not wait loses nothing.

    Gives what tells the paths from the repository's top; none if git does not answer quickly. Started
    without the module subprocess, which takes longer to load than git takes to answer.
    """
    found = find(root) if hasattr(os, "posix_spawn") else None
    is_ours = found is not None and found.proven and found.top == root != found.git_dir
    head = _head_commit(found) if found and is_ours else ""
    program = _program(root) if head else None
    if found is None or program is None:
        yield tuple
        return
    # A submodule would be looked at under a configuration of its own.
    asked = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]
    command = [program, "-C", str(root), *asked, "--ignore-submodules=all", head, "--"]
    environment = {**_environment(found), "GIT_WORK_TREE": str(found.top)}
    deadline = time.monotonic() + CHANGED_SECONDS
    pipe, end = os.pipe()
    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 2)]
    process = 0
    with contextlib.suppress(OSError):
        process = os.posix_spawn(
            program, command, environment, file_actions=[*null, (os.POSIX_SPAWN_DUP2, end, 1)]
        )
    os.close(end)

    def names() -> tuple[str, ...]:
        import select  # which hooks that ask no git need not load

        text = b""
        while text.count(b"\0") < MAX_FILES:
            if not select.select([pipe], [], [], max(deadline - time.monotonic(), 0.0))[0]:
                return ()
            if not (part := os.read(pipe, 1 << 16)):
                break
            text += part
        return tuple(text.decode("utf-8", "replace").split("\0")[:-1][:MAX_FILES])

    try:
        yield names
    finally:
        os.close(pipe)
        with contextlib.suppress(OSError):
            if process and os.waitpid(process, os.WNOHANG)[0] == 0:
                os.kill(process, 9)
                os.waitpid(process, 0)


def _answer(repository: Repository, arguments: Sequence[str], given: Sequence[str]) -> bytes:
    """What git prints for the given lines, up to a bound; nothing without git, or if it takes too long."""
    import subprocess  # costs more than all the rest of this module
    import threading

    program = _program(repository.top)
    if program is None or not given:
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
    late = threading.Timer(WALK_SECONDS, process.kill)
    late.daemon = True  # whoever is interrupted does not wait for it
    late.start()
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):  # it ended without reading
            process.stdin.write("".join(f"{line}\n" for line in given).encode("ascii"))
            process.stdin.close()
        printed = process.stdout.read(_MOST_OUTPUT)
    late.cancel()
    return printed if process.returncode == 0 else b""


def _environment(repository: Repository) -> dict[str, str]:
    scratch = _SCRATCH / _object_format(repository.common)
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
    return {**passed, **{name: str(value) for name, value in own.items()}}


def _program(work_tree: Path) -> str | None:
    """The git of the machine: never one from a relative place of the search path, nor from the work tree."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder) / ("git.exe" if os.name == "nt" else "git")
        is_theirs = Path(os.path.realpath(path)).is_relative_to(work_tree)
        if path.is_absolute() and os.access(path, os.X_OK) and not is_theirs:
            return str(path)
    return None


# --- remotes that the person chose


def run_own(folder: Path, name: str, *words: str, given: bytes = b"") -> bytes:
    """What one command prints in a bare repository of ours, which is made where there is none.

    The person's own git settings hold here, because they know how to reach the remote. Nothing asks on a
    terminal. Whatever fails is a StoreFault of one line, which begins with the name.
    """
    import subprocess

    program = _program(folder)
    if program is None:
        raise StoreFault(f"{name}: there is no git on this machine")
    if words[0] != "init" and not (folder / "HEAD").is_file():
        run_own(folder, name, "init", "--quiet", "--bare", "--template=", str(folder))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_DIR": str(folder), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "claude-memory", f"GIT_{who}_EMAIL": "claude-memory@localhost"}
    safe = ["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=", "-c", "gc.auto=0"]
    try:
        done = subprocess.run(
            [program, *safe, *words],
            env=environment,
            cwd=folder,
            input=given,
            capture_output=True,
            timeout=REMOTE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise StoreFault(f"{name}: git got no answer in time") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise StoreFault(f"{name}: {lines[-1][:200]}")
    return done.stdout


def anybody_can_read(url: str) -> bool:
    """Whether a remote answers without any of the person's credentials."""
    import subprocess

    if url.startswith("git://"):
        return True
    if found := _OVER_SSH.fullmatch(url):
        url = f"https://{found.group(1)}/{found.group(2)}"
    program = _program(_SCRATCH)
    if program is None or not url.startswith(("http://", "https://")):
        return False
    passed = {name: os.environ[name] for name in (*_PASSED_ON, *_PROXIES) if name in os.environ}
    alone = {"HOME": str(_SCRATCH), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
    command = [program, "-c", "credential.helper=", "ls-remote", "--quiet", "--", url]
    try:
        return not subprocess.run(
            command, env=passed | alone | quiet, capture_output=True, timeout=PUBLIC_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return False
