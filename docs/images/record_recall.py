"""Draw recall.svg from the real screen over a small history: python docs/images/record_recall.py"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory.memory import Memory
from claude_memory.surfaces.tui.screen import RecallScreen

SIZE = (104, 28)
HERE = Path(__file__).parent
TALKS = (
    ("shop", 2, "Why does the checkout crash with a coupon?", "pytest tests/test_checkout.py -q",
     "KeyError: 'coupon'\n1 failed, 41 passed in 2.31s",
     "An empty cart has no coupon key; total() must ask for it with get. I added a default of zero."),
    ("billing", 16, "Invoices lose the coupon when they are sent twice", "rg -n coupon src/billing",
     "src/billing/invoice.py:88:    coupon = cart.pop('coupon')",
     "pop() takes the coupon out of the cart, so the second invoice has none. It reads it with get now."),
    ("mailer", 40, "Tell people in the mail how much a coupon saved them", "python -m mailer.preview coupon",
     "You saved 12.00 EUR with SPRING",
     "The template has a line for the coupon now; it is left out when nothing was saved."),
)  # fmt: skip


def lines(
    project: str, days: int, prompt: str, command: str, result: str, reply: str
) -> list[dict[str, Any]]:
    """One session in Claude Code's format."""
    start = datetime.now(UTC) - timedelta(days=days)
    call = {"type": "tool_use", "id": f"t-{project}", "name": "Bash", "input": {"command": command}}
    answer = {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": result,
        "is_error": "Error" in result,
    }
    contents: list[tuple[str, Any]] = [
        ("user", prompt),
        ("assistant", [call]),
        ("user", [answer]),
        ("assistant", [{"type": "text", "text": reply}]),
    ]
    return [
        {
            "type": role,
            "uuid": f"{project}-{number}",
            "sessionId": f"7d1f0c2e-{project}",
            "cwd": f"/home/dev/{project}",
            "gitBranch": "main",
            "timestamp": (start + timedelta(minutes=number)).isoformat(),
            "message": {"role": role, "content": content},
        }
        for number, (role, content) in enumerate(contents)
    ]


def record() -> None:
    """Import the history into a scratch home, ask, and keep what the screen shows."""
    with tempfile.TemporaryDirectory() as folder:
        for talk in TALKS:
            path = Path(folder) / "history" / f"{talk[0]}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines(*talk)), "utf-8")
        with Memory.open(Path(folder) / "memory", folder, flags={"embedder": "none"}) as memory:
            memory.import_history([Path(folder) / "history"], agent="claude-code", workers=0)
            drawing = asyncio.run(drawn(memory))
    (HERE / "recall.svg").write_text(self_contained(drawing), "utf-8")


async def drawn(memory: Memory) -> str:
    screen = RecallScreen(memory, "checkout coupon")
    async with screen.run_test(size=SIZE) as pilot:
        await pilot.pause(1.0)
        return screen.export_screenshot(title="claude-memory recall", simplify=True)


def self_contained(drawing: str) -> str:
    """The drawing without fonts from elsewhere, as the other picture is made."""
    spec = importlib.util.spec_from_file_location("record", HERE / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.self_contained(drawing))


if __name__ == "__main__":
    record()
