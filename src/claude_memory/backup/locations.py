"""Places that keep backups: a folder or volume, an object store, a git ref; and encryption of what is there.

An object is written as a whole or not at all. Credentials come from the environment or the platform's own
chain: an address that holds one is refused, and no error repeats what a server said beyond its code. The
setting `backup_key` says where the key is, never what it is.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import ConfigFault, Conflict, InvalidInput, NotFound, StoreCorrupt, StoreFault
from claude_memory.platform.files import private_folder, stays_inside, write_atomically
from claude_memory.platform.git import anybody_can_read, run_own

OBJECT_STORES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss")
ANSWER_SECONDS = 60
RETRIES = 3
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
# A token as the user of a web address, a password in any address, keys and signatures of a query.
_CREDENTIALS = re.compile(r"https?://[^/]*@|://[^/@]*:[^/@]*@|AccountKey=|[?&](X-Amz-|sig=)", re.IGNORECASE)
_REF_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
_STATUS = re.compile(r"status code: (\d{3} [A-Za-z ]{1,40})")


class StoredObject(NamedTuple):
    """One object at a place; `modified` is in seconds, by the place's own clock."""

    key: str
    size: int
    modified: float


class PlaceMoved(Conflict):
    """Somebody else wrote to the same place since it was looked at: look again, and try once more."""


class BackupPlace(ABC):
    """Where backups lie. Keys are relative, with `/` between their parts."""

    name: str
    orphan_seconds = 86_400.0  # so old is a pack that nobody names before nobody can be about to name it
    faults: Any = OSError  # what it raises

    @abstractmethod
    def read(self, key: str) -> bytes:
        """The whole object; NotFound if there is none."""

    @abstractmethod
    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        """Keep an object as a whole; with `new`, False if there is one already."""

    @abstractmethod
    def objects(self, prefix: str) -> list[StoredObject]:
        """Every object whose key begins with a folder's name."""

    @abstractmethod
    def remove(self, keys: Iterable[str]) -> None:
        """Take objects away; those that are gone already do not matter."""

    def commit(self, said: str) -> None:  # noqa: B027  most places hold nothing back
        """Let what was written and removed count, where a place holds it back until then."""

    @contextmanager
    def _named(self, key: str = "") -> Iterator[None]:
        """A fault in one line without what a server or a library tells, which may hold parts of a key."""
        try:
            yield
        except self.faults as fault:
            text = str(fault)
            if isinstance(fault, FileNotFoundError) and "NoSuchBucket" not in text:
                raise NotFound(f"{self.name} does not hold {key}") from None
            if isinstance(fault, OSError) and fault.strerror:
                reason = fault.strerror
            elif found := _CODE.search(text) or _STATUS.search(text):
                reason = found.group(1).replace("NoSuchBucket", "there is no such bucket")
            elif "timed out" in text or "kind: Timeout" in text:
                reason = "no answer in time"
            elif "error sending request" in text or "Connect" in text:
                reason = "cannot be reached"
            else:
                reason = text.partition("\n")[0].partition("http")[0].strip(" :-")[:120]
            raise StoreFault(f"{self.name}: {reason or type(fault).__name__}") from None


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
    return FolderPlace(Path(named.removeprefix("file://")).expanduser().absolute(), home)


class FolderPlace(BackupPlace):
    def __init__(self, root: Path, home: Path) -> None:
        if stays_inside(root, home):
            raise InvalidInput(f"a place for backups lies outside the home {home}")
        if root.exists() and not root.is_dir():
            raise InvalidInput(f"{root} is no folder")
        self.name, self._root = str(root), root

    def read(self, key: str) -> bytes:
        with self._named(key):
            return (self._root / key).read_bytes()

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        path = self._root / key
        with self._named():
            private_folder(path.parent)
            with suppress(FileExistsError):
                write_atomically(path, content, new=new)
                return True
        return False

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


class ObjectPlace(BackupPlace):
    """A bucket of S3 or anything that speaks it, of Google or of Azure, by obstore."""

    def __init__(self, url: str) -> None:
        self.name = url
        self._library = _library("obstore", "object stores")
        self.faults = (self._library.exceptions.BaseError, OSError, ValueError)
        # Whether the person named an endpoint without encryption, such as one on this machine.
        endpoints = [value for name, value in os.environ.items() if name.startswith("AWS_ENDPOINT")]
        plain_http = any(value.startswith("http://") for value in endpoints)
        seconds = f"{ANSWER_SECONDS}s"
        with self._named():
            self._store = self._library.store.from_url(
                url,
                client_options={"timeout": seconds, "connect_timeout": "10s", "allow_http": plain_http},
                retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=2 * ANSWER_SECONDS)},
            )

    def read(self, key: str) -> bytes:
        with self._named(key):
            return bytes(self._library.get(self._store, key).bytes())

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        with self._named(key), suppress(self._library.exceptions.AlreadyExistsError):
            self._library.put(self._store, key, content, mode="create" if new else "overwrite")
            return True
        return False

    def objects(self, prefix: str) -> list[StoredObject]:
        with self._named(prefix):
            return [
                StoredObject(item["path"], item["size"], item["last_modified"].timestamp())
                for group in self._library.list(self._store, prefix=prefix)
                for item in group
            ]

    def remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            with self._named(key), suppress(FileNotFoundError):
                self._library.delete(self._store, key)


class GitPlace(BackupPlace):
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
        self._run = partial(run_own, private_folder(home / "cache" / "git" / folder), self.name)
        self._tree = dict[str, tuple[str, int]]()
        self._tip = self._remote_tip()
        if self._tip:  # a commit without parents, so that it alone comes
            self._run("fetch", "--quiet", "--no-tags", "--", self._url, f"+{self._ref}:{self._ref}")
            listed = self._text("ls-tree", "-r", "-l", "-z", self._tip)
            for about, _, key in (line.partition("\t") for line in listed.split("\0")[:-1]):
                _, _, blob, size = about.split()
                self._tree[key] = (blob, int(size))

    def read(self, key: str) -> bytes:
        if key not in self._tree:
            raise NotFound(f"{self.name} does not hold {key}")
        return self._run("cat-file", "blob", self._tree[key][0])

    def write(self, key: str, content: bytes, *, new: bool = False) -> bool:
        if new and key in self._tree:
            return False
        self._tree[key] = (self._text("hash-object", "-w", "--stdin", given=content), len(content))
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
        commit = self._text("commit-tree", self._made(top), "-m", said)
        lease = f"--force-with-lease={self._ref}:{self._tip}"
        try:
            self._run("push", "--quiet", lease, "--", self._url, f"{commit}:{self._ref}")
        except StoreFault as fault:
            if "stale info" in str(fault) or self._remote_tip() != self._tip:
                raise PlaceMoved(f"somebody else pushed to {self.name} meanwhile; try again") from None
            raise
        self._run("update-ref", self._ref, commit)
        self._tip = commit
        self._run("prune", "--expire=1.hour.ago")  # what another process is about to push stays

    def _made(self, lines: list[str]) -> str:
        return self._text("mktree", given="".join(lines).encode())

    def _remote_tip(self) -> str:
        listed = self._text("ls-remote", "--quiet", "--", self._url, self._ref)
        tips = (line.partition("\t") for line in listed.splitlines())
        return next((tip for tip, _, name in tips if name == self._ref), "")

    def _text(self, *words: str, given: bytes = b"") -> str:
        return self._run(*words, given=given).decode("utf-8", "replace").strip("\n")


# --- encryption by age (`pyrage`)

KEY = "key.age"  # at the place, with a passphrase
_SEALED = b"age-encryption.org/v1"
_SECRET = "AGE-SECRET-KEY-1"  # noqa: S105 - how every such key begins


def age_identity(setting: str, place: BackupPlace) -> Any:
    """What `backup_key` names (`env:NAME` or `file:PATH`) encrypts and decrypts; None where it is empty.

    A passphrase opens an age key that lies at the place, so that no piece costs a key derivation of its own.
    """
    if not setting:
        return None
    secret, library = _secret(setting), _pyrage()
    try:
        if not secret.startswith(_SECRET):
            try:
                locked = place.read(KEY)
            except NotFound:
                locked = library.passphrase.encrypt(str(library.x25519.Identity.generate()).encode(), secret)
                if not place.write(KEY, locked, new=True):
                    locked = place.read(KEY)
            secret = library.passphrase.decrypt(locked, secret).decode("ascii", "replace")
        return library.x25519.Identity.from_str(secret)
    except library.DecryptError:
        raise ConfigFault(f"{setting} holds another passphrase than the backup was encrypted with") from None
    except library.IdentityError:
        raise ConfigFault(f"{setting} holds no age key that can be read") from None


def sealed(identity: Any, content: bytes) -> bytes:
    return bytes(_pyrage().encrypt(content, [identity.to_public()])) if identity else content


def unsealed(identity: Any, content: bytes) -> bytes:
    """What was given to `sealed`; ConfigFault for a missing or wrong key."""
    is_sealed = content.startswith(_SEALED)
    if identity is None:
        if is_sealed:
            raise ConfigFault("the backup is encrypted: name its key in the setting backup_key")
        return content
    if not is_sealed:
        raise StoreCorrupt("it is not encrypted, though the setting backup_key wants that")
    try:
        return bytes(_pyrage().decrypt(content, [identity]))
    except _pyrage().DecryptError as fault:
        if "No matching keys" in str(fault):
            raise ConfigFault("the backup is encrypted with another key than backup_key names") from None
        raise StoreCorrupt("a piece of it is damaged") from None


def _secret(setting: str) -> str:
    kind, _, name = setting.partition(":")
    if kind == "env" and name:
        text = os.environ.get(name, "")
    elif kind == "file" and name:
        try:
            text = Path(name).expanduser().read_text("utf-8")
        except (OSError, ValueError):
            raise ConfigFault(f"cannot read the key that backup_key names: {name}") from None
    else:
        raise ConfigFault("setting backup_key wants env:NAME or file:PATH, never the key itself")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise ConfigFault(f"{setting}, which backup_key names, is empty or not set")
    return next((line for line in lines if line.startswith(_SECRET)), lines[0])


def _library(name: str, user: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigFault(f"{user} need {name}: install claude-memory-system[places]") from None


_pyrage = partial(_library, "pyrage", "encrypted backups")
