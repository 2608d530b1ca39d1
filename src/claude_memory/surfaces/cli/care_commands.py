"""Commands that look after the memory: doctor, stats, consolidate, reindex, config, version; and demo."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from claude_memory import __version__
from claude_memory.platform import config_file
from claude_memory.platform.agents import require_person
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    AllProjects,
    DryRun,
    Json,
    Result,
    WorkPlace,
    argument,
    flag,
    one_at_most,
)
from claude_memory.surfaces.cli.output import bold, counted, dim, one_line, styled
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.doctor import Check
    from claude_memory.memory import Memory
    from claude_memory.sample import SampleEvent, SampleQuestion

GATE_SECONDS = 20.0  # for memories that came while no model was at hand; the rest waits for the next time
_LEVEL_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
Key = Annotated[str, argument("KEY", "A setting; `config list` shows all.")]


def doctor(place: WorkPlace) -> Result:
    """Check that all is well; exit 1 when something is wrong."""
    from claude_memory.doctor import check

    checks = check(place.home_folder, root_of(place.project_folder))
    failed = any(item.level == "fail" for item in checks)
    return Result({"ok": not failed, "checks": checks}, _check_lines(checks), code=1 if failed else 0)


def _check_lines(checks: Sequence[Check]) -> Iterator[str]:
    """One line per check; what to do about a bad one below it."""
    longest = max((len(check.name) for check in checks), default=0)
    for check in checks:
        level = styled(_LEVEL_STYLES[check.level], f"{check.level:<4}")
        yield f"{level} {bold(f'{check.name:<{longest}}')}  {one_line(check.message)}"
        if check.hint and check.level != "ok":
            yield dim(f"     {'':<{longest}}  → {one_line(check.hint)}")


def stats(memory: Memory, all_projects: AllProjects = False) -> Result:
    """Count memories, events, sessions and vectors."""
    counts = memory.stats(all_projects=all_projects)
    progress = memory.upkeep.vectors.progress
    place = {"home": memory.home, "project": "all" if all_projects else memory.project.name}
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.memories.items()) if count)
    shown = {
        **place,
        "memories": f"{sum(counts.memories.values())}{f' ({kinds})' if kinds else ''}",
        "events": counts.events,
        "sessions": counts.sessions,
        "passages": counts.passages,
        "vectors": ", ".join(f"{count} by {model}" for model, count in counts.vectors.items()) or 0,
        **({"by meaning": progress.words} if progress.missing else {}),
        "projects": counts.projects,
        "store": f"{output.size(counts.size_bytes)}, schema {counts.schema_version}",
        "from": times.minute(counts.oldest) if counts.oldest else "-",
        "to": times.minute(counts.newest) if counts.newest else "-",
    }
    vectors = {"vectors_missing": progress.missing, "vectors_in_work": progress.working}
    return Result({**place, **output.plain(counts), **vectors}, output.table(shown))


def consolidate(
    memory: Memory,
    dry_run: DryRun = False,
    undo: Annotated[bool, flag("--undo", "Take back the last consolidation.")] = False,
) -> Result:
    """Let waiting memories meet their neighbours, link what is alike, archive what faded; nothing is lost."""
    one_at_most(("--dry-run", dry_run), ("--undo", undo))
    if undo:
        undone = memory.upkeep.undo_consolidation()
        return Result({"undone": undone}, f"{undone} steps taken back")
    settled = 0 if dry_run else memory.upkeep.judge_pending(budget_seconds=GATE_SECONDS)
    done = memory.upkeep.consolidate(dry_run=dry_run)
    verb = "would be" if dry_run else "were"
    words = [
        *([f"{counted(settled, 'new link')} by the write gate"] if settled else []),
        f"{done.repeated} repetitions and {done.similar} near twins {verb} linked",
        f"{done.archived} faded memories {verb} archived",
        f"{len(done.patterns)} patterns recur in three sessions or more",
    ]
    has_changed = not dry_run and done.repeated + done.similar + done.archived
    notes = ["undo: claude-memory consolidate --undo"] if has_changed else []
    return Result({**output.plain(done), "settled": settled}, "\n".join(words), notes)


def reindex(
    memory: Memory,
    from_files: Annotated[
        bool, flag("--from-files", "Rebuild the database itself from memories.jsonl.")
    ] = False,
    stop: Annotated[
        bool,
        flag("--stop", "Stop making vectors in the background, until the next `import` or `reindex`."),
    ] = False,
) -> Result:
    """Make the search index and the vectors anew."""
    one_at_most(("--from-files", from_files), ("--stop", stop))
    if stop:
        memory.upkeep.stop_vectors()
        progress = memory.upkeep.vectors.progress
        return Result(progress, progress.words)
    with output.progress_bar("vectors") as show:
        done = memory.reindex(from_files=from_files, progress=show)
    read = f"{done.memories} memories read from files, " if from_files else ""
    made = f"{read}{done.passages} passages, {done.vectors} vectors made anew; search: {memory.search_mode}"
    return Result(done, made)


def config_get(place: WorkPlace, key: Key) -> Result:
    """Print one setting as it is in effect."""
    value = _resolved(place)[config_file.known(key)].value
    return Result(value, _shown(value))


def config_list(place: WorkPlace) -> Result:
    """Print every setting, its value, and where the value comes from."""
    settings = _resolved(place)
    longest = max(len(key) for key in settings)
    lines = [
        f"{bold(f'{key:<{longest}}')}  {_shown(item.value) or '(empty)'}{dim(f'  [{item.origin}]')}"
        for key, item in settings.items()
    ]
    return Result(settings, lines)


def config_set(
    place: WorkPlace,
    key: Key,
    value: Annotated[str, argument("VALUE", "The new value; lists with commas.")],
) -> Result:
    """Change one setting in the home's config.toml; comments in it stay."""
    require_person("changing a setting")  # it names what is sent where, and whose notes are believed
    path = config_file.assign(place.home_folder, key, value)
    now = output.plain(_resolved(place)[key])
    line = f"{key} = {_shown(now['value'])}{dim(f'  in {path}')}"
    notes = [] if now["origin"] == "config.toml" else [f"the {now['origin']} still overrides it"]
    return Result({"key": key, **now, "path": path}, line, notes)


def config_unset(place: WorkPlace, key: Key) -> Result:
    """Take one setting out of config.toml, so that its default holds again."""
    require_person("changing a setting")
    removed = config_file.remove(place.home_folder, key)
    now = output.plain(_resolved(place)[key])
    line = f"{key} = {_shown(now['value'])}" + dim(f"  [{now['origin']}]")
    return Result({"key": key, "removed": removed, **now}, line)


def _resolved(place: WorkPlace) -> dict[str, config_file.Resolved]:
    return config_file.resolved(place.home_folder, root_of(place.project_folder))


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def version() -> Result:
    """Print the version."""
    from claude_memory.doctor.surroundings import sqlite_version

    python = sys.version.split()[0]
    document = {"version": __version__, "python": python, "sqlite": sqlite_version()}
    return Result(document, f"claude-memory {__version__}")


# --- the whole path, from an event to an answer, in a home that is thrown away; every part is the real one


def demo(json: Json = False) -> Result:
    """Show the whole path, from sample events to an answer."""
    from claude_memory import sample

    seconds: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[list[str]]:
        begun, words = time.perf_counter(), list[str]()
        yield words
        seconds[name] = round(time.perf_counter() - begun, 3)
        if not json:
            output.lines([_step_line(name, seconds[name], " ".join(words))])

    with _thrown_away() as folder:
        with _opened(folder) as memory, step("import") as words:
            sessions = sample.write_history(folder / "billing", folder)
            done = memory.import_history([folder / ".claude"], user_home=folder)
            brought = f"{counted(done.messages, 'message')}, {counted(done.memories, 'memory', 'memories')}"
            words.append(f"{sessions} older sessions of the agent: {brought}")
        with step("capture") as words:
            events = sample.events(folder / "billing")
            milliseconds = round(statistics.median(_captured(event, folder) for event in events) * 1000, 1)
            words.append(f"{len(events)} events of two coding sessions")
            words.append(f"through the hook program, {milliseconds} ms each")
        with _opened(folder) as memory:
            with step("store") as words:
                new = memory.drain()
                words.append(f"{new.events} events, {new.memories} memories, {new.rejected} rejected")
            with step("embed") as words:
                words.append(f"{memory.embed_pending()} vectors; the model is unpacked on first use")
            answers = [_ask(memory, question) for question in sample.QUESTIONS]
            mode = memory.search_mode
    right = all(answer["right"] and not answer["shared_words"] for answer in answers)
    if not right:
        output.failure("the memory that answers did not come first")
    shown = [{**answer, "hits": [output.hit(hit) for hit in answer["hits"]]} for answer in answers]
    document = {"ok": right, "hook_ms": milliseconds, "steps": seconds, "answers": shown}
    return Result(document, _answer_lines(answers, mode), code=0 if right else 1)


@contextmanager
def _thrown_away() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="claude-memory-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(os.path.realpath(name))
        (folder / "billing").mkdir()
        store = os.environ.pop("CLAUDE_MEMORY_STORE", None)  # the demo must never touch real memories
        try:
            yield folder
        finally:
            if store is not None:
                os.environ["CLAUDE_MEMORY_STORE"] = store


def _opened(folder: Path) -> Memory:
    from claude_memory.memory import Memory

    return Memory.open(folder / "home", folder / "billing", flags={"store": "", "embedder": "bundled"})


def _captured(event: SampleEvent, folder: Path) -> float:
    """How many seconds the hook program took for an event, in a process of its own."""
    from claude_memory import hook

    program = Path(hook.__file__).with_name("claude_memory_hook.py")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_MEMORY_")}
    environment["CLAUDE_MEMORY_HOME"] = str(folder / "home")
    begun = time.perf_counter()
    command = [sys.executable, "-I", "-S", str(program), event.name]
    subprocess.run(command, input=event.raw, env=environment, check=True)
    return time.perf_counter() - begun


def _ask(memory: Memory, question: SampleQuestion) -> dict[str, Any]:
    """A question of the sample, what came first, and whether that is the right memory."""
    from claude_memory.text.words import index_terms, query_terms

    begun = time.perf_counter()
    hits = memory.search(question.text, limit=3)
    seconds = round(time.perf_counter() - begun, 3)
    first = memory.show([hits[0].id])[0].body if hits else ""
    shared = sorted(set(query_terms(question.text)).intersection(index_terms(first)))
    outcome = {"shared_words": shared, "right": question.answer in first, "hits": hits}
    return {"question": question.text, "seconds": seconds, **outcome}


def _answer_lines(answers: Sequence[dict[str, Any]], mode: str) -> Iterator[str]:
    for answer in answers:
        yield ""
        yield _step_line("ask", answer["seconds"], bold(f"“{answer['question']}”"))
        yield from output.hit_lines(answer["hits"][:1], output.width() or 100)
        yield dim(f"    words it shares with the question: {', '.join(answer['shared_words']) or 'none'}")
    yield ""
    yield dim(f"searched by {mode}; the home of this demo is gone again")


def _step_line(name: str, seconds: float, words: str) -> str:
    return f"{styled('bold green', f'{name:<8}')}{dim(f'{seconds:6.2f} s')}  {words}"
