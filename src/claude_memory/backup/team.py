"""`memory.team`: a team's server, made, joined and left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from claude_memory.errors import ConfigFault, Conflict, InvalidInput
from claude_memory.platform import config_file
from claude_memory.settings import Settings
from claude_memory.store import database_path, is_server, open_store

if TYPE_CHECKING:
    from claude_memory.store.postgres.team_store import PostgresStore


class Member(NamedTuple):
    person: str
    name: str
    leads: bool
    joined: datetime


class Invitation(NamedTuple):
    """A login, told once: whoever has it is that member."""

    team: str
    name: str
    url: str


class Left(NamedTuple):
    """Where what is the person's own lies now."""

    team: str
    file: Path


@contextlib.contextmanager
def server_at(url: str) -> Iterator[PostgresStore]:
    with contextlib.closing(open_store(Path(), Settings(store=_server(url)))) as store:
        yield cast("PostgresStore", store)


@dataclass(frozen=True, slots=True)
class Team:
    home: Path
    settings: Settings

    @property
    def url(self) -> str:
        named = self.settings.store if is_server(self.settings.store) else self.settings.hub
        if not named:
            raise ConfigFault("this home is in no team: `claude-memory team join URL`")
        return named

    def create(self, url: str, team: str, name: str) -> Invitation | None:
        """Make the store at a server, as its owner, and the first login; None if the team was there."""
        from claude_memory.store.postgres import team_store

        login = team_store.create_team(_server(url), team, name)
        return Invitation(team, name, login) if login else None

    def invite(self, url: str, team: str, name: str) -> Invitation:
        from claude_memory.store.postgres import team_store

        return Invitation(team, name, team_store.invite(_server(url), team, name))

    def join(self, url: str, *, hub: bool, bring: bool = False) -> list[Member]:
        """Use a login from now on: as the store itself, or as a hub beside the own one.

        `bring` moves the own store there, whole, into a team that holds nothing yet; its file is kept aside,
        so that who leaves again does not go on with what was so before.
        """
        path = database_path(self.home, "" if is_server(self.settings.store) else self.settings.store)
        with server_at(url) as store:
            members = [Member(*row) for row in store.members()]
            if bring:
                from claude_memory.store.postgres.team_store import from_file
                from claude_memory.store.sqlite.store import SqliteStore

                with contextlib.closing(SqliteStore(path, self.home)) as own:
                    from_file(own, store)
        config_file.assign(self.home, "hub" if hub else "store", url)
        if bring and not hub:
            path.replace(path.with_name(f"{path.name}.before-team"))
        return members

    def members(self) -> list[Member]:
        with server_at(self.url) as store:
            return [Member(*row) for row in store.members()]

    def leave(self) -> Left:
        """Take along what is the person's own, and be no member any more; what is the projects' stays."""
        target = self.home / "memory.db"
        shares = is_server(self.settings.store)
        if shares and target.exists():
            target = self.home / "team.db"
            if target.exists():
                raise Conflict(f"{target} is from a team that was left before: move it away first")
        with server_at(self.url) as store:
            _, team = store.team
            if shares:
                store.export(target)
            store.leave()
        config_file.assign(self.home, "store" if shares else "hub", "")
        (self.home / "cache" / "team.db").unlink(missing_ok=True)
        return Left(team, target)


def _server(url: str) -> str:
    if not is_server(url):
        raise InvalidInput("name a server: postgresql://NAME:PASSWORD@HOST/DATABASE")
    return url
