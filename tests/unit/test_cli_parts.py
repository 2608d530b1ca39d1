"""The list of which module holds which command is true: a command asked for by its name is always found."""

from __future__ import annotations

import pytest
import typer
from typer.main import get_command

from claude_memory.surfaces.cli.app import PARTS, add_commands, with_commands


@pytest.mark.parametrize("part", PARTS)
def test_a_module_holds_the_commands_said(part: str) -> None:
    program = typer.Typer()
    program.callback()(lambda: None)
    add_commands(program, part)

    assert set(get_command(program).commands) == {name.split()[0] for name in PARTS[part]}  # type: ignore[attr-defined]


def test_no_module_is_left_out_and_no_command_stands_twice() -> None:
    names = [name for names in PARTS.values() for name in names]

    assert len(names) == len(set(names))
    assert set(get_command(with_commands()).commands) == {name.split()[0] for name in names}  # type: ignore[attr-defined]


@pytest.mark.parametrize("asked", [None, "no-such-command", ""])
def test_without_a_known_name_every_command_is_there(asked: str | None) -> None:
    found = get_command(with_commands(asked)).commands  # type: ignore[attr-defined]

    assert {"search", "backup", "intend"} <= set(found)


def test_a_known_name_brings_its_module_alone() -> None:
    wanted = {name.split()[0] for name in PARTS["memory_commands"]}

    assert set(get_command(with_commands("search")).commands) == wanted  # type: ignore[attr-defined]
