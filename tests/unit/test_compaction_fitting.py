"""A summary within its budget: what stays where there is little room."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.test_compaction_reversals import Talk

from claude_memory.compaction.choosing import label, pick
from claude_memory.compaction.fitting import fitted, tokens_of
from claude_memory.compaction.model import Decision, FileChange, Remark, Solution, Summary, about_tokens
from claude_memory.compaction.purposes import snippets
from claude_memory.compaction.summarise import summarise
from claude_memory.compaction.wording import slots
from claude_memory.distil.turns import Origin
from claude_memory.model import ProjectId, SessionId

ORIGIN = Origin(SessionId("s"), ProjectId("p"), "/w")
CONSENT = Decision(
    "Both are allowed",
    "Yes please.",
    "Which one is correct? → Both are allowed, the tax office sees the invoice. "
    "I'd change the basket: group by rate, round once per rate, half up.",
    files=("total.ts",),
    messages=(26, 27, 28),
)


def many(number: int) -> Summary:
    decisions = tuple(
        Decision(
            f"choice {n}",
            f"We take option {n} for part {n}. "
            + " ".join(f"It was a long day, number {day} of this kind." for day in range(9)),
            messages=(n,),
        )
        for n in range(number)
    )
    return Summary(
        executive="Asked for a shop. " * 30 + "\n\n" + "Open: the mail texts.",
        key_decisions=decisions,
        files_modified=tuple(FileChange(f"src/file{n}.py", "created", "holds it " * 9) for n in range(8)),
        important_context=tuple(
            Remark(f"The old job took {n} hours for all meters.", (n,)) for n in range(20)
        ),
        error_solutions=(Solution("KeyError: 'coupon' " * 9, "The coupon was optional. " * 9),),
        conventions=(Remark("Money is always in cents, never a float. " * 4, (3,)),),
    )


def test_everything_becomes_shorter_before_an_entry_goes() -> None:
    whole = many(8)
    short = fitted(whole, tokens_of(whole) * 2 // 3)
    assert tokens_of(short) <= tokens_of(whole) * 2 // 3
    assert len(short.key_decisions) == 8
    assert [one.path for one in short.files_modified] == [one.path for one in whole.files_modified]
    assert "Open: the mail texts." in short.executive
    assert all(f"option {n}" in one.decision for n, one in enumerate(short.key_decisions))


def test_what_has_room_stays_as_it_is() -> None:
    whole = many(2)
    assert fitted(whole, tokens_of(whole)) == whole


def test_even_a_tiny_budget_is_kept() -> None:
    short = fitted(many(60), 900)
    assert tokens_of(short) <= 900
    assert len(short.key_decisions) >= 3
    assert short.key_decisions[-1].messages == (59,)  # the oldest go first


def test_thousands_of_files_do_not_burst_the_budget() -> None:
    files = tuple(FileChange(f"src/deep/folder/file{n}.py", "modified", "renamed") for n in range(3_000))
    short = fitted(replace(many(3), files_modified=files), 6_000)
    assert tokens_of(short) <= 6_000
    assert short.files_modified[-1] == files[-1]
    assert len(short.files_modified) > 100


def test_a_table_of_numbers_is_not_compared_number_by_number() -> None:
    assert len(slots(" ".join(f"row {n} {n * 7}" for n in range(900)))) == 40


def test_somebody_who_only_consents_leaves_it_to_the_proposal() -> None:
    said, reason = pick(CONSENT, 90, set())
    assert said == "Yes please."
    assert "round once per rate" in reason
    assert "Which one" not in reason


def test_of_a_long_remark_stays_what_the_agent_took_up() -> None:
    tale = "Then I have to go and it should not only be me who feeds the parrot all the time, right."
    one = Decision("t", f"{tale} Logs live ninety days, addresses zeroed. → Logs live ninety days, zeroed.")
    assert pick(one, 60, set())[0] == "Logs live ninety days, addresses zeroed."


def test_what_an_answer_asks_next_is_left_out_first() -> None:
    one = Decision("t", "The larger one please. → The larger quantity wins now. Next: which colour for it?")
    assert pick(one, 60, set())[0] == "The larger one please. → The larger quantity wins now."


def test_a_reason_that_was_told_is_not_told_again() -> None:
    told: set[str] = set()
    first = pick(CONSENT, 90, told)[1]
    again = pick(replace(CONSENT, decision="ok, do so for the mails."), 90, told)[1]
    assert "once per rate" in first
    assert "once per rate" not in again


def test_a_label_is_made_of_words_that_are_said_again() -> None:
    one = Decision(
        "Yes and by the way the basket follows the invoice from now on",
        "basket follows the invoice please",
        "The basket rounds per line, the invoice once.",
    )
    assert label(one, 16) == "basket invoice"
    assert label(replace(one, topic="short"), 16) == "short"


def test_code_takes_more_tokens_than_prose_of_the_same_length() -> None:
    prose = "the basket follows the invoice and nothing else changes here "
    code = "x=[f(a[i],b[i]) for i in (1,2,3)];\n   y={0:1,2:3};z=*x,y[0]\n"
    assert about_tokens(code) > 1.5 * about_tokens(prose)
    assert about_tokens("") == 0
    assert about_tokens("漢字") == 2


def test_a_decision_may_take_back_what_an_earlier_window_decided() -> None:
    before = Talk().person("Make the export of the orders faster.").agent("It blocks. A queue would help.")
    before.person("Use a background queue with Redis for the export.").write("queue.py", "redis.Redis()")
    before.agent("The export goes through a Redis queue now.")
    after = Talk().person("Ops will not run Redis. Use a Postgres table as the queue for the export instead.")
    after.edit("queue.py", "redis.Redis()", "postgres.Table()").agent("The queue is a Postgres table now.")
    turns = [replace(turn, ref={"message": 6 + n}) for n, turn in enumerate(after.turns)]
    summary = summarise(turns, ORIGIN, earlier=before.turns)
    [decision] = summary.key_decisions
    assert "Postgres" in decision.decision
    assert "Redis" in decision.reverses
    assert 3 in decision.reversed_messages
    assert [one.path for one in summary.files_modified] == ["queue.py"]
    assert not [one for one in summarise(turns, ORIGIN).key_decisions if one.reverses]


def test_a_first_request_that_decides_is_a_decision() -> None:
    talk = Talk().person("Let's use SQLite for the cache, because it is one file.")
    talk.write("cache.py", "sqlite").agent("The cache uses SQLite now.")
    [decision] = talk.decisions
    assert decision.decision.startswith("Let's use SQLite for the cache.")
    assert decision.rationale == "because it is one file."


def test_a_reason_of_ones_own_is_the_reason() -> None:
    talk = Talk().person("Tidy the exporter.").agent("The tests failed since localhost was asked for.")
    talk.person("Let's store the finished files in S3, because the disks are small.").agent("They go to S3.")
    [decision] = [one for one in talk.decisions if "S3" in one.decision]
    assert decision.rationale == "because the disks are small."


def test_a_snippet_shows_code_as_it_is_after_later_edits() -> None:
    from claude_memory.compaction.changes import changes

    talk = Talk().person("A queue please.").write("q.py", "def connect():\n    return redis.Redis()\n")
    talk.edit("q.py", "redis.Redis()", "redis.Redis(host='redis')").agent("Done.")
    [one] = snippets(changes(talk.turns, "/w"), talk.turns, range(1, 9))
    assert "redis.Redis(host='redis')" in one.code
