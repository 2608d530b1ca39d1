"""The arithmetic of recall: what each part promises, without a store."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.model import (
    Kind,
    MemoryId,
    Passage,
    PassageId,
    ProjectId,
    Status,
    StoredMemory,
)
from claude_memory.search import ranking as priors
from claude_memory.search import ranking as scoring
from claude_memory.search.conversations import together
from claude_memory.search.excerpts import WIDTH, one_line, snippet
from claude_memory.search.ranking import fused
from claude_memory.store.model import TermStatistics

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def passage(own: str, near: str = "", far: str = "", date: str = "") -> Passage:
    columns = [tuple(field.split()) for field in (own, near, far, date)]
    return Passage(PassageId(1), MemoryId("m1"), ProjectId("p"), 0, own, *columns)


def statistics(passages: int = 100, **frequency: int) -> TermStatistics:
    return TermStatistics(passages, 10.0, frequency)


def memory(**changes: object) -> StoredMemory:
    plain = StoredMemory(MemoryId("m1"), ProjectId("p"), Kind.NOTE, "title", "body", NOW, NOW)
    return replace(plain, **changes)  # type: ignore[arg-type]


class TestBm25:
    def test_a_rare_word_tells_more_than_a_common_one(self) -> None:
        weights = scoring.term_weights({"jwt": 1.0, "code": 1.0}, statistics(jwt=1, code=80))
        assert scoring.score(passage("jwt"), weights, 10.0) > scoring.score(passage("code"), weights, 10.0)

    def test_a_word_the_store_does_not_know_adds_nothing(self) -> None:
        assert scoring.term_weights({"zebra": 1.0}, statistics()) == {}

    def test_a_word_that_is_everywhere_never_pushes_down(self) -> None:
        assert all(scoring.idf(count, count) > 0 for count in (1, 2, 1000))

    def test_neighbours_count_less_than_the_own_text_and_the_far_ones_least(self) -> None:
        weights = {"jwt": 1.0}
        own = scoring.score(passage("jwt a"), weights, 10.0)
        near = scoring.score(passage("a", near="jwt"), weights, 10.0)
        far = scoring.score(passage("a", far="jwt"), weights, 10.0)
        assert own >= near > far > 0

    def test_the_terms_shares_add_up_to_the_score(self) -> None:
        weights = {"jwt": 1.0, "token": 2.0}
        found = passage("jwt token jwt other", date="token")
        parts = scoring.contributions(found, weights, 10.0)
        assert set(parts) == {"jwt", "token"}
        assert scoring.score(found, weights, 10.0) == pytest.approx(sum(parts.values()))

    def test_an_empty_store_gives_no_error(self) -> None:
        assert scoring.score(passage(""), {"jwt": 1.0}, 0.0) == 0.0


class TestFusion:
    def test_best_in_both_signals_is_one_and_worst_is_zero(self) -> None:
        scores = fused([4.0, 0.0], [0.9, 0.3], 0.3)
        assert scores == pytest.approx([1.0, 0.0])

    def test_the_minimum_is_that_of_the_whole_store_not_of_the_candidates(self) -> None:
        [_, second] = fused([0.0, 0.0], [0.9, 0.8], 0.1)
        assert second > 0.5

    def test_without_an_embedder_words_decide_alone(self) -> None:
        assert fused([2.0, 1.0], None, 0.0) == [1.0, 0.5]

    def test_a_passage_without_a_vector_is_judged_by_its_words_and_not_sunk(self) -> None:
        scores = fused([4.0, 4.0], [None, 0.9], 0.1)
        assert scores == [1.0, 1.0]

    def test_no_shared_word_and_no_vector_is_no_score(self) -> None:
        assert fused([0.0], [None], 0.0) == [0.0]

    @given(st.lists(st.tuples(st.floats(0, 50), st.none() | st.floats(-1, 1)), max_size=20))
    def test_scores_stay_between_zero_and_one(self, pairs: list[tuple[float, float | None]]) -> None:
        scores = fused([pair[0] for pair in pairs], [pair[1] for pair in pairs], -1.0)
        assert all(0.0 <= score <= 1.0 + 1e-9 for score in scores)


class TestFeedback:
    def test_telling_words_of_the_best_join_the_question_at_a_small_share(self) -> None:
        best = [passage("rollback migration forward the the the")]
        wider = scoring.feedback_terms({"undo": 1.0}, best, statistics(rollback=2, migration=3, forward=5))
        assert set(wider) == {"rollback", "migration", "forward"}
        added = sum(wider.values())
        assert added / (1.0 + added) == pytest.approx(scoring.FEEDBACK_MASS)

    def test_stop_words_never_join(self) -> None:
        assert "the" not in scoring.feedback_sources([passage("the rollback")])

    def test_nothing_to_learn_leaves_the_question_as_it_is(self) -> None:
        assert scoring.feedback_terms({"undo": 1.0}, [passage("the of")], statistics()) == {}


class TestPriors:
    def test_newer_is_better_but_never_by_much(self) -> None:
        fresh, old = priors.recency(NOW, NOW), priors.recency(NOW - timedelta(days=3650), NOW)
        assert fresh > old >= 0.0
        assert fresh <= 0.05

    def test_a_memory_from_the_future_counts_as_new(self) -> None:
        assert priors.recency(NOW + timedelta(days=9), NOW) == priors.recency(NOW, NOW)

    def test_nothing_known_is_neutral(self) -> None:
        aged = memory(created_at=NOW - timedelta(days=40_000))
        assert sum(priors.bonuses(aged, NOW).values()) == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("ours", "theirs", "share"),
        [
            ("/home/me/app/src/auth.py", "src/auth.py", 1.0),
            ("src\\auth.py", "src/auth.py", 1.0),
            ("src/auth.py", "tests/auth.py", 0.5),
            ("src/auth.py", "src/login.py", 0.0),
        ],
    )
    def test_files_match_by_path_then_by_name(self, ours: str, theirs: str, share: float) -> None:
        assert priors.shares_file([ours], [theirs]) == share

    def test_what_was_replaced_sinks(self) -> None:
        assert priors.validity(memory(status=Status.SUPERSEDED)) < priors.validity(memory())


class TestSessions:
    def test_several_fair_hits_outweigh_one_good_one(self) -> None:
        assert together([0.75] * 4) > together([0.8])

    def test_many_poor_hits_do_not(self) -> None:
        assert together([0.2] * 50) < together([0.9])


class TestSnippet:
    def test_it_shows_the_sentence_that_shares_most_with_the_question(self) -> None:
        text = "We met on Monday. The JWT refresh token lives for an hour. Lunch was fine." + " Filler." * 40
        assert "refresh token" in snippet(text, {"jwt": 2.0, "refresh": 1.0})

    def test_a_long_sentence_is_cut_around_the_shared_word(self) -> None:
        line = snippet("word " * 200 + "rollback " + "word " * 200, {"rollback": 1.0})
        assert "rollback" in line
        assert line.startswith("…")
        assert len(line) <= WIDTH

    def test_invisible_and_control_characters_are_gone(self) -> None:
        hostile = "a\u202eb\u200bc\x1b[31md\x00e\u2028f\U000e0041g\ud800h"
        assert one_line(hostile) == "abc[31mde fgh"

    @given(st.text(alphabet=st.characters(), max_size=600))
    def test_any_text_gives_one_short_printable_line(self, text: str) -> None:
        line = snippet(text, {"a": 1.0})
        assert len(line) <= WIDTH
        assert "\n" not in line
        line.encode("utf-8")


def test_a_snippet_tells_something_rather_than_list_commands() -> None:
    body = "The gradient is sampled once a cell.\nRan: cd src && go build ./... 2>&1 | tail; go test gradient gradient"
    assert snippet(body, {"gradient": 1.0, "go": 1.0, "build": 1.0}) == "The gradient is sampled once a cell."
    assert snippet("Ran: go build", {"go": 1.0}) == "Ran: go build"


def test_a_snippet_does_not_begin_with_the_title() -> None:
    body = "JWT for sessions\nWe chose JWT for sessions; refresh tokens live 30 days"
    assert snippet(body, {"jwt": 1.0}, title="JWT for sessions").startswith("We chose")


def test_a_slice_that_begins_within_a_list_of_names_is_told_by_the_rest() -> None:
    body = "The tree groups checkpoints by day.\nEdited: src/extension.ts, src/checkpoints/models.ts"
    weights = {"checkpoint": 1.0, "tree": 1.0}
    assert snippet(body[-40:], weights, whole=body) == "The tree groups checkpoints by day."
    long = "a " * 900 + "checkpoints are grouped by day"
    assert snippet(long[-29:], weights, whole=long).startswith("are grouped")


def test_every_process_shows_the_same_line() -> None:
    program = """
import random
from claude_memory.search.excerpts import question, quote, snippet
chance, words = random.Random(7), [f"w{n}x" for n in range(12)]
for _ in range(60):
    weights = {word: chance.randint(1, 3) / 10 for word in words}
    text = ". ".join(" ".join(chance.sample(words, 5)) for _ in range(20)) + "."
    print(snippet(text, weights), quote(question(" ".join(words), 9, {}), text.replace(". ", "\\n")))
"""
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1
