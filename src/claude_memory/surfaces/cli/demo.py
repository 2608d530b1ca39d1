"""`demo`: the whole path, from an event to an answer, in a home that is thrown away."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(demo)


def demo() -> None:
    """Show the whole path, from sample events to an answer."""
    raise NotImplementedError
