"""Places that keep backups: a folder or volume, an object store, a git ref; all with the same five verbs.

An object is written as a whole or not at all. Credentials come from the environment or the platform's own
chain: an address that holds one is refused, and no error repeats what a server said beyond its code.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from claude_memory.errors import ConfigFault, InvalidInput, NotFound, StoreFault
from claude_memory.platform.files import private_folder, sync_folder, write_atomically

OBJECT_STORES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss")
ANSWER_SECONDS = 60
RETRIES = 3
ORPHAN_SECONDS = 86_400.0
_MISSING = "object stores need obstore: install claude-memory-system[places]"
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
# A token as the user of a web address, a password in any address, keys and signatures of a query.
_CREDENTIALS = re.compile(r"https?://[^/]*@|://[^/@]*:[^/@]*@|AccountKey=|[?&](X-Amz-|sig=)", re.IGNORECASE)
_STATUS = re.compile(r"status code: (\d{3} [A-Za-z ]{1,40})")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object at a place; `modified` is in seconds, by the place's own clock."""

    key: str
    size: int
    modified: float


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
        from claude_memory.backup.git_ref import GitPlace

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
