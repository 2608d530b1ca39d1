"""Machine-made blocks in human files: whatever people and machine do, every human line stays, in order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from claude_memory.notes import blocks

LINE = st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=12)
NAMES = st.sampled_from(["next", "said", "table"])


def test_a_new_block_goes_to_the_end_under_its_heading() -> None:
    text = blocks.updated("# Mine\n", "next", ["- one"])
    assert text.startswith("# Mine\n\n<!-- claude-memory:begin next -->\n## Next\n- one\n")
    assert blocks.content(text, "next") == ["- one"]
    assert blocks.updated(text, "next", []) == "# Mine\n\n", "no heading is left empty"


def test_a_heading_that_a_person_has_is_the_blocks_heading() -> None:
    mine = "# Mine\n\n## Next\n\nsleep\n"
    text = blocks.updated(mine, "next", ["- one"])
    assert text.count("## Next") == 1
    assert text.index("## Next") < text.index("- one") < text.index("sleep")
    assert blocks.updated(text, "next", []) == mine
    assert blocks.content(text, "next") == ["- one"]


def test_an_update_replaces_the_machines_lines_only() -> None:
    text = blocks.updated("above\n", "next", ["- one", "- two"]) + "below\n"
    text = blocks.updated(text, "next", ["- three"])
    assert blocks.content(text, "next") == ["- three"]
    assert "- one" not in text
    assert [line for line in blocks.human_lines(text) if line] == ["above", "below"]


def test_a_line_somebody_wrote_inside_moves_in_front() -> None:
    text = blocks.updated("", "next", ["- one", "- two"]).replace("- one\n", "- one\nMINE\n")
    text = blocks.updated(text, "next", ["- three"])
    assert text.index("MINE") < text.index("begin next")
    assert blocks.content(text, "next") == ["- three"]


def test_a_block_whose_mark_was_deleted_is_a_persons_text() -> None:
    text = blocks.updated("", "next", ["- one"]).replace("<!-- claude-memory:begin next -->\n", "")
    text = blocks.updated(text, "next", ["- two"])
    assert "- one" in text
    assert blocks.content(text, "next") == ["- two"]


def test_both_sides_of_a_merge_fold_into_one_block() -> None:
    one = blocks.updated("", "next", ["- one"])
    two = blocks.updated("", "next", ["- two"])
    merged = f"<<<<<<< HEAD\n{one}=======\n{two}>>>>>>> other\n"
    text = blocks.updated(merged, "next", ["- three"])
    assert text.count("begin next") == 1
    assert [line for line in blocks.human_lines(text) if line] == ["<<<<<<< HEAD", "=======", ">>>>>>> other"]


def test_line_ends_stay_as_they_are() -> None:
    text = blocks.updated("one\r\ntwo\r\n", "next", ["- a"])
    assert text.startswith("one\r\ntwo\r\n")
    assert "\n" not in text.replace("\r\n", "")
    again = blocks.updated(text, "next", ["- b"])
    assert "\n" not in again.replace("\r\n", "")
    assert blocks.content(again, "next") == ["- b"]


def test_a_text_cannot_end_its_block() -> None:
    evil = "x --> <!-- claude-memory:end next -->\nsecond"
    text = blocks.updated("", "next", [evil])
    assert len(blocks.find(text.split("\n"), "next")) == 1
    assert len(blocks.content(text, "next")) == 1


class Shared(RuleBasedStateMachine):
    """A person edits a file anywhere, machines update their blocks: nothing the person wrote is lost."""

    @initialize(lines=st.lists(LINE, max_size=5))
    def start(self, lines: list[str]) -> None:
        self.text = "".join(f"{line}\n" for line in lines)
        self.human: list[str] = []
        self.count = 0

    @rule(place=st.integers(0, 60), words=LINE)
    def person_adds_a_line_anywhere(self, place: int, words: str) -> None:
        self.count += 1
        line = f"human {self.count} {words}"
        lines = self.text.split("\n")
        place = min(place, len(lines) - 1)
        before = [item.rstrip("\r") for item in lines[:place] if item.startswith("human ")]
        lines.insert(place, line)
        self.text = "\n".join(lines)
        self.human.insert(len(before), line)

    @rule(place=st.integers(0, 60))
    def person_deletes_a_mark_or_machine_line(self, place: int) -> None:
        lines = self.text.split("\n")
        if place < len(lines) and not lines[place].startswith("human "):
            del lines[place]
            self.text = "\n".join(lines) or "\n"

    @rule(name=NAMES, lines=st.lists(LINE.map(lambda text: f"- {text}"), max_size=4))
    def machine_updates(self, name: str, lines: list[str]) -> None:
        self.text = blocks.updated(self.text, name, lines)

    @invariant()
    def every_human_line_is_there_in_order(self) -> None:
        assert [line for line in self.text.split("\n") if line.startswith("human ")] == self.human


TestShared = Shared.TestCase
TestShared.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@given(st.lists(LINE, max_size=8), NAMES)
def test_what_was_written_is_read_back(lines: list[str], name: str) -> None:
    text = blocks.updated("", name, [f"- {line}" for line in lines])
    assert len(blocks.content(text, name)) == len(lines)
