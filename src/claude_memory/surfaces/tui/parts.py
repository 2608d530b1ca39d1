"""The parts of the screen that do more than textual's own, and how all of them look.

Only the terminal's own colours are used: right on light and dark ones, and none where none are wanted.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, RichLog, Static

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

LOOK = """
Screen { background: ansi_default; color: ansi_default; layers: base; }
#asked { border: none; height: 1; padding: 0; background: ansi_default; color: ansi_default; }
#standing, #command, #keys { height: 1; text-wrap: nowrap; text-overflow: ellipsis;
    background: ansi_default; color: ansi_default; }
#standing { text-style: dim; }
#keys { text-style: dim; }
#command { text-style: bold; }
#results { width: 40%; min-width: 28; height: 1fr; border: none; padding: 0; overflow-x: hidden;
    background: ansi_default; color: ansi_default; scrollbar-size-vertical: 1; }
#results > .option-list--option { padding: 0; background: ansi_default; color: ansi_default; }
#results > .option-list--option-highlighted, #results:focus > .option-list--option-highlighted {
    text-style: none; background: ansi_default; color: ansi_default; }
#conversation { width: 1fr; height: 1fr; border: none; border-left: solid ansi_default;
    padding: 0 0 0 1; background: ansi_default; color: ansi_default; scrollbar-size-vertical: 1;
    overflow-x: hidden; overflow-y: scroll; }
#conversation:focus { border-left: heavy ansi_default; }
#results, #conversation { scrollbar-background: ansi_default; scrollbar-color: ansi_default; }
"""


class Asked(Input):
    """The line to type in."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """A question mark is a key for help, until it can be the end of a question."""
        return super().check_consume_key(key, character) and bool(self.value or character != "?")


class Talk(RichLog):
    """The conversation; says when it got another width."""

    class Resized(Message):
        """Its lines no longer fit."""

    def on_resize(self, _: events.Resize) -> None:
        """Lines are cut to the width, so a new width needs new lines."""
        self.post_message(self.Resized())


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
