"""The documentation says what the program does: complete, up to date, with links that lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import claude_memory
from claude_memory.settings import ENVIRONMENT, KEYS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
WANTED = {"concepts", "cli", "python", "configuration", "architecture", "decisions", "contributing"}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_there() -> None:
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} >= WANTED
    assert {"README", "CHANGELOG", "AGENTS"} <= {page.stem for page in PAGES}


def test_generated_parts_are_up_to_date(generator: ModuleType) -> None:
    for name, text in generator.pages().items():
        assert (ROOT / "docs" / name).read_text("utf-8") == text, f"docs/{name} is out of date: make docs"


def test_every_command_and_option_is_documented(generator: ModuleType) -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for name, command in generator.commands():
        section = page.partition(f"\n## claude-memory {name}\n")[2].partition("\n## ")[0]
        assert section, f"no section about {name}"
        assert command.help, f"{name} has no help text"
        for item in command.params:
            assert item.help or item.name == "help", f"{item.name} of {name} has no help text"
            for option in (*item.opts, *item.secondary_opts):
                assert not option.startswith("-") or f"`{option}" in section, f"{option} of {name}"


def test_every_setting_and_variable_is_documented() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert len(KEYS) <= 36
    for name in (*KEYS, *ENVIRONMENT):
        assert f"| `{name}` |" in page


def test_every_make_target_of_the_contributing_page_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert targets >= {"run", "test", "check", "bench", "soak", "e2e", "fmt", "clean", "help", "docs"}
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z0-9]+)", page.read_text("utf-8")))
        assert named <= targets, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_shown_exist(page: Path, generator: ModuleType) -> None:
    known = {name.split()[0] for name, _ in generator.commands()}
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    for line in "\n".join(blocks).splitlines():
        words = line.removeprefix("$ ").split()
        if words[:1] == ["claude-memory"] and len(words) > 1 and not words[1].startswith("-"):
            assert words[1] in known, f"{page.name}: {line}"


def test_examples_in_python_run(memory_home: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_public_face_is_what_the_page_lists() -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    for name in claude_memory.__all__:
        assert getattr(claude_memory, name) is not None
        assert f"`{name}" in page, name


def test_the_changelog_knows_this_version() -> None:
    assert f"## {claude_memory.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_invariants_stay_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text("utf-8").splitlines()) <= 120


def test_no_page_names_a_registry_or_a_machine() -> None:
    for path in [
        *PAGES,
        ROOT / "constraints.txt",
        ROOT / "Makefile",
        ROOT / ".ci" / "run",
        ROOT / "pyproject.toml",
    ]:
        assert not re.search(r"index-url|find-links|/root/|/home/(?!dev)|file://", path.read_text("utf-8")), (
            path.name
        )
