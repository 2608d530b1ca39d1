"""Language models that may sum up, each on request only; all fill the schema that the rules fill."""

from __future__ import annotations

import os

from claude_memory.errors import ConfigFault
from claude_memory.settings import Settings
from claude_memory.summaries.providers.protocol import Provider


def open_provider(settings: Settings) -> Provider | None:
    """The model that the setting `summariser` names; None where rules alone sum up."""
    kind, _, place = settings.summariser.partition(":")
    model = settings.summariser_model
    if kind in ("", "rules"):
        return None
    if kind == "anthropic":
        from claude_memory.summaries.providers.anthropic_api import USUAL_PLACE, AnthropicApi

        return AnthropicApi(_key(settings, "ANTHROPIC_API_KEY"), model, place or USUAL_PLACE)
    if kind == "endpoint" and place:
        from claude_memory.summaries.providers.openai_compatible import OpenAiCompatible

        return OpenAiCompatible(place, model, _key(settings, ""))
    if kind == "claude":
        from claude_memory.summaries.providers.claude_command import ClaudeCommand

        return ClaudeCommand(place or "claude", model)
    raise ConfigFault(
        "setting summariser wants `rules`, `anthropic`, `claude` or `endpoint:URL`, "
        f"not {settings.summariser!r}"
    )


def _key(settings: Settings, usual: str) -> str:
    """A key is read where it is kept, and never stored."""
    name = settings.summariser_key_variable or usual
    return os.environ.get(name, "") if name else ""
