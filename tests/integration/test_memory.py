"""The verbs of `Memory`, on a real home."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.model import Kind, Status, Trust

WORDS = {"embedder": "none"}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as opened:
        yield opened


def bytes_under(folder: Path) -> bytes:
    return b"\0".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_what_is_remembered_is_found_with_all_it_was_given(memory: Memory) -> None:
    when = datetime(2026, 3, 1, 12, tzinfo=UTC)
    [id_] = memory.remember_many(
        [
            NewMemory(
                body="Tokens expire after an hour",
                kind="decision",
                title="Token lifetime",
                topics=["auth"],
                files=["src/auth.py"],
                session="s1",
                created_at=when,
            )
        ]
    )
    [hit] = memory.search("token lifetime", limit=5)
    assert (hit.id, hit.kind, hit.title, hit.session, hit.timestamp) == (
        id_,
        Kind.DECISION,
        "Token lifetime",
        "s1",
        when,
    )
    assert hit.files == ("src/auth.py",)
    assert memory.search("token", kinds=["fix"]) == []
    assert memory.search("token", topics=["auth"], files=["src/auth.py"])


def test_a_title_is_taken_from_the_text_when_none_is_given(memory: Memory) -> None:
    kept = memory.remember(NewMemory(body="First line says it.\nThe rest explains."))
    assert kept.title == "First line says it."
    long = memory.remember(NewMemory(body="word " * 60))
    assert len(long.title) <= 80
    assert long.title.endswith("…")


def test_secrets_and_private_parts_never_reach_the_disk(memory: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kept = memory.remember(
        NewMemory(body=f"deploy with {secret} <private>my salary is 12345678</private> ok")
    )
    memory.search(f"deploy {secret}")
    memory.close()
    everything = bytes_under(memory.home)
    assert secret.encode() not in everything
    assert b"12345678" not in everything
    assert "[secret:" in kept.body


def test_unknown_kinds_empty_texts_and_unknown_ids_are_refused_in_one_line(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="unknown kind 'wish'"):
        memory.remember(NewMemory(body="x", kind="wish"))
    with pytest.raises(InvalidInput, match="needs a text"):
        memory.remember(NewMemory(body="  \n "))
    with pytest.raises(NotFound, match="no memory 'mzzz'"):
        memory.show(["mzzz"])
    with pytest.raises(NotFound):
        memory.show([""])


def test_a_unique_beginning_of_an_id_is_enough_and_an_ambiguous_one_is_not(memory: Memory) -> None:
    ids = memory.remember_many([NewMemory(body=f"memory number {n}") for n in range(40)])
    assert memory.show([ids[0][:10]])[0].id == ids[0]
    with pytest.raises(InvalidInput, match="give more of the id"):
        memory.show(["m"])


def test_the_same_origin_is_stored_once(memory: Memory) -> None:
    first, second = (memory.remember(NewMemory(body="from a file", origin="notes/a.md")).id for _ in range(2))
    assert first == second
    assert sum(memory.stats().memories.values()) == 1


def test_a_replaced_memory_stays_and_sinks_below_its_successor(memory: Memory) -> None:
    old = memory.remember(NewMemory(body="We indent with tabs in this project", kind="convention"))
    new = memory.supersede(
        old.id, NewMemory(body="We indent with four spaces in this project", kind="convention")
    )
    assert memory.show([old.id])[0].status is Status.SUPERSEDED
    assert memory.show([old.id])[0].superseded_by == new.id
    assert [hit.id for hit in memory.search("how do we indent in this project")] == [new.id, old.id]


def test_forgetting_hides_can_be_undone_and_erasing_leaves_nothing(memory: Memory) -> None:
    kept = memory.remember(NewMemory(body="the zebracorn protocol uses port 9"))
    memory.forget([kept.id])
    assert memory.search("zebracorn") == []
    with pytest.raises(Conflict):
        memory.restore([memory.remember(NewMemory(body="another one entirely")).id])
    memory.restore([kept.id])
    assert memory.search("zebracorn")[0].id == kept.id
    erased = memory.erase([kept.id])
    assert erased.memories == 1
    memory.close()
    assert b"zebracorn" not in bytes_under(memory.home)
    with pytest.raises(Conflict, match="erased for good"):
        memory.remember(NewMemory(body="the zebracorn protocol uses port 9"))


def test_what_was_forgotten_long_ago_is_erased_in_slack_once_a_day(memory: Memory) -> None:
    kept = memory.remember(NewMemory(body="the quokkafile is obsolete"))
    memory.forget([kept.id])
    start = datetime.now(UTC)
    counts = [memory.upkeep.prune(now=start + timedelta(days=day, hours=1)).memories for day in range(34)]
    assert sum(counts) == 1
    assert not sum(counts[:31]), "undone for 30 days, and a day's grace"
    with pytest.raises(NotFound):
        memory.show([kept.id])
    memory.close()
    assert b"quokkafile" not in bytes_under(memory.home)


def test_nothing_of_one_project_is_seen_from_another_but_a_persons_own_is(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "shop").mkdir(parents=True)
    with Memory.open(tmp_path / "home", tmp_path / "a" / "shop", flags=WORDS) as first:
        theirs = first.remember(NewMemory(body="gateway listens on 8443"))
        first.remember(
            NewMemory(body="gateway answers should be short, please", scope="user", kind="preference")
        )
    with Memory.open(tmp_path / "home", tmp_path / "b" / "shop", flags=WORDS) as second:
        assert [hit.kind for hit in second.search("gateway")] == [Kind.PREFERENCE]
        assert len(second.search("gateway", all_projects=True)) == 2
        with pytest.raises(NotFound):
            second.show([theirs.id])


def test_the_database_can_be_rebuilt_from_the_plain_files(memory: Memory) -> None:
    kept = memory.remember_many([NewMemory(body=f"fact number {n} about walruses") for n in range(20)])
    memory.forget(kept[:1])
    memory.erase(kept[1:2])
    before = {hit.id for hit in memory.search("walruses", limit=50)}
    memory.close()
    for file in memory.home.glob("memory.db*"):
        file.unlink()
    done = memory.reindex(from_files=True)
    assert done.memories == 19
    assert {hit.id for hit in memory.search("walruses", limit=50)} == before
    assert memory.show([kept[0]])[0].status is Status.FORGOTTEN


def test_a_damaged_database_is_set_aside_and_rebuilt(memory: Memory) -> None:
    kept = memory.remember(NewMemory(body="survives the damage"))
    memory.close()
    (memory.home / "memory.db").write_bytes(b"not a database at all" * 500)
    memory.reindex(from_files=True)
    assert memory.search("survives")[0].id == kept.id


def test_events_in_the_spool_answer_questions_once_they_are_brought_in(
    memory: Memory, tmp_path: Path
) -> None:
    import json

    from claude_memory.capture.drain import Spool

    event = {
        "session_id": "s9",
        "cwd": str(tmp_path),
        "hook_event_name": "UserPromptSubmit",
        "prompt_id": "p1",
        "prompt": "The flamingo service must never be restarted on Fridays",
    }
    Spool(memory.home).put("UserPromptSubmit", json.dumps(event).encode())
    assert memory.search("when may flamingo be restarted") == []
    memory.catch_up()
    hits = memory.search("when may flamingo be restarted")
    said = {hit.kind: (hit.trust, hit.session) for hit in hits}
    # An exchange holds an agent's words as well; the rule is the person's own, and still to be confirmed.
    assert said[Kind.OBSERVATION] == (Trust.AGENT, "s9")
    [rule] = memory.inbox()
    assert (rule.kind, rule.trust, rule.body) == (Kind.CONVENTION, Trust.USER, event["prompt"])


def test_a_session_may_be_named_by_the_beginning_of_its_id(memory: Memory) -> None:
    for session in ("0b2e77aa-1", "0b2f", "0b2f-later"):
        memory.remember(NewMemory(body=f"The walrus was seen in {session}", session=session))
    assert memory.session_id("0b2e") == "0b2e77aa-1"
    assert memory.session_id("0b2f") == "0b2f"  # whole ids are meant, though a longer one begins so
    assert [hit.session for hit in memory.search("walrus", session="0b2e")] == ["0b2e77aa-1"]
    assert [entry.session for entry in memory.timeline(session="0b2e7")] == ["0b2e77aa-1"]
    assert [entry.session for entry in memory.timeline(query="walrus", session="0b2f-")] == ["0b2f-later"]
    with pytest.raises(InvalidInput, match="0b2e77aa-1, 0b2f, 0b2f-later"):
        memory.search("walrus", session="0b2")
    with pytest.raises(NotFound, match="no session 'ffff'"):
        memory.timeline(session="ffff")


def test_a_session_of_another_project_is_not_named_here(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with Memory.open(tmp_path / "home", tmp_path / "elsewhere", flags=WORDS) as other:
        other.remember(NewMemory(body="A walrus elsewhere", session="abcd-elsewhere"))
    with pytest.raises(NotFound):
        memory.search("walrus", session="abcd")
    assert memory.search("walrus", session="abcd", all_projects=True)


def test_a_timeline_shows_what_happened_before_and_after(memory: Memory) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ids = memory.remember_many(
        [NewMemory(body=f"step {n} of the move", created_at=start + timedelta(hours=n)) for n in range(9)]
    )
    shown = memory.timeline(around=ids[4], before=2, after=3)
    assert [entry.id for entry in shown] == ids[2:8]
    assert [entry.anchor for entry in shown] == [False, False, True, False, False, False]
    assert memory.timeline(around=ids[0], before=0, after=0)[0].id == ids[0]
    with pytest.raises(NotFound):
        memory.timeline(query="walrus")


def test_why_explains_the_last_question_asked(memory: Memory) -> None:
    kept = memory.remember(NewMemory(body="JWT refresh tokens rotate daily"))
    with pytest.raises(InvalidInput, match="--query"):
        memory.why(kept.id)
    memory.search("how often do refresh tokens rotate")
    explained = memory.why(kept.id)
    assert explained.query == "how often do refresh tokens rotate"
    assert explained.words
    assert all(isinstance(value, float | int) for value in explained.numbers.values())


def test_questions_write_nothing(memory: Memory) -> None:
    from claude_memory.capture.drain import Spool

    [kept] = memory.remember_many([NewMemory(body="Rotate the keys on Fridays", kind="decision")])
    Spool(memory.home).put("UserPromptSubmit", b'{"prompt": "waits"}')
    before = {path: path.stat().st_mtime_ns for path in memory.home.rglob("*") if path.is_file()}
    assert memory.search("when are keys rotated")
    memory.timeline(query="keys")
    memory.knowledge()
    memory.graph.around(kept)
    memory.recall("keys")
    assert memory.why(kept).query == "keys"  # the last one that was asked
    assert {path: path.stat().st_mtime_ns for path in memory.home.rglob("*") if path.is_file()} == before


def test_search_goes_on_while_another_process_holds_the_write_lock(memory: Memory) -> None:
    import apsw

    memory.remember(NewMemory(body="readers are not blocked by writers"))
    holder = apsw.Connection(str(memory.home / "memory.db"))
    holder.execute("BEGIN IMMEDIATE")
    try:
        memory.catch_up()
        assert memory.search("blocked by writers")
    finally:
        holder.execute("ROLLBACK")
        holder.close()


def test_everything_in_the_home_is_private(memory: Memory) -> None:
    memory.remember(NewMemory(body="mode matters"))
    memory.search("mode")
    if os.name == "posix":
        modes = {path: path.stat().st_mode & 0o777 for path in memory.home.rglob("*")}
        wrong = {
            path: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)
        }
        assert wrong == {}


def test_task_texts_are_found_and_follow_their_files(memory: Memory) -> None:
    from claude_memory import MemoryAPI
    from claude_memory.tasks.documents import storage_for

    api = MemoryAPI(storage=storage_for(memory.project_root, home=memory.home))
    api.create_scratchpad("auth", "Exploring the narwhal gateway for sign-in")
    memory.catch_up()
    assert [hit.title for hit in memory.search("narwhal gateway")] == ["auth: scratchpad"]
    api.update_scratchpad("auth", "Exploring the pelican gateway instead")
    memory.catch_up()
    assert memory.search("narwhal") == []
    [hit] = memory.search("pelican gateway")
    assert memory.show([hit.id])[0].task == "auth"
    api.create_plan("auth", "Plan: sign in through the pelican gateway")
    api.append_progress("auth", "The pelican answers")
    memory.catch_up()
    assert len(memory.search("pelican", task="auth", limit=10)) == 3
