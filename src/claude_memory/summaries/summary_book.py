"""The compaction summaries of one project, as `memory.summaries` gives them: list, read, save, sum up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import NotFound, StoreBusy
from claude_memory.model import MemoryFilter, Project, SearchScope, SessionId
from claude_memory.store.protocol import Store
from claude_memory.summaries.model import RULES, KeptSummary
from claude_memory.summaries.shelf import Shelf, place_of

if TYPE_CHECKING:
    from claude_memory.settings import Settings
    from claude_memory.summaries.compactions import Compactions


@dataclass(frozen=True, slots=True)
class SummaryBook:
    """What compactions left in a project."""

    home: Path
    store: Store
    settings: Settings
    project: Project

    def list(self, session: str = "", *, all_projects: bool = False) -> Sequence[KeptSummary]:
        """Those of this project, the newest session first; `session` may be the beginning of an id."""
        shelf = Shelf(self.home)
        named = [name for name in shelf.sessions() if name.startswith(session)]
        wanted = [name for name in named if all_projects or self._is_ours(name)]
        if session and not wanted:
            if named:
                raise NotFound(f"session {session} is of another project: give --all-projects")
            raise NotFound(f"no session {session} has summaries; `claude-memory summaries` lists them")
        return [kept for name in wanted for kept in shelf.of(name)]

    def of_session(self, session: str) -> Sequence[KeptSummary]:
        """Those of one session, oldest first."""
        return Shelf(self.home).of(session)

    def one(self, named: str) -> KeptSummary:
        """The summary that SESSION/NNN names."""
        return Shelf(self.home).one(named)

    @staticmethod
    def check_name(named: str) -> None:
        """InvalidInput unless it has the form SESSION/NNN."""
        place_of(named)

    def save(self, session: str, raw: bytes) -> tuple[KeptSummary, bool]:
        """Keep one that an agent wrote, as JSON: the summary, and whether it is new."""
        return self.compactions.save(self.project, session, raw, now=datetime.now(UTC))

    def summarize(
        self,
        path: Path,
        *,
        agent: str | None = None,
        provider: str | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> KeptSummary:
        """A transcript summed up from its last compaction to its end; nothing is stored.

        If the language model cannot be asked, the summary by rules stands, and `note` is told why.
        """
        from claude_memory.summaries.asking import asker
        from claude_memory.summaries.providers import ProviderDown
        from claude_memory.summaries.stretches import open_material

        material = open_material(path, self.settings, agent=agent, note=note)
        rules = material.summary()
        written = material.document(rules)
        model = asker(self.home, replace(self.settings, summariser=provider or self.settings.summariser))
        if model is not None:
            try:
                written = material.document(model.summary(material.exchanges, rules, path.name), model.by)
            except ProviderDown as fault:
                note(f"the rules' summary stands: {fault}")
        return KeptSummary(material.stretch.session, 0, written)

    @property
    def compactions(self) -> Compactions:
        """What keeps summaries of compactions, and knows which wait."""
        from claude_memory.summaries.compactions import Compactions

        return Compactions(self.home, self.store, self.settings)

    def sum_up(self) -> None:
        """Sum up what was compacted meanwhile; a busy store leaves that to the next."""
        with contextlib.suppress(StoreBusy, OSError):
            self.compactions.sum_up()

    def upgrade(self) -> None:
        """Ask a language model about the latest summaries and sessions, where a setting names one."""
        if self.settings.summariser in ("", RULES):
            return
        from claude_memory.summaries import asking

        if asker := asking.asker(self.home, self.settings):
            asking.upgrade(self.compactions, asker)
            asking.ask_about_sessions(self.store, asker)

    def _is_ours(self, session: str) -> bool:
        """Whether the session is of this project: by what is noted of it, else by its memories."""
        if noted := Shelf(self.home).about(session).get("project"):
            return noted in {self.project.id, *(name.removeprefix("id:") for name in self.project.identities)}
        wanted = MemoryFilter(session=SessionId(session))
        found = self.store.memories.find(SearchScope((self.project.id,)), wanted, limit=1)
        return any(item.project == self.project.id for item in found)
