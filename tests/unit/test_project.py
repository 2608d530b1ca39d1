"""Project identity: one project however it is cloned or checked out, two when it is two."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_memory.model import ProjectId
from claude_memory.platform import project
from claude_memory.platform.project import identify, normalise_remote, root_of
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(autouse=True)
def _own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git without the machine's settings, and with fixed authors."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    empty = tmp_path / "gitconfig"
    empty.write_text('[protocol "file"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(empty))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.com")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(
    folder: Path, *, remote: str | None = None, commits: int = 1, message: str | None = None
) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", message or f"{folder} {number}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def clone(source: Path, folder: Path, *options: str, remote: str) -> Path:
    """What `git clone` of that remote would make, without a network."""
    git(source, "clone", "-q", *options, source.as_uri(), str(folder))
    git(folder, "remote", "set-url", "origin", remote)
    return folder


def same(one: Path, other: Path) -> bool:
    """Whether a store would take them for one project."""
    return not set(identify(one).identities).isdisjoint(identify(other).identities)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "home", Settings())
    yield opened
    opened.close()


def id_of(store: Store, folder: Path) -> ProjectId:
    return store.project_for(identify(folder)).id


# --- remotes

ONE_REMOTE = [
    "git@github.com:owner/repo.git", "git@github.com:owner/repo", "https://github.com/owner/repo",
    "https://github.com/owner/repo.git", "https://github.com/owner/repo/", "https://GitHub.com/owner/repo.git/",
    "https://user:token@github.com/owner/repo.git", "https://token@github.com/owner/repo",
    "https://user:p@ss@github.com/owner/repo", "ssh://git@github.com/owner/repo.git",
    "ssh://git@github.com:22/owner/repo.git", "git://github.com/owner/repo", "https://github.com:443/owner/repo",
    "github.com:owner/repo.git", "git+ssh://git@github.com/owner/repo", "  https://github.com/owner/repo  ",
    "https://github.com/Owner/Repo", "git@github.com:/owner/repo.git",
]  # fmt: skip


@pytest.mark.parametrize("url", ONE_REMOTE)
def test_every_spelling_of_a_remote_is_one_name(url: str) -> None:
    assert normalise_remote(url) == "github.com/owner/repo"


@pytest.mark.parametrize(
    ("url", "name"),
    [("git@git.example.com:Team/Repo.git", "git.example.com/Team/Repo"),
     ("https://git.example.com/team/repo", "git.example.com/team/repo"),
     ("ssh://git@[2001:db8::1]:2222/a/b.git", "[2001:db8::1]/a/b"),
     ("https://dev.azure.com/org/project/_git/repo", "dev.azure.com/org/project/_git/repo"),
     ("https://host/deep/er/group/repo.git", "host/deep/er/group/repo")],
)  # fmt: skip
def test_other_hosts_keep_the_case_of_their_paths(url: str, name: str) -> None:
    assert normalise_remote(url) == name


@pytest.mark.parametrize(
    "url",
    ["", "   ", "/srv/git/repo.git", "../repo", "file:///srv/git/repo.git", "FILE:///x/y", "C:\\work\\repo",
     "C:/srv/repo", "D:repo", "\\\\server\\share\\repo", "https://host/", "https://host", "repo", "ext::sh -c evil",
     "https://host/.git"],
)  # fmt: skip
def test_a_local_path_is_no_remote(url: str) -> None:
    assert normalise_remote(url) is None


def test_credentials_never_reach_the_name() -> None:
    for url in (
        "https://user:s3cr3t@h.example/o/r",
        "https://s3cr3t@h.example/o/r",
        "https://u:a@s3cr3t@h.example/o/r",
    ):
        assert "s3cr3t" not in str(normalise_remote(url))


@needs_git
def test_clones_of_one_remote_are_one_project(tmp_path: Path, store: Store) -> None:
    source = repository(tmp_path / "source")
    ids = {
        id_of(store, clone(source, tmp_path / f"clone{number}", remote=url))
        for number, url in enumerate(ONE_REMOTE[:6])
    }
    assert len(ids) == 1


@needs_git
def test_origin_is_preferred_and_rewriting_rules_are_ignored(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "remote", "add", "fork", "git@github.com:me/repo.git")
    assert identify(folder).remote == "github.com/me/repo"
    git(folder, "remote", "add", "origin", "gh:owner/repo.git")
    git(folder, "config", "url.https://evil.example/.insteadOf", "gh:")
    git(folder, "config", "remote.origin.pushurl", "https://push.example/x/y")
    assert identify(folder).identities[0].startswith("remote:gh/owner/repo#")


@pytest.mark.parametrize(
    "config",
    ['[remote "origin"]\n\turl = https://h.example/o/r\n', '[REMOTE "origin"]\nURL=https://h.example/o/r',
     '[remote "origin"] url = https://h.example/o/r', '[remote "origin"] # ours\r\n\turl = "https://h.example/o/r" ; yes\r\n',
     '[core]\n\turl = https://wrong.example/x/y\n[remote "origin"]\nurl = https://h.example/o/\\\nr\n',
     '[branch "url = x"]\n\tremote = origin\n[remote "origin"]\n\tfetch = +x\n\turl=https://h.example/o/r\n',
     '\ufeff[core]\n[remote "or\\"igin"]\nurl = https://h.example/o/r\n'],
)  # fmt: skip
def test_gits_own_config_syntax_is_understood(tmp_path: Path, config: str) -> None:
    dot_git = tmp_path / ".git"
    for name in ("objects", "refs"):
        (dot_git / name).mkdir(parents=True)
    (dot_git / "HEAD").write_text("ref: refs/heads/main\n")
    (dot_git / "config").write_text(config, "utf-8", newline="")
    assert identify(tmp_path).remote == "h.example/o/r"


def test_a_config_of_garbage_is_no_remote(tmp_path: Path) -> None:
    dot_git = tmp_path / ".git"
    for name in ("objects", "refs"):
        (dot_git / name).mkdir(parents=True)
    (dot_git / "HEAD").write_text("x")
    for content in (b"", b"\xff\x00[[[", b'[remote "x', b"url = https://h.example/o/r\n", b"[" * 100_000):
        (dot_git / "config").write_bytes(content)
        assert identify(tmp_path).identities[0].startswith("repo:")
        assert identify(tmp_path).remote == ""


# --- repositories


@needs_git
def test_worktrees_and_subfolders_are_one_project(tmp_path: Path, store: Store) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "feature")
    (main / "src" / "deep").mkdir(parents=True)
    assert len({id_of(store, folder) for folder in (main, tmp_path / "tree", main / "src" / "deep")}) == 1
    assert root_of(main / "src" / "deep") == main
    assert root_of(tmp_path / "tree") == tmp_path / "tree"
    assert identify(main / ".git" / "refs").identities == identify(main).identities
    assert root_of(main / ".git" / "refs") == main


@needs_git
def test_two_repositories_of_one_name_are_two(tmp_path: Path, store: Store) -> None:
    one, other = repository(tmp_path / "a" / "app"), repository(tmp_path / "b" / "app")
    assert identify(one).name == identify(other).name == "app"
    assert id_of(store, one) != id_of(store, other)
    third = repository(tmp_path / "c" / "app", remote="https://github.com/x/app")
    fourth = repository(tmp_path / "d" / "app", remote="https://github.com/y/app")
    assert len({id_of(store, folder) for folder in (one, other, third, fourth)}) == 4


@needs_git
def test_a_shared_root_commit_merges_nothing(tmp_path: Path) -> None:
    template = repository(tmp_path / "template")
    for name in ("one", "two"):
        shutil.copytree(template, tmp_path / name)
    assert git(tmp_path / "one", "rev-parse", "HEAD") == git(tmp_path / "two", "rev-parse", "HEAD")
    assert not same(tmp_path / "one", tmp_path / "two")


@needs_git
def test_a_remote_added_later_keeps_the_project(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "app")
    before = id_of(store, folder)
    git(folder, "remote", "add", "origin", "https://github.com/o/app")
    assert id_of(store, folder) == before
    git(folder, "remote", "set-url", "origin", "git@github.com:o/renamed.git")
    assert id_of(store, folder) == before
    assert id_of(store, clone(folder, tmp_path / "clone", remote="https://github.com/o/renamed")) == before
    assert id_of(store, clone(folder, tmp_path / "older", remote="https://github.com/o/app")) == before
    stranger = repository(tmp_path / "stranger", remote="https://github.com/o/renamed")
    assert id_of(store, stranger) != before


@needs_git
def test_the_first_commit_keeps_the_project(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "new", commits=0)
    before = id_of(store, folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    assert id_of(store, folder) == before


@needs_git
@pytest.mark.parametrize("commits", [0, 1])
def test_a_repository_that_moved_keeps_its_project(tmp_path: Path, store: Store, commits: int) -> None:
    folder = repository(tmp_path / "app", commits=commits)
    before = id_of(store, folder)
    for place in ("elsewhere/app", "renamed"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        folder = folder.rename(tmp_path / place)
        assert project.resolve(folder, store.project_for).id == before
    assert project.resolve(folder, store.project_for).id == before


@needs_git
def test_a_copy_beside_its_original_is_a_project_of_its_own(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "app")
    before = id_of(store, folder)
    shutil.copytree(folder, tmp_path / "copy")
    copy = id_of(store, tmp_path / "copy")
    assert copy != before
    shutil.rmtree(folder)
    assert id_of(store, tmp_path / "copy") == copy


@needs_git
def test_what_came_out_of_one_archive_is_not_taken_for_a_move(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "template")
    os.utime(folder / ".git" / "description", (1_700_000_000, 1_700_000_000))
    before = id_of(store, folder)
    shutil.copytree(folder, tmp_path / "another")
    shutil.rmtree(folder)
    assert id_of(store, tmp_path / "another") != before


@needs_git
def test_branches_of_their_own_and_stashes_keep_the_project(tmp_path: Path) -> None:
    folder = repository(tmp_path / "app")
    before = identify(folder).identities
    for number in range(8):
        git(folder, "checkout", "-q", "--orphan", f"pages{number}")
        git(folder, "commit", "-q", "--allow-empty", "-m", f"pages {number}", "--date", "2030-01-01T00:00:00")
    project._roots.cache_clear()
    assert not set(identify(folder).identities).isdisjoint(before)


@needs_git
def test_a_repository_made_anew_at_a_known_path_finds_its_memory(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "app", message="one")
    before = id_of(store, folder)
    shutil.rmtree(folder)
    assert id_of(store, repository(folder, message="two")) == before
    assert project.resolve(folder, store.project_for).id == before


@needs_git
def test_a_path_that_another_remote_takes_over_is_another_project(tmp_path: Path, store: Store) -> None:
    folder = repository(tmp_path / "work", remote="https://github.com/o/ours")
    before = id_of(store, folder)
    shutil.rmtree(folder)
    assert id_of(store, repository(folder, remote="https://github.com/x/theirs")) != before
    shutil.rmtree(folder)
    shallow = clone(
        repository(tmp_path / "s", commits=2), folder, "--depth=1", remote="https://github.com/x/y"
    )
    assert id_of(store, shallow) != before


@needs_git
def test_a_copy_without_times_still_has_its_root_commit(tmp_path: Path) -> None:
    folder = repository(tmp_path / "app")
    before = identify(folder)
    os.utime(folder / ".git" / "description", (0, 0))
    project._roots.cache_clear()
    assert not set(identify(folder).identities).isdisjoint(before.identities)


@needs_git
def test_submodules_are_projects_of_their_own(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    parent = repository(tmp_path / "parent", remote="https://github.com/o/parent")
    git(parent, "submodule", "add", "-q", str(library), "lib")
    assert not same(parent, parent / "lib")
    assert root_of(parent / "lib") == parent / "lib"
    git(parent / "lib", "remote", "set-url", "origin", "https://github.com/o/library")
    assert identify(parent / "lib").identities[0].startswith("remote:github.com/o/library#")


@needs_git
def test_a_bare_repository_and_its_worktrees_are_one_project(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    bare = tmp_path / "app.git"
    git(tmp_path, "clone", "-q", "--bare", str(source), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert same(bare, tmp_path / "tree")
    assert identify(bare).name == "app"
    assert not same(bare, source)  # a path of this machine is no remote


@needs_git
def test_links_lead_to_the_same_project(tmp_path: Path) -> None:
    folder = repository(tmp_path / "real")
    (tmp_path / "link").symlink_to(folder)
    assert identify(tmp_path / "link") == identify(folder)


@needs_git
def test_without_git_or_with_a_stuck_one_the_project_stays(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "app")
    before = id_of(store, folder)
    project._roots.cache_clear()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert id_of(store, folder) == before
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setattr("claude_memory.platform.git.WALK_SECONDS", 0.1)
    project._roots.cache_clear()
    assert id_of(store, folder) == before


@needs_git
def test_a_hook_of_git_does_not_confuse_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, other = repository(tmp_path / "app"), repository(tmp_path / "other")
    expected = identify(folder)
    project._roots.cache_clear()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git" / "objects"))
    assert identify(folder) == expected


# --- anything else


def test_a_plain_folder_is_its_path(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    found = identify(tmp_path / "plain")
    assert found.identities == (f"path:{os.path.normcase(tmp_path / 'plain')}",)
    assert (found.name, found.path) == ("plain", str(tmp_path / "plain"))
    assert not same(tmp_path / "plain", tmp_path)


@needs_git
def test_a_deleted_folder_still_has_an_answer(tmp_path: Path) -> None:
    folder = repository(tmp_path / "app")
    assert identify(folder / "gone" / "deeper").identities == identify(folder).identities
    assert identify(tmp_path / "never" / "there").name == "there"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"gitdir:",
        b"gitdir: /nowhere/at/all",
        b"gitdir: ../../../..",
        b"\xff\xfe\x00",
        b"gitdir: .git",
    ],
)
def test_a_broken_git_file_makes_a_plain_folder(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert identify(tmp_path).identities == (f"path:{os.path.normcase(tmp_path)}",)


@needs_git
def test_a_broken_git_folder_inside_a_repository_belongs_to_it(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    (outer / "inner" / ".git").mkdir(parents=True)
    assert identify(outer / "inner").identities == identify(outer).identities


def test_the_root_of_the_file_system_has_a_name() -> None:
    assert identify(Path(os.sep)).name


@needs_git
def test_two_hundred_look_alikes_stay_apart(tmp_path: Path, store: Store) -> None:
    ids = set()
    for number in range(200):
        folder = tmp_path / f"{number}" / "app"
        folder.mkdir(parents=True)
        dot_git = folder / ".git"
        for name in ("objects", "refs"):
            (dot_git / name).mkdir(parents=True)
        (dot_git / "HEAD").write_text("ref: refs/heads/main\n")
        (dot_git / "config").write_text(f'[remote "origin"]\nurl = https://github.com/user{number}/app\n')
        ids.add(id_of(store, folder))
    assert len(ids) == 200
