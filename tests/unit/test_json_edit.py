"""Entries go into a JSON text and come out again, and no other byte moves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.errors import InvalidInput
from claude_memory.install.settings_text import add_item, add_member, remove, scan

KEYS = st.text(max_size=8).filter(lambda key: key != "ours")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)
STYLES = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"indent": "\t"},
        {"indent": 0},
        {"separators": (",", ":")},
        {"separators": (" , ", " : ")},
    ]
)


@given(DOCUMENTS, STYLES, st.booleans(), st.booleans())
def test_a_member_that_was_added_can_be_removed_without_a_trace(
    document: dict[str, object], style: dict[str, object], ascii_only: bool, windows: bool
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, **style)  # type: ignore[arg-type]
    text = text.replace("\n", "\r\n") if windows else text
    added = add_member(text, [], "ours", {"list": [1, {"x": "y"}]})
    assert json.loads(added) == {**document, "ours": {"list": [1, {"x": "y"}]}}
    removed = remove(added, [], len(scan(added).children) - 1)
    assert removed == text or (not document and json.loads(removed) == {})


@given(st.lists(VALUES, max_size=5), STYLES)
def test_an_item_that_was_added_can_be_removed_without_a_trace(
    items: list[object], style: dict[str, object]
) -> None:
    text = json.dumps({"a": {"list": items}, "z": 1}, **style)  # type: ignore[arg-type]
    added = add_item(text, ["a", "list"], {"mine": True})
    assert json.loads(added)["a"]["list"] == [*items, {"mine": True}]
    removed = remove(added, ["a", "list"], len(items))
    assert removed == text or (not items and json.loads(removed) == json.loads(text))


@given(st.dictionaries(KEYS, VALUES, min_size=2, max_size=5), STYLES, st.data())
def test_removing_one_member_keeps_the_others(
    document: dict[str, object], style: dict[str, object], data: st.DataObject
) -> None:
    text = json.dumps(document, **style)  # type: ignore[arg-type]
    place = data.draw(st.integers(0, len(document) - 1))
    gone = list(document)[place]
    assert json.loads(remove(text, [], place)) == {
        key: value for key, value in document.items() if key != gone
    }


def test_the_files_own_indentation_is_followed() -> None:
    text = '{\n    "hooks": {\n        "Stop": []\n    }\n}\n'
    assert add_member(text, ["hooks"], "Start", [1]) == (
        '{\n    "hooks": {\n        "Stop": [],\n        "Start": [\n            1\n        ]\n    }\n}\n'
    )


def test_an_item_inside_an_item_is_reached_by_its_number() -> None:
    text = '{"a": [{"b": [1, 2]}, {"b": [3, 4]}]}'
    assert remove(text, ["a", 1, "b"], 0) == '{"a": [{"b": [1, 2]}, {"b": [4]}]}'


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '{"a": 1,}', "{} {}", "// note\n{}", "[" * 100_000])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        add_member(text, [], "ours", 1)


def test_a_value_that_can_hold_nothing_is_not_replaced() -> None:
    with pytest.raises(InvalidInput, match="neither object nor array"):
        add_member('{"hooks": 3}', ["hooks"], "x", 1)
