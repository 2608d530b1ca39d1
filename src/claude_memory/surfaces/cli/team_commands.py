"""Commands about a team's server: make it, invite, join, see who is there, leave."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

from claude_memory.platform.agents import require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import Result, WorkPlace, Yes, argument, flag, option
from claude_memory.surfaces.cli.output import Line

if TYPE_CHECKING:
    from claude_memory.backup.team import Invitation, Member

TeamName = Annotated[str, argument("TEAM", "The team's name.")]
OwnerUrl = Annotated[
    str, option("URL", "postgresql://… of whoever owns the store: may make roles, tables and the extension.")
]
Hub = Annotated[
    bool, flag("--hub", "Keep an own store, and exchange the projects' memories with the team's by `sync`.")
]
Bring = Annotated[bool, flag("--bring", "Move the own store there, whole; the team must hold nothing yet.")]
PersonName = Annotated[
    str, option("NAME", "How others see you; default the name you are logged in by.", "--as")
]


def team_create(place: WorkPlace, team: TeamName, url: OwnerUrl, name: PersonName = "") -> Result:
    """Make or renew the store at a PostgreSQL server, a team in it, and your own login, shown once."""
    require_person("making a team")
    made = place.unconfigured().team.create(url, team, name or getpass.getuser())
    if made is None:
        return Result({"team": team, "renewed": True}, f"{team} is there already; its schema is up to date")
    return _login(made)


def team_invite(
    place: WorkPlace,
    team: TeamName,
    name: Annotated[str, argument("NAME", "The new member, as others will see them.")],
    url: OwnerUrl,
) -> Result:
    """Make a login for one more member, shown once: give it to them alone."""
    require_person("inviting somebody")
    return _login(place.unconfigured().team.invite(url, team, name))


def team_join(
    place: WorkPlace,
    url: Annotated[str, argument("URL", "The login that you were given.")],
    hub: Hub = False,
    bring: Bring = False,
) -> Result:
    """Use a team's store from now on; commands, server and drain talk to it, hooks look at a local copy."""
    require_person("joining a team")
    members = place.unconfigured().team.join(url, hub=hub, bring=bring)
    return Result(members, _lines(members), ["joined: `claude-memory doctor` shows how the server stands"])


def team_members(place: WorkPlace) -> Result:
    """Show who is in the team."""
    with place.opened() as memory:
        members = memory.team.members()
    return Result(members, _lines(members))


def team_leave(place: WorkPlace, yes: Yes = False) -> Result:
    """Take along what is yours and be no member any more; what you said about projects stays there."""
    require_person("leaving a team")
    with place.opened() as memory:
        team = memory.team
        if not yes and not output.answered("Leave the team, and delete there what is yours alone?"):
            return Result({"left": False}, "still a member")
        left = team.leave()
    return Result(left, f"left {left.team}; what is yours lies in {left.file}")


def _login(made: Invitation) -> Result:
    notes = [
        f"{made.name} joins by: claude-memory team join URL",
        "shown only now: keep it as you keep a password",
    ]
    return Result(made, made.url, notes)


def _lines(members: list[Member]) -> list[Line]:
    return [
        [
            (member.name, "bold"),
            (f"  since {member.joined:%Y-%m-%d}{', made it' if member.leads else ''}", ""),
        ]
        for member in members
    ]
