"""Places that keep backups: a folder or volume, an object store, a git ref; all with the same five verbs.

An object is written as a whole or not at all. Credentials come from the environment or the platform's own
chain: an address that holds one is refused, and no error repeats what a server said beyond its code.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from claude_memory.errors import ConfigFault, Conflict, InvalidInput, NotFound, StoreFault
from claude_memory.platform.files import private_folder, sync_folder, write_atomically
from claude_memory.platform.git import OwnRepository, anybody_can_read

OBJECT_STORES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss")
ANSWER_SECONDS = 60
RETRIES = 3
ORPHAN_SECONDS = 86_400.0
_MISSING = "object stores need obstore: install claude-memory-system[places]"
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
# A token as the user of a web address, a password in any address, keys and signatures of a query.
_CREDENTIALS = re.compile(r"https?://[^/]*@|://[^/@]*:[^/@]*@|AccountKey=|[?&](X-Amz-|sig=)", re.IGNORECASE)
_REF_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
_STATUS = re.compile(r"status code: (\d{3} [A-Za-z ]{1,40})")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object at a place; `modified` is in seconds, by the place's own clock."""

    key: str
    size: int
    modified: float


class PlaceMoved(Conflict):
    """Somebody else wrote to the same place since it was looked at: look again, and try once more."""


class BackupPlace(Protocol):
    """Where backups lie. Keys are relative, with `/` between their parts."""

    name: str
    orphan_seconds: float  # so old is a pack that nobody names before nobody can be about to name it

    def read(self, key: str) -> bytes:
        """The whole object; NotFound if there is none."""
        ...

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        """Keep an object as a whole; with `new`, False if there is one already."""
        ...

    def objects(self, prefix: str) -> list[StoredObject]:
        """Every object whose key begins with a folder's name."""
        ...

    def remove(self, keys: Iterable[str]) -> None:
        """Take objects away; those that are gone already do not matter."""
        ...

    def commit(self, said: str) -> None:
        """Let what was written and removed count; until then a place may hold it back."""
        ...


def place_at(named: str, home: Path, *, sealed: bool) -> BackupPlace:
    """The place that a person names: a path, `s3://…`, `gs://…`, `az://…` or `git:REPOSITORY[#NAME]`."""
    if not named:
        raise InvalidInput("name a place, or set backup_to: a folder, s3://BUCKET/PATH, git:REPOSITORY")
    if _CREDENTIALS.search(named):
        raise InvalidInput("an address must hold no credentials: they belong in the environment")
    kind, separator, rest = named.partition(":")
    if kind == "git" and separator:
        return GitPlace(rest, home, sealed=sealed)
    if kind in OBJECT_STORES and rest.startswith("//"):
        return ObjectPlace(named)
    if "://" in named and kind != "file":
        raise InvalidInput(f"no place is known by {kind}://; a folder, s3://, gs://, az:// or git:REPOSITORY")
    path = Path(named.removeprefix("file://")).expanduser().absolute()
    return FolderPlace(path, home)


class FolderPlace:
    """A folder on a disk or a mounted volume."""

    def __init__(self, root: Path, home: Path) -> None:
        real, own = Path(os.path.realpath(root)), Path(os.path.realpath(home))
        if real == own or real.is_relative_to(own):
            raise InvalidInput(f"a place for backups lies outside the home {home}")
        if root.exists() and not root.is_dir():
            raise InvalidInput(f"{root} is no folder")
        self.name, self.orphan_seconds = str(root), ORPHAN_SECONDS
        self._root = root

    def read(self, key: str) -> bytes:
        with self._named():
            return (self._root / key).read_bytes()

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        path = self._root / key
        with self._named():
            private_folder(path.parent)
            if not new:
                write_atomically(path, content)
                return True
            whole = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
            write_atomically(whole, content)
            try:
                os.link(whole, path)
            except FileExistsError:
                return False
            finally:
                whole.unlink()
            sync_folder(path.parent)
        return True

    def objects(self, prefix: str) -> list[StoredObject]:
        with self._named():
            return [
                StoredObject(f"{prefix}/{path.name}", status.st_size, status.st_mtime)
                for path in (self._root / prefix).glob("*")
                if not path.name.startswith(".") and (status := path.stat())
            ]

    def remove(self, keys: Iterable[str]) -> None:
        with self._named():
            for key in keys:
                (self._root / key).unlink(missing_ok=True)

    def commit(self, said: str) -> None:
        """Everything counts at once here."""

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as fault:
            raise NotFound(f"{self.name} does not hold {Path(fault.filename or '').name}") from None
        except OSError as fault:
            raise StoreFault(f"{self.name}: {fault.strerror or fault}") from None


class ObjectPlace:
    """A bucket of S3 or anything that speaks it, of Google or of Azure, by obstore."""

    def __init__(self, url: str) -> None:
        try:
            import obstore
        except ImportError:
            raise ConfigFault(_MISSING) from None
        self.name, self.orphan_seconds = url, ORPHAN_SECONDS
        self._library: Any = obstore
        with self._named(""):
            self._store: Any = obstore.store.from_url(
                url,
                client_options={
                    "timeout": f"{ANSWER_SECONDS}s",
                    "connect_timeout": "10s",
                    "allow_http": _by_http(),
                },
                retry_config={"max_retries": RETRIES, "retry_timeout": _seconds(2 * ANSWER_SECONDS)},
            )

    def read(self, key: str) -> bytes:
        with self._named(key):
            return bytes(self._library.get(self._store, key).bytes())

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        with self._named(key):
            try:
                self._library.put(self._store, key, content, mode="create" if new else "overwrite")
            except self._library.exceptions.AlreadyExistsError:
                return False
        return True

    def objects(self, prefix: str) -> list[StoredObject]:
        with self._named(prefix):
            return [
                StoredObject(item["path"], item["size"], item["last_modified"].timestamp())
                for group in self._library.list(self._store, prefix=prefix)
                for item in group
            ]

    def remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            with self._named(key):
                try:
                    self._library.delete(self._store, key)
                except FileNotFoundError:
                    continue

    def commit(self, said: str) -> None:
        """Everything counts at once here."""

    @contextmanager
    def _named(self, key: str) -> Iterator[None]:
        """A fault in one line without what the server or the library tells, which may hold parts of a key."""
        known = self._library.exceptions
        try:
            yield
        except FileNotFoundError as fault:
            if "NoSuchBucket" in str(fault):
                raise StoreFault(f"{self.name}: {_told(fault)}") from None
            raise NotFound(f"{self.name} does not hold {key}") from None
        except (known.PermissionDeniedError, known.UnauthenticatedError) as fault:
            raise StoreFault(f"{self.name} refuses: {_told(fault)}; look at the credentials") from None
        except (known.BaseError, OSError, ValueError) as fault:
            raise StoreFault(f"{self.name}: {_told(fault)}") from None


def _by_http() -> bool:
    """Whether the person named an endpoint without encryption, such as one on this machine."""
    named = [value for name, value in os.environ.items() if name.startswith("AWS_ENDPOINT")]
    return any(value.startswith("http://") for value in named)


def _seconds(number: int) -> Any:
    from datetime import timedelta

    return timedelta(seconds=number)


def _told(fault: Exception) -> str:
    text = str(fault)
    found = _CODE.search(text) or _STATUS.search(text)
    if found:
        return found.group(1).replace("NoSuchBucket", "there is no such bucket")
    if "timed out" in text or "kind: Timeout" in text:
        return "no answer in time"
    if "error sending request" in text or "Connect" in text:
        return "cannot be reached"
    return text.splitlines()[0].partition("http")[0].strip(" :-")[:120] or type(fault).__name__


class GitPlace:
    """`refs/claude-memory/NAME` in a repository of the person's choice.

    Each push makes one commit without a parent, whose tree is all that the place holds, and moves the ref
    only if nobody else moved it. Branches are never touched. A repository in the cache holds what was sent.
    """

    orphan_seconds = -1.0  # whoever pushes at the same time is told apart by the ref

    def __init__(self, named: str, home: Path, *, sealed: bool) -> None:
        url, _, name = named.partition("#")
        name = name or "home"
        if not url or url.startswith("-") or "::" in url:
            raise InvalidInput("a git place is git:REPOSITORY or git:REPOSITORY#NAME")
        if not _REF_NAME.fullmatch(name):
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
                raise PlaceMoved(f"somebody else pushed to {self.name} meanwhile; try again") from None
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
