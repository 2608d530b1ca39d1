"""What the task commands share: options, the API they call, and where a text comes from."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.surfaces.cli.request import one_at_most, path_named, place, said

if TYPE_CHECKING:
    from claude_memory.tasks.api import MemoryAPI

TEXT_BYTES = 16 * 1024 * 1024

Task = Annotated[str, typer.Argument(metavar="TASK", help="The task's name.", callback=said)]
File = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", parser=path_named, help="Take the text from a file; `-` is stdin."
    ),
]
InSession = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="The session, instead of the task's own.")
]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="By whom, e.g. `agent` or `subagent:ID`.")
]


def api(context: typer.Context, by: str | None = None) -> MemoryAPI:
    """The tasks of the project the command is about."""
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.tasks.storage import storage_for

    where = place(context)
    storage = storage_for(where.project_folder, home=where.home_folder)
    return MemoryAPI(storage=storage, by=said(by) if by else None)


def given_text(content: str | None, file: Path | None, *, stdin: bool = True) -> str | None:
    """The text as it was handed in: as an argument, in a file, or piped; None when it was not."""
    one_at_most(("a text", content), ("--file", file))
    if content == "-" or (file is not None and str(file) == "-"):
        return _from_stdin()
    if content is not None:
        return said(content)
    if file is not None:
        return _bounded(file.read_bytes())
    # Only what is surely meant as input: an agent's shell may leave a silent socket open there.
    return _from_stdin() if stdin and _piped() else None


def edited(text: str) -> str:
    """The text after the person's editor closed; InvalidInput when it failed or nothing was written."""
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor and not sys.stdin.isatty():
        raise InvalidInput("there is no terminal to edit on: give the text with --content or --file")
    editor = editor or ("notepad" if os.name == "nt" else "vi")
    with tempfile.TemporaryDirectory(prefix="claude-memory-") as folder:
        path = Path(folder) / "text.md"
        path.write_text(text, "utf-8")
        try:
            code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
        except (OSError, ValueError) as fault:  # the latter for a quote that is never closed
            reason = getattr(fault, "strerror", None) or fault
            raise InvalidInput(f"cannot start the editor {editor!r}: {reason}; set EDITOR") from None
        if code:
            raise InvalidInput(f"the editor {editor!r} ended with code {code}; nothing was saved")
        return _bounded(path.read_bytes())


def _piped() -> bool:
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _from_stdin() -> str | None:
    text = _bounded(sys.stdin.buffer.read(TEXT_BYTES + 1))
    return text if text.strip() else None


def _bounded(content: bytes) -> str:
    if len(content) > TEXT_BYTES:
        raise InvalidInput(f"a task's text may have {TEXT_BYTES // 1024 // 1024} MB at most")
    return content.decode("utf-8", "replace")
