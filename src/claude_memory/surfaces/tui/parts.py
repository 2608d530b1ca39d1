"""The parts of the screen that do more than textual's own, and how all of them look.

Only the terminal's own colours are used: right on light and dark ones, and none where none are wanted.
"""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import Input, RichLog

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
