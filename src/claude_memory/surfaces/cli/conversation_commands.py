"""Commands about conversations: recall (a screen on a terminal), import, conversation; and about what
compactions left: summaries, summary, summarize.
"""

from __future__ import annotations

import contextlib
import json as json_text
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from claude_memory.errors import InvalidInput, NotFound, StoreBusy
from claude_memory.platform.agents import require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Result,
    Shared,
    WorkPlace,
    agent_option,
    argument,
    flag,
    one_of,
    option,
    reading,
    said,
    time_option,
)
from claude_memory.surfaces.cli.output import bold, counted, day, dim, head, one_line, styled
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.imports.importer import Imported, Unread
    from claude_memory.memory import Memory
    from claude_memory.search.conversations import Recalled, Resume
    from claude_memory.store.model import Conversation
    from claude_memory.summaries.shelf import KeptSummary

NOTHING_YET = "no conversations yet: claude-memory import reads what agents keep of theirs"
UNREAD_SHOWN = 10
WAIT_SECONDS = 30  # a drain's slack takes ten
MAX_BYTES = 4 << 20
PROVIDERS = ("rules", "anthropic", "claude", "endpoint:URL")
_AGENT = agent_option("Only this agent's, such as claude-code or codex.")
_SOURCES = "Files or folders; default: all known places."
_WORDS = "Words, a phrase, an error, a command, a file; without it the newest."
_STYLES = {"user": "bold cyan", "assistant": "bold green", "result": "dim"}


def recall(
    place: WorkPlace,
    query: list[str] | None = argument("[QUERY]...", _WORDS, default=None),
    agent: str | None = _AGENT,
    since: datetime | None = Shared.SINCE,
    until: datetime | None = Shared.UNTIL,
    cwd: Path | None = option("DIR", "Only what was said in this folder or below it."),
    limit: int = option("N", "How many conversations at most.", default=20, min=1, max=500),
    all_: bool = flag("All projects alike; otherwise this one's stand a bit ahead."),
    print_: bool = flag("Print the command that resumes, instead of running it."),
    json: bool = Shared.JSON,
) -> Result | None:
    """Find conversations with any agent, best first; on a terminal, a screen to look into them."""
    from claude_memory.memory import ConversationFilter

    folder = ""
    if cwd is not None:  # as agents write it: whole, with links followed where the folder is still there
        named = cwd.expanduser()
        folder = str(said(str(named.resolve() if named.is_dir() else named.absolute()))).rstrip("/\\")
    within = ConversationFilter(agent=agent, since=since, until=until, folder=folder)
    question = " ".join(query or [])
    on_screen = not json and sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    with place.opened(quiet=on_screen) as memory:
        if not on_screen:
            recalled = memory.recall(question, within=within, limit=limit, own_first=not all_)
            documents, lines = [], list[str]()
            for item in recalled:
                document, shown = _recalled(item, memory.conversations.resume(item.conversation))
                documents.append(document)
                lines += shown
            total = memory.archive.totals()["conversations"]
            notes = [f"{len(recalled):,} of {counted(total, 'conversation')}"] if recalled else []
            nothing = "nothing found; try other words or fewer filters" if total else NOTHING_YET
            return Result(documents, lines, notes, nothing=nothing)
        from claude_memory.surfaces.tui.screen import RecallScreen

        chosen = RecallScreen(memory, question, within, limit=limit, own_first=not all_).run()
        resume = memory.conversations.resume(chosen) if chosen is not None else None
    if chosen is not None:
        go_on(chosen, resume, only_print=print_)
    return None


def _recalled(item: Recalled, resume: Resume | None) -> tuple[dict[str, Any], list[str]]:
    """A conversation for programs, and with its head line and its best passages for a person."""
    talk, columns = item.conversation, output.width()
    names = "session agent title project cwd branch first last messages parent".split()
    document = {name: getattr(talk, name) for name in names}
    when = times.ago(talk.last, now=datetime.now().astimezone())
    document |= {"when": when, "score": item.score, "passages": item.quotes}
    lines = [head(talk.session, f"{day(talk.last)}, {when}", talk.name)]
    lines.append(dim(f"    {talk.agent}, {counted(talk.messages, 'message')}, {_where(talk)}"))
    for quote in item.quotes:
        facts, text = f"    {quote.ordinal or '·':>5} {quote.role:<9} ", one_line(quote.text)
        room = len(text) if columns is None else max(columns - len(facts), 20)
        lines.append(f"{dim(facts)}{text if len(text) <= room else text[: room - 1] + '…'}")
    return {**document, "resume": resume.line if resume else None}, lines


def _where(talk: Conversation) -> str:
    return f"{talk.cwd} on {talk.branch}" if talk.branch else talk.cwd


def go_on(chosen: Conversation, resume: Resume | None, *, only_print: bool) -> None:
    """Resume a conversation in its folder; where that cannot be done, say how it could."""
    if resume is None:
        output.note(f"{chosen.agent} cannot resume a conversation by its id; this prints it:")
        output.lines([f"claude-memory conversation {chosen.session}"])
        return
    if resume.handed:
        output.note(f"{chosen.agent} has deleted its own file: it begins anew with what the archive holds")
    program = shutil.which(resume.arguments[0])
    if not only_print and program is not None and resume.has_folder:
        sys.stdout.flush()
        os.chdir(resume.folder)
        os.execv(program, resume.arguments)  # noqa: S606  the agent's own program, without a shell
    if not only_print:
        missing = resume.arguments[0] if program is None else resume.folder
        output.note(f"cannot resume here, {missing} is not there; this would:")
    output.lines([resume.line])


def import_(
    memory: Memory,
    paths: list[Path] | None = argument("[PATH]...", _SOURCES, default=None),
    agent: str | None = _AGENT,
    since: datetime | None = time_option("Only what changed since: 2026-11-01, 2 weeks ago.", metavar="TIME"),
    from_: Literal["claude-mem"] | None = option("KIND", "Read another memory's database: claude-mem."),
    wait: bool = flag("Wait until all is found by meaning, too; else that goes on alone."),
    dry_run: bool = flag("Only say which files would be read."),
) -> Result:
    """Read what agents keep of their conversations; only what is new."""
    if dry_run:
        if from_ is not None:
            raise InvalidInput("--dry-run is for agents' own histories, not for --from")
        plan = memory.upkeep.import_plan(paths or (), agent=agent, since=since)
        lines = []
        for name in sorted({file["agent"] for file in plan.files}):
            sizes = [file["bytes"] for file in plan.files if file["agent"] == name]
            lines.append(f"{name}: {counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB")
        shown = ["would read", *lines] if lines else "nothing new to read"
        return Result(plan, shown, list(_unread(plan.unread)))
    if from_ is not None:
        done = memory.upkeep.import_memories(from_, paths or ())
    else:
        with output.progress_bar("MB", 1e6) as show:

            def tell(done_bytes: int, total_bytes: int, added: Imported) -> None:
                show(done_bytes, total_bytes - done_bytes, f"{added.messages:,} messages")

            done = memory.import_history(
                paths or (), agent=agent, since=since, wait_seconds=WAIT_SECONDS, progress=tell
            )
    vectors = memory.upkeep.vectors
    if wait:
        with output.progress_bar("vectors") as show:
            vectors.all(show)
    progress = vectors.progress
    missing = 0 if wait else progress.missing
    if done.waiting or missing:
        from claude_memory.surfaces.hooks import background

        background.start(memory.home)
    if done.waiting:
        output.note(f"{done.waiting:,} conversations are distilled in the background, or by the next import")
    if missing:
        output.note(
            f"{missing:,} passages are found by words now, and by meaning as the background work reaches "
            "them, newest first: `claude-memory doctor` tells how far it is, `reindex --stop` stops it"
        )
    notes = list(_unread(done.unread))
    if not done.read_bytes and from_ is None and not memory.upkeep.has_histories(paths or (), agent):
        notes.append("no agent has left a history here that could be read; `import PATH` reads one elsewhere")
    memories = counted(done.memories, "memory", "memories")
    added = f"added {counted(done.sessions, 'session')}, {counted(done.messages, 'message')}, {memories}"
    passed = f"{counted(done.duplicates, 'duplicate')}, {counted(done.skipped, 'line')} skipped"
    return Result({**output.plain(done), "vectors": progress}, f"{added}; passed over {passed}", notes)


def _unread(unread: Sequence[Unread]) -> Iterator[str]:
    for item in unread[:UNREAD_SHOWN]:
        repeated = f" ({item.count:,} times)" if item.count > 1 else ""
        yield f"not read in {item.path}: {item.reason}{repeated}"
    if len(unread) > UNREAD_SHOWN:
        yield f"and {len(unread) - UNREAD_SHOWN:,} more: `import --json` lists all"


def conversation(
    memory: Memory,
    named: str = argument("ID[:RANGE]", "A conversation's id, or its beginning; ID:5-9 for a part."),
    errors: bool = flag("Only tools that failed, with their calls."),
) -> Result:
    """Print one archived conversation."""
    book = memory.conversations
    with reading("ID[:RANGE]"):
        id_, first, last = book.range_of(named)
    talk = book.named(id_)
    messages = memory.archive.messages(talk.number, first=first, last=last)
    if not messages:
        known = counted(talk.messages, "message")
        raise NotFound(f"nothing in {named}: conversation {talk.session} has {known}")
    if errors:
        failed = {message.call for message in messages if message.failed and message.role == "result"}
        messages = [message for message in messages if message.call in failed and message.call]
    lines = [
        bold(talk.title or talk.session),
        dim(f"{talk.agent} {talk.session}  {_where(talk)}"),
        dim(f"{times.minute(talk.first)} to {times.minute(talk.last)}, {talk.messages} messages"),
    ]
    if talk.continues:
        lines.append(dim(f"goes on from {talk.continues}"))
    for message in messages:
        name = f"{message.role} {message.tool}".rstrip() + (" failed" if message.failed else "")
        style = "bold red" if message.failed else _STYLES.get(message.role, "bold")
        facts = f"{dim(f'{message.ordinal:>4}')}  {styled(style, name)}  {dim(times.minute(message.at))}"
        lines += ["", facts, *(f"      {line}" for line in message.text.splitlines())]
    return Result({**output.plain(talk), "messages": messages}, lines)


# --- what compactions left


def summaries(
    memory: Memory,
    session: str = option("ID", "Only this session's; the beginning of its id is enough.", default=""),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """List what compactions left in this project, the newest session first."""
    _sum_up(memory)
    names = "timestamp compaction_trigger token_count_before token_count_after original_message_range".split()
    rows, lines = [], []
    for item in memory.summaries.list(session, all_projects=all_projects):
        facts = {name: item.document.get(name) for name in names}
        own = {"id": item.id, "session": item.session, "number": item.number}
        rows.append({**own, **facts, "executive": item.executive})
        first, last = facts["original_message_range"] or (0, 0)
        about = f"{times.minute_of(facts['timestamp'])}  {facts['compaction_trigger']}"
        lines.append(f"{bold(item.id)}{dim(f'  {about}  messages {first} to {last}')}")
        lines.append(f"  {one_line(item.executive)}")
    return Result(rows, lines, nothing="no compaction was summed up yet")


def summaries_push(
    memory: Memory,
    url: str = argument("URL", "postgresql://…, or `supabase` for what SUPABASE_DB_URL names."),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """Write compaction summaries and session records to plain tables of a database of your own."""
    require_person("sending summaries to a server")
    _sum_up(memory)
    pushed, sessions = memory.summaries.push(url, all_projects=all_projects)
    done = f"{pushed} summaries and {sessions} session records are up to date there"
    return Result({"summaries": pushed, "sessions": sessions}, done)


def summary(
    memory: Memory,
    named: str = argument("SESSION/NNN", "As `summaries` shows it; or `save` to keep one from stdin."),
    session: str | None = option("ID", "For `save`: the session; default this shell's."),
) -> Result:
    """Print one summary in full, or `save` one that an agent wrote: JSON on stdin, checked by the schema."""
    if named == "save":
        if not (owner := session or os.environ.get("CLAUDE_MEMORY_SESSION")):
            raise typer.BadParameter("whose summary is it? Give --session, or run it in an agent's shell")
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise InvalidInput(f"a summary takes at most {MAX_BYTES:,} bytes")
        saved, is_new = memory.summaries.save(owner, raw)
        done = f"saved {saved.id}" if is_new else f"{saved.id} says the same already: nothing was saved"
        return Result({"saved": saved.id, "new": is_new}, done)
    with reading("SESSION/NNN"):
        memory.summaries.shelf.place_of(named)
    _sum_up(memory)
    whole = memory.summaries.shelf.one(named)
    return Result(whole.document, _whole_summary(whole))


def _provider(name: str | None) -> str | None:
    if name is not None:
        kind, _, place = name.partition(":")
        one_of(f"{kind}:URL" if kind == "endpoint" and place else kind, PROVIDERS)
    return name


def summarize(
    memory: Memory,
    path: Path = argument("PATH", "A transcript of any known agent."),
    agent: str | None = agent_option("Whose it is, where that cannot be told."),
    provider: str | None = option(
        "NAME", f"{', '.join(PROVIDERS)}; default the setting `summariser`.", callback=_provider
    ),
) -> Result:
    """Sum up a transcript from its last compaction to its end; nothing is stored."""
    made = memory.summaries.summarize(path, agent=agent, provider=provider, note=output.note)
    return Result(made.document, _whole_summary(made))


def _sum_up(memory: Memory) -> None:
    """Bring in what hooks captured, and sum up what was compacted."""
    with contextlib.suppress(StoreBusy, OSError):
        memory.drain(budget_seconds=5.0)
        memory.summaries.sum_up()


def _whole_summary(item: KeptSummary) -> Iterator[str]:
    first, last = item.document["original_message_range"]
    size = f"{item.document['token_count_before']:,} tokens"
    when = times.minute_of(item.document["timestamp"])
    yield f"{bold(item.id)}{dim(f'  {when}  messages {first} to {last}, {size}')}"
    yield from item.executive.splitlines()
    for name, entries in item.summary.items():
        if name not in ("executive", "sources") and entries:
            yield from ("", bold(name.replace("_", " ").capitalize()))
            yield from [", ".join(entries)] if name == "topics" else map(_entry, entries)


def _entry(entry: Any) -> str:
    if not isinstance(entry, dict):
        return f"- {entry}"
    where = ", ".join(map(str, entry.get("messages", ())))
    parts = [
        f"{name}: {value if isinstance(value, str) else json_text.dumps(value, ensure_ascii=False)}"
        for name, value in entry.items()
        if name != "messages" and value
    ]
    return f"- {'; '.join(parts)}{dim(f'  [{where}]' if where else '')}"
