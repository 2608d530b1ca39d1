"""Entries go into a JSON text and come out again, and no other byte moves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.errors import InvalidInput
from claude_memory.install.edits import Edit, add, remove

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
    added = add(text, [], {"list": [1, {"x": "y"}]}, "ours")
    assert json.loads(added) == {**document, "ours": {"list": [1, {"x": "y"}]}}
    removed = remove(added, ["ours"])
    assert removed == text or (not document and json.loads(removed) == {})


@given(st.lists(VALUES, min_size=1, max_size=5), STYLES)
def test_an_item_that_was_added_can_be_removed_without_a_trace(
    items: list[object], style: dict[str, object]
) -> None:
    text = json.dumps({"a": {"list": items}, "z": 1}, **style)  # type: ignore[arg-type]
    added = add(text, ["a", "list"], {"mine": True})
    assert json.loads(added)["a"]["list"] == [*items, {"mine": True}]
    assert remove(added, ["a", "list", len(items)]) == text


def test_what_holds_nothing_else_goes_too() -> None:
    added = add('{"a": {"list": []}, "z": 1}', ["a", "list"], {"mine": True})
    assert json.loads(remove(added, ["a", "list", 0])) == {"z": 1}


@given(st.dictionaries(KEYS, VALUES, min_size=2, max_size=5), STYLES, st.data())
def test_removing_one_member_keeps_the_others(
    document: dict[str, object], style: dict[str, object], data: st.DataObject
) -> None:
    text = json.dumps(document, **style)  # type: ignore[arg-type]
    place = data.draw(st.integers(0, len(document) - 1))
    gone = list(document)[place]
    assert json.loads(remove(text, [gone])) == {key: value for key, value in document.items() if key != gone}


def test_the_files_own_indentation_is_followed() -> None:
    text = '{\n    "hooks": {\n        "Stop": []\n    }\n}\n'
    assert add(text, ["hooks"], [1], "Start") == (
        '{\n    "hooks": {\n        "Stop": [],\n        "Start": [\n            1\n        ]\n    }\n}\n'
    )


def test_an_item_inside_an_item_is_reached_by_its_number() -> None:
    text = '{"a": [{"b": [1, 2]}, {"b": [3, 4]}]}'
    assert remove(text, ["a", 1, "b", 0]) == '{"a": [{"b": [1, 2]}, {"b": [4]}]}'


@pytest.mark.parametrize("text", ["[]", "3", "{", '{"a": 1,}', "{} {}", "// note\n{}", "[" * 100_000])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Edit(Path("settings.json"), {"ours": 1}).put_in(text.encode())


@pytest.mark.parametrize("text", ['{"hooks": 3}', '{"hooks": []}', '{"hooks": null}'])
def test_a_value_that_cannot_hold_it_is_not_replaced(text: str) -> None:
    with pytest.raises(InvalidInput, match="no place for it"):
        Edit(Path("settings.json"), {"hooks": {"x": 1}}).put_in(text.encode())
