"""The screen of `recall`: a line to type in, results on the left, the conversation on the right.

It searches in a thread, always for the newest question, and ends with the conversation to resume; ranking is
done elsewhere. What was said may come from anywhere, so control characters are left out. Only the terminal's
own colours are used: right on light and dark ones, and none where none are wanted.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message as Note
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, OptionList, RichLog, Static
from textual.widgets.option_list import Option

from claude_memory.errors import MemoryFault
from claude_memory.memory import ConversationFilter, Memory
from claude_memory.surfaces.cli.output import clean, counted, one_line
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.search.conversations import Recalled
    from claude_memory.search.excerpts import Wording
    from claude_memory.store.model import Conversation, Message  # noqa: F401  the one is named in a text

DEBOUNCE_SECONDS = 0.05
PATIENCE_SECONDS = 2.0  # for a search that runs when the screen closes
WINDOW = 80  # messages read at once around the place that is looked at
MARK = "▸ "
BAR = "▌ "  # of the chosen result: it needs no colour to be seen
KEYS = "⏎ resume  ↑↓ choose  PgUp/PgDn read  ^N next  ^T folder  ^G agent  F1 help  Esc"
COLOURED = {
    "found": "black on yellow",
    "quiet": "bright_black",
    "failed": "bold red",
    "user": "bold cyan",
    "assistant": "bold green",
}
PLAIN = {"found": "bold underline", "quiet": ""}  # weight and marks must do; all else is bold
_GUTTER = "  "
_LINES = {"user": 60, "assistant": 60, "summary": 30}
_TOOL_LINES = 10  # of a call or its result; more is seldom what is looked for
_AROUND = 3  # lines before the first one that was found
_LINE_CHARACTERS = 2_000
_LOOK = """
* { background: ansi_default; color: ansi_default; scrollbar-background: ansi_default;
    scrollbar-color: ansi_default; scrollbar-size-vertical: 1; }
#asked { border: none; height: 1; padding: 0; }
#standing, #command, #keys { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
#standing, #keys { text-style: dim; }
#command { text-style: bold; }
#results { width: 40%; min-width: 28; height: 1fr; border: none; padding: 0; overflow-x: hidden; }
#results > .option-list--option { padding: 0; }
#results > .option-list--option-highlighted, #results:focus > .option-list--option-highlighted {
    text-style: none; background: ansi_default; color: ansi_default; }
#conversation { width: 1fr; height: 1fr; border: none; border-left: solid ansi_default;
    padding: 0 0 0 1; overflow-x: hidden; overflow-y: scroll; }
#conversation:focus { border-left: heavy ansi_default; }
Help { align: center middle; }
#help { width: auto; max-width: 100%; height: auto; padding: 1 2; border: solid ansi_default; }
"""


@dataclass
class Answered(Note):
    """What a question brought; `final` when meaning was weighed too. `fault` says what went wrong."""

    number: int  # of the question: tells an answer from one that comes too late
    query: str
    asked: Wording
    recalled: Sequence[Recalled] = ()
    final: bool = True
    fault: str = ""


class Asked(Input):
    def check_consume_key(self, key: str, character: str | None) -> bool:
        """A question mark is a key for help, until it can be the end of a question."""
        return super().check_consume_key(key, character) and bool(self.value or character != "?")


class Talk(RichLog):
    """The conversation; says when it got another width."""

    class Resized(Note):
        """Its lines, which are cut to the width, no longer fit."""

    def on_resize(self, _: events.Resize) -> None:
        self.post_message(self.Resized())


class Help(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        rows = [
            f"{item.key.replace(',', ', ').replace('question_mark', '?'):<16}{item.description}"
            for item in RecallScreen.BINDINGS
            if isinstance(item, Binding) and item.description
        ]
        letters = "In the results and the conversation also: n p places, y copy, / type, q quit"
        yield Static("\n".join([*rows, "", letters]), id="help", markup=False)


class RecallScreen(App["Conversation"]):
    """Type to search, look into a conversation, go on with it."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "claude-memory recall"
    CSS = _LOOK
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "resume", "leave, and resume the conversation in its folder"),
        Binding("up", "choose(-1)", "the conversation above"),
        Binding("down", "choose(1)", "the conversation below"),
        Binding("pageup", "page(-1)", "read the conversation, upwards", priority=True),
        Binding("pagedown", "page(1)", "read the conversation, downwards", priority=True),
        Binding("ctrl+n", "place(1)", "next place that was found", priority=True),
        Binding("ctrl+p", "place(-1)", "previous place that was found", priority=True),
        Binding("ctrl+t", "scope", "this folder, or all folders", priority=True),
        Binding("ctrl+g", "agent", "one agent after another, then all", priority=True),
        Binding("ctrl+y", "copy", "copy the conversation's id", priority=True),
        Binding("f1,question_mark", "help", "this help", priority=True),
        Binding("escape,ctrl+c", "leave", "quit", priority=True),
        Binding("n", "place(1)"),
        Binding("p,N", "place(-1)"),
        Binding("y,c", "copy"),
        Binding("q", "leave"),
        Binding("slash", "type"),
    ]

    def __init__(
        self,
        memory: Memory,
        query: str = "",
        within: ConversationFilter | None = None,
        *,
        limit: int = 20,
        own_first: bool = True,
    ) -> None:
        super().__init__(ansi_color=True)
        self._memory = memory
        self._nothing = memory.conversations.asked("")
        self._query = query
        self._within = within or ConversationFilter()
        self._folder = self._within.folder
        self._narrow = bool(self._folder)
        self._limit, self._own_first = limit, own_first
        self._styles = PLAIN if os.environ.get("NO_COLOR") else COLOURED
        self._searching = threading.Lock()
        self._number = 0
        self._answer = Answered(-1, "", self._nothing)
        self._timer: Timer | None = None
        self._rows: dict[int, int] = {}  # of the messages on the right, by their ordinals
        self._shown: int | None = None  # the conversation on the right
        self._lines: list[Text] = []  # the results on the left
        self._barred: int | None = None

    # --- parts

    def compose(self) -> ComposeResult:
        yield Asked(
            self._query, placeholder="search conversations: words, an error, a command, a file", id="asked"
        )
        yield Static(id="standing", markup=False)
        with Horizontal():
            yield OptionList(id="results", markup=False)
            yield Talk(id="conversation", wrap=False, auto_scroll=False, min_width=1)
        yield Static(id="command", markup=False)
        yield Static(KEYS, id="keys", markup=False)

    @property
    def _results(self) -> OptionList:
        return self.query_one("#results", OptionList)

    @property
    def _talk(self) -> RichLog:
        return self.query_one("#conversation", RichLog)

    def on_mount(self) -> None:
        self.query_one("#asked", Input).cursor_position = len(self._query)
        self.action_type()
        self._ask()

    def on_unmount(self) -> None:
        """Let a search that runs end before the store is closed."""
        self._number += 1
        if self._searching.acquire(timeout=PATIENCE_SECONDS):
            self._searching.release()

    # --- searching

    @on(Input.Changed, "#asked")
    def _typed(self, changed: Input.Changed) -> None:
        if changed.value == self._query:
            return
        self._query = changed.value
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_SECONDS, self._ask)

    def _ask(self) -> None:
        self._number += 1
        within = self._within._replace(folder=self._folder if self._narrow else "")
        here = self._narrow and not self._folder
        recall = partial(self._memory.recall, self._query, within=within, here=here)
        self.run_worker(partial(self._search, self._number, self._query, recall), thread=True)
        self._stand()

    def _search(self, number: int, query: str, recall: partial[list[Recalled]]) -> None:
        """In a thread: answer by words at once, then by meaning too, unless something else is asked since."""
        with self._searching:
            for quick in (True, False) if query.strip() else (True,):
                if number != self._number:
                    return
                try:
                    asked = self._memory.conversations.asked(query)
                    recalled = recall(limit=self._limit, own_first=self._own_first, quick=quick)
                    answer = Answered(number, query, asked, recalled, not (quick and query.strip()))
                except Exception as fault:  # noqa: BLE001  a thread's top: the screen says it, and lives on
                    is_ours = isinstance(fault, MemoryFault)
                    words = str(fault) if is_ours else f"unexpected {type(fault).__name__}"
                    answer = Answered(number, query, self._nothing, fault=words)
                self.post_message(answer)

    @on(Answered)
    def _arrived(self, answer: Answered) -> None:
        if answer.number != self._number or not self.query("#results"):
            return  # another question was asked since, or the screen is closing
        keep = self._chosen.conversation.number if self._is_current and self._chosen else None
        self._answer = answer
        self._list(keep)
        self._stand()

    @property
    def _is_current(self) -> bool:
        return self._answer.number == self._number

    @property
    def _chosen(self) -> Recalled | None:
        place, recalled = self._results.highlighted, self._answer.recalled
        return recalled[place] if place is not None and place < len(recalled) else None

    # --- showing

    @on(Talk.Resized)
    def _redraw(self) -> None:
        self._list(self._shown)

    def _list(self, keep: int | None) -> None:  # the conversation that stays chosen
        self._shown = None
        recalled, now = self._answer.recalled, datetime.now().astimezone()
        self._lines = [self._drawn(item, now) for item in recalled]
        self._barred = None
        self._results.clear_options()
        self._results.add_options([Option(_beside(_GUTTER, lines)) for lines in self._lines])
        numbers = [item.conversation.number for item in recalled]
        self._results.highlighted = (numbers.index(keep) if keep in numbers else 0) if numbers else None
        self._show()

    @on(OptionList.OptionHighlighted, "#results")
    def _show(self) -> None:
        chosen = self._chosen
        for place, mark in ((self._barred, _GUTTER), (self._results.highlighted, BAR)):
            if place is not None and place < len(self._lines):
                self._results.replace_option_prompt_at_index(place, _beside(mark, self._lines[place]))
        self._barred = self._results.highlighted
        number = chosen.conversation.number if chosen else None
        if number == self._shown and number is not None:
            return
        self._shown = number
        how = self._memory.conversations.resume(chosen.conversation) if chosen else None
        # The command first: a long folder must not push it off the screen.
        line = f"⏎ {shlex.join(how.arguments)} in {how.folder}" if how else ""
        if chosen is None:
            self._talk.clear()
            self._rows = {}
        else:
            line = line or f"claude-memory conversation {chosen.conversation.session}"
            self._read(chosen, max(chosen.ordinals[0] if chosen.ordinals else 1, 1))
        self.query_one("#command", Static).update(Text(one_line(line), no_wrap=True, overflow="ellipsis"))

    def _drawn(self, item: Recalled, now: datetime) -> Text:
        """One conversation in three lines: title; when, who and where; its best passage."""
        talk, width = item.conversation, max(self._results.size.width - 1 - len(BAR), 1)
        where = talk.cwd.replace("\\", "/").rstrip("/").rpartition("/")[2]
        facts = [times.ago(talk.last, now=now), where, talk.agent]
        quotes = [one_line(quote.text) for quote in item.quotes]
        others = [quote for quote in quotes if quote not in one_line(talk.title)]
        best = others[0] if others else f"{talk.messages} messages"
        start, end = next(iter(self._answer.asked.spans(best)), (0, 0))
        if end > width - 1:  # begun so late that what was found can be seen
            best = f"…{best[max(start - width // 4, 0) :]}"
        quiet = Text(" · ".join(one_line(fact) for fact in facts if fact), self._styles["quiet"])
        lines = [Text(one_line(talk.name), "bold"), quiet, self._marked(best)]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Text("\n").join(lines)

    def _read(self, chosen: Recalled, around: int) -> None:
        """Show the messages around one of them, which stands on top; what was found is marked and opened."""
        talk, first = chosen.conversation, max(around - WINDOW // 2, 1)
        messages = self._memory.archive.messages(talk.number, first=first, last=first + WINDOW - 1)
        width, quiet = self._talk.scrollable_content_region.width, self._styles["quiet"]
        branch = f" on {talk.branch}" if talk.branch else ""
        facts = [f"{talk.cwd}{branch}", f"{talk.agent} {talk.session}"]
        facts += [f"goes on from {talk.continues}"] if talk.continues else []
        lines = [Text(one_line(talk.name), "bold"), *(Text(one_line(fact), quiet) for fact in facts)]
        self._rows = {}
        for message in messages:
            self._rows[message.ordinal] = len(lines) + 1
            lines += self._message_lines(message, message.ordinal in chosen.ordinals, max(width, 20))
        self._talk.clear()
        for line in lines:
            line.truncate(max(width, 20), overflow="ellipsis")
            self._talk.write(line, width=max(width, 1), shrink=False)
        self._scroll(self._rows.get(around, 0) if chosen.ordinals or around > 1 else 0)

    def _message_lines(self, message: Message, at_hand: bool, width: int) -> Iterator[Text]:
        """A message with what was found marked, where it is one of those that were found."""
        asked, quiet = self._answer.asked, self._styles["quiet"]
        name = one_line(f"{message.role} {message.tool}") + (" failed" if message.failed else "")
        style = self._styles.get("failed" if message.failed else message.role, "bold")
        head = Text.assemble((MARK if at_hand else _GUTTER, "bold"), (f"{message.ordinal} ", quiet))
        yield Text("")
        yield head.append(name, style).append(f"  {times.minute(message.at)}", quiet)
        for said in _excerpt(message, asked, at_hand):
            mark = MARK if at_hand and _holds(asked, said) else _GUTTER
            text = self._marked(said) if at_hand else Text(said)
            for wrapped in text.wrap(self.console, width - len(_GUTTER), tab_size=4) or [Text("")]:
                yield Text.assemble((mark, "bold"), wrapped)

    def _marked(self, line: str) -> Text:
        """The line with what the question asks for standing out."""
        text = Text(line)
        for start, end in self._answer.asked.spans(line):
            text.stylize(self._styles["found"], start, end)
        return text

    def _scroll(self, row: int) -> None:
        self._talk.scroll_to(y=max(row - 1, 0), animate=False, immediate=True)

    def _stand(self, told: str = "") -> None:
        """How many were found, where was looked, and how; or what was done, until something else happens."""
        where = (self._folder or "this folder") if self._narrow else "all folders"
        found = "searching …"
        if self._is_current:
            told = told or self._answer.fault
            count = len(self._answer.recalled)
            found = counted(count, "conversation") + ("" if self._answer.final else " …")
            if not count and not self._memory.archive.agents():
                found = "no conversations yet: claude-memory import reads them"
        line = told or " · ".join([found, where, self._within.agent or "every agent"])
        self.query_one("#standing", Static).update(Text(one_line(line), no_wrap=True))

    # --- keys

    def action_leave(self) -> None:
        if isinstance(self.screen, Help):
            self.pop_screen()
        else:
            self.exit(None)

    def action_help(self) -> None:
        self.push_screen(Help())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.screen, Help):
            return action == "leave"
        return super().check_action(action, parameters)

    def action_choose(self, step: int) -> None:
        count, place = len(self._answer.recalled), self._results.highlighted
        if count:
            self._results.highlighted = min(max((place or 0) + step, 0), count - 1)

    def action_page(self, step: int) -> None:
        """Read on, into messages that were not read yet if need be."""
        log, rows, chosen = self._talk, self._rows, self._chosen
        if not rows or chosen is None:
            return
        if step > 0 and log.scroll_y >= log.max_scroll_y and max(rows) < chosen.conversation.messages:
            self._read(chosen, max(rows))
            return
        if step < 0 and log.scroll_y <= 0 and min(rows) > 1:
            self._read(chosen, min(rows))
        log.scroll_relative(y=step * max(log.size.height - 2, 1), animate=False)

    def action_place(self, step: int) -> None:
        here, places = self._talk.scroll_offset.y + 1, self._chosen.ordinals if self._chosen else ()
        found = sorted(row for number, row in self._rows.items() if number in places)
        if rows := [row for row in found if (row > here if step > 0 else row < here)]:
            self._scroll(rows[0] if step > 0 else rows[-1])

    def action_scope(self) -> None:
        self._narrow = not self._narrow
        self._ask()

    def action_agent(self) -> None:
        names = [None, *self._memory.archive.agents()]
        at = names.index(self._within.agent) if self._within.agent in names else 0
        self._within = self._within._replace(agent=names[(at + 1) % len(names)])
        self._ask()

    def action_copy(self) -> None:
        """The chosen conversation's id, for elsewhere; terminals take it over SSH and tmux too."""
        if self._chosen:
            session = one_line(self._chosen.conversation.session)
            self.copy_to_clipboard(session)
            self._stand(f"copied {session}")

    def action_type(self) -> None:
        self.query_one("#asked", Input).focus()

    @on(Input.Submitted, "#asked")
    @on(OptionList.OptionSelected, "#results")
    def action_resume(self) -> None:
        """End with the chosen conversation; what stands on the left may still answer the question before."""
        if self._is_current and self._chosen is not None:
            self.exit(self._chosen.conversation)


# --- lines


def _beside(mark: str, lines: Text) -> Text:
    return Text("\n").join(Text.assemble((mark, "bold"), line) for line in lines.split("\n"))


def _holds(asked: Wording, line: str) -> bool:
    """Whether a line alone tells what was asked: the phrase, or the most telling of its words."""
    there = {asked.meant.get(line[start:end].lower(), "") for start, end in asked.spans(line)}
    told = sum(asked.weights.get(word, 0.0) for word in there)
    return asked.holds_phrase(line) or told * 2 > sum(asked.weights.values())


def _excerpt(message: Message, asked: Wording, at_hand: bool) -> Iterator[str]:
    """A message's lines, long ones cut to what can be read; around what was found, if something was."""
    lines = [clean(line)[:_LINE_CHARACTERS].rstrip() for line in message.text.splitlines()]
    most = _LINES.get(message.role, _TOOL_LINES)
    begin = 0
    if at_hand and len(lines) > most:
        held = (number for number, line in enumerate(lines) if _holds(asked, line))
        found = (number for number, line in enumerate(lines) if asked.spans(line))
        begin = max(next(held, next(found, 0)) - _AROUND, 0)
    if begin:
        yield f"[… {begin} lines]"
    yield from lines[begin : begin + most]
    if len(lines) > begin + most:
        yield f"[… {len(lines) - begin - most} more lines]"
