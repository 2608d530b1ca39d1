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
from claude_memory.store.archive_model import EventFilter
from claude_memory.store.protocol import Store
from claude_memory.summaries.shelf import Shelf, place_of

if TYPE_CHECKING:
    from claude_memory.settings import Settings
    from claude_memory.summaries.finding import Compactions
    from claude_memory.summaries.model import KeptSummary


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
        from claude_memory.summaries.keeping import Keeper

        return Keeper(self.home, self.store).save(self.project, session, raw, now=datetime.now(UTC))

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
        from claude_memory.summaries.finding import open_material
        from claude_memory.summaries.model import KeptSummary
        from claude_memory.summaries.providers import ProviderDown

        material = open_material(path, self.settings, agent=agent, note=note)
        rules = material.summary()
        written = material.document(rules)
        model = asker(self.home, replace(self.settings, summariser=provider or self.settings.summariser))
        if model is not None:
            try:
                body = model.summary(material.exchanges, rules, path.name)
                by = {"provider": model.provider.name, "model": model.provider.model}
                written = material.document(body, by)
            except ProviderDown as fault:
                note(f"the rules' summary stands: {fault}")
        return KeptSummary(material.stretch.session, 0, written)

    def sum_up(self) -> None:
        """Sum up what was compacted meanwhile; a busy store leaves that to the next."""
        with contextlib.suppress(StoreBusy, OSError):
            self.waiting.sum_up()

    @property
    def waiting(self) -> Compactions:
        """Compactions that were not summed up yet."""
        from claude_memory.summaries.finding import Compactions

        return Compactions(self.home, self.store, self.settings)

    def _is_ours(self, session: str) -> bool:
        """Whether the session is of this project: by what is noted of it, else by what is stored."""
        noted = Shelf(self.home).about(session).get("project")
        if noted:
            return noted in {self.project.id, *(name.removeprefix("id:") for name in self.project.identities)}
        scope, wanted = SearchScope((self.project.id,)), SessionId(session)
        memories = self.store.memories.find(scope, MemoryFilter(session=wanted), limit=1)
        if any(item.project == self.project.id for item in memories):
            return True
        return bool(self.store.archive.events(scope, EventFilter(session=wanted), limit=1))
