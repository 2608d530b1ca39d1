"""Words as the index keeps them: people, code, other scripts, and anything else without failing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.text.words import (
    PASSAGE_CHARACTERS,
    QUERY_TERMS,
    date_terms,
    index_terms,
    is_stop_term,
    passages,
    query_terms,
    shorten,
)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("We migrated the databases", "database migration"),
        ("Caroline’s painting", "What did Caroline paint?"),
        ("the naïve café", "naive cafe"),
        ("refreshJwtToken()", "refresh jwt token"),
        ("JWT_REFRESH_SECONDS=30", "jwt refresh seconds"),
        ("see src/auth/login.py:42", "login.py"),
        ("HTTPServer started", "http server"),
        ("written in C++ and C#", "C#"),
        ("Straße", "STRASSE"),
        ("東京タワーへ行く", "東京"),
        ("사용자 인증", "인증"),
        ("Привет мир", "мир"),
    ],
)
def test_a_question_meets_the_text_in_at_least_one_telling_word(written: str, asked: str) -> None:
    assert set(query_terms(asked)) & {term for term in index_terms(written) if not is_stop_term(term)}


def test_an_identifier_is_found_whole_and_by_its_parts() -> None:
    assert set(index_terms("src/auth/refreshToken.py")) >= {
        "src/auth/refreshtoken.py",
        "refreshtoken.py",
        "auth",
        "refresh",
        "token",
    }


def test_languages_with_signs_in_their_names_stay_apart() -> None:
    assert {"c++", "c#"} <= set(index_terms("C++, C# and C."))


def test_latin_words_beside_cjk_are_words_of_their_own() -> None:
    assert "jwt" in index_terms("使用JWT認證")


def test_stop_words_are_left_out_of_a_question_unless_nothing_else_is_there() -> None:
    assert query_terms("what is the deploy target?") == ["deploy", "target"]
    assert query_terms("who is it?") == ["who", "is", "it"]


def test_the_month_of_may_is_no_stop_word() -> None:
    assert "may" in query_terms("what happened in May?")


def test_a_day_is_named_by_month_year_and_date() -> None:
    day = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert set(date_terms(day)) == {"may", "2023", "2023-05-08"}
    assert set(date_terms(datetime(2023, 12, 1, tzinfo=UTC))) & set(query_terms("in December"))


def test_a_pasted_log_makes_a_bounded_question() -> None:
    assert len(query_terms(" ".join(f"word{number}" for number in range(5000)))) == QUERY_TERMS


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_text_gives_terms_that_can_be_stored(text: str) -> None:
    for term in index_terms(text) + query_terms(text):
        assert term
        assert term.strip() == term
        assert not any(char.isspace() for char in term)
        term.encode("utf-8")


@given(st.text(alphabet=st.characters(), max_size=200))
def test_a_text_asked_for_by_itself_shares_all_its_words(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text))


def test_lone_surrogates_and_nul_are_passed_over() -> None:
    assert index_terms("a\ud800b \x00 key\x00value") == ["a", "b", "key", "valu"]


@given(st.text(alphabet="abc .\n", max_size=9000))
def test_passages_together_hold_the_whole_text(text: str) -> None:
    parts = passages(text)
    assert all(len(part) <= PASSAGE_CHARACTERS for part in parts)
    place = 0
    for part in parts:
        found = text.find(part, max(0, place - 400))
        assert found != -1
        assert found <= place
        place = found + len(part)
    assert place == len(text)


def test_a_long_line_is_cut_at_a_word_and_says_so() -> None:
    line = "fix the rounding of invoice totals in the nightly export"
    assert shorten(line, 30) == "fix the rounding of invoice…"
    assert shorten(line, len(line)) == line
    assert shorten("x" * 50, 20) == "x" * 19 + "…"
