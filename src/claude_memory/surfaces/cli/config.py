"""Commands that read and change settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from claude_memory.platform import config_file
from claude_memory.platform.caller import require_person
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.request import Json, place, said

config = typer.Typer(help="Read and change settings.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(metavar="KEY", help="A setting; `config list` shows all.")]


@config.command()
def get(context: typer.Context, key: Key, json: Json = False) -> None:
    """Print one setting as it is in effect."""
    value = _resolved(context)[config_file.known(key)].value
    output.answer(value, _shown(value), json=json)


@config.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """Print every setting, its value, and where the value comes from."""
    settings = _resolved(context)
    longest = max(len(key) for key in settings)
    lines: list[output.Line] = [
        [
            (f"{key:<{longest}}  ", "bold"),
            (_shown(item.value) or "(empty)", ""),
            (f"  [{item.origin}]", "dim"),
        ]
        for key, item in settings.items()
    ]
    output.answer(settings, lines, json=json)


@config.command("set")
def set_(
    context: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value; lists with commas.")],
    json: Json = False,
) -> None:
    """Change one setting in the home's config.toml; comments in it stay."""
    require_person("changing a setting")  # it names what is sent where, and whose notes are believed
    path = config_file.assign(place(context).home_folder, key, said(value))
    now = documents.plain(_resolved(context)[key])
    line = [(f"{key} = {_shown(now['value'])}", ""), (f"  in {path}", "dim")]
    output.answer({"key": key, **now, "path": path}, [line], json=json)
    if now["origin"] != "config.toml" and not json:
        output.note(f"the {now['origin']} still overrides it")


@config.command()
def unset(context: typer.Context, key: Key, json: Json = False) -> None:
    """Take one setting out of config.toml, so that its default holds again."""
    require_person("changing a setting")
    removed = config_file.remove(place(context).home_folder, key)
    now = documents.plain(_resolved(context)[key])
    line = [(f"{key} = {_shown(now['value'])}", ""), (f"  [{now['origin']}]", "dim")]
    output.answer({"key": key, "removed": removed, **now}, [line], json=json)


def _resolved(context: typer.Context) -> dict[str, config_file.Resolved]:
    where = place(context)
    return config_file.resolved(where.home_folder, root_of(where.project_folder))


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)
