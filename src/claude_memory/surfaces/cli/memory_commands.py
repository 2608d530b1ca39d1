"""Commands about memories: remember, list, show, revise, forget; those that ask: search, timeline, why; about
what was done: blame, fix, how; what a project knows: graph, knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, MemoryFilter, NewMemory, Scope, StoredMemory
from claude_memory.platform.agents import own_trust, require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Result,
    Shared,
    agent_option,
    argument,
    flag,
    given,
    one_at_most,
    option,
    reading,
    whole_text,
)
from claude_memory.surfaces.cli.output import bold, counted, cyan, day, dim, head, one_line
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory

_VERDICTS = {"reinforced": "repeats", "linked": "says something newer of the same than"}
_TOPICS = option("TOPIC", "A topic; repeatable.")
_FILES = option("FILE", "A file it is about; repeatable.")
_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)")
_OUTCOMES = {"passed": "passed afterwards", "failing": "still failed then", "unknown": "not run again there"}
_FORMATS = {".svg": "svg", ".mmd": "mermaid", ".md": "mermaid", ".graphml": "graphml", ".xml": "graphml"}
_LIMIT = option("N", "How many at most.", default=10, min=1, max=100)


def remember(
    memory: Memory,
    text: list[str] = Shared.TEXT,
    kind: Kind = option("KIND", f"What it is: {Shared.KINDS}.", default=Kind.NOTE),
    title: str | None = option("TITLE", "A title; default its first line."),
    topic: list[str] | None = _TOPICS,
    file: list[str] | None = _FILES,
    supersedes: str | None = option("ID", "The memory this one takes the place of."),
    scope: Scope = option("SCOPE", "`project`, or `user`: for all your projects.", default=Scope.PROJECT),
    session: str | None = option("SESSION", "The conversation it comes from."),
    as_user: bool = Shared.AS_USER,
) -> Result:
    """Keep a memory."""
    more = given(title=title, topics=topic, files=file, session=session, supersedes=supersedes)
    new = NewMemory(whole_text(text), kind=kind, scope=scope, trust=own_trust(as_user=as_user), **more)
    stored = memory.remember(new, embed=False)  # the next search makes the vector
    result = _kept("remembered", stored)
    verdict = memory.verdicts.get(stored.id)
    if verdict is not None and verdict.other is not None:
        output.note(f"{_VERDICTS[verdict.action.value]} {verdict.other}: {verdict.words}")
    return result


def list_(
    memory: Memory,
    kind: list[Kind] | None = Shared.ONLY_KINDS,
    topic: list[str] | None = Shared.ONLY_TOPICS,
    file: list[str] | None = Shared.ONLY_FILES,
    task: str | None = Shared.ONLY_TASK,
    session: str | None = Shared.ONLY_SESSION,
    since: datetime | None = Shared.SINCE,
    until: datetime | None = Shared.UNTIL,
    limit: int = option("N", "At most so many.", default=20, min=1),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """List memories, newest first."""
    memory.catch_up()
    about = given(kinds=tuple(kind or ()), topics=tuple(topic or ()), files=tuple(file or ()))
    if session:
        session = memory.session_id(session, all_projects=all_projects)
    wanted = MemoryFilter(**about, **given(task=task, session=session, since=since, until=until))
    newest = memory.newest(wanted, limit=limit, all_projects=all_projects)
    return Result(newest, map(output.listed, newest), nothing="no memories that fit")


def show(memory: Memory, ids: list[str] = Shared.IDS) -> Result:
    """Show whole memories."""
    documents, lines = [], list[str]()
    names = "session task topics files trust pinned supersedes".split()
    for item in memory.show(ids):
        stale = memory.stale(item)  # what the working tree no longer bears out
        documents.append({**output.plain(item), **given(stale=stale)})
        details = {
            "created": item.created_at,
            "changed": item.updated_at if item.updated_at != item.created_at else None,
            **{name: getattr(item, name) for name in names},
            "scope": item.scope if item.scope != "project" else "",
            "stale": stale,
        }
        standing = output.standing(item.status, item.superseded_by)
        lines += ["", head(item.id, item.kind, item.title, standing)]
        lines += [*output.table(details, indent="  "), ""]
        for line in item.body.splitlines():
            lines += output.paragraph(line, output.width(), "  ")
    return Result(documents, lines[1:])


def revise(
    memory: Memory,
    id_: str = Shared.ID,
    text: str | None = option("TEXT", "The new text; `-` reads standard input."),
    title: str | None = option("TITLE", "The new title."),
    kind: Kind | None = option("KIND", f"The new kind: {Shared.KINDS}."),
    topic: list[str] | None = _TOPICS,
    file: list[str] | None = _FILES,
    pin: bool | None = flag("Keep it from fading.", "--pin/--unpin", default=None),
    supersede_with: str | None = option("TEXT", "Keep the old memory and put this text in its place."),
    reason: str | None = option("TEXT", "Why it changed; kept with the change."),
    accept: bool = flag("Make what an agent, a tool or a file said your own word."),
    as_user: bool = Shared.AS_USER,
) -> Result:
    """Correct a memory, pin it, or put a new one in its place."""
    fields: dict[str, Any] = {"title": title, "kind": kind, "topics": topic, "files": file, "pinned": pin}
    changes = {name: value for name, value in fields.items() if value is not None}
    if supersede_with is None and text is None and not changes and not accept:
        raise typer.BadParameter("say what to change: --text, --title, --kind, --topic, --file, --pin …")
    one_at_most(("--accept", accept), ("--supersede-with", supersede_with))
    one_at_most(("--text", text), ("--supersede-with", supersede_with))
    trust = own_trust(as_user=as_user)
    if supersede_with is not None:
        [old] = memory.find([id_])
        kept = {name: getattr(old, name) for name in ("kind", "topics", "files", "scope")}
        changes = {name: value for name, value in changes.items() if name != "pinned"}
        why = {"reason": reason} if reason else {}
        new = NewMemory(body=whole_text([supersede_with]), trust=trust, provenance=why, **{**kept, **changes})
        changed, done = memory.supersede(old.id, new), "superseded by"
    else:
        body = whole_text([text]) if text is not None else None
        [changed], done = memory.accept([id_]) if accept else memory.find([id_]), "revised"
        if changes or body is not None:
            changed = memory.revise(id_, body=body, reason=reason or None, trust=trust, **changes)
    return _kept("proposed" if "proposed_for" in changed.provenance else done, changed)


def forget(
    memory: Memory,
    ids: list[str] = Shared.IDS,
    erase: bool = flag("Remove it everywhere, for good; a hash keeps it from coming back."),
    undo: bool = flag("Bring forgotten memories back."),
    yes: bool = Shared.YES,
) -> Result:
    """Hide memories (undo with --undo), or erase them for good."""
    one_at_most(("--erase", erase), ("--undo", undo))
    if undo:
        restored = memory.restore(ids)
        return Result(restored, [_line("restored", item) for item in restored])
    if not erase:
        gone = memory.forget(ids)
        output.note(f"undo within {memory.settings.forget_undo_days} days: forget --undo {' '.join(ids)}")
        return Result(gone, [_line("forgot", item) for item in gone])
    require_person("erasing for good")
    titles = ", ".join(f"“{item.title}”" for item in memory.find(ids))
    output.confirm(f"Erase {titles} for good?", yes=yes)
    erased = memory.erase(ids)
    left = ["it still stands where only you can take it out:", *(f"  {place}" for place in erased.left)]
    counts = (
        counted(erased.memories, "memory", "memories"),
        counted(erased.events, "event"),
        counted(erased.passages, "passage"),
        counted(erased.cut, "other text"),
    )
    return Result(erased, f"erased {', '.join(counts)}", [*(left if erased.left else ()), erased.beyond])


def _kept(done: str, item: StoredMemory) -> Result:
    if other := item.provenance.get("proposed_for"):
        output.note(f"{other} is a person's own word and stands; this is kept beside it, as a proposal")
    return Result(item, _line(done, item))


def _line(done: str, item: StoredMemory) -> str:
    return f"{done} {head(item.id, item.kind, item.title)}"


# --- asking


@reading()
def _relevance(text: str) -> float:
    if not 0 <= float(text) <= 1:
        raise InvalidInput(f"{text} is not between 0 and 1")
    return float(text)


def search(
    memory: Memory,
    query: list[str] = argument("QUERY", "A question, or a few words."),
    limit: int | None = option("N", "How many hits at most.", min=1, max=1000),
    kind: list[Kind] | None = Shared.ONLY_KINDS,
    topic: list[str] | None = Shared.ONLY_TOPICS,
    file: list[str] | None = Shared.ONLY_FILES,
    task: str | None = Shared.ONLY_TASK,
    session: str | None = Shared.ONLY_SESSION,
    since: datetime | None = Shared.SINCE,
    until: datetime | None = Shared.UNTIL,
    min_relevance: float | None = option("R", "Only hits this relevant; 0 shows all.", parser=_relevance),
    agent: str | None = agent_option("Only with this agent: claude-code, codex …"),
    branch: str | None = option("NAME", "Only work on this branch."),
    command: str | None = option("WORDS", "Only where a command with these words was run."),
    commit: str | None = option("HASH", "Only where this commit was made: hash or words."),
    failed: bool = flag("Only where a tool failed; with --command, that command."),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """Find memories and past work by words and meaning, best first."""
    memory.warm_up()
    memory.catch_up()
    wanted = given(kinds=kind, topics=topic, files=file, task=task, session=session, since=since, until=until)
    wanted |= given(agent=agent, branch=branch, command=command, commit=commit, failed=failed)
    hits = memory.search(
        " ".join(query), limit=limit, min_relevance=min_relevance, all_projects=all_projects, **wanted
    )
    memory.note_question()
    if "words only" in memory.search_mode:
        output.note(f"searched {memory.search_mode}")
        from claude_memory.surfaces.hooks import background

        background.go_on(memory)
    wider = "" if all_projects else ", or --all-projects"
    nothing = f"nothing found; try other words or fewer filters{wider}"
    if not hits and not any(memory.stats(all_projects=all_projects).memories.values()):
        nothing = 'no memories here yet: claude-memory remember "…" keeps the first'
    return Result([output.hit(hit) for hit in hits], output.hit_lines(hits, output.width()), nothing=nothing)


def timeline(
    memory: Memory,
    around: str | None = option("ID", "Around this memory."),
    query: str | None = option("QUERY", "Around the best answer to this."),
    before: int = option("N", "Entries before it.", default=5, min=0, max=1000),
    after: int = option("N", "Entries after it.", default=5, min=0, max=1000),
    session: str | None = Shared.ONLY_SESSION,
) -> Result:
    """Show what happened when: lately, or around a memory."""
    one_at_most(("--around", around), ("--query", query))
    memory.catch_up()
    wanted = given(around=around, query=query, session=session)
    entries, lines = memory.timeline(before=before, after=after, **wanted), []
    for item in entries:
        title, id_ = one_line(item.title)[:160], "" if item.is_event else f"  {item.id}"
        mark = "▸" if item.anchor else "·" if item.is_event else " "
        facts = dim(f"{mark} {times.minute(item.timestamp)}  {item.kind:<12}")
        lines.append(f"{facts} {bold(title) if item.anchor else title}{cyan(id_)}")
    return Result(entries, lines, nothing="nothing has happened here yet")


def why(
    memory: Memory,
    id_: str = Shared.ID,
    query: str | None = option("QUERY", "The question; default the last one asked here."),
) -> Result:
    """Explain why a memory answers a question, in words and numbers, and when agents were given it."""
    memory.catch_up()
    times_given = memory.given(id_)
    lines = [
        f"given to an agent {bold(times.minute(item.timestamp))}"
        + dim(f"  at {one_line(item.given_at)}, session {one_line(item.session or '-')}")
        for item in times_given
    ]
    try:
        explained = memory.why(id_, query)
    except InvalidInput:
        if not times_given:
            raise
        return Result({"given": times_given}, lines)  # never searched for, but hooks have given it
    question = [f"{dim('for the question')} {bold(f'“{one_line(explained.query)}”')}"] * bool(explained.query)
    words = [line for text in explained.words for line in output.paragraph(text, output.width(), "")]
    numbers = output.table({name: f"{value:.4g}" for name, value in explained.numbers.items()}, indent="  ")
    return Result(
        {**output.plain(explained), "given": times_given}, [*question, *words, "", *numbers, *lines]
    )


# --- what was done


def blame(
    memory: Memory,
    named: str = argument("FILE[:LINE]", "A file, or one line of it."),
    limit: int = _LIMIT,
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """Tell which exchanges shaped a file, or a line of it, and why."""
    file, line, match = named, None, _LINE.fullmatch(named)
    if match is not None and not Path(named).exists():
        file = match["file"]
        try:
            line = Path(file).read_text("utf-8", "replace").splitlines()[int(match["line"]) - 1]
        except (OSError, IndexError):
            raise typer.BadParameter(f"{file} has no line {match['line']} here.") from None
    memory.catch_up()
    root, whole = Path(memory.project.path or "."), Path.cwd() / file
    below = (whole.relative_to(root) if whole.is_relative_to(root) else Path(file)).as_posix()
    exchanges = memory.work(all_projects=all_projects).blame(below, line=line, limit=limit)
    if exchanges and line is not None and not any(exchange.line for exchange in exchanges):
        output.note("no edit of this very line is known; these edited the file")
    lines: list[str] = []
    for item in exchanges:
        edits = dim(f"  {counted(item.edits, 'edit')}{', this line' if item.line else ''}")
        lines += [head(item.id, day(item.timestamp), item.title, edits)]
        lines += _details(asked=item.why, ended=item.ended, commit=item.commits)
    return Result(exchanges, lines, nothing=f"no exchange is known to have edited {file}")


def fix(
    memory: Memory,
    error: list[str] = argument("ERROR", "The error's text, or its main line."),
    limit: int = option("N", "How many at most.", default=5, min=1, max=100),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """Tell what was done after this error before, and whether it held."""
    memory.catch_up()
    fixes = memory.work(all_projects=all_projects).fix(" ".join(error), limit=limit)
    lines: list[str] = []
    for item in fixes:
        back = f", came back {times.minute(item.came_back)}" if item.came_back else ""
        outcome = dim(f"  {_OUTCOMES[item.outcome]}{back}")
        lines += [head(item.id, times.minute(item.timestamp), item.title, outcome)]
        lines += _details(error=item.error, command=item.command, then=item.after, ended=item.ended)
    return Result(fixes, lines, nothing="this error was not met here before, as far as is known")


def how(
    memory: Memory,
    words: list[str] = argument("WORDS", "What it does, or a part of it."),
    limit: int = _LIMIT,
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """Show the commands that worked here for something."""
    memory.catch_up()
    commands = memory.work(all_projects=all_projects).how(" ".join(words), limit=limit)
    lines: list[str] = []
    for item in commands:
        failed = f", failed {item.failed}×" if item.failed else ""
        facts = dim(f"worked {item.worked}×{failed}, last {times.minute(item.last)}")
        lines += [f"{bold(one_line(item.command))}  {facts}  {cyan(item.id)}"]
        lines += _details(**{"failed with": item.error})
    return Result(commands, lines, nothing="no command with these words was run here, as far as is known")


def _details(**values: str | Sequence[str]) -> Iterator[str]:
    for name, value in values.items():
        for text in [value] if isinstance(value, str) else value:
            if text:
                yield f"{dim(f'    {name:<7} ')}{one_line(text)}"


# --- what a project knows


def graph(
    memory: Memory,
    start: str = argument("ID|PATH|TOPIC", "A memory, a file, a topic, a symbol, an error."),
    hops: int = option("N", "How far to go.", default=2, min=1, max=4),
    write: Path | None = option("FILE", "Also write it: .svg, .mmd (Mermaid), .graphml."),
) -> Result:
    """Draw what is around a memory, a file or a topic."""
    if write is not None and write.suffix not in _FORMATS:
        raise typer.BadParameter("the file must end in .svg, .mmd or .graphml")
    memory.catch_up(graph=True)
    around = memory.graph.around(start, hops=hops)
    if write is not None:
        write.write_text(around.drawn(_FORMATS[write.suffix]), "utf-8", "replace")
        output.note(f"wrote {write}")
    nodes = [{"kind": node.kind, "name": node.name, "label": around.label(node)} for node in around.nodes]
    ends = [{"source": edge.source.name, "target": edge.target.name} for edge in around.edges]
    edges = [{**output.plain(edge), **end} for edge, end in zip(around.edges, ends, strict=True)]
    return Result({"nodes": nodes, "edges": edges}, around.drawn("text").split("\n"))


def knowledge(
    memory: Memory, topic: str | None = argument("[TOPIC]", "Only what concerns this.", default=None)
) -> Result:
    """Show decisions with their reasons, and rules with how often and since when they came up."""
    memory.catch_up(graph=True)
    known = memory.knowledge(topic or None)
    names = "decisions", "patterns and conventions", "how it is checked", "changes together", "most mentioned"
    decisions, rules, checks, together, mentioned = ([bold(name)] for name in names)
    for decision in known.decisions:
        kept = decision.memory
        decisions += [head(f"  {kept.id}", day(kept.created_at), kept.title)]
        decisions += _details(why=decision.reason, replaced=decision.replaced)
        decisions += _details(contradicted=decision.contradicted_by)
    for rule in known.rules:
        facts = f"{rule.memory.kind}, {counted(rule.sessions, 'session')} since {day(rule.since)}"
        rules += [head(f"  {rule.memory.id}", facts, rule.memory.title)]
        rules += _details(contradicted=rule.contradicted_by)
    for item in known.recurring:
        block = checks if item.kind == "check" else together
        block.append(f"  {item.text}{dim(f'  {len(item.sessions)} sessions')}")
    mentioned += [f"  {item.kind} {item.name}{dim(f'  {count}')}" for item, count in known.things]
    blocks = (decisions, rules, checks, together, mentioned)
    lines = [line for block in blocks if len(block) > 1 for line in block]
    return Result(known, lines, nothing=f"nothing is known {'about this' if topic else 'here'} yet")
