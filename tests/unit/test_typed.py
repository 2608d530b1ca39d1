"""A person's own words stand apart from what they pasted."""

from __future__ import annotations

import pytest

from claude_memory.understand.typed import typed_words

LOG = '{"time":"2026-02-15T15:05:29+11:00","level":"INFO","msg":"session-start","component":"hooks","agent":"x","hook":"start"}'
TRACE = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    run()\nValueError: no port'
)
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n+  port = 1"
REVIEW = "**Medium Severity**\n\nThe check runs after the write, so a full disk loses the entry."


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (f"still failing:\n```\n{TRACE}\n```\n\nany idea?", "still failing:\n\nany idea?"),
        (f"still failing\n\n{TRACE}\n\nany idea?", "still failing\n\nany idea?"),
        (f"one more thing\n\n{DIFF}", "one more thing"),
        (f"not quite right\n{LOG}\n{LOG}", "not quite right"),
        (f"the bot says, please fix\n\n{REVIEW}", "the bot says, please fix"),
        ("look into this\n\n# Report\n\n## Steps\n\nOpen it and wait.", "look into this"),
        ("what about this?\n\n| a | b |\n|---|---|\n| 1 | 2 |", "what about this?"),
        ("he wrote\n\n> use tabs everywhere\n\nbut I prefer spaces", "he wrote\n\nbut I prefer spaces"),
        (
            "➜  shop git:(main) git push\nerror: no such remote\n- To silence it, run x\n\nplease fix",
            "please fix",
        ),
        ("see:\n\n* commit 964e674\n  Author: A B <a@b.c>\n  Date:   Sun\n\nwhy?", "see:\n\nwhy?"),
        ("the settings are\n\n    port: 1\n    host: x\n\nright?", "the settings are\n\nright?"),
    ],
)
def test_what_was_pasted_is_no_own_word(text: str, own: str) -> None:
    words, pasted = typed_words(text)
    assert words == own
    assert pasted


@pytest.mark.parametrize(
    "text",
    [
        "commit, but let's debug afterwards;\n\nthen push",
        "ok let's do that",
        "active and a trailer => condense?",
        "1. lint fails\n2. update from main\n3. new comments",
        "Q: what happens if:\n- the agent runs\n- a human commits?\n\nwe get one, hey?",
        "rename `steps_count` to steps; always write the new name",
        "- show status should run it\n- all commands in the terminal",
    ],
)
def test_plain_words_stay(text: str) -> None:
    assert typed_words(text) == (text, ())


@pytest.mark.parametrize(
    "piece", ["=(", "a b [ {\n", "ab.", "<details", "x```\n", "> a\n", "plain words\n", "- "]
)
def test_any_length_is_read_in_one_pass(piece: str) -> None:
    short, long = piece * 10, piece * 40_000  # quadratic time would not end
    assert typed_words(long) is not None
    assert typed_words(short) is not None
