"""A git ref as a place for backups: `refs/claude-memory/NAME` in a repository of the person's choice.

Each push makes one commit without a parent, whose tree is all that the place holds, and moves the ref only if
nobody else moved it. Branches are never touched. A repository of ours in the cache holds what was sent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from claude_memory.backup.locations import StoredObject
from claude_memory.errors import Conflict, InvalidInput, NotFound, StoreFault
from claude_memory.platform.files import private_folder
from claude_memory.platform.git import OwnRepository, anybody_can_read

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")


class GitPlace:
    """One ref of one repository."""

    orphan_seconds = -1.0  # whoever pushes at the same time is told apart by the ref

    def __init__(self, named: str, home: Path, *, sealed: bool) -> None:
        url, _, name = named.partition("#")
        name = name or "home"
        if not url or url.startswith("-") or "::" in url:
            raise InvalidInput("a git place is git:REPOSITORY or git:REPOSITORY#NAME")
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"the name behind # has letters, digits, - and _ only, not {name[:60]!r}")
        if not sealed and anybody_can_read(url):
            raise InvalidInput(f"anybody can read {url}: set backup_key first, so that backups are encrypted")
        is_path = "://" not in url and Path(url).expanduser().exists()
        self.name = f"git:{named}"
        self._url = str(Path(url).expanduser().absolute()) if is_path else url
        self._ref = f"refs/claude-memory/{name}"
        folder = hashlib.sha256(f"{self._url}#{name}".encode()).hexdigest()[:16]
        try:
            self._git = OwnRepository(private_folder(home / "cache" / "git" / folder))
        except OSError as fault:
            raise StoreFault(f"{self.name}: {fault}") from None
        self._tip, self._tree = "", dict[str, tuple[str, int]]()
        self._look()

    def read(self, key: str) -> bytes:
        if key not in self._tree:
            raise NotFound(f"{self.name} does not hold {key}")
        return self._run("cat-file", "blob", self._tree[key][0])

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        if new and key in self._tree:
            return False
        blob = self._run("hash-object", "-w", "--stdin", given=content).decode("ascii").strip()
        self._tree[key] = (blob, len(content))
        return True

    def objects(self, prefix: str) -> list[StoredObject]:
        return [
            StoredObject(key, size, 0.0)
            for key, (_, size) in self._tree.items()
            if key.startswith(f"{prefix}/")
        ]

    def remove(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            self._tree.pop(key, None)

    def commit(self, said: str) -> None:
        folders: dict[str, list[str]] = {}
        for key, (blob, _) in sorted(self._tree.items()):
            folder, _, name = key.rpartition("/")
            folders.setdefault(folder, []).append(f"100644 blob {blob}\t{name}\n")
        top = folders.pop("", [])
        top += [f"040000 tree {self._made(lines)}\t{folder}\n" for folder, lines in folders.items()]
        commit = self._run("commit-tree", self._made(top), "-m", said).decode("ascii").strip()
        lease = f"--force-with-lease={self._ref}:{self._tip}"
        try:
            self._git.run("push", "--quiet", lease, "--", self._url, f"{commit}:{self._ref}")
        except OSError as fault:
            if "stale info" in str(fault) or self._remote_tip() != self._tip:
                raise Conflict(f"somebody else pushed to {self.name} meanwhile; try again") from None
            raise StoreFault(f"{self.name}: {fault}") from None
        self._run("update-ref", self._ref, commit)
        self._tip = commit
        self._run("prune", "--expire=1.hour.ago")  # what another process is about to push stays

    def _made(self, lines: list[str]) -> str:
        return self._run("mktree", given="".join(lines).encode()).decode("ascii").strip()

    def _look(self) -> None:
        """Fetch what the ref holds now; its commits have no parents, so that is one of them."""
        self._tip = self._remote_tip()
        if not self._tip:
            return
        fetch = ("fetch", "--quiet", "--no-tags", "--", self._url, f"+{self._ref}:{self._ref}")
        self._run(*fetch)
        listed = self._run("ls-tree", "-r", "-l", "-z", self._tip).decode("utf-8", "replace")
        for line in listed.split("\0")[:-1]:
            about, _, key = line.partition("\t")
            _, kind, blob, size = about.split()
            if kind == "blob":
                self._tree[key] = (blob, int(size))

    def _remote_tip(self) -> str:
        told = self._run("ls-remote", "--quiet", "--", self._url, self._ref).decode("ascii", "replace")
        return next(
            (line.split("\t")[0] for line in told.splitlines() if line.endswith(f"\t{self._ref}")), ""
        )

    def _run(self, *words: str, given: bytes = b"") -> bytes:
        try:
            return self._git.run(*words, given=given)
        except OSError as fault:
            raise StoreFault(f"{self.name}: {fault}") from None
