"""What the screen of `recall` shows: its parts and their look; results and a conversation as lines of text.

What was said may come from anywhere, so control characters are left out. Only the terminal's own colours are
used: right on light and dark ones, and none where none are wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.message import Message as Note
from textual.screen import ModalScreen
from textual.widgets import Input, RichLog, Static

from claude_memory.surfaces.cli.output import clean, one_line
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.search.conversations import Recalled
    from claude_memory.search.excerpts import Wording
    from claude_memory.store.model import Conversation, Message

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
MARK = "▸ "
BAR = "▌ "
_GUTTER = "  "
_LINES = {"user": 60, "assistant": 60, "summary": 30}
_TOOL_LINES = 10  # of a call or its result; more is seldom what is looked for
_AROUND = 3  # lines before the first one that was found
_LINE_CHARACTERS = 2_000


class Asked(Input):
    """The line to type in."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """A question mark is a key for help, until it can be the end of a question."""
        return super().check_consume_key(key, character) and bool(self.value or character != "?")


class Talk(RichLog):
    """The conversation; says when it got another width."""

    class Resized(Note):
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


# --- lines


@dataclass(frozen=True, slots=True)
class Styles:
    """How things look; without colour, weight and marks must do."""

    found: str = "black on yellow"
    quiet: str = "bright_black"
    failed: str = "bold red"
    roles: dict[str, str] = field(default_factory=lambda: {"user": "bold cyan", "assistant": "bold green"})


PLAIN = Styles("bold underline", "", "bold", {"user": "bold", "assistant": "bold"})
COLOURED = Styles()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A conversation as lines, and the rows where something was found, top to bottom."""

    lines: list[Text]
    found: list[int]
    first: int
    last: int


def result(
    item: Recalled, asked: Wording, width: int, now: datetime, styles: Styles, *, chosen: bool = False
) -> Text:
    """One conversation in three lines: title; when, who and where; its best passage."""
    talk = item.conversation
    width = max(width - len(BAR), 1)
    where = talk.cwd.replace("\\", "/").rstrip("/").rpartition("/")[2]
    facts = [times.ago(talk.last, now=now), where, talk.agent]
    told = [
        line for line in (one_line(quote.text) for quote in item.quotes) if line not in one_line(talk.title)
    ]
    best = told[0] if told else f"{talk.messages} messages"
    lines = [
        Text(one_line(talk.name), "bold reverse" if chosen else "bold"),
        Text(" · ".join(one_line(fact) for fact in facts if fact), styles.quiet),
        marked(_within(best, asked, width), asked, styles),
    ]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(Text.assemble((BAR if chosen else _GUTTER, "bold"), line) for line in lines)


def conversation(
    talk: Conversation,
    messages: Sequence[Message],
    asked: Wording,
    places: Collection[int],
    width: int,
    console: Console,
    styles: Styles,
) -> Drawn:
    """Messages one below the other; those at `places` are marked and opened where they were found."""
    width = max(width, 20)
    lines = list(_head(talk, styles))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    found = []
    for message in messages:
        at_hand = message.ordinal in places
        if at_hand:
            found.append(len(lines) + 1)
        lines.append(Text(""))
        lines.extend(_message(message, asked, at_hand, width, console, styles))
    first = messages[0].ordinal if messages else 1
    last = messages[-1].ordinal if messages else 0
    return Drawn(lines, found, first, last)


def marked(line: str, asked: Wording, styles: Styles) -> Text:
    """The line with what the question asks for standing out."""
    text = Text(line)
    for start, end in asked.spans(line):
        text.stylize(styles.found, start, end)
    return text


def _within(line: str, asked: Wording, width: int) -> str:
    """The line, begun so late that what was found can be seen."""
    start, end = next(iter(asked.spans(line)), (0, 0))
    begin = start if end > width - 1 else 0
    return f"…{line[max(begin - width // 4, 0) :]}" if begin else line


def _head(talk: Conversation, styles: Styles) -> Iterator[Text]:
    branch = f" on {talk.branch}" if talk.branch else ""
    yield Text(one_line(talk.name), "bold")
    yield Text(one_line(f"{talk.cwd}{branch}"), styles.quiet)
    yield Text(one_line(f"{talk.agent} {talk.session}"), styles.quiet)
    if talk.continues:
        yield Text(one_line(f"goes on from {talk.continues}"), styles.quiet)


def _message(
    message: Message, asked: Wording, at_hand: bool, width: int, console: Console, styles: Styles
) -> Iterator[Text]:
    name = one_line(f"{message.role} {message.tool}") + (" failed" if message.failed else "")
    style = styles.failed if message.failed else styles.roles.get(message.role, "bold")
    head = Text.assemble((MARK if at_hand else _GUTTER, "bold"), (f"{message.ordinal} ", styles.quiet))
    head.append(name, style).append(f"  {times.minute(message.at)}", styles.quiet).truncate(
        width, overflow="ellipsis"
    )
    yield head
    for line in _shown(message, asked, at_hand):
        hit = at_hand and _holds(asked, line)
        text = marked(line, asked, styles) if at_hand else Text(line)
        for wrapped in text.wrap(console, width - len(_GUTTER), tab_size=4) or [Text("")]:
            yield Text.assemble((MARK if hit else _GUTTER, "bold"), wrapped)


def _holds(asked: Wording, line: str) -> bool:
    """Whether a line alone tells what was asked: the phrase, or the most telling of its words."""
    if asked.holds_phrase(line):
        return True
    there = {asked.meant.get(line[start:end].lower(), "") for start, end in asked.spans(line)}
    told = sum(asked.weights.get(word, 0.0) for word in there)
    return told * 2 > sum(asked.weights.values())


def _shown(message: Message, asked: Wording, at_hand: bool) -> Iterator[str]:
    """A message's lines, long ones cut to what can be read; around what was found, if something was."""
    lines = [clean(line)[:_LINE_CHARACTERS].rstrip() for line in message.text.splitlines()]
    most = _LINES.get(message.role, _TOOL_LINES)
    begin = 0
    if at_hand and len(lines) > most:
        places = [number for number, line in enumerate(lines) if asked.spans(line)]
        held = next((number for number in places if _holds(asked, lines[number])), None)
        begin = max((held if held is not None else min(places, default=0)) - _AROUND, 0)
    if begin:
        yield f"[… {begin} lines]"
    yield from lines[begin : begin + most]
    if len(lines) > begin + most:
        yield f"[… {len(lines) - begin - most} more lines]"
