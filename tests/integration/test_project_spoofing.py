"""No folder can pass itself off as part of a project that is somebody else's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from claude_memory.model import ProjectId, ProjectIdentity
from claude_memory.platform import project
from claude_memory.platform.project import identify
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.sql.projects import provisional

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
REMOTE = "https://git.example.com/team/secret.git"


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


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(folder: Path, remote: str | None = None, commits: int = 2) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{folder} {number}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "home", Settings())
    yield opened
    opened.close()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return repository(tmp_path / "secret", REMOTE)


def id_of(store: Store, folder: Path) -> ProjectId:
    """As a hook and then a drain would see it."""
    first = project.resolve(folder, store.project_for).id
    assert project.resolve(folder, store.project_for, thorough=True).id == first
    return first


def test_ordinary_clones_and_worktrees_meet_without_asking(
    tmp_path: Path, store: Store, secret: Path
) -> None:
    git(secret, "clone", "-q", secret.as_uri(), str(tmp_path / "clone"))
    git(tmp_path / "clone", "remote", "set-url", "origin", REMOTE)
    git(secret, "clone", "-q", "--filter=blob:none", secret.as_uri(), str(tmp_path / "partial"))
    git(tmp_path / "partial", "remote", "set-url", "origin", "git@git.example.com:team/secret")
    git(secret, "worktree", "add", "-q", str(tmp_path / "tree"))
    folders = (secret, tmp_path / "clone", tmp_path / "partial", tmp_path / "tree")
    assert len({id_of(store, folder) for folder in folders}) == 1


def test_a_remote_named_by_another_history_joins_nothing(tmp_path: Path, store: Store, secret: Path) -> None:
    known = id_of(store, secret)
    assert id_of(store, repository(tmp_path / "evil", REMOTE)) != known
    assert id_of(store, repository(tmp_path / "empty", REMOTE, commits=0)) != known


def test_a_bare_repository_inside_a_work_tree_never_identifies(
    tmp_path: Path, store: Store, secret: Path
) -> None:
    known = id_of(store, secret)
    outer = repository(tmp_path / "evil", "https://git.example.com/evil/evil")
    git(tmp_path, "clone", "-q", "--bare", str(secret), str(outer / "docs"))  # with all its objects
    git(outer / "docs", "remote", "set-url", "origin", REMOTE)
    (outer / "docs" / "deeper").mkdir()
    for folder in (outer / "docs", outer / "docs" / "deeper", outer / "docs" / "refs"):
        assert id_of(store, folder) == id_of(store, outer) != known
        assert project.root_of(folder) == outer


def test_a_shallow_clone_is_a_project_of_its_own(tmp_path: Path, store: Store, secret: Path) -> None:
    known = id_of(store, secret)
    git(secret, "clone", "-q", "--depth=1", secret.as_uri(), str(tmp_path / "shallow"))
    git(tmp_path / "shallow", "remote", "set-url", "origin", REMOTE)
    own = id_of(store, tmp_path / "shallow")
    assert own != known
    assert not any(name.startswith("remote:") for name in identify(tmp_path / "shallow").identities)


@pytest.mark.parametrize("way", ["graft", "shallow", "replace", "commit-graph"])
def test_a_history_cut_by_settings_has_no_root(tmp_path: Path, store: Store, secret: Path, way: str) -> None:
    """What makes git show a commit as the first one does not make it one."""
    evil = repository(tmp_path / "evil", REMOTE, commits=3)
    root, middle = git(evil, "rev-list", "--reverse", "HEAD").split()[:2]
    dot_git = evil / ".git"
    if way == "graft":
        (dot_git / "info").mkdir(exist_ok=True)
        (dot_git / "info" / "grafts").write_text(f"{middle}\n")
    elif way == "shallow":
        (dot_git / "shallow").write_text(f"{middle}\n")
    elif way == "replace":
        git(evil, "replace", "--graft", middle)
    else:
        git(evil, "commit-graph", "write", "--reachable")
    assert not any(middle in name for name in identify(evil).identities)
    if way in ("graft", "replace", "commit-graph"):
        assert identify(evil).identities[0].endswith(f"#{root}")


@pytest.mark.parametrize("packed", [False, True])
def test_an_object_under_a_wrong_name_is_no_root(
    tmp_path: Path, store: Store, secret: Path, packed: bool
) -> None:
    """Knowing the hash of a private root commit is not having it."""
    known = id_of(store, secret)
    wanted = git(secret, "rev-list", "--max-parents=0", "HEAD")
    evil = repository(tmp_path / "evil", REMOTE, commits=1)
    own = git(evil, "rev-parse", "HEAD")
    if packed:
        git(evil, "repack", "-qad")
        for path in (evil / ".git" / "objects" / "pack").iterdir():
            path.chmod(0o600)
            path.write_bytes(path.read_bytes().replace(bytes.fromhex(own), bytes.fromhex(wanted)))
    else:
        forged = evil / ".git" / "objects" / wanted[:2] / wanted[2:]
        forged.parent.mkdir(exist_ok=True)
        forged.write_bytes((evil / ".git" / "objects" / own[:2] / own[2:]).read_bytes())
    (evil / ".git" / "refs" / "heads" / "main").write_text(f"{wanted}\n")
    assert id_of(store, evil) != known
    assert wanted not in str(identify(evil).identities)


def forged_chain(evil: Path, wanted: str) -> None:
    """A commit that is really there and calls one it does not have its parent."""
    tree = git(evil, "rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nparent {wanted}\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n\nx\n".encode()
    whole = b"commit %d\0" % len(text) + text
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    path = evil / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(whole))
    (evil / ".git" / "refs" / "heads" / "main").write_text(f"{name}\n")


def test_a_commit_that_only_names_the_root_has_not_got_it(tmp_path: Path, store: Store, secret: Path) -> None:
    known = id_of(store, secret)
    evil = repository(tmp_path / "evil", REMOTE, commits=1)
    forged_chain(evil, git(secret, "rev-list", "--max-parents=0", "HEAD"))
    assert id_of(store, evil) != known


@pytest.mark.parametrize("way", ["alternates", "objects", "pack", "fan-out", "object"])
def test_borrowed_objects_prove_nothing(tmp_path: Path, store: Store, secret: Path, way: str) -> None:
    known = id_of(store, secret)
    wanted = git(secret, "rev-list", "--max-parents=0", "HEAD")
    theirs = secret / ".git" / "objects"
    evil = repository(tmp_path / "evil", REMOTE, commits=0)
    ours = evil / ".git" / "objects"
    if way == "alternates":
        (ours / "info" / "alternates").write_text(f"{theirs}\n")
    elif way == "objects":
        shutil.rmtree(ours)
        ours.symlink_to(theirs)
    elif way == "pack":
        git(secret, "repack", "-qad")
        shutil.rmtree(ours / "pack")
        (ours / "pack").symlink_to(theirs / "pack")
    elif way == "fan-out":
        for folder in theirs.glob("??"):
            (ours / folder.name).symlink_to(folder)
    else:
        (ours / wanted[:2]).mkdir()
        (ours / wanted[:2] / wanted[2:]).symlink_to(theirs / wanted[:2] / wanted[2:])
    (evil / ".git" / "refs" / "heads" / "main").write_text(f"{wanted}\n")
    assert id_of(store, evil) != known


@pytest.mark.parametrize("way", ["link", "file", "worktree", "common", "submodule", "nested", "nested link"])
def test_a_pointer_into_another_repository_proves_nothing(
    tmp_path: Path, store: Store, secret: Path, way: str
) -> None:
    git(secret, "worktree", "add", "-q", str(tmp_path / "tree"))
    known = id_of(store, secret)
    assert id_of(store, tmp_path / "tree") == known
    evil = tmp_path / "evil"
    evil.mkdir()
    if way == "link":
        (evil / ".git").symlink_to(secret / ".git")
    elif way == "file":
        (evil / ".git").write_text(f"gitdir: {secret}/.git\n")
    elif way == "worktree":
        (evil / ".git").write_text(f"gitdir: {secret}/.git/worktrees/tree\n")
    elif way == "common":
        own = evil / "x" / "worktrees" / "evil"
        own.mkdir(parents=True)
        (own / "HEAD").write_text("ref: refs/heads/main\n")
        (own / "commondir").write_text(f"{secret}/.git\n")
        (own / "gitdir").write_text(f"{evil}/.git\n")
        (evil / ".git").write_text("gitdir: x/worktrees/evil\n")
    elif way.startswith("nested"):
        git(secret, "clone", "-q", secret.as_uri(), str(evil / "vendor"))
        git(evil / "vendor", "remote", "set-url", "origin", REMOTE)
        assert id_of(store, evil / "vendor") == known
        if way == "nested":
            (evil / ".git").write_text("gitdir: vendor/.git\n")
        else:
            (evil / ".git").symlink_to("vendor/.git")
    else:
        library = repository(tmp_path / "library")
        git(secret, "submodule", "add", "-q", str(library), "lib")
        known = id_of(store, secret / "lib")
        (evil / ".git").write_text(f"gitdir: {secret}/.git/modules/lib\n")
    assert id_of(store, evil) != known
    assert project.root_of(evil) == evil
    with pytest.raises(StopIteration):  # nor did it leave a name by which it would be found later
        next(name for name in identify(evil).identities if not name.startswith("path:"))


def test_a_birth_that_was_copied_without_the_history_is_not_a_move(
    tmp_path: Path, store: Store, secret: Path
) -> None:
    git(secret, "remote", "remove", "origin")
    project._roots.cache_clear()
    known = store.project_for(identify(secret)).id
    birth = (secret / ".git" / "description").stat().st_mtime_ns
    shutil.rmtree(secret)
    evil = repository(tmp_path / "evil")
    os.utime(evil / ".git" / "description", ns=(birth, birth))
    assert id_of(store, evil) != known


def test_an_id_that_was_aimed_at_gives_nothing(store: Store) -> None:
    """Forty bits of a hash can be met by trying."""
    victim = store.project_for(ProjectIdentity(("repo:/victim@1234567",), "app", "/victim"))
    evil = ProjectIdentity(("repo:/evil@7654321",), "app", "/evil")
    db = apsw.Connection(str(store.path))  # type: ignore[attr-defined]
    db.execute("UPDATE projects SET id = ? WHERE id = ?", (provisional(evil).id, victim.id))
    db.close()
    assert store.project_for(evil).id != provisional(evil).id


@pytest.mark.parametrize("first", ["old", "new"])
def test_a_store_of_the_first_release_finds_its_projects(
    tmp_path: Path, store: Store, secret: Path, first: str
) -> None:
    """It noted the remote and the root commit apart."""
    root = git(secret, "rev-list", "--max-parents=0", "HEAD")
    birth = (secret / ".git" / "description").stat().st_mtime_ns
    names = ("remote:git.example.com/team/secret", f"repo:{secret}#{root}", f"repo:{secret}@{birth}")
    known = store.project_for(ProjectIdentity(names, "secret", str(secret))).id
    git(secret, "clone", "-q", secret.as_uri(), str(tmp_path / "clone"))
    git(tmp_path / "clone", "remote", "set-url", "origin", REMOTE)
    evil = repository(tmp_path / "evil", REMOTE)
    folders = [secret, tmp_path / "clone"] if first == "old" else [tmp_path / "clone", secret]
    assert [id_of(store, folder) for folder in folders] == [known, known]
    assert id_of(store, evil) != known


def test_a_path_that_the_first_release_knew_joins_whatever_else_is_gone(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "app", REMOTE)
    names = ("remote:git.example.com/team/secret",)  # all that was noted of a large history
    known = store.project_for(ProjectIdentity(names, "secret", str(folder))).id
    assert id_of(store, folder) == known


def test_a_known_project_is_recognised_without_a_process(
    store: Store, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = id_of(store, secret)
    project._roots.cache_clear()

    def asked(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", asked)
    assert project.resolve(secret, store.project_for).id == known
    assert project.resolve(secret, store.project_for, thorough=True).id == known
