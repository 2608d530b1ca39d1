"""Finds an ONNX sentence model and how to use it, in a folder or in an installed package.

Reads the small JSON files that sentence models travel with; never imports the package, never loads the model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from claude_memory.embed.protocol import DEFAULT_WINDOW_TOKENS, ModelFiles
from claude_memory.errors import EmbedderUnavailable

_TOKENIZER = "tokenizer.json"
_PREFERRED = ("model.onnx", "model_int8.onnx", "model_quantized.onnx")
_ABSURD_WINDOW = 100_000  # some tokenizer configs say 10^30 for "no limit"
_SMALLEST_WINDOW = 16
_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "mean",
}


class FolderModel:
    """A ModelSource for any ONNX sentence model with its tokenizer.json."""

    def __init__(self, name: str, model: Path, tokenizer: Path) -> None:
        self._name = name
        self._model = model
        self._tokenizer = tokenizer

    @classmethod
    def in_folder(cls, folder: Path) -> FolderModel:
        """The model of a folder given in the settings."""
        if not folder.is_dir():
            raise EmbedderUnavailable(f"the model folder {folder} does not exist; see the setting `embedder`")
        found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return cls(folder.resolve().name, *_model_and_tokenizer(found, f"the folder {folder}"))

    @classmethod
    def in_package(cls, name: str) -> FolderModel:
        """The model that an installed package carries."""
        return cls(name, *_model_and_tokenizer(_package_files(name), f"the package {name}"))

    def model_id(self) -> str:
        """The name for people, and a hash of everything that shapes a vector."""
        files = self.files()
        digest = hashlib.sha256(
            json.dumps([files.pooling, files.window_tokens, files.query_prompt, files.text_prompt]).encode()
        )
        try:
            # Big models keep their weights in files beside the graph.
            beside = [path for path in self._model.parent.glob(f"{self._model.name}*") if path != self._model]
            for path in (self._model, self._tokenizer, *sorted(beside)):
                with path.open("rb") as handle:
                    digest.update(hashlib.file_digest(handle, "sha256").digest())
        except OSError as fault:
            raise EmbedderUnavailable(f"cannot read the model: {fault}") from None
        return f"{re.sub(r'[^a-z0-9.]+', '-', self._name.lower())}-{digest.hexdigest()[:12]}"

    def known_dimensions(self) -> None:
        """Only the loaded model knows."""
        return

    def files(self) -> ModelFiles:
        """The paths, with pooling, window and prompts from the files beside them."""
        folders = _config_folders(self._model, self._tokenizer)
        prompts = _first(folders, "config_sentence_transformers.json").get("prompts")
        prompts = prompts if isinstance(prompts, dict) else {}
        return ModelFiles(
            self._model,
            self._tokenizer,
            window_tokens=_window(folders, self._tokenizer),
            pooling=_pooling(folders),
            query_prompt=str(prompts.get("query") or ""),
            text_prompt=str(prompts.get("document") or prompts.get("passage") or ""),
        )


def _package_files(name: str) -> list[Path]:
    try:
        recorded = metadata.distribution(name)
        return [Path(str(recorded.locate_file(path))) for path in recorded.files or ()]
    except (metadata.PackageNotFoundError, ValueError):
        pass
    module = name.replace("-", "_")
    spec = find_spec(module) if module.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable(
            f"the model package {name} is not installed: `pip install {name}`, or change `embedder`"
        )
    return [path for root in spec.submodule_search_locations for path in sorted(Path(root).rglob("*"))]


def _model_and_tokenizer(paths: Sequence[Path], where: str) -> tuple[Path, Path]:
    models = [path for path in paths if path.suffix == ".onnx"]
    tokenizers = [path for path in paths if path.name == _TOKENIZER]
    if not models or not tokenizers:
        missing = "an .onnx file" if not models else f"a {_TOKENIZER}"
        raise EmbedderUnavailable(f"{where} has no sentence model: {missing} is missing")
    model = min(models, key=_preference)
    alike = [path for path in models if path != model and _preference(path)[:2] == _preference(model)[:2]]
    if alike and model.name not in _PREFERRED:
        raise EmbedderUnavailable(
            f"{where} has several models ({model.name}, {alike[0].name}); name one folder"
        )
    return model, min(tokenizers, key=lambda path: _distance(path.parent, model.parent))


def _preference(path: Path) -> tuple[int, int, str]:
    rank = _PREFERRED.index(path.name) if path.name in _PREFERRED else len(_PREFERRED)
    return rank, len(path.parts), str(path)


def _distance(one: Path, other: Path) -> int:
    common = sum(1 for left, right in zip(one.parts, other.parts, strict=False) if left == right)
    return len(one.parts) + len(other.parts) - 2 * common


def _config_folders(model: Path, tokenizer: Path) -> list[Path]:
    # Exports put the graph into `onnx/` and the configuration one level above.
    folders = [model.parent, tokenizer.parent]
    if model.parent.name == "onnx":
        folders.append(model.parent.parent)
    return list(dict.fromkeys(folders))


def _first(folders: Sequence[Path], name: str) -> dict[str, Any]:
    for folder in folders:
        try:
            document = json.loads((folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            return document
    return {}


def _pooling(folders: Sequence[Path]) -> str:
    modes = _first(folders, "1_Pooling/config.json")
    for key, pooling in _POOLING.items():
        if modes.get(key) is True:
            return pooling
    named = _first(folders, "config.json").get("pooling")
    return str(named) if named in _POOLING.values() else "mean"


def _window(folders: Sequence[Path], tokenizer: Path) -> int:
    config = _first(folders, "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type")):
        positions -= 2  # its position rows start at 2
    truncation = _first([tokenizer.parent], _TOKENIZER).get("truncation")
    stated = (
        _first(folders, "sentence_bert_config.json").get("max_seq_length"),
        _first(folders, "tokenizer_config.json").get("model_max_length"),
        truncation.get("max_length") if isinstance(truncation, dict) else None,
        positions,
    )
    limits = [n for n in stated if isinstance(n, int) and _SMALLEST_WINDOW <= n < _ABSURD_WINDOW]
    return min(limits, default=DEFAULT_WINDOW_TOKENS)
