"""The screen of `recall`: a line to type in, results on the left, the conversation on the right.

Parses keys and shows; ranking is done elsewhere. It searches in a thread, always for the newest question, and
ends with the conversation to resume.
"""

from __future__ import annotations

import os
import shlex
import threading
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message as Note
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from claude_memory.errors import MemoryFault
from claude_memory.memory import ConversationFilter, Memory
from claude_memory.surfaces.cli.output import one_line
from claude_memory.surfaces.tui import drawing
from claude_memory.surfaces.tui.drawing import COLOURED, KEYS, LOOK, PLAIN, Asked, Drawn, Help, Talk

if TYPE_CHECKING:
    from claude_memory.search.conversations import Recalled
    from claude_memory.search.excerpts import Wording
    from claude_memory.store.model import Conversation  # noqa: F401  what the screen ends with

DEBOUNCE_SECONDS = 0.05
PATIENCE_SECONDS = 2.0  # for a search that runs when the screen closes
WINDOW = 80  # messages read at once around the place that is looked at


@dataclass(frozen=True, slots=True)
class ScreenAnswer:
    """What a question brought; `final` when meaning was weighed too. `fault` says what went wrong."""

    number: int  # of the question: tells an answer from one that comes too late
    query: str
    recalled: tuple[Recalled, ...] = ()
    asked: Wording | None = None
    final: bool = True
    fault: str = ""


class RecallScreen(App["Conversation"]):
    """Type to search, look into a conversation, go on with it."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "claude-memory recall"
    CSS = LOOK
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,escape", "leave", "quit", priority=True),
        Binding("q", "leave"),
        Binding("f1,question_mark", "help", priority=True),
        Binding("up", "choose(-1)"),
        Binding("down", "choose(1)"),
        Binding("pageup", "page(-1)", priority=True),
        Binding("pagedown", "page(1)", priority=True),
        Binding("ctrl+n", "place(1)", priority=True),
        Binding("ctrl+p", "place(-1)", priority=True),
        Binding("n", "place(1)"),
        Binding("p,N", "place(-1)"),
        Binding("ctrl+t", "scope", priority=True),
        Binding("ctrl+g", "agent", priority=True),
        Binding("ctrl+y", "copy", priority=True),
        Binding("y,c", "copy"),
        Binding("slash", "type"),
    ]

    class Answered(Note):
        """An answer arrived from the thread."""

        def __init__(self, answer: ScreenAnswer) -> None:
            super().__init__()
            self.answer = answer

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
        self._limit = limit
        self._own_first = own_first
        self._styles = PLAIN if os.environ.get("NO_COLOR") else COLOURED
        self._searching = threading.Lock()
        self._number = 0
        self._answer: ScreenAnswer | None = None
        self._timer: Timer | None = None
        self._drawn: Drawn | None = None
        self._shown: int | None = None  # the conversation on the right
        self._barred: int | None = None
        self._told = ""

    # --- parts

    def compose(self) -> ComposeResult:
        """Five parts, top to bottom."""
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
    def _talk(self) -> Talk:
        return self.query_one("#conversation", Talk)

    def on_mount(self) -> None:
        """Show what there is before anything is typed."""
        asked = self.query_one("#asked", Input)
        asked.cursor_position = len(self._query)
        asked.focus()
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
        folder = self._folder if self._narrow else ""
        here = self._narrow and not self._folder
        within = self._within._replace(folder=folder)
        search = partial(self._search, self._number, self._query, within, here)
        self.run_worker(search, thread=True)
        self._stand()

    def _search(self, number: int, query: str, within: ConversationFilter, here: bool) -> None:
        """In a thread: answer by words at once, then by meaning too, unless something else is asked since."""
        recall = partial(self._memory.recall, query, within=within, here=here)
        with self._searching:
            for quick in (True, False) if query.strip() else (True,):
                if number != self._number:
                    return
                try:
                    asked = self._memory.conversations.asked(query)
                    recalled = recall(limit=self._limit, own_first=self._own_first, quick=quick)
                    final = not (quick and query.strip())
                    answer = ScreenAnswer(number, query, tuple(recalled), asked, final)
                except Exception as fault:  # noqa: BLE001  a thread's top: the screen says it, and lives on
                    is_ours = isinstance(fault, MemoryFault)
                    words = str(fault) if is_ours else f"unexpected {type(fault).__name__}"
                    answer = ScreenAnswer(number, query, fault=words)
                self.post_message(self.Answered(answer))

    @on(Answered)
    def _arrived(self, arrived: Answered) -> None:
        if arrived.answer.number != self._number or not self.query("#results"):
            return  # another question was asked since, or the screen is closing
        chosen = self._chosen.conversation.number if self._answer_is_current and self._chosen else None
        self._answer = arrived.answer
        self._shown = None
        self._list(keep=chosen)
        self._stand()

    @property
    def _answer_is_current(self) -> bool:
        return self._answer is not None and self._answer.number == self._number

    @property
    def _recalled(self) -> tuple[Recalled, ...]:
        return self._answer.recalled if self._answer else ()

    @property
    def _chosen(self) -> Recalled | None:
        place = self._results.highlighted
        return self._recalled[place] if place is not None and place < len(self._recalled) else None

    # --- showing

    @on(Talk.Resized)
    def _redraw(self) -> None:
        chosen = self._chosen
        self._shown = None
        self._list(keep=chosen.conversation.number if chosen else None)
        self._stand()

    def _list(self, keep: int | None) -> None:
        self._barred = None
        self._results.clear_options()
        self._results.add_options([Option(self._line(place)) for place in range(len(self._recalled))])
        numbers = [item.conversation.number for item in self._recalled]
        self._results.highlighted = (numbers.index(keep) if keep in numbers else 0) if numbers else None
        self._show()

    def _line(self, place: int, *, chosen: bool = False) -> Text:
        asked = (self._answer and self._answer.asked) or self._nothing
        width = self._results.size.width - 1
        now = datetime.now().astimezone()
        return drawing.result(self._recalled[place], asked, width, now, self._styles, chosen=chosen)

    def _bar(self) -> None:
        """Mark the chosen result by a bar, which needs no colour to be seen."""
        place = self._results.highlighted
        for old, chosen in ((self._barred, False), (place, True)):
            if old is not None and old < len(self._recalled):
                self._results.replace_option_prompt_at_index(old, self._line(old, chosen=chosen))
        self._barred = place

    @on(OptionList.OptionHighlighted, "#results")
    def _show(self) -> None:
        self._bar()
        chosen = self._chosen
        number = chosen.conversation.number if chosen else None
        if number == self._shown and number is not None:
            return
        self._shown = number
        if chosen is None:
            self._talk.clear()
            self._drawn = None
        else:
            self._read(chosen, max(chosen.ordinals[0] if chosen.ordinals else 1, 1))
        self._command()

    def _read(self, chosen: Recalled, around: int, *, to_end: bool = False) -> None:
        """Show the messages around one of them, at the first place that was found there."""
        first = max(around - WINDOW // 2, 1)
        messages = self._memory.conversations.messages(
            chosen.conversation, first=first, last=first + WINDOW - 1
        )
        asked = (self._answer and self._answer.asked) or self._nothing
        width = self._talk.scrollable_content_region.width
        drawn = drawing.conversation(
            chosen.conversation, messages, asked, chosen.ordinals, width, self.console, self._styles
        )
        self._drawn = drawn
        self._talk.clear()
        for line in drawn.lines:
            self._talk.write(line, width=max(width, 1), shrink=False)
        best = next((row for row, line in enumerate(drawn.lines) if _is_head(line, around)), 0)
        target = len(drawn.lines) if to_end else max(best - 1, 0) if chosen.ordinals else 0
        self._talk.scroll_to(y=target, animate=False, immediate=True)

    def _stand(self) -> None:
        """How many were found, where was looked, and how."""
        answer = self._answer if self._answer_is_current else None
        where = (self._folder or "this folder") if self._narrow else "all folders"
        parts = [where, self._within.agent or "every agent"]
        if answer is None:
            parts.insert(0, "searching …")
        elif answer.fault:
            parts = [answer.fault]
        else:
            kept = bool(self._recalled) or bool(self._memory.conversations.agents())
            count = len(self._recalled)
            found = f"{count} conversation{'' if count == 1 else 's'}" + ("" if answer.final else " …")
            parts.insert(0, found if kept else "no conversations yet: claude-memory import reads them")
        if self._told:
            parts, self._told = [self._told], ""  # until something else happens
        self.query_one("#standing", Static).update(Text(one_line(" · ".join(parts)), no_wrap=True))

    def _command(self) -> None:
        chosen = self._chosen
        how = self._memory.conversations.resume(chosen.conversation) if chosen else None
        # The command first: a long folder must not push it off the screen.
        line = f"⏎ {shlex.join(how.arguments)} in {how.folder}" if how else ""
        if chosen and not how:
            line = f"claude-memory conversation {chosen.conversation.session}"
        self.query_one("#command", Static).update(Text(one_line(line), no_wrap=True, overflow="ellipsis"))

    # --- keys

    def action_leave(self) -> None:
        """Close the help, else the screen."""
        if isinstance(self.screen, Help):
            self.pop_screen()
        else:
            self.exit(None)

    def action_help(self) -> None:
        """Show all keys."""
        if not isinstance(self.screen, Help):
            self.push_screen(Help())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing but leaving works in the help."""
        if isinstance(self.screen, Help):
            return action == "leave"
        return super().check_action(action, parameters)

    def action_choose(self, step: int) -> None:
        """Another result."""
        count, place = len(self._recalled), self._results.highlighted
        if count:
            self._results.highlighted = min(max((place or 0) + step, 0), count - 1)

    def action_page(self, step: int) -> None:
        """Read on, into messages that were not read yet if need be."""
        log, drawn, chosen = self._talk, self._drawn, self._chosen
        if drawn is None or chosen is None:
            return
        if step < 0 and log.scroll_y <= 0 and drawn.first > 1:
            self._read(chosen, drawn.first - WINDOW // 2, to_end=True)
        elif step > 0 and log.scroll_y >= log.max_scroll_y and drawn.last < chosen.conversation.messages:
            self._read(chosen, drawn.last + WINDOW // 2)
            log.scroll_to(y=0, animate=False, immediate=True)
        else:
            log.scroll_relative(y=step * max(log.size.height - 2, 1), animate=False)

    def action_place(self, step: int) -> None:
        """The next place that was found in this conversation."""
        drawn = self._drawn
        if drawn is None or not drawn.found:
            return
        here = self._talk.scroll_offset.y + 1
        rows = [row for row in drawn.found if (row > here if step > 0 else row < here)]
        if rows:
            self._talk.scroll_to(
                y=max((rows[0] if step > 0 else rows[-1]) - 1, 0), animate=False, immediate=True
            )

    def action_scope(self) -> None:
        """This folder, or all."""
        self._narrow = not self._narrow
        self._ask()

    def action_agent(self) -> None:
        """The next agent, then all of them again."""
        names = [None, *self._memory.conversations.agents()]
        at = names.index(self._within.agent) if self._within.agent in names else 0
        self._within = self._within._replace(agent=names[(at + 1) % len(names)])
        self._ask()

    def action_copy(self) -> None:
        """The chosen conversation's id, for elsewhere; terminals take it over SSH and tmux too."""
        if self._chosen:
            session = one_line(self._chosen.conversation.session)
            self.copy_to_clipboard(session)
            self._told = f"copied {session}"
            self._stand()

    def action_type(self) -> None:
        """Back to the line to type in."""
        self.query_one("#asked", Input).focus()

    @on(Input.Submitted, "#asked")
    @on(OptionList.OptionSelected, "#results")
    def _resume(self) -> None:
        # What stands on the left may still answer the question before this one.
        if self._answer_is_current and self._chosen is not None:
            self.exit(self._chosen.conversation)


def _is_head(line: Text, ordinal: int) -> bool:
    return line.plain[2:].startswith(f"{ordinal} ") and line.plain.startswith((drawing.MARK, "  "))
