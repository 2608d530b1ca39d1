"""What language models were given and gave, in real tokens, and how much a day may cost.

One append-only ledger; the day's sum is what its lines say, so nothing can drift apart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.platform.files import FILE_MODE, private_folder

NAME = "summariser-ledger.jsonl"


@dataclass(frozen=True, slots=True)
class TokenLedger:
    """The ledger of one home; `daily_tokens` is the most that a day may take."""

    home: Path
    daily_tokens: int

    @property
    def path(self) -> Path:
        return self.home / "logs" / NAME

    def lines(self) -> Iterator[dict[str, Any]]:
        """What was spent, oldest first; a line that was cut off is passed over."""
        try:
            content = self.path.read_bytes()
        except OSError:
            return
        for raw in content.splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line

    def spent(self, now: datetime) -> int:
        """Tokens of this day (UTC), read and written."""
        day = now.date().isoformat()
        return sum(
            int(line.get("input_tokens", 0)) + int(line.get("output_tokens", 0))
            for line in self.lines()
            if str(line.get("at", "")).startswith(day)
        )

    def allows(self, tokens: int, now: datetime) -> bool:
        """Whether a request of so many tokens, answer included, stays within the day."""
        return self.spent(now) + tokens <= self.daily_tokens

    def note(
        self, provider: str, model: str, summary: str, read: int, written: int, *, now: datetime
    ) -> None:
        """Write down what one request really took, whether its answer was of use or not."""
        private_folder(self.path.parent)
        line = {
            "at": now.isoformat(timespec="seconds"),
            "provider": provider,
            "model": model,
            "summary": summary,
            "input_tokens": read,
            "output_tokens": written,
        }
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self.path, flags, FILE_MODE), "ab") as handle:
            handle.write(json.dumps(line).encode() + b"\n")
