"""A summary is made of exchanges and the agent's own words: nothing guessed, everything cut alike."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claude_memory.model import Kind, ProjectId, SessionId, StoredMemory, Trust, memory_id
from claude_memory.store.model import Message
from claude_memory.summaries.making import budget, summarise, tokens_of
from claude_memory.summaries.shelf import faults, is_readable
from claude_memory.summaries.stretches import Transcript, open_end, stretches
from claude_memory.understand import agent_summary, calls
from claude_memory.understand.model import Command, Commit, Exchange, Outcome, TaskItem, Utterance

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
SESSION = SessionId("s1")
STORY = """This session is being continued from a previous conversation that ran out of context.

Analysis:
1. **First**: the person asked for an export.

Summary:
1. Primary Request and Intent:
   - Move the export of invoices out of the request
   - Keep money as Decimal

2. Key Technical Concepts:
   - **Task queue**: jobs in Postgres

3. Files and Code Sections:
   - **`app/tasks.py`** (created)
     - Holds the export job
       ```python
       def export_month():
           return zip_all()
       ```
   - `app/mail.py`
     - Sends the link

4. Errors and Fixes:
   - **OOM in the worker**: Redis has 64 MB. Fixed by dropping Celery for Procrastinate.
   - **goconst lint error**: Added a constant
   - **User feedback on floats**: User said "never floats in tests". I changed them.
   - **Port clash**:
     - The gateway listened on 8080
     - Fix: moved to 8443

5. Problem Solving:
   The timeout came from zipping in the request.

6. All user messages:
   - "move it out of the request please"

7. Pending Tasks:
   - Mail with the link
   - Tests for the mail

8. Current Work:
   Writing `send_link` in app/mail.py; two tests fail.

9. Optional Next Step:
   Make `test_send_link` pass.
"""


def said(words: str, ordinal: int = 1, manner: str = "typed", question: str = "") -> Utterance:
    return Utterance(ordinal, NOON, words, manner, question=question)


def exchange(first: int = 1, **more: Any) -> Exchange:
    values: dict[str, Any] = {"last": first + 5, "outcome": Outcome.ANSWERED, "cwd": "/p", **more}
    return Exchange(SESSION, f"k{first}", first, began=NOON, ended=NOON, **values)


def texts(summary: dict[str, Any]) -> str:
    return json.dumps(summary, ensure_ascii=False)


# --- the agent's own summary


def test_the_nine_parts_of_an_agents_summary_are_told_apart() -> None:
    found = agent_summary.read(STORY)
    assert len(found.parts) == 9
    assert found.items("request") == [
        "Move the export of invoices out of the request",
        "Keep money as Decimal",
    ]
    assert found.items("pending") == ["Mail with the link", "Tests for the mail"]
    assert found.text("next") == "Make `test_send_link` pass."
    assert [(path, len(code)) for path, _, code in found.sections()] == [
        ("app/tasks.py", 1),
        ("app/mail.py", 0),
    ]


@pytest.mark.parametrize(
    "text",
    [
        STORY,
        "<analysis>thinking</analysis>\n<summary>\n" + STORY.partition("Summary:\n")[2] + "\n</summary>",
        STORY.replace("\n1. Primary Request and Intent:", "\n## 1. **Primary Request and Intent**:"),
        STORY.partition("Summary:\n")[2],  # as a reader hands it on
    ],
)
def test_whatever_stands_around_the_parts(text: str) -> None:
    found = agent_summary.read(text)
    assert found.text("current") == "Writing `send_link` in app/mail.py; two tests fail."


def test_a_summary_in_another_form_is_kept_as_it_is() -> None:
    found = agent_summary.read("We moved the export.\n\nThe mail is open.")
    assert (found.parts, found.rest) == ({}, "We moved the export.\n\nThe mail is open.")
    summary = summarise([], agent_summary="We moved the export.\n\nThe mail is open.")
    assert "We moved the export." in summary["executive"]
    assert summary["important_context"] == ["We moved the export.", "The mail is open."]


def test_feedback_of_the_person_and_errors_with_their_fixes() -> None:
    feedback, fixes = agent_summary.feedback_and_fixes(agent_summary.read(STORY))
    assert feedback == ['User feedback on floats: User said "never floats in tests". I changed them.']
    assert fixes == [
        ("OOM in the worker: Redis has 64 MB.", "Fixed by dropping Celery for Procrastinate."),
        ("goconst lint error", "Added a constant"),
        ("Port clash: The gateway listened on 8080", "Fix: moved to 8443"),
    ]
    nothing = STORY.replace("   - **OOM", "   - No errors so far\n   - **OOM", 1)
    assert len(agent_summary.feedback_and_fixes(agent_summary.read(nothing))[1]) == 3


@pytest.mark.parametrize("none", ["None explicitly pending", "- No pending tasks", "N/A"])
def test_that_nothing_is_open_is_no_open_task(none: str) -> None:
    story = STORY.replace("   - Mail with the link\n   - Tests for the mail", f"   {none}")
    pending = summarise([exchange(asked=(said("move it"),))], agent_summary=story)["tasks_pending"]
    assert pending == ["Next: Make `test_send_link` pass."]


# --- what a summary says


def test_the_executive_text_tells_what_it_was_about_what_was_done_and_how_it_stands() -> None:
    work = [
        exchange(
            1,
            asked=(said("move the export out of the request"),),
            closing="It runs in a queue now.",
            commits=(Commit(4, "abc1234", "feat(export): use a queue"),),
            files_edited=(("app/tasks.py", 3),),
        ),
        exchange(
            7,
            asked=(said("now mail the link", 7),),
            outcome=Outcome.OPEN,
            said=("I'll write send_link first.",),
            uncommitted=("app/mail.py",),
        ),
    ]
    about, done, standing = summarise(work)["executive"].split("\n\n")
    assert "move the export out of the request" in about
    assert "now mail the link" in about
    assert "1 commit: feat(export): use a queue." in done
    assert "still at the last request" in standing
    assert "I'll write send_link first." in standing
    later = summarise(work, agent_summary=STORY)["executive"]
    assert "Keep money as Decimal" in later
    assert "two tests fail" in later


def test_decisions_come_from_structure_alone() -> None:
    work = [
        exchange(1, plan="# Plan: Move the export\n\n1. queue", asked=()),
        exchange(
            7,
            asked=(
                said("which queue is best?", 7),
                said("Procrastinate", 8, "answer", "Which queue?"),
                said("no floats in tests", 9, "rejection"),
            ),
        ),
        exchange(
            13,
            asked=(said("keep money as Decimal in all tests", 13),),
            commits=(Commit(15, "abc1234", "test: Decimal"),),
        ),
        exchange(19, asked=(said("we should always use tabs, I decided that", 19),)),
    ]
    decisions = summarise(work)["key_decisions"]
    assert all("" not in one.values() for one in decisions)  # what says nothing is left out
    told = [(one.get("topic", ""), one["decision"]) for one in decisions]
    assert told == [
        ("", "Carry out the plan: Move the export"),
        ("Which queue?", "Procrastinate"),
        ("", "no floats in tests"),
        ("test: Decimal", "keep money as Decimal in all tests"),
    ]


def test_what_is_open_is_told_by_tasks_outcome_checks_and_edits() -> None:
    failing = Command(9, "make test", True, "2 failed")
    last = exchange(7, asked=(said("mail the link", 7),), outcome=Outcome.INTERRUPTED, failing=(failing,),
                    uncommitted=("app/mail.py",),
                    tasks=(TaskItem("write the mail", "in_progress", 8), TaskItem("docs", "completed", 8)))  # fmt: skip
    summary = summarise([exchange(1, uncommitted=("app/old.py",)), last])
    assert summary["tasks_pending"] == [
        "In progress: write the mail",
        "Not finished: “mail the link”",
        "Failing: make test: 2 failed",
        "Edited and not committed: app/old.py, app/mail.py",
    ]
    assert "docs" in summary["tasks_completed"]
    handed = summarise([exchange(1)], open_tasks=[TaskItem("from before", "pending", 2)])
    assert handed["tasks_pending"] == ["from before"]


def test_what_closing_words_list_as_left_is_open() -> None:
    first = exchange(1, closing="Done.\n\nRemaining:\n- **docs** of the export\n- a retry\n\nAll green.")
    second = exchange(7, closing="The mail goes out now.")
    texts = summarise([first, second])["tasks_pending"]
    assert "a retry" in texts
    assert "docs of the export" in texts


def test_announcements_of_the_next_step_are_no_story() -> None:
    said = ("Let me look at the mail.", "The worker drops links over 2 KB. Now fix it:", "Now add a test:")
    told = summarise([exchange(1, said=said)])["important_context"]
    assert "The worker drops links over 2 KB." in told
    assert not [text for text in told if "look at" in text or "fix it" in text or "add a test" in text]


def test_a_changed_file_says_what_its_edits_define() -> None:
    new = {"app/mail.py": ["send_link", "RETRIES = 3"]}
    work = exchange(1, files_edited=(("app/mail.py", 2),))
    (file,) = summarise([work], defined=new)["files_modified"]
    assert file["definitions"] == ["send_link", "RETRIES = 3"]
    assert faults(summarise([work], defined=new), "summary") == []
    edit = "file_path: /p/app/mail.py\nold_string: x\nnew_string: def send_link(to):\n    return to\nconst retries = 3\n"
    assert calls.definitions_of(edit) == ["send_link", "retries = 3"]


def test_a_commit_leaves_nothing_uncommitted_before_it() -> None:
    work = [exchange(1, uncommitted=("a.py",)), exchange(7, commits=(Commit(8, "abc1234", "all"),))]
    assert "not committed" not in texts(summarise(work))


def test_work_that_goes_on_behind_a_compaction_says_with_what() -> None:
    before = exchange(1, asked=(said("move the export out of the request"),), outcome=Outcome.OPEN)
    summary = summarise([exchange(9, said=("Now the mail.",))], earlier=[before])
    assert summary["important_context"][0] == "Went on with: move the export out of the request"


def test_typed_memories_that_are_handed_in_stand_in_their_places() -> None:
    def memory(kind: Kind, body: str) -> StoredMemory:
        return StoredMemory(
            memory_id(body), ProjectId("p"), kind, body[:9], body, NOON, NOON, Trust.USER,
            provenance={"places": [{"conversation": "s1", "messages": [4]}]},
        )  # fmt: skip

    given = [
        memory(Kind.DECISION, "Use Procrastinate."),
        memory(Kind.CONVENTION, "Money is Decimal."),
        memory(Kind.FIX, "Raise the memory of Redis."),
    ]
    summary = summarise([exchange(1)], memories=given)
    assert [(one["decision"], one["messages"]) for one in summary["key_decisions"]] == [
        ("Use Procrastinate.", [4])
    ]
    assert summary["conventions"] == ["Money is Decimal."]
    assert [one["solution"] for one in summary["error_solutions"]] == ["Raise the memory of Redis."]


def test_a_check_that_failed_and_then_passed_is_an_error_with_its_solution() -> None:
    runs = (Command(2, "make test", True, "E: no such column"), Command(5, "make test"))
    work = exchange(1, commands=runs, files_edited=(("app/models.py", 1),))
    [found] = summarise([work])["error_solutions"]
    assert (found["error"], found["verified"], found["messages"]) == ("E: no such column", True, [2, 5])
    assert "app/models.py" in found["solution"]
    never = replace(work, commands=runs[:1])
    assert summarise([never])["error_solutions"] == []


# --- its size


def test_everything_is_cut_alike_until_it_fits_and_what_is_open_stays_longer() -> None:
    work = [
        exchange(n * 10, asked=(said(f"request {n}: " + "please look at the gateway " * 40, n * 10),),
                 closing=f"answer {n}: " + "the port is 8443 " * 200)
        for n in range(1, 41)
    ]  # fmt: skip
    open_ = [TaskItem("describe the port of the gateway " * 6, "pending", 3)]
    summary = summarise(work, open_tasks=open_, max_tokens=4_000)
    assert tokens_of(summary) <= 4_000
    told = summary["important_context"]
    assert all(any(f"request {n}:" in text for text in told) for n in (1, 20, 40))
    assert len({len(text) for text in told[1:] if text.endswith("…")}) < 30
    assert summary["tasks_pending"][0].strip() == open_[0].title.strip()
    assert faults(summary, "summary") == []


def test_a_budget_is_a_tenth_but_never_less_than_a_page() -> None:
    assert budget(200_000) == 8_000
    assert budget(51_000) == 5_000
    assert budget(100) == 1_200


# --- its form

SEED: dict[str, Any] = {
    "timestamp": "2025-12-23T04:30:00Z",
    "compaction_trigger": "auto",
    "token_count_before": 180000,
    "token_count_after": 120000,
    "summary": {
        "executive": "Implemented user authentication system with JWT tokens...",
        "key_decisions": [
            {"topic": "Authentication Strategy", "decision": "Use JWT with refresh tokens",
             "rationale": "Stateless auth for scalability", "files": ["src/auth/jwt.ts"]},
        ],
        "files_modified": [{"path": "src/auth/jwt.ts", "action": "created", "purpose": "JWT tokens"}],
        "code_snippets": [
            {"file": "src/auth/jwt.ts", "function": "generateToken", "code": "…", "importance": "high"}
        ],
        "topics": ["authentication"],
        "tasks_completed": ["Implement JWT auth"],
        "tasks_pending": ["Add rate limiting"],
    },
    "embeddings": {"summary_vector": [0.1], "topic_vectors": {}},
    "original_message_range": [45, 120],
}  # fmt: skip


def test_the_first_form_is_valid_with_and_without_vectors() -> None:
    assert faults(SEED) == []
    assert is_readable(SEED)
    assert faults({name: value for name, value in SEED.items() if name != "embeddings"}) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"summary": {**SEED["summary"], "executive": " "}}, "summary.executive must not be empty"),
        ({"summary": {**SEED["summary"], "topics": "auth"}}, "summary.topics must be of type array"),
        ({"compaction_trigger": "whim"}, "compaction_trigger must be one of manual, auto, size_limit"),
        ({"token_count_before": -1}, "token_count_before must not be below 0"),
        ({"original_message_range": [1]}, "original_message_range must have 2 items"),
        ({"original_message_range": None}, "original_message_range must be of type array"),
    ],
)
def test_what_is_wrong_is_said_without_quoting_it(change: dict[str, Any], said: str) -> None:
    assert faults({**SEED, **change}) == [said]


@pytest.mark.parametrize(
    "change",
    [
        {"original_message_range": None},
        {"original_message_range": [1, "x"]},
        {"timestamp": 3},
        {"summary": {**SEED["summary"], "key_decisions": ["x"]}},
        {"summary": {**SEED["summary"], "sources": []}},
        {"summary": {"executive": ""}},
        {"summary": []},
    ],
)
def test_what_readers_rely_on_is_seen_at_once(change: dict[str, Any]) -> None:
    assert not is_readable({**SEED, **change})


# --- which messages


def message(ordinal: int, role: str, text: str = "x", **more: Any) -> Message:
    at = NOON + timedelta(seconds=ordinal)
    speaker = {"user": "person", "assistant": "agent"}.get(role, "harness")
    manner = {"user": "typed", "assistant": "closing"}.get(role, "boundary")
    return Message(ordinal, 1, ordinal, role, at, text, speaker=speaker, manner=manner, **more)


TALK = [
    message(1, "user", "move the export"),
    message(2, "assistant", "Done."),
    message(3, "note", "compacted (auto)"),
    message(4, "summary", STORY),
    message(5, "user", "now the mail"),
    message(6, "assistant", "Written."),
]


def test_a_stretch_goes_from_one_boundary_to_the_next_and_has_the_agents_summary() -> None:
    [one] = stretches(TALK, session=SESSION)
    assert (one.first, one.last, one.trigger, one.agent_summary) == (1, 2, "auto", STORY)
    both = stretches([*TALK, message(7, "note", "compacted (manual)")], session=SESSION)
    assert [(each.first, each.last) for each in both] == [(1, 2), (5, 6)]
    assert [each.trigger for each in both] == ["auto", "manual"]


def test_the_open_end_is_what_was_said_since_and_before_the_report() -> None:
    found = open_end(TALK, session=SESSION, at=NOON + timedelta(seconds=5), trigger="auto", boundary="b")
    assert found is not None
    assert (found.first, found.last) == (5, 5)
    assert open_end(TALK[:4], session=SESSION, at=NOON + timedelta(hours=1), trigger="", boundary="b") is None


def test_a_summary_knows_nothing_of_what_came_after() -> None:
    [one] = stretches(TALK, session=SESSION)
    took = Transcript(SESSION, "", TALK, [one]).material(one, ProjectId("p"))
    assert [each.request for each in took.exchanges] == ["move the export"]
    assert "mail" not in [each.request for each in took.exchanges]
    assert took.exchanges[0].last == 2
