"""Draw demo.svg from a real run of `claude-memory demo`: python docs/images/record.py"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from claude_memory.surfaces.cli import main, output

WIDTH = 104


def record() -> None:
    """Run the demo with its lines drawn on a recording console."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text("$ make run", "bold"))

    def lines(content: object) -> None:
        for line in content:  # type: ignore[attr-defined]
            console.print(Text.assemble(*output.pieces(line)))

    output.lines = lines  # type: ignore[assignment]
    output.width = lambda: WIDTH  # type: ignore[assignment]
    if main(["demo"]) != 0:
        raise SystemExit("the demo failed")
    target = Path(__file__).with_name("demo.svg")
    target.write_text(self_contained(console.export_svg(title="claude-memory", unique_id="demo")), "utf-8")


def self_contained(drawing: str) -> str:
    """The drawing without fonts from elsewhere: a picture in a README must not call home."""
    without = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)
    return without.replace("font-family: Fira Code", "font-family: Menlo, Consolas, DejaVu Sans Mono")


if __name__ == "__main__":
    record()
