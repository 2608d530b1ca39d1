"""What a person marks `<private>` is gone, however the tags are written and wherever they stand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.redact import redact, redact_document


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>x</private> b", "a [private] b"),
        ("<private>x</private>", "[private]"),
        ("a <private>x</private> b <private>y</private> c", "a [private] b [private] c"),
        ("a <private>x <private>y</private> z</private> b", "a [private] b"),
        ("a <PRIVATE >x</Private > b", "a [private] b"),
        ('a <private reason="mine">x</private> b', "a [private] b"),
        ("a < private >x< / private > b", "a [private] b"),
        ("a <private\n>x\ny</private\n> b", "a [private] b"),
        ("a <private> never closed", "a [private]"),
        ("a <private>x <private>y</private> still inside", "a [private]"),
        ("a <private/> to the end", "a [private]"),
        ("say `<private>` and the rest goes, to be safe", "say `[private]"),
    ],
)
def test_a_private_span_leaves_one_mark(text: str, kept: str) -> None:
    assert redact(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "a closing </private> tag alone",
        "&lt;private&gt;about the tag&lt;/private&gt;",
        "<privateer>ship</privateer>",
        "<private-route path='/x'>",
        "class A { private: int x; };  // x < private",
        "private <T> void f()",
        "",
    ],
)
def test_what_is_no_private_span_stays(text: str) -> None:
    assert redact(text) == text


def test_tags_inside_an_embedded_json_string_count() -> None:
    embedded = (
        json.dumps({"note": "keep <private>hidden</private> keep"})
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
    )
    assert "hidden" not in redact(embedded)
    assert redact(embedded) == '{"note": "keep [private] keep"}'
    slashed = '{"note": "keep <private>hidden<\\/private> keep"}'
    assert redact(slashed) == '{"note": "keep [private] keep"}'


def test_each_span_leaves_a_mark() -> None:
    assert redact("<private>a</private> <private>b</private>") == "[private] [private]"
    assert redact("nothing") == "nothing"


def test_a_span_may_open_in_one_field_and_close_in_a_later_one() -> None:
    document = {"first": "a <private>b", "inner": ["c", {"d": "e"}], "last": "f</private> g", "after": "h"}
    cut = redact_document(document)
    assert "h" in cut.values()
    left = json.dumps(cut)
    assert cut["first"] == "a [private]"
    assert "[private] g" in left
    assert not any(f'"{word}"' in left for word in ("c", "d", "e", "f", "inner"))


def test_numbers_and_keys_inside_a_span_go_too() -> None:
    cut = redact_document(["<private>", 4111, {"salary": 90000, "bonus": 1.5}, None, "</private>", 7])
    assert cut == [
        "[private]",
        "[private]",
        {"[private]": "[private]", "[private]#2": "[private]"},
        None,
        "[private]",
        7,
    ]


def test_a_tag_in_a_key_opens_a_span() -> None:
    cut = redact_document({"a <private>": "gone", "b": "gone </private>", "c": "here"})
    assert "gone" not in json.dumps(cut)
    assert cut["c"] == "here"


def test_an_unclosed_span_takes_no_event_its_identity() -> None:
    event = {
        "prompt": "my pin <private> 4711",
        "tool_response": {"stdout": "4711"},
        "tool_use_id": "toolu_1",
        "cwd": "/home/me",
    }
    cut = redact_document(event)
    assert cut["tool_use_id"] == "toolu_1"
    assert cut["prompt"] == "my pin [private]"
    assert cut["cwd"] == "[private]"
    assert "4711" not in json.dumps(cut)


def test_no_depth_of_nesting_exhausts_the_stack() -> None:
    document: Any = "<private>x</private>"
    for _ in range(50_000):
        document = [document]
    cut = redact_document(document)
    while isinstance(cut, list):
        (cut,) = cut
    assert cut == "[private]"


PIECES = st.sampled_from(
    [
        "<private>",
        "</private>",
        "<PRIVATE >",
        "< /private",
        "<private ",
        ">",
        "[private]",
        "x",
        " ",
        "\\u003cprivate\\u003e",
        "\ud800",
        "é",
        "<",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_a_second_pass_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_is_marked_is_gone(before: str, hidden: str) -> None:
    assert redact(f"{before}<private>{hidden}needle 7f3a9c{hidden}").count("needle 7f3a9c") == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_a_document_keeps_its_structure(document: Any) -> None:
    cut = redact_document(document)
    assert _shape(cut) == _shape(document)
    if not any(mark in repr(cut) for mark in ("[private]", "[secret:")):
        assert cut == document


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(member) for member in value.values()]
    if isinstance(value, list):
        return ["list", *map(_shape, value)]
    return type(value).__name__
