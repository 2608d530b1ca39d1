"""What a language model must offer to sum up, and how it says that it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from claude_memory.errors import MemoryFault


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it really cost."""

    text: str
    input_tokens: int
    output_tokens: int


class ProviderDown(MemoryFault):
    """It did not answer. `lasting`: another try in a moment will not help either.

    `cost` is what came before it broke off, and what that took: a request that fails may be billed.
    """

    def __init__(self, reason: str, *, lasting: bool = False, cost: Reply | None = None) -> None:
        super().__init__(reason)
        self.lasting, self.cost = lasting, cost


class Provider(Protocol):
    """One model behind one door."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer. Raises ProviderDown with a reason that quotes nothing of the request."""
        ...
