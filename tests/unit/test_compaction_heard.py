"""Which turns of a session are requests, and how two of them are put before a judge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.test_compaction_reversals import Talk

from claude_memory.compaction.comparing import MOST_READ, READ, WORTH_READING, Comparing, Sense
from claude_memory.compaction.episodes import Episode, episodes
from claude_memory.compaction.heard import ROOM, both, focused, own_choices
from claude_memory.compaction.reversals import by_words, links
from claude_memory.compaction.talk import Word, words


def requests(talk: Talk) -> list[Episode]:
    return episodes(talk.turns, words(talk.turns))


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("could you do the alignment with MAFFT, the paper has it", False),
        ("Could you please use tabs there?", False),
        ("could you explain the alignment?", True),
        ("can you check whether the old one works?", True),
        ("remove it, who cares about old tickets", False),
        ("who wrote that", True),
        ("could we use MAFFT", True),
    ],
)
def test_an_order_in_the_form_of_a_question_is_an_order(text: str, asks: bool) -> None:
    assert Word(0, True, text).asks is asks


def test_a_turn_that_asks_may_state_something_first() -> None:
    assert Word(0, True, "Twelve was a dream, it is five levels now. are hearts drawn somewhere?").states
    assert not Word(0, True, "Are hearts drawn somewhere?").states
    assert not Word(0, True, "ok. are hearts drawn?").states


@pytest.mark.parametrize(
    "said", ["hm it hides real bugs, no retry", "good, but make it 3", "fine, 5 minutes"]
)
def test_words_that_say_something_else_are_no_consent_to_the_request_before(said: str) -> None:
    talk = Talk().person("Speed up the e2e job.").agent("It has four steps.")
    talk.person("retry e2e once on failure").agent("A failing e2e run is retried once.").person(said)
    assert [one.ends for one in requests(talk)] == [(0,), (2,), (4,)]


def test_a_plain_consent_belongs_to_the_request_before() -> None:
    talk = Talk().person("Speed up the e2e job.").agent("It has four steps.")
    talk.person("retry e2e once on failure").agent("A failing e2e run is retried once.").person("Exactly.")
    assert [one.ends for one in requests(talk)] == [(0,), (2, 4)]


def test_an_agent_that_finds_its_choice_failing_and_goes_another_way_is_one_change() -> None:
    talk = Talk().person("Schedule the backup on the three machines.").write("timer.j2", "[Timer]")
    talk.agent("I decided on a systemd timer.").person("And the report goes to the office.")
    talk.run("ansible all -m setup").agent("The store has OpenRC, my units could not run there.")
    talk.edit("timer.j2", "[Timer]", "0 3 * * *").agent("All three are scheduled with cron now.")
    [change] = [one for one in requests(talk) if one.since >= 0]
    assert (change.since, change.ends) == (3, (7, 5))
    assert "OpenRC" in change.said.text
    assert "cron" in change.said.text
    [(_, olds)] = [(new, olds) for new, olds in Comparing.of(requests(talk), [], None).all() if new.alone]
    assert [old.said.text for old, _ in olds] == ["I decided on a systemd timer."]  # not what a person wants


def test_an_agent_that_ends_by_offering_another_thing_changed_nothing() -> None:
    talk = Talk().person("Bring the app up to the new schema.").run("swift test")
    talk.agent("A light migration can't fill the name, so there is a stage of its own.").run("ls")
    talk.agent("The timeline never hears of a save. I'd reload all timelines after each one.").person("ok")
    assert not [one for one in requests(talk) if one.since >= 0]
    assert requests(talk)[-1].adopted.startswith("The timeline")


CONSENT = "Yes. EKF it is, particles stay at 2000."


@pytest.mark.parametrize(("said", "changes"), [(CONSENT, True), ("What does the log say?", False)])
def test_a_person_takes_back_what_they_wanted_by_consenting_to_an_agents_change(
    said: str, changes: bool
) -> None:
    talk = Talk().person("Find the jumps.").agent("They come after wheel slip.")
    talk.person("Then more particles, 8000.").write("nav.yaml", "particles: 8000")
    talk.agent("It does not help. I put the particles back to 2000 and would fuse the IMU by an EKF.")
    talk.person(said).edit("nav.yaml", "particles: 8000", "particles: 2000")
    [change] = [one for one in requests(talk) if one.alone]
    pairs = {
        new.index: [old.index for old, _ in olds]
        for new, olds in Comparing.of(requests(talk), [], None).all()
    }
    assert (2 in pairs.get(change.index, [])) is changes
    assert ("2000" in change.written) is changes  # what is done after the consent is done for the change


def test_a_request_is_read_with_what_led_to_it_and_what_the_agent_made_of_it() -> None:
    talk = Talk().person("Start the app.").agent("Which format for the takes?").person("FLAC")
    talk.agent("Takes are written as FLAC.").person("And a level meter.").agent("It redraws at 30 fps.")
    first, second, third = requests(talk)
    told, later = both(second, third)
    assert told == "Which format for the takes? » FLAC → Takes are written as FLAC."
    assert later == "Takes are written as FLAC. » And a level meter. → It redraws at 30 fps."
    assert both(first, third)[0] == "Start the app."  # a question is no answer


def test_what_the_agent_chose_stands_for_itself() -> None:
    talk = (
        Talk().person("Write the import.").agent("I used float for the price.").person("go on with the tests")
    )
    found = requests(talk)
    assert own_choices(found) == {1}
    assert both(found[0], found[-1], own_choices(found))[0] == "Write the import."


def test_of_a_long_remark_is_read_what_is_about_the_other_request() -> None:
    talk = Talk().person("An app for takes.").agent("Which format?").person("FLAC for the takes.").agent("ok")
    wishes = [f"Then I want screen number {number} with a frame around it." for number in range(9)]
    talk.person(" ".join([*wishes[:6], "The takes become WAV.", *wishes[6:]])).agent("All done. " * 60)
    found = requests(talk)
    told, later = both(found[1], found[-1])
    assert "WAV" in later
    assert "number 5" in later  # with what stands around it
    assert "number 0" not in later
    assert len(told) <= len(later) <= ROOM + 20


def test_where_nothing_is_about_it_the_beginning_is_read_or_the_end() -> None:
    text = "First the garden is dug. Then it rains for a week. At last the roses are planted."
    assert focused(text, 30, frozenset({"disk"})) == "First the garden is dug.…"
    assert focused(text, 30, frozenset({"disk"}), end=True) == "last the roses are planted."
    assert focused(text, 40, frozenset({"rain"})) == "Then it rains for a week."


class Asked:
    """A judge that answers the same for all, and remembers what it was asked."""

    def __init__(self, answer: float | None) -> None:
        self.answer = answer
        self.pairs: list[tuple[str, str]] = []

    def near(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def turned(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs = list(pairs)
        return [] if self.answer is None else [self.answer for _ in pairs]


def recorder(requests_more: int = 0) -> Talk:
    talk = Talk().person("A recorder for the phone.").agent("Which format?").person("Save the takes as FLAC.")
    talk.agent("They are FLAC.").person("A level meter beside it.").agent("Done.")
    for number in range(requests_more):
        talk.person(f"Then screen number {number} please.").agent("Done.")
    return talk.person("16 bit WAV for the takes, the editors cannot open the others").agent("WAV now.")


def linked(talk: Talk, judge: Asked) -> list[tuple[int, int]]:
    said = words(talk.turns)
    found = links(episodes(talk.turns, said), said, Sense(judge.near, judge.turned))
    return [(one.old, one.new) for one in found]


def test_only_the_likeliest_pairs_are_put_before_the_judge() -> None:
    judge = Asked(-3.0)
    linked(recorder(100), judge)
    assert len(judge.pairs) == MOST_READ
    few = recorder(4)
    linked(few, judge)
    against = Comparing.of(requests(few), words(few.turns), Sense(judge.near, judge.turned))
    worth = [sum(by_words(signs) >= WORTH_READING for _, signs in olds) for _, olds in against.all()]
    assert len(judge.pairs) == sum(min(READ, one) for one in worth) > 0


def test_a_judge_that_cannot_be_asked_leaves_it_to_the_words() -> None:
    talk = recorder()
    said = words(talk.turns)
    by_words_alone = [(one.old, one.new) for one in links(episodes(talk.turns, said), said)]
    assert linked(talk, Asked(None)) == by_words_alone


def test_an_unread_pair_counts_as_unlikely() -> None:
    talk = recorder(2)
    comparing = Comparing.of(requests(talk), words(talk.turns), None)
    read = comparing.read(comparing.all(), Asked(9.0).turned, by_words)
    told = [signs.turned for _, olds in read for _, signs in olds]
    assert max(told) == 4.0
    assert min(told) == -4.0
