"""A repository that came from a stranger runs no program of its own, whatever its configuration says."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_memory.install.plugin import hook_arguments, hook_program
from claude_memory.platform import git as our_git
from claude_memory.platform.git import changed_files
from claude_memory.platform.project import identify

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
PACKAGE = Path(our_git.__file__).parent


@pytest.fixture(autouse=True)
def _own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "gitconfig").write_text(
        '[protocol "file"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.com")
    # Git may be slow on a busy machine; that is not what these tests are about.
    monkeypatch.setattr(our_git, "CHANGED_SECONDS", 20)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


class Trap:
    """A program that leaves a mark when anybody runs it."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "ran"
        self.program = folder / "trap"
        self.program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.mark}'\ncat 2>/dev/null\n")
        self.program.chmod(0o755)

    def set_in(self, repository: Path) -> None:
        """Name the program wherever a configuration can name one."""
        own = str(self.program)
        for key in (
            *(
                "core.fsmonitor",
                "core.pager",
                "core.editor",
                "core.sshCommand",
                "core.gitProxy",
                "core.askPass",
            ),
            *("diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "gpg.program"),
            *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.lfs.clean"),
            *("credential.helper", "interactive.diffFilter", "pager.diff", "uploadpack.packObjectsHook"),
            *("remote.origin.uploadpack", "trace2.eventTarget"),
        ):
            git(repository, "config", key, own)
        git(repository, "config", "filter.evil.required", "true")
        for name in ("diff", "diff-index", "rev-list", "cat-file"):
            git(repository, "config", f"alias.{name}", f"!{own}")
        dot_git = Path(os.path.realpath(our_git.find(repository).git_dir))  # type: ignore[union-attr]
        (dot_git / "hooks").mkdir(exist_ok=True)
        for name in ("post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"):
            shutil.copy(self.program, dot_git / "hooks" / name)
        (dot_git / "info").mkdir(exist_ok=True)
        (dot_git / "info" / "attributes").write_text("* filter=evil diff=evil\n")
        (dot_git / "more").write_text(f'[filter "lfs"]\n\tclean = {own}\n\tprocess = {own}\n')
        git(repository, "config", "include.path", "more")

    @property
    def sprung(self) -> bool:
        return self.mark.exists()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


@pytest.fixture
def hostile(tmp_path: Path, trap: Trap) -> Path:
    """A repository with files changed in every way git has to look twice at, and traps everywhere."""
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.c").write_text("int x;\n")
    (library / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git(library, "add", ".")
    git(library, "commit", "-qm", "library")
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\nlarge.bin filter=lfs\n")
    for name in ("same", "touched", "racy", "longer", "gone", "staged", "large.bin"):
        (folder / name).write_text("one\n")
    git(folder, "submodule", "add", "-q", str(library), "lib")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "staged").write_text("two\n")
    git(folder, "add", "staged")
    index = (folder / ".git" / "index").stat().st_mtime_ns
    (folder / "same").write_text("two\n")
    (folder / "racy").write_text("two\n")
    os.utime(folder / "racy", ns=(index, index))  # as old as the index, and as long as before
    os.utime(folder / "touched", (1, 1))
    (folder / "longer").write_text("longer\n")
    (folder / "gone").unlink()
    (folder / "lib" / "lib.c").write_text("int y;\n")
    for repository in (folder, folder / "lib"):
        trap.set_in(repository)
    return folder


@pytest.fixture
def start(hostile: Path, scratch_home: Path) -> Iterator[subprocess.CompletedProcess[bytes]]:
    """What the installed hook answers at the start of a session there."""
    home = scratch_home / ".claude" / "memory"
    event = {"session_id": "s1", "cwd": str(hostile), "hook_event_name": "SessionStart", "source": "startup"}
    command = [sys.executable, *hook_arguments(str(hook_program()), "SessionStart", "claude-code")]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLAUDE_MEMORY_HOME": str(home)}
    done = subprocess.run(
        command,
        input=json.dumps(event).encode(),
        env=environment,
        cwd=hostile,
        capture_output=True,
        timeout=60,
    )
    yield done
    while any(str(home).encode() in _command(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
        time.sleep(0.05)  # the drain that the hook leaves behind


def _command(path: Path) -> bytes:
    try:
        found = path.read_bytes()
    except OSError:
        return b""
    return found if b"drain_all" in found else b""


def changed(folder: Path) -> tuple[str, ...]:
    with changed_files(folder) as found:
        return found()


def test_the_traps_work(hostile: Path, trap: Trap) -> None:
    subprocess.run(["git", "-C", hostile, "diff-index", "HEAD"], check=False, capture_output=True)
    assert trap.sprung


def test_a_session_that_starts_in_a_hostile_repository_runs_nothing_of_it(
    start: subprocess.CompletedProcess[bytes], trap: Trap
) -> None:
    assert (start.returncode, start.stderr) == (0, b"")
    assert not trap.sprung


def test_changed_files_are_told_without_running_anything(hostile: Path, trap: Trap) -> None:
    assert sorted(changed(hostile)) == ["gone", "longer", "racy", "same", "staged"]
    assert changed(hostile / "lib") == ("lib.c",)
    assert not trap.sprung


def test_a_worktree_of_a_hostile_repository_runs_nothing(hostile: Path, tmp_path: Path, trap: Trap) -> None:
    tree = tmp_path / "tree"
    plain = tmp_path / "plain"
    shutil.copytree(hostile, plain, symlinks=True)
    for name in ("config", "info/attributes"):
        (plain / ".git" / name).unlink()
    shutil.rmtree(plain / ".git" / "hooks")
    git(plain, "worktree", "add", "-q", str(tree))
    (tree / "same").write_text("two\n")
    shutil.copy(hostile / ".git" / "config", plain / ".git" / "config")
    git(plain, "config", "extensions.worktreeConfig", "true")
    (plain / ".git" / "worktrees" / "tree" / "config.worktree").write_text(
        f"[core]\n\tfsmonitor = {trap.program}\n"
    )
    trap.mark.unlink(missing_ok=True)
    assert changed(tree) == ("same",)
    assert not trap.sprung


def test_asking_for_the_root_commit_runs_nothing(hostile: Path, trap: Trap) -> None:
    git(hostile, "config", "extensions.partialClone", "origin")
    git(hostile, "config", "remote.origin.promisor", "true")
    git(hostile, "config", "remote.origin.url", f"ext::{trap.program}")
    loose = [path for path in (hostile / ".git" / "objects").glob("??/*") if path.is_file()]
    identify(hostile)
    for path in loose:
        path.unlink()  # what is missing must not be fetched by a command that the repository names
    repositories_found = our_git.find(hostile)
    assert repositories_found is not None
    assert our_git.roots(repositories_found) == ()
    assert changed(hostile) == ()
    assert not trap.sprung


@pytest.mark.parametrize("entry", ["", ".", "bin", "{work}/bin", "{linked}"])
def test_a_git_that_lies_in_the_repository_is_never_run(
    hostile: Path, tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    (hostile / "bin").mkdir()
    for place in (hostile / "git", hostile / "bin" / "git"):
        shutil.copy(trap.program, place)
    (tmp_path / "linked").symlink_to(hostile / "bin")
    first = entry.format(work=hostile, linked=tmp_path / "linked")
    monkeypatch.setenv("PATH", f"{first}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(hostile)
    assert "same" in changed(hostile)
    assert identify(hostile).identities[0].startswith("repo:")
    assert not trap.sprung


def test_variables_that_git_obeys_are_not_passed_on(
    hostile: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "evil-config"
    config.write_text(f'[filter "evil"]\n\tclean = {trap.program}\n[core]\n\tfsmonitor = {trap.program}\n')
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"):
        monkeypatch.setenv(name, str(config))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.program))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap.program))
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    assert "same" in changed(hostile)
    assert not trap.sprung


def test_a_repository_of_another_hash_is_understood(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    (folder / "a").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "a").write_text("two\n")
    assert changed(folder) == ("a",)
    assert re.search(r"#[0-9a-f]{64}$", identify(folder).identities[0])


def test_a_name_that_no_path_can_have_leads_nowhere(tmp_path: Path) -> None:
    linked, main = tmp_path / "linked", tmp_path / "main"
    linked.mkdir()
    (linked / ".git").write_bytes(b"gitdir: some\0where\n")
    assert identify(linked).identities == (f"path:{linked}",)
    git(tmp_path, "init", "--quiet", str(main))
    tree = main / ".git" / "worktrees" / "linked"
    tree.mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {tree}\n")
    for name in ("commondir", "gitdir"):
        (tree / name).write_bytes(b"some\0where\n")
        assert identify(linked).identities == (f"path:{linked}",)
        (tree / "commondir").write_text("../..\n")


def test_git_is_run_in_one_module() -> None:
    for path in PACKAGE.rglob("*.py"):
        lists = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.List))
        first = [node.elts[0].value for node in lists if node.elts and isinstance(node.elts[0], ast.Constant)]
        assert not {"git", "git.exe"}.intersection(map(str, first)), path
