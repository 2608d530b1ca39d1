"""What a language model must offer to sum up, and how it says that it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from claude_memory.errors import MemoryFault


class ProviderDown(MemoryFault):
    """It did not answer. `lasting`: another try in a moment will not help either."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it really cost."""

    text: str
    input_tokens: int
    output_tokens: int


class Provider(Protocol):
    """One model behind one door."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer. Raises ProviderDown with a reason that quotes nothing of the request."""
        ...
