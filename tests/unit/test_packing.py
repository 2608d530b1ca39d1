"""Bodies come back as they went in, from stores of any age."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from claude_memory.store.sql.rows import PACK_FROM, packed, unpacked

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)


@given(TEXTS, TEXTS)
def test_texts_come_back_whatever_was_packed_before_them(first: str, second: str) -> None:
    kept = [packed(first * 3), packed(second)]
    assert [unpacked(body) for body in kept] == [first * 3, second]


def test_only_long_texts_are_packed() -> None:
    assert packed("a" * (PACK_FROM - 1)) == "a" * (PACK_FROM - 1)
    assert len(packed("pytest tests/test_ledger.py\n" * 40)) < 100


def test_bodies_of_older_stores_are_read() -> None:
    assert unpacked(zlib.compress("größer als je\n".encode() * 30, 1)) == "größer als je\n" * 30
