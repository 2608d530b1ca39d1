"""docs/sandboxes.md: the commands of every recipe, run in homes that stand for sandboxes, carry the memory on."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.places import spot

PAGE = (Path(__file__).parents[2] / "docs" / "sandboxes.md").read_text("utf-8")
RECIPES = {
    "E2B": "volume",
    "Daytona": "s3",
    "Railway": "s3",
    "Docker": "volume",
    "Devcontainer": "volume",
    "GitHub Actions": "git",
}

# Stands for the agent: its prompt goes through the real hooks, and it has no plugins.
AGENT = """#!/bin/sh
[ "$1" = -p ] || exit 0
printf '{"session_id": "%s", "prompt_id": "%s", "prompt": "%s", "cwd": "%s"}' "$SESSION" "$SESSION" "$2" "$PWD" |
    claude-memory hook UserPromptSubmit > /dev/null
printf '{"session_id": "%s", "last_assistant_message": "Noted.", "cwd": "%s"}' "$SESSION" "$PWD" |
    claude-memory hook Stop
"""


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(title: str) -> list[str]:
    """Every command of a recipe in the order it stands there, whatever file it belongs into."""
    found: list[str] = []
    for kind, text in re.findall(r"```(\w+)\n(.*?)```", section(title), re.DOTALL):
        if kind == "sh":
            found.append(text)
        elif kind == "dockerfile":
            found += re.findall(r"^RUN (.*)$", text, re.MULTILINE)
        elif kind == "json":
            found += [value for name, value in json.loads(text).items() if name.endswith("Command")]
        elif kind == "yaml":
            blocks = re.findall(r"- run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", text)
            found += [re.sub(r"^ {10}", "", many, flags=re.MULTILINE) or one for many, one in blocks]
    return found


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The programs that recipes call: ours is real, the agent fires real hooks, the others have done their work."""
    folder = tmp_path / "bin"
    folder.mkdir()
    ours = f'#!/bin/sh\nexec "{sys.executable}" -m claude_memory "$@"\n'
    for name, text in {
        "claude-memory": ours,
        "claude": AGENT,
        "pip": "#!/bin/sh\n",
        "gh": "#!/bin/sh\n",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def sandbox(tools: Path, home: Path, project: Path, **environment: str) -> dict[str, str]:
    """The environment of a new sandbox; only the settings that keep the model away are there."""
    memory = home / ".claude" / "memory"
    if not memory.exists():
        memory.mkdir(parents=True, mode=0o700)
        (memory / "config.toml").write_text('embedder = "none"\n')
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "HOME": str(home), "PATH": path, "SESSION": home.name, **environment}


def run(script: str, environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-e", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(("title", "kind"), RECIPES.items())
def test_a_recipe_carries_the_memory_from_sandbox_to_sandbox(
    title: str, kind: str, tools: Path, tmp_path: Path, s3: str
) -> None:
    place = spot(kind, tmp_path, s3)
    project = tmp_path / "project"
    project.mkdir()
    script = "\n".join(commands(title))
    assert "claude-memory backup pull --if-empty" in script
    for number in range(2):
        prompt = f"The tariff of harbour {number} is called okapi{number}quagga, keep that in mind"
        own = {**place.environment, "MEMORY_PLACE": place.name, "PROMPT": prompt}
        inside = sandbox(tools, tmp_path / f"sandbox-{number}", project, **own)
        run(script, inside, project)
        if "backup push" not in script:  # a devcontainer lives on: its conversations are pushed by themselves
            run('claude -p "$PROMPT"\nclaude-memory backup push', inside, project)
    for number in range(2):
        hits = json.loads(run(f"claude-memory search okapi{number}quagga --json", inside, project))
        assert any(f"okapi{number}quagga" in hit["snippet"] + hit["title"] for hit in hits), number


def test_encryption_is_one_setting(tools: Path, tmp_path: Path) -> None:
    own = {"MEMORY_KEY": "correct horse battery", "PLACE": str(tmp_path / "volume")}
    inside = sandbox(tools, tmp_path / "sandbox", tmp_path, **own)
    run("\n".join(commands("Encryption")), inside, tmp_path)
    run(
        'claude-memory remember "the harbour is planted"\nclaude-memory backup push "$PLACE"',
        inside,
        tmp_path,
    )
    lying = b"".join(path.read_bytes() for path in (tmp_path / "volume").rglob("*") if path.is_file())
    assert b"age-encryption.org" in lying
    assert b"planted" not in lying


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def new_repository(folder: Path, content: str) -> None:
    folder.mkdir(parents=True)
    (folder / "file").write_text(content)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", content]):
        git(folder, *words)


def test_a_repository_without_a_remote_made_anew_at_its_path_finds_its_memory(
    tools: Path, tmp_path: Path
) -> None:
    import shutil

    place, work = str(tmp_path / "volume"), tmp_path / "work"
    new_repository(work, "one")
    inside = sandbox(tools, tmp_path / "first", work, PLACE=place)
    run('claude-memory remember "okapi is the tariff"\nclaude-memory backup push "$PLACE"', inside, work)
    shutil.rmtree(work)
    new_repository(work, "another beginning")
    inside = sandbox(tools, tmp_path / "second", work, PLACE=place)
    run('claude-memory backup pull "$PLACE" --if-empty', inside, work)
    assert "okapi" in run("claude-memory search okapi", inside, work)


def test_a_shallow_clone_elsewhere_is_told_its_project_once(tools: Path, tmp_path: Path) -> None:
    new_repository(tmp_path / "origin", "one")
    (tmp_path / "origin" / "file").write_text("two")
    git(tmp_path / "origin", "commit", "-qam", "two")
    for name in ("work", "elsewhere"):
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path / 'origin'}", name)
    inside = sandbox(tools, tmp_path / "home", tmp_path, PROJECT="work")
    run('claude-memory remember "okapi is the tariff"', inside, tmp_path / "work")
    assert "okapi" not in run("claude-memory search okapi", inside, tmp_path / "elsewhere")
    run("\n".join(commands("Projects in fresh clones")), inside, tmp_path / "elsewhere")
    assert "okapi" in run("claude-memory search okapi", inside, tmp_path / "elsewhere")


def lasting(home: Path) -> dict[str, bytes]:
    """What a memory consists of, without caches and the files that SQLite opens beside its own."""
    passing = ("cache/", "logs/", "memory.db-")
    named = {path.relative_to(home).as_posix(): path for path in home.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in named.items()
        if not name.startswith(passing) and not name.endswith(".lock")
    }


def test_a_worker_that_only_reads_gets_context_and_leaves_no_trace(tools: Path, tmp_path: Path) -> None:
    inside = sandbox(tools, tmp_path / "sandbox", tmp_path)
    run('claude-memory remember "okapi is the tariff" --kind decision', inside, tmp_path)
    home = tmp_path / "sandbox" / ".claude" / "memory"
    before = lasting(home)
    worker = {**inside, "CLAUDE_MEMORY_READONLY": "1", "SESSION": "worker"}
    assert "okapi" in run("claude-memory search okapi", worker, tmp_path)
    event = json.dumps({"session_id": "w", "source": "startup", "cwd": str(tmp_path)})
    assert "okapi" in run(f"echo '{event}' | claude-memory hook SessionStart", worker, tmp_path)
    run('claude -p "remember the secret plan"', worker, tmp_path)
    for refused in ('remember "y"', 'decide "z"', 'backup push "$PWD/volume"', "forget okapi --yes"):
        done = subprocess.run(
            ["sh", "-c", f"claude-memory {refused}"], env=worker, cwd=tmp_path, capture_output=True
        )
        assert done.returncode == 1, refused
    assert lasting(home) == before


def test_a_worker_that_is_switched_off_does_nothing(tools: Path, tmp_path: Path) -> None:
    inside = sandbox(tools, tmp_path / "sandbox", tmp_path, CLAUDE_MEMORY_DISABLE="1")
    run('claude -p "remember the secret plan"', inside, tmp_path)
    assert not (tmp_path / "sandbox" / ".claude" / "memory" / "spool").exists()


def test_two_machines_become_one_memory(tools: Path, tmp_path: Path) -> None:
    (tools / "ssh").write_text('#!/bin/sh\nHOME="$3" exec sh -c "$4"\n')
    (tools / "ssh").chmod(stat.S_IRWXU)
    other = sandbox(tools, tmp_path / "workstation", tmp_path)
    run('claude-memory remember "okapi is the tariff"', other, tmp_path)
    own = {"OTHER_MACHINE": other["HOME"], "MEMORY_PLACE": str(tmp_path / "volume")}
    laptop = sandbox(tools, tmp_path / "laptop", tmp_path, **own)
    run('claude-memory remember "quagga is the harbour"', laptop, tmp_path)
    run("\n".join(commands("Two machines, one memory")), laptop, tmp_path)
    for machine in (laptop, other):
        assert "okapi" in run("claude-memory search okapi", machine, tmp_path)
        assert "quagga" in run("claude-memory search quagga", machine, tmp_path)
