"""After `forget --erase` no byte of the home holds the sentence, but for a person's own files, which are named.

The search here knows nothing of the rule that erases: it looks at every byte of every file, into archives,
and at every cell of the database with packed texts unpacked.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from backports import zstd
from tests.backup_steps import create, restore
from tests.integration.histories import ClaudeSession

from claude_memory import Memory, NewMemory
from claude_memory.capture.drain import Spool
from claude_memory.errors import Conflict
from claude_memory.model import BY_HAND, Kind, MemoryFilter, SearchScope, Status, StoredMemory
from claude_memory.notes import blocks
from claude_memory.notes.plain_files import project_files
from claude_memory.redact.erasure import ERASED, Hashed, Sentences, holds, says, sentence_hash, without
from claude_memory.store.model import EventFilter, Relation
from claude_memory.store.sqlite import schema

SENTENCE = 'The launch codeword of Zanzibarine is "Blue Heron", said at the café'
OTHER = "The staging box is called otter and listens on port 8443"
FILLER = [f"line {number} of some output that stays" for number in range(40)]
EVERYTHING = SearchScope(None)
WORDS = {"embedder": "none"}
AT = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
# Every column of text is swept, or stands here with the reason why no sentence can be in it.
SWEPT = {
    "memories": ("title", "body", "task", "topics", "files", "provenance"),
    "events": ("payload",),
    "messages": ("body",),
    "conversations": ("title", "record"),
    "exchanges": ("record",),
    "import_files": ("state",),
    "intentions": ("record",),
    "relations": ("evidence",),
    "changes": ("record",),
}
SILENT = {
    "meta": "our own keys and figures",
    "projects": "names and folders",
    "project_aliases": "names and folders",
    "project_paths": "names and folders",
    "sessions": "agents' own ids",
    "events": "ids, kinds, agents, folders",
    "memories": "ids, and words of our own",
    "memory_topics": "made with their memory, and gone with it",
    "memory_files": "made with their memory, and gone with it",
    "passages": "terms of their memory and its neighbours, made anew when one changes",
    "text_index": "terms of the passages",
    "lexicon": "terms of the passages",
    "models": "names of models",
    "tombstones": "hashes",
    "conversations": "ids, folders, branches",
    "messages": "roles, names of tools, ids of calls and events, hashes",
    "message_index": "words of the messages, changed with them",
    "message_terms": "a view of that index",
    "import_files": "paths, and hashes of the beginning and the end of what was read",
    "intentions": "ids, codebases, states",
    "reviews": "why a memory was used, in words of our own",
    "relations": "kinds",
    "people": "names of people",
    "changes": "the home that a change came from",
    "cursors": "names of mirrors",
    "rejected": "hashes",
    "feed": "ids and hashes",
    "peers": "ids of homes",
    "summed_up": "agents' own ids, and ids of events",
    "exchange_failures": "names of commands, made with their exchange and gone with it",
    "entities": "mentioned by a memory, and gone with the last one",
    "mentions": "kinds",
    "file_states": "paths and hashes of lines",
    "consolidation_steps": "our own words",
}

_SQUASH = re.compile(r"[\W_]+")
_WANTED = _SQUASH.sub(" ", SENTENCE.casefold()).strip()


def held_in(text: str) -> bool:
    """Whether a text says it: as it is, JSON escapes read, whatever stands between the words."""
    read = re.sub(r"\\+u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
    read = re.sub(r"\\+[nrt]", " ", read)
    return any(_WANTED in _SQUASH.sub(" ", one.casefold()) for one in (text, read)) or "anzibarin" in text


def texts_of(content: bytes) -> Iterator[str]:
    yield content.decode("utf-8", "replace")
    if content[:4] == b"\x28\xb5\x2f\xfd":
        yield zstd.decompress(content).decode()
    elif content[:1] == b"\x78":
        try:
            yield zlib.decompress(content).decode()
        except (zlib.error, UnicodeDecodeError):
            return


def cells(path: Path) -> Iterator[tuple[str, Any]]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        try:
            for row in db.execute(f'SELECT * FROM "{table}"'):
                yield from ((f"{path.name}/{table}", cell) for cell in row)
        except apsw.SQLError:  # an index without content
            continue
    db.close()


def holding(home: Path) -> list[str]:
    """Every place of the home that holds the sentence."""
    found = []
    for path in sorted(home.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        contents = [path.read_bytes()]
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                contents += [archive.read(name) for name in archive.namelist()]
        if any(held_in(text) for content in contents for text in texts_of(content)):
            found.append(str(path.relative_to(home)))
    for place, cell in cells(home / "memory.db"):
        raw = cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "replace")
        if any(held_in(text) for text in texts_of(raw)):
            found.append(place)
    return found


class World:
    """Two projects of one person, and a history."""

    def __init__(self, base: Path) -> None:
        self.home, self.here, self.there = base / "memory", base / "here", base / "there"
        self.user = base
        for folder in (self.here, self.there):
            folder.mkdir()
        self.memory = Memory.open(self.home, self.here, flags=WORDS)

    def captured(self, name: str, **fields: Any) -> None:
        event = {"session_id": "s1", "cwd": str(self.here), **fields}
        Spool(self.home).put(name, json.dumps({**event, "hook_event_name": name}).encode())

    def import_all(self) -> None:
        self.memory.import_history(wait_seconds=10, workers=0)


@pytest.fixture
def world(scratch_home: Path) -> Iterator[World]:
    made = World(scratch_home)
    yield made
    made.memory.close()


def history(world: World, name: str = "one") -> Path:
    session = ClaudeSession(name, str(world.here)).prompt(f"Keep in mind. {SENTENCE}, and go on with it then")
    session.says("Noted.\n" + "\n".join(FILLER) + f"\n{SENTENCE.upper()}\n" + "\n".join(FILLER))
    session.tool("Bash", {"command": "cat x.json"}, json.dumps({"a": f"x\n{SENTENCE}\ny"}) + "\n" + OTHER)
    session.prompt(OTHER)
    return session.says("Done.").write(world.user)


def spread(world: World) -> str:
    """Put the sentence everywhere; gives the id of the memory that will be erased."""
    memory = world.memory
    kept = memory.remember(NewMemory(SENTENCE, kind="decision"))
    memory.remember(NewMemory("  the LAUNCH codeword of\nZanzibarine is “Blue Heron” – said at the café!"))
    memory.remember(NewMemory(f"{OTHER}\n{SENTENCE}", title="Two things", kind="note"))
    memory.remember(NewMemory("Unlike that one", provenance={"because": SENTENCE}))
    with Memory.open(world.home, world.there, flags=WORDS) as other:
        other.remember(NewMemory(SENTENCE, kind="convention"))
        other.remember(NewMemory(OTHER))
        other.upkeep.consolidate()
    memory.intentions.set(f"ask about this: {SENTENCE}")
    one, two = memory.remember_many([NewMemory("Alpha is first"), NewMemory("Beta is second")])
    memory.store.lifecycle.relate([Relation(one, two, "similar", f"both know: {SENTENCE}", AT)])
    world.captured("UserPromptSubmit", prompt_id="p1", prompt=f"note that {SENTENCE}")
    world.captured(
        "PostToolUse",
        tool_use_id="t1",
        tool_name="Bash",
        tool_input={"command": "cat notes"},
        tool_response={"stdout": "\n".join([*FILLER, SENTENCE, OTHER])},
    )
    memory.drain()
    history(world)
    world.import_all()
    memory.upkeep.consolidate()
    memory.search("Zanzibarine codeword")
    write_files(world)
    world.captured("UserPromptSubmit", prompt_id="p2", prompt=f"again, {SENTENCE}")
    return kept.id


def write_files(world: World) -> None:
    home = world.home
    for name, text in {
        "cache/sessions/abc/agent-explore-1": f"prompt: {SENTENCE}",
        "cache/answer.json": json.dumps({"said": SENTENCE}),
        "logs/claude-memory.log": f"a line\nDEBUG said {SENTENCE!r}\nanother line\n",
        "spool/rejected/1-1-1-a-Stop-claude_code.json": json.dumps({"x": [SENTENCE]}),
        "sessions/session_s1/metadata.json": json.dumps({"about": SENTENCE, "cwd": "/srv"}),
        "sessions/2026-11-01.jsonl": json.dumps({"summary": OTHER, "decisions": [SENTENCE, OTHER]}) + "\n",
        "reflections.jsonl": json.dumps({"type": "idea", "content": SENTENCE}) + "\n" + json.dumps({"type": "idea", "content": OTHER}) + "\n",
        "MEMORY.md": f"# Me\n\n- Remember: {SENTENCE}\n",
    }.items():  # fmt: skip
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, "utf-8")
    files = project_files(home, world.memory.project.id, world.here)
    files.buffer.parent.mkdir(parents=True, exist_ok=True)
    files.buffer.write_text(blocks.updated("Mine.\n", "said", [f"- 14:02 {SENTENCE}", f"- {OTHER}"]), "utf-8")
    world.memory.notes.read_files()


def bodies(world: World) -> list[str]:
    every = MemoryFilter(statuses=tuple(Status))
    return [one.body for one in world.memory.store.memories.find(EVERYTHING, every)]


def said(world: World) -> list[str]:
    archive = world.memory.archive
    return [
        message.text
        for talk in archive.conversations(EVERYTHING)
        for message in archive.messages(talk.number)
    ]


# --- everything that holds it


def test_no_byte_of_the_home_holds_it_but_a_persons_own_file_which_is_named(world: World) -> None:
    wanted = spread(world)
    places = " ".join(holding(world.home))
    for part in ("memories", "events", "messages", "conversations", "intentions", "relations", "knowledge_graph",
                 "conventions.json", "sessions/", "cache", "logs", "reflections", "rejected", "memories.jsonl",
                 "working-buffer.md", "spool/new"):  # fmt: skip
        assert part in places, f"the test itself does not reach {part}"

    done = world.memory.erase([wanted])
    world.memory.close()

    assert holding(world.home) == ["MEMORY.md"]
    own = world.home / "MEMORY.md"
    [transcript] = (world.user / ".claude" / "projects").rglob("*.jsonl")
    named = {place.rpartition(":")[0] for place in done.left}
    assert named == {str(own), str(transcript)}
    assert f"{own}:3" in done.left


def test_what_stands_beside_it_stays(world: World) -> None:
    wanted = spread(world)
    world.memory.drain()
    before = len(said(world))
    world.memory.erase([wanted])
    world.memory.drain()
    kept = bodies(world)
    assert kept.count(OTHER) >= 2
    assert "Alpha is first" in kept
    messages = said(world)
    assert len(messages) == before
    assert sum(all(line in text for line in FILLER) for text in messages) == 2  # a reply and a tool's output
    assert any(OTHER in text for text in messages)
    titles = [talk.title for talk in world.memory.archive.conversations(EVERYTHING)]
    assert len(titles) == 2  # of what was captured and of what was imported
    assert not any(SENTENCE in title for title in titles), "named after what is left"
    assert json.loads((world.home / "sessions/2026-11-01.jsonl").read_text())["decisions"] == [OTHER]
    assert OTHER in (world.home / "reflections.jsonl").read_text()
    assert "another line" in (world.home / "logs/claude-memory.log").read_text()
    assert world.memory.store.check().problems == ()
    assert [hit.title for hit in world.memory.search("otter port 8443")]


def test_the_message_index_forgets_the_words_and_knows_what_is_left(world: World) -> None:
    history(world)
    world.import_all()
    [talk] = world.memory.archive.conversations(EVERYTHING)
    kept = world.memory.remember(NewMemory(SENTENCE))
    world.memory.erase([kept.id])
    archive = world.memory.archive
    assert archive.candidates(EVERYTHING, ["zanzibarine"], 5) == []
    assert len(archive.messages(talk.number)) == talk.messages
    assert archive.candidates(EVERYTHING, ["otter", "8443"], 5)
    db = apsw.Connection(str(world.home / "memory.db"))
    db.execute("INSERT INTO message_index (message_index) VALUES ('integrity-check')")
    db.close()


def test_a_title_that_was_cut_within_the_sentence_goes_too(world: World) -> None:
    long = "The emergency door code that Ottoline keeps in the blue folder of the harbour office is four two"
    session = ClaudeSession("long", str(world.here)).prompt(long)
    session.says("Fine.").write(world.user)
    world.import_all()
    assert world.memory.archive.conversations(EVERYTHING)[0].title.endswith("…")
    kept = world.memory.remember(NewMemory(long))
    world.memory.erase([kept.id])
    world.memory.close()
    assert not any(b"Ottoline" in path.read_bytes() for path in world.home.rglob("*") if path.is_file())


def exchanges(world: World) -> list[StoredMemory]:
    every = MemoryFilter(kinds=(Kind.OBSERVATION,), statuses=tuple(Status))
    return world.memory.store.memories.find(EVERYTHING, every)


def test_an_exchange_that_said_it_beside_more_stays_as_a_person_left_it(world: World) -> None:
    history(world)
    world.import_all()
    [told] = [one for one in exchanges(world) if "anzibarin" in one.body]
    world.memory.revise(told.id, pinned=True, topics=["harbour"])
    [other] = [one for one in exchanges(world) if one.id != told.id]
    assert told.provenance.get(BY_HAND) is None
    world.memory.forget([other.id])
    kept = world.memory.remember(NewMemory(SENTENCE))
    world.memory.erase([kept.id])
    after = {one.id: one for one in exchanges(world)}
    assert after.keys() == {told.id, other.id}
    assert (after[told.id].pinned, after[told.id].topics) == (True, ("harbour",))
    assert FILLER[0] in after[told.id].body
    assert (after[other.id].status, after[other.id].body) == (Status.FORGOTTEN, other.body)
    world.memory.close()
    assert holding(world.home) == []


def test_a_later_exchange_that_quotes_the_end_of_it_is_made_anew(world: World) -> None:
    question = "Shall " + " ".join(f"harbour{number}" for number in range(60)) + " meet Ottoline at the pier?"
    session = ClaudeSession("asks", str(world.here)).prompt("Plan the evening for me")
    session.says(f"I looked at the plan.\n{question}").prompt("yes, do that").says("Planned it.")
    session.write(world.user)
    world.import_all()
    assert sum("Ottoline" in one.body for one in exchanges(world)) == 2, "the later one quotes nothing"
    kept = world.memory.remember(NewMemory(question))
    world.memory.store.memories.erase([kept.id])  # a process that ends before it is made anew
    world.memory.close()
    database = list(world.home.glob("memory.db*"))
    assert database
    assert not any(b"ottoline" in path.read_bytes().lower() for path in database)
    assert ERASED in bodies(world)
    world.memory.drain()
    assert ERASED not in bodies(world)
    assert any("yes, do that" in one.body for one in exchanges(world))
    assert any("I looked at the plan" in one.body for one in exchanges(world))


def test_a_statement_that_was_a_part_of_it_goes_unless_it_was_said_elsewhere_too(world: World) -> None:
    rules = ["Always ask Ottoline before a boat leaves the pier.", "Never paint the harbour door green."]
    whole = " ".join(rules)
    ClaudeSession("one", str(world.here)).prompt(whole).says("Fine.").write(world.user)
    ClaudeSession("two", str(world.here)).prompt(rules[1]).says("Fine.").write(world.user)
    world.import_all()
    every = MemoryFilter(statuses=tuple(Status))

    def statements() -> set[str]:
        found = world.memory.store.memories.find(EVERYTHING, every)
        return {one.body for one in found if one.provenance.get("source") == "understood"}

    assert len(statements()) == 2
    kept = world.memory.remember(NewMemory(whole))
    world.memory.erase([kept.id])
    assert statements() == {rules[1]}
    world.memory.close()
    assert not any(b"Ottoline" in path.read_bytes() for path in world.home.rglob("*") if path.is_file())


def test_an_exchange_whose_messages_are_not_here_any_more_leaves_no_shell(world: World) -> None:
    ClaudeSession("bare", str(world.here)).prompt(SENTENCE).write(world.user)
    world.import_all()
    kept = world.memory.remember(NewMemory(f"{SENTENCE}"))
    world.memory.close()
    for path in world.home.glob("memory.db*"):
        path.unlink()
    world.memory.reindex(from_files=True)
    assert exchanges(world)
    world.memory.erase([kept.id])
    assert exchanges(world) == []
    assert ERASED not in bodies(world)
    world.memory.close()
    assert holding(world.home) == []


# --- it does not come back


def test_an_import_of_a_history_that_was_never_read_brings_nothing_back(world: World) -> None:
    kept = world.memory.remember(NewMemory(SENTENCE))
    world.memory.erase([kept.id])
    history(world)
    world.import_all()
    assert any(OTHER in text for text in said(world))
    world.memory.close()
    assert holding(world.home) == []


def test_nor_does_a_capture_that_says_it_again_in_the_middle_of_more(world: World) -> None:
    kept = world.memory.remember(NewMemory(SENTENCE))
    world.memory.erase([kept.id])
    out = {"stdout": "\n".join([*FILLER, json.dumps([SENTENCE]), OTHER])}
    world.captured(
        "PostToolUse", tool_use_id="t9", tool_name="Bash", tool_input={"command": "x"}, tool_response=out
    )
    world.captured("UserPromptSubmit", prompt_id="p9", prompt=f"{OTHER}.\nBy the way: {SENTENCE}.")
    done = world.memory.drain()
    assert done.events == 2
    world.memory.close()
    assert holding(world.home) == []
    assert any(OTHER in body for body in bodies(world))


def test_nor_a_rebuild_from_the_mirror_nor_a_reindex_of_a_persons_file(world: World) -> None:
    wanted = spread(world)
    world.memory.erase([wanted])
    world.memory.close()
    for path in world.home.glob("memory.db*"):
        path.unlink()
    world.memory.reindex(from_files=True)
    world.memory.reindex()
    assert any(body == OTHER for body in bodies(world))
    world.memory.close()
    assert holding(world.home) == ["MEMORY.md"]


def test_nor_a_backup_that_was_made_before(world: World, tmp_path: Path) -> None:
    wanted = spread(world)
    world.memory.drain()
    made = create(world.home, world.memory.store, tmp_path / "before.zip")
    world.memory.erase([wanted])
    world.memory.close()
    before = len(said(world))
    world.memory.close()
    restore(made, world.home, replace=True)
    world.memory.drain()
    assert len(said(world)) == before
    world.memory.close()
    assert holding(world.home) == ["MEMORY.md"]


def test_a_backup_in_the_home_is_named(world: World) -> None:
    kept = world.memory.remember(NewMemory(SENTENCE))
    made = create(world.home, world.memory.store)
    assert made.is_relative_to(world.home)
    assert any(str(made) in place for place in world.memory.erase([kept.id]).left)


def test_it_can_be_neither_remembered_nor_intended_nor_revised_into_another(world: World) -> None:
    kept = world.memory.remember(NewMemory(SENTENCE))
    other = world.memory.remember(NewMemory(OTHER))
    world.memory.erase([kept.id])
    with pytest.raises(Conflict, match="erased for good"):
        world.memory.remember(NewMemory(f"as said: {SENTENCE}"))
    with pytest.raises(Conflict, match="erased for good"):
        world.memory.intentions.set(f"think of {SENTENCE}")
    world.memory.revise(other.id, body=f"{OTHER}\n{SENTENCE}")
    world.memory.close()
    assert holding(world.home) == []


def test_another_project_may_learn_it_again(world: World) -> None:
    kept = world.memory.remember(NewMemory(SENTENCE))
    world.memory.erase([kept.id])
    with Memory.open(world.home, world.there, flags=WORDS) as other:
        assert other.remember(NewMemory(SENTENCE)).body == SENTENCE


def test_forgetting_does_not_take_a_twin_away_when_its_time_is_over(world: World) -> None:
    one = world.memory.remember(NewMemory(OTHER))
    twin = world.memory.remember(NewMemory(f"{OTHER} too"))
    world.memory.forget([one.id])
    world.memory.store.memories.erase([one.id], texts=())
    assert [body for body in bodies(world) if "otter" in body] == [f"{OTHER} too"]
    assert world.memory.show([twin.id])


# --- the rule


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        SENTENCE.upper(),
        f"**{SENTENCE}**",
        SENTENCE.replace(" ", "\n  > "),
        json.dumps({"text": f"a\n{SENTENCE}\tb"}),
        json.dumps(json.dumps([SENTENCE])),
        SENTENCE.replace("é", "e\u0301"),
        f"`{SENTENCE.replace(' ', '_')}`",
        f"xx {SENTENCE}s",
    ],
)
def test_a_text_holds_a_sentence_however_it_is_written(text: str) -> None:
    assert holds(text, Sentences([SENTENCE]))
    assert not holds(str(without(text, Sentences([SENTENCE]))), Sentences([SENTENCE]))
    hashed = Hashed({"00ff": [str(sentence_hash("00ff", "p", SENTENCE))]}, ["p"])
    if not text.endswith("s"):  # a hash tells whole words only
        assert holds(text, hashed)
        assert str(without(f"first\n{text}", hashed)) in ("first", ERASED)


@pytest.mark.parametrize(
    "text", ["", "Blue Heron", SENTENCE[:-8], " ".join(reversed(SENTENCE.split())), "\\"]
)
def test_and_not_what_says_only_a_part_of_it(text: str) -> None:
    assert not holds(text, Sentences([SENTENCE]))
    assert not holds(text, Hashed({"00ff": [str(sentence_hash("00ff", "p", SENTENCE))]}))


def test_scripts_without_spaces_are_told_too() -> None:
    secret = "発射コードは青いサギです今夜"
    assert holds(f"彼は言った「{secret}」と。", Sentences([secret]))
    assert holds(f"彼は言った「{secret}」と。", Hashed({"1": [str(sentence_hash("1", "p", secret))]}))


def test_a_short_text_is_no_sentence(world: World) -> None:
    assert not holds("use tabs", Sentences(["use tabs"]))
    assert sentence_hash("1", "p", "use tabs") is None
    world.captured("UserPromptSubmit", prompt_id="p1", prompt="go on")
    world.captured("UserPromptSubmit", prompt_id="p2", prompt="go on", session_id="s2")
    world.memory.drain()
    kept = world.memory.remember(NewMemory("go on"))
    world.memory.erase([kept.id])
    assert world.memory.stats().events == 2


def test_what_was_made_from_the_same_event_does_not_take_others_words_with_it(world: World) -> None:
    everyday = "please run all the tests again before you go on"
    for number in (1, 2):
        world.captured("UserPromptSubmit", prompt_id=f"p{number}", prompt=everyday, session_id=f"s{number}")
    world.memory.drain()
    archive = world.memory.archive
    first, _ = world.memory.store.archive.events(EVERYTHING, EventFilter(), limit=9)
    told = world.memory.remember(NewMemory(SENTENCE, provenance={"event": first.id}))
    world.memory.erase([told.id])
    [(theirs, message)] = [
        (talk.session, message.text)
        for talk in archive.conversations(EVERYTHING)
        for message in archive.messages(talk.number)
        if message.text != ERASED
    ]
    assert (theirs != first.session, message) == (True, everyday)
    [left] = world.memory.store.memories.find(EVERYTHING, MemoryFilter(kinds=(Kind.OBSERVATION,)))
    assert (left.session, left.body) == (theirs, everyday)


def test_notes_and_task_documents_of_a_person_are_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    note = tmp_path / "notes" / "harbour.md"
    note.write_text(f"# Harbour\n\nA line.\n{SENTENCE}\n", "utf-8")
    task = world.here / ".claude-memories" / "sessions" / "s1" / "tasks" / "door-plan.md"
    task.parent.mkdir(parents=True)
    task.write_text(f"# Plan\n\n1. {SENTENCE}\n", "utf-8")
    with Memory.open(world.home, world.here, flags={**WORDS, "knowledge": [str(note.parent)]}) as memory:
        memory.notes.read_files()
        kept = memory.remember(NewMemory(SENTENCE))
        done = memory.erase([kept.id])
        assert {f"{note}:4", f"{task}:3"} <= set(done.left)
        memory.reindex()
    assert holding(world.home) == []
    assert note.read_text("utf-8").endswith(f"{SENTENCE}\n")


def test_what_breaks_off_within_the_sentence_is_a_piece_of_it() -> None:
    assert says("so: The launch codeword of Zanz…", Sentences([SENTENCE]))
    assert not says("so: The launch codeword of Zanz", Sentences([SENTENCE]))


def test_every_column_of_the_schema_that_holds_text_is_swept_or_explained() -> None:
    db = apsw.Connection(":memory:")
    schema.migrate(db)
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        if table.startswith(("sqlite_", "text_index_", "message_index_")):
            continue
        columns = [
            name for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})") if kind in ("", "TEXT")
        ]
        left = set(columns) - set(SWEPT.get(table, ()))
        assert not left or table in SILENT, f"{table}: {sorted(left)}"
