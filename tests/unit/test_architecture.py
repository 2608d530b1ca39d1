"""Imports go one way, hooks stand alone, and nothing heavy loads before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "claude_memory"

# Highest first. A part imports only from rows below its own (and from itself).
ROWS = (
    {"surfaces"},
    {"doctor"},
    {"memory", "context", "core", "install"},
    {"upkeep"},
    {"vector_work"},
    {"opening"},
    {"summaries"},
    {"backup"},
    {"imports", "search", "notes", "tasks"},
    {"capture"},
    {"lifecycle"},
    {"graph"},
    {"transcripts"},
    {"store", "embed"},
    {"understand"},
    {"platform", "sample"},
    {"text"},
    {"settings"},
    {"model", "errors", "hook", "redact"},
)
LEVEL = {part: level for level, row in enumerate(reversed(ROWS)) for part in row}
# The package's own face re-exports lazily, and the plugin holds scripts that agents run by path.
OUTSIDE = {"__init__", "__main__", "plugin"}
# The one door out of the hook program: an event that wants context is answered after it was spooled.
ANSWER = "claude_memory.surfaces.hooks.after.follow"
HEAVY = {
    "numpy",
    "onnx",
    "onnxruntime",
    "tokenizers",
    "rich",
    "re2",
    "pydantic",
    "mcp",
    "huggingface_hub",
    "textual",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> Iterator[str]:
    """Full names of what a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_used(path: Path) -> Iterator[str]:
    for name in imported(path):
        if name == ANSWER and part_of(path) == "hook":
            continue
        steps = name.split(".")
        if steps[0] == "claude_memory" and len(steps) > 1 and steps[1] in LEVEL:
            yield steps[1]


def test_every_part_has_its_row() -> None:
    unknown = {part_of(path) for path in modules()} - set(LEVEL) - OUTSIDE
    assert not unknown, f"say in ROWS where these stand: {sorted(unknown)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    own = part_of(path)
    if own in OUTSIDE:
        return
    wrong = {used for used in parts_used(path) if used != own and LEVEL[used] >= LEVEL[own]}
    assert not wrong, f"{own} may not import {sorted(wrong)}"


# What a surface may name besides `memory` and what stands beside it: the domain's words, formats, the hook.
WORDS = {"model", "errors", "settings", "text", "platform", "hook", "sample"}


def imported_to_run(path: Path) -> Iterator[str]:
    """Parts that a module imports when it runs; a type that is only named in annotations is no reach."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in for_types and node.module:
            yield node.module if node.module != "claude_memory" else f"claude_memory.{node.names[0].name}"


# A hook is a person waiting: instead of a whole `Memory` it opens these, and nothing else.
QUICK = {
    "claude_memory.notes",
    "claude_memory.notes.plain_files",
    "claude_memory.opening",
    "claude_memory.redact",
    "claude_memory.store",
    "claude_memory.store.sql.projects",
    "claude_memory.store.sqlite.glance",
    "claude_memory.understand.commands",
    "claude_memory.understand.speaker",
}


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "surfaces").rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_surfaces_ask_memory_and_context_alone(path: Path) -> None:
    allowed = QUICK if path.parent.name == "hooks" else set()
    names = {name for name in imported_to_run(path) if name.startswith("claude_memory.")} - allowed
    parts = {name.split(".")[1] for name in names}
    below = {part for part in parts & set(LEVEL) - WORDS if LEVEL[part] < LEVEL["memory"]}
    assert not below, f"{path.name} reaches past memory and context: {sorted(below)}"


def test_hooks_capture_with_the_standard_library_alone() -> None:
    for path in (PACKAGE / "hook").rglob("*.py"):
        foreign = {name for name in imported(path) if name.split(".")[0] not in sys.stdlib_module_names}
        assert foreign <= {ANSWER}, f"{path.name} imports {sorted(foreign - {ANSWER})}"
        program = path.read_text("utf-8")
        assert f"\nfrom {ANSWER.rpartition('.')[0]}" not in program, "only inside the function that answers"


@pytest.mark.parametrize(("library", "room"), [("apsw", "store/sqlite"), ("psycopg", "store/postgres")])
def test_only_its_backend_knows_a_database_library(library: str, room: str) -> None:
    users = {path for path in modules() if any(name.split(".")[0] == library for name in imported(path))}
    outside = {str(path.relative_to(PACKAGE)) for path in users if PACKAGE / room not in path.parents}
    assert not outside, f"go through the store: {sorted(outside)}"


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "claude_memory",
        "claude_memory.surfaces.cli",
        "claude_memory.surfaces.cli.app",
        "claude_memory.memory",
        "claude_memory.capture.drain",
        "claude_memory.search.search",
        "claude_memory.store.sqlite",
        "claude_memory.embed",
    ],
)
def test_nothing_heavy_loads_before_it_is_needed(module: str) -> None:
    assert not loaded_by(f"import {module}") & HEAVY


def test_the_version_needs_no_command_line_library() -> None:
    loaded = loaded_by("from claude_memory.surfaces.cli import main; main(['version'])")
    assert not loaded & {*HEAVY, "typer", "json", "logging", "apsw", "pathlib"}


def test_a_hook_needs_no_command_line_library() -> None:
    loaded = loaded_by("from claude_memory.surfaces.cli import main; main(['hook', 'Stop'])")
    assert not loaded & {*HEAVY, "typer", "json", "logging", "apsw"}


# A name that a convention asks for in several rooms; a package's own file has no name of its own.
SHARED_NAMES = {"model", "__init__"}


def test_no_two_modules_share_a_name() -> None:
    names: dict[str, list[str]] = {}
    for path in modules():
        if path.stem not in SHARED_NAMES:
            names.setdefault(path.stem, []).append(str(path.relative_to(PACKAGE)))
    shared = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert not shared, f"a newcomer opens the wrong one: {shared}"


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    shared = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert not shared, f"say which is meant: {shared}"


@pytest.mark.parametrize(
    "room",
    sorted(path.parent for path in modules() if path.name == "__init__.py" and path.parent != PACKAGE),
    ids=lambda room: str(room.relative_to(PACKAGE)),
)
def test_every_room_says_what_belongs_there_and_what_does_not(room: Path) -> None:
    about = ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""
    assert "Belongs here:" in about, "say in a line what belongs there"
    assert "Does not:" in about, "say in a line what does not, and where it stands instead"


def test_no_part_is_called_after_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "service"}
    assert not [path for path in modules() if path.stem in vague]


def test_every_benchmark_can_be_loaded(tmp_path: Path) -> None:
    bench = PACKAGE.parents[1] / "bench"
    names = [path.stem for path in sorted(bench.glob("*.py"))]
    assert len(names) > 20
    code = f"import importlib, sys\nsys.path[:0] = {[str(bench), str(bench.parent)]!r}\n"
    code += f"for name in {names!r}: importlib.import_module(name)"
    environment = {"HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
