"""The keys of the screen, in one line and in full."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS = "⏎ resume  ↑↓ choose  PgUp/PgDn read  ^N next  ^T folder  ^G agent  F1 help  Esc"

_TEXT = """\
claude-memory recall

type          search, as you type
Up, Down      choose a conversation
Enter         leave, and resume it in its folder
PgUp, PgDn    read the conversation
Ctrl+N, Ctrl+P  next and previous place that was found
Ctrl+T        this folder, or all folders
Ctrl+G        one agent after another, then all
Ctrl+Y        copy the conversation's id
Tab           from the line to the results, to the conversation
F1, ?         this help
Esc, Ctrl+C   quit

In the results and the conversation single letters work too:
n p places   y copy   / type   ? help   q quit

Esc closes this help."""


class Help(ModalScreen[None]):
    """All keys, over the screen."""

    CSS = """
    Help { align: center middle; background: ansi_default; }
    #help { width: auto; max-width: 100%; height: auto; padding: 1 2; border: solid ansi_default;
        background: ansi_default; color: ansi_default; }
    """

    def compose(self) -> ComposeResult:
        """One box."""
        yield Static(_TEXT, id="help", markup=False)

    def key_q(self) -> None:
        """Close like everywhere else."""
        self.dismiss()
