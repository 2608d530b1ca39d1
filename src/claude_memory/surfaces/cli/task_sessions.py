"""Commands about sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from claude_memory.surfaces.cli import output, task_views
from claude_memory.surfaces.cli.request import Json, said
from claude_memory.surfaces.cli.task_request import By, api

sessions = typer.Typer(help="Start, show, list, switch and restore sessions.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(sessions, name="session")


@sessions.command()
def start(
    context: typer.Context,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the session is about.")] = "",
    session_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="An id of your own.")] = None,
    by: By = None,
    json: Json = False,
) -> None:
    """Start a session and make it the project's default."""
    manager = api(context, by).session_manager
    made = manager.start_session(said(name), session_id=said(session_id) if session_id else None)
    manager.switch_to_session(made.session_id)
    _warn_of_environment(manager.environment_session(), made.session_id)
    task_views.session(made, made.session_id, json=json)


@sessions.command()
def info(
    context: typer.Context,
    session_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Default: the current one.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the current session, or another one."""
    manager = api(context).session_manager
    found = manager.get_session(said(session_id)) if session_id else manager.get_current_session()
    task_views.session(found, manager.current_id(), json=json)


@sessions.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the project's sessions, newest first."""
    manager = api(context).session_manager
    task_views.sessions(manager.list_sessions(), manager.current_id(), json=json)


@sessions.command()
def switch(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="ID", help="An id, or its unique beginning.")],
    create: Annotated[bool, typer.Option("--create", help="Begin it if there is none.")] = False,
    json: Json = False,
) -> None:
    """Make a session the default for this project."""
    manager = api(context).session_manager
    found = manager.switch_to_session(said(session_id), create=create)
    _warn_of_environment(manager.environment_session(), found.session_id)
    task_views.session(found, found.session_id, json=json)


@sessions.command()
def restore(
    context: typer.Context,
    session_id: Annotated[
        str, typer.Argument(metavar="ID", help="An archived session's id, or its unique beginning.")
    ],
    json: Json = False,
) -> None:
    """Bring back a session that `cleanup` archived."""
    from claude_memory.tasks import cleanup

    manager = api(context).session_manager
    found = cleanup.restore(manager, said(session_id))
    task_views.session(found, manager.current_id(), json=json)


def _warn_of_environment(tied: str | None, chosen: str) -> None:
    if tied and not chosen.startswith(tied):
        output.note(f"this shell is tied to session {tied}, which stays current here; others see {chosen}")
