"""From a session's turns to the memories that last: what was decided, corrected, preferred, fixed and done.

Pure and repeatable: the same turns give the same memories with the same ids, however often and from
whichever source they are read. Every memory names the turns it rests on. Never sums up with a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from claude_memory.distil import phrases, work
from claude_memory.distil.decisions import reconsiders, rethinks
from claude_memory.distil.exchange import Before, acted_on, before, meant, terms
from claude_memory.distil.fixes import Fix, diagnosis, error_lines, find_fixes
from claude_memory.distil.observe import files_in, title_of
from claude_memory.distil.sentences import spoken
from claude_memory.distil.statements import SoFar, Statement, statements
from claude_memory.distil.turns import PERSON, Distilled, Origin, Turn, relative, said_before
from claude_memory.model import Kind, MemoryId, Scope, StoredMemory, memory_id
from claude_memory.quotation import inner

MAX_FILES = 8
BODY_CHARACTERS = 2_000
CONTEXT_CHARACTERS = 240
LINE_CHARACTERS = 300
ENOUGH_SHARED = 3  # terms that make two decisions speak of the same thing; fewer if that is most of the first


def distil(turns: Sequence[Turn], origin: Origin) -> Distilled:
    """What a session leaves; `turns` are all of it, or its latest part."""
    said, replaced = _spoken_memories(turns, origin)
    fixed, undone = find_fixes(turns, origin.cwd)
    memories = [*said, *(_fix_memory(turns, fix, origin) for fix in fixed)]
    withdrawn: dict[MemoryId, MemoryId | None] = dict(replaced)
    withdrawn.update({_fix_id(fix): None for fix in undone})
    topics = work.topics(turns, origin.cwd)
    memories = [replace(memory, topics=work.topics_of(memory, topics)) for memory in memories]
    summary = work.summary(turns, origin, topics)
    if summary is not None:
        memories.append(summary)
    kept = {memory.id: memory for memory in memories if memory.id not in withdrawn}
    return Distilled(tuple(kept.values()), withdrawn)


def _spoken_memories(
    turns: Sequence[Turn], origin: Origin
) -> tuple[list[StoredMemory], dict[MemoryId, MemoryId]]:
    found: list[_Kept] = []
    replaced: dict[MemoryId, MemoryId] = {}
    so_far = SoFar()
    open_offer: Before | None = None
    for index, turn in enumerate(turns):
        if turn.role != PERSON:
            continue
        earlier = said_before(turns, index)
        context = before(earlier, open_offer)
        so_far = replace(so_far, done=so_far.done | acted_on(earlier))
        said = meant(turn.text)
        again = reconsiders(turn.text)
        open_offer = None if said else context
        for statement in statements(said, context, so_far, text=turn.text, again=again, opening=not index):
            memory = _memory(turns, index, statement, context, origin)
            if (old := _taken_back(found, statement)) is not None:
                replaced[old.id] = memory.id
            if statement.kind is Kind.DECISION:
                so_far = replace(so_far, decided=so_far.decided | terms(statement.words))
            found.append(_Kept(statement, memory, terms(statement.words), _set_aside(statement)))
    return [one.memory for one in found], replaced


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was stated so far, with its words, and those of them that it refuses."""

    statement: Statement
    memory: StoredMemory
    about: frozenset[str]
    refused: frozenset[str]


def _taken_back(found: Sequence[_Kept], later: Statement) -> StoredMemory | None:
    """The choice that a later one replaces: thought over again, or set aside by name (“8 days, not 3”)."""
    about, refused = terms(later.words), _set_aside(later)
    if later.kind is Kind.PREFERENCE or not (later.reconsiders or refused):
        return None
    share = 8 if rethinks(later.words) else 4
    best: StoredMemory | None = None
    most = 1
    for one in found:
        common = len(one.about & about)
        enough = later.reconsiders and (common >= ENOUGH_SHARED or common * share >= len(one.about))
        named = common > 1 and bool(refused & (one.about - one.refused))
        decided = one.statement.kind is Kind.DECISION
        if common >= most and ((enough and decided) or (named and one.statement.kind is not Kind.PREFERENCE)):
            best, most = one.memory, common
    return best


def _set_aside(statement: Statement) -> frozenset[str]:
    return terms(" ".join(phrases.compiled(phrases.SET_ASIDE).findall(statement.words.lower())))


def _memory(
    turns: Sequence[Turn], index: int, statement: Statement, context: Before, origin: Origin
) -> StoredMemory:
    turn = turns[index]
    words = statement.words[:BODY_CHARACTERS]
    quoted = _context(context) if statement.leans else ""
    preference = statement.kind is Kind.PREFERENCE
    evidence = [turn]
    return StoredMemory(
        id=memory_id(f"distil:{'preference' if preference else 'said'}:{turn.key}"),
        project=origin.project,
        kind=statement.kind,
        title=title_of(words),
        body=f"{words}\n\n{quoted}" if quoted else words,
        created_at=turn.at,
        updated_at=turn.at,
        trust=origin.person,  # what the agent had said stands below, as a quotation
        scope=Scope.PROJECT,
        session=origin.session,
        files=_files(turns, index, words, origin.cwd, named_only=preference),
        provenance=_provenance(evidence, origin),
    )


def _context(context: Before) -> str:
    """What the person answered: the agent's question, or the last thing it said before."""
    told = [sentence.said for sentence in spoken(context.text)]
    last = " ".join(told[-2:]) if told else ""
    if len(last) > CONTEXT_CHARACTERS:
        last = "…" + last[-CONTEXT_CHARACTERS:].partition(" ")[2]
    verb = "asked" if context.question else "said"
    # In quotation marks wherever the memory is shown, and none of its own may close them.
    return f"The agent had {verb}: “{inner(last)}”" if last else ""


def _files(
    turns: Sequence[Turn], index: int, words: str, cwd: str, *, named_only: bool = False
) -> tuple[str, ...]:
    """Files that the words name, then those that were changed for it at once."""
    found = dict.fromkeys(files_in(words, cwd))
    for turn in turns[index + 1 :]:
        if turn.role == PERSON or named_only:
            break
        if turn.changed_file:
            found.setdefault(relative(turn.changed_file, cwd))
    return tuple(found)[:MAX_FILES]


def _fix_id(fix: Fix) -> MemoryId:
    return memory_id(f"distil:fix:{fix.failing.turn.key}")


def _fix_memory(turns: Sequence[Turn], fix: Fix, origin: Origin) -> StoredMemory:
    changes = [turns[index] for index in fix.changes]
    files = dict.fromkeys(relative(turn.changed_file, origin.cwd) for turn in changes if turn.changed_file)
    errors = error_lines(fix.failing.turn.output)
    failing = _line(fix.failing.turn.command or fix.failing.turn.path)
    cause = diagnosis(turns, fix)
    lines = [f"Failed: {failing}", *(f"  {_line(error)}" for error in errors)]
    lines += [f"Cause, as the agent saw it: {_line(cause)}"] if cause else []
    lines += [f"Changed: {_change(turn, origin.cwd)}" for turn in changes]
    lines += [f"Passed: {_line(fix.passing.turn.command or fix.passing.turn.path)}"]
    subject = ", ".join(name.rpartition("/")[2] for name in files) or _line(changes[-1].command)
    return StoredMemory(
        id=_fix_id(fix),
        project=origin.project,
        kind=Kind.FIX,
        title=title_of(f"{subject}: {errors[0] if errors else failing}"),
        body="\n".join(lines)[: 2 * BODY_CHARACTERS],
        created_at=fix.passing.turn.at,
        updated_at=fix.passing.turn.at,
        trust=origin.agent,
        session=origin.session,
        files=tuple(files)[:MAX_FILES],
        provenance=_provenance([fix.failing.turn, *changes, fix.passing.turn], origin),
    )


def _change(turn: Turn, cwd: str) -> str:
    if not turn.changed_file:
        return _line(turn.command)
    name = relative(turn.changed_file, cwd)
    old, new = turn.given.get("old_string"), turn.given.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        return f"{name}: {_line(old) or 'nothing'} → {_line(new) or 'nothing'}"
    return name


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"


def _provenance(evidence: Sequence[Turn], origin: Origin) -> dict[str, object]:
    return {"source": "distilled", "from": origin.source, "evidence": [dict(turn.ref) for turn in evidence]}
