"""A decision that was taken back stands no more, and the one that replaced it says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claude_memory.compaction import points
from claude_memory.compaction.abridge import abridged
from claude_memory.compaction.comparing import Comparing, Link
from claude_memory.compaction.episodes import episodes
from claude_memory.compaction.memories import memories
from claude_memory.compaction.model import Decision, KeptSummary, Summary, as_json
from claude_memory.compaction.summarise import summarise
from claude_memory.compaction.talk import chosen_alone, condensed, words
from claude_memory.compaction.undoing import Ledger, Work
from claude_memory.distil.turns import Origin, Turn
from claude_memory.model import Kind, ProjectId, SessionId, Status

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
ORIGIN = Origin(SessionId("s"), ProjectId("p"), "/w")


class Talk:
    """A session, turn by turn."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def _add(self, role: str, text: str = "", **more: Any) -> None:
        place = len(self.turns) + 1
        at = START + timedelta(seconds=place)
        self.turns.append(Turn(role, f"s:{place}", at, text, ref={"message": place}, **more))

    def person(self, text: str) -> Talk:
        self._add("user", text)
        return self

    def agent(self, text: str) -> Talk:
        self._add("assistant", text)
        return self

    def edit(self, file: str, old: str, new: str) -> Talk:
        given = {"file_path": f"/w/{file}", "old_string": old, "new_string": new}
        self._add("tool", tool="Edit", given=given)
        return self

    def write(self, file: str, content: str) -> Talk:
        self._add("tool", tool="Write", given={"file_path": f"/w/{file}", "content": content})
        return self

    def run(self, command: str) -> Talk:
        self._add("tool", tool="Bash", given={"command": command}, output="ok")
        return self

    @property
    def summary(self) -> Summary:
        return summarise(self.turns, ORIGIN)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return self.summary.key_decisions


def timeouts() -> Talk:
    talk = Talk().person("The worker hangs every night, look at the http client please.")
    talk.agent("It has no timeout at all. How long should it wait?")
    talk.person("set the http timeout to 5 s").edit("client.py", "timeout=None", "timeout=5").agent("Done.")
    talk.run("pytest")
    talk.person("the partner api needs 8 sometimes, make the http timeout 15 s")
    return talk.edit("client.py", "timeout=5", "timeout=15").agent("It waits longer now.")


def test_another_number_takes_the_place_of_the_first() -> None:
    [decision] = [one for one in timeouts().decisions if "timeout" in one.decision]
    assert "15 s" in decision.decision
    assert "5 s" in decision.reverses
    assert decision.reversed_messages == (3,)
    assert {3, 7} <= set(decision.messages)


def test_the_note_stands_in_the_executive_text_too() -> None:
    assert "no longer: set the http timeout to 5 s" in timeouts().summary.executive


def test_a_proposal_that_is_accepted_takes_back_what_was_decided_before() -> None:
    talk = Talk().person("the export of invoices times out, move it out of the request please")
    talk.agent("Options: Celery with Redis or RQ. I'd go with Celery, it has retries built in.")
    talk.person("ok celery then").write("tasks.py", "def export_month(): ...").run("celery -A app worker")
    talk.agent(
        "Redis has 64 MB only. We drop Celery and use Procrastinate instead: the queue is in Postgres."
    )
    talk.person("fine, procrastinate, go").agent("The export runs in the background now.")
    [decision] = [one for one in talk.decisions if "procrastinate" in one.decision]
    assert "celery" in decision.reverses.lower()
    assert not [one for one in talk.decisions if one.decision.startswith("ok celery")]


def test_what_was_decided_beside_it_still_stands() -> None:
    talk = Talk().person("Two people can take the same slot, help me with holds.")
    talk.agent("A hold needs a place and a time. Where, and how long?")
    talk.person("Put the holds in Redis with a TTL. A hold lasts ten minutes.")
    talk.write("hold.rb", "class Hold; TTL = 600; REDIS.set(key, ttl) end").agent("Holds are in Redis.")
    talk.agent("The check and the hold are two steps. A Lua script in Redis would make it atomic.")
    talk.person("Scrap Redis then. Do the holds as rows in Postgres with a lock.").run("rm hold.rb")
    talk.write("migration.rb", "add_column :bookings, :held_until").agent("Rows in Postgres now.")
    texts = [one.decision for one in talk.decisions]
    assert any(text == "A hold lasts ten minutes." for text in texts)
    assert not [text for text in texts if "Put the holds in Redis" in text]
    [later] = [one for one in talk.decisions if "Postgres" in one.decision]
    assert "Put the holds in Redis" in later.reverses


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("set the http timeout to 5 s", "and the database timeout to 30 s"),
        ("export as CSV with a header row", "add the customer id as the first column too"),
        ("dates in responses are ISO 8601 strings", "amounts go out as integer cents"),
    ],
)
def test_a_neighbouring_decision_takes_nothing_back(before: str, after: str) -> None:
    talk = Talk().person("Let's settle a few things about the service.").agent("Fine, one by one.")
    talk.person(before).edit("one.py", "a = None", "a = 5").agent("Done.")
    talk.person(after).edit("two.py", "b = None", "b = 30").agent("Done as well.")
    assert not [one for one in talk.decisions if one.reverses]


def test_a_question_that_ends_in_staying_takes_nothing_back() -> None:
    talk = Talk().person("Pick a test runner for the web part.").agent("vitest or jest?")
    talk.person("Use vitest").write("vitest.config.ts", "export default {}").agent("Done.")
    talk.person("would jest be better for mocks?").agent("Not really, vi.mock is the same.")
    talk.person("ok stay with vitest then").agent("Staying.")
    assert not [one for one in talk.decisions if one.reverses]


def test_the_memory_of_what_was_taken_back_is_no_longer_valid() -> None:
    talk = Talk().person("We need storage for the metrics.").agent("InfluxDB, or tables in Postgres?")
    talk.person("We go with InfluxDB for the metrics, we know it well.").write(
        "store.py", "from influxdb import Client"
    )
    talk.agent("Metrics are written to InfluxDB.").run("pytest")
    talk.person("Clustering InfluxDB costs money. We go with Postgres for the metrics.")
    talk.write("store.py", "import psycopg").agent("They are rows in Postgres.")
    kept = KeptSummary("s", 1, {"summary": as_json(talk.summary), "original_message_range": [1, 9]})
    chosen = [one for one in memories(kept, talk.turns, ORIGIN) if one.kind is Kind.DECISION]
    [old] = [one for one in chosen if "go with InfluxDB" in one.body]
    [new] = [one for one in chosen if "go with Postgres" in one.body]
    assert old.status is Status.SUPERSEDED
    assert old.superseded_by == new.id
    assert new.status is Status.ACTIVE


def test_who_wrote_what_is_known_through_edits_and_commands() -> None:
    talk = Talk().write("a.py", "size = 400").edit("a.py", "size = 400", "size = 800")
    talk.run("sed -i 's/size = 800/size = 900/' a.py").run("git checkout -- a.py")
    ledger, works = Ledger(), [Work() for _ in talk.turns]
    for number, (turn, work) in enumerate(zip(talk.turns, works, strict=True)):
        ledger.note(turn, number, work)
    assert (works[1].gone, works[1].written, dict(works[1].undone)) == ({"400"}, {"800"}, {0: 1})
    assert (works[2].gone, works[2].written, dict(works[2].undone)) == ({"800"}, {"900"}, {1: 1})
    assert works[3].undone


def test_a_failed_edit_undoes_nothing() -> None:
    ledger, work = Ledger(), Work()
    given = {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}
    ledger.note(Turn("tool", "k", START, "", "Edit", given, "no such text", True), 1, work)
    assert not work.added
    assert not work.removed


def test_less_room_keeps_the_sentence_that_decides() -> None:
    text = (
        "That is fortunate, because they restart their broker at will and give us no promise. "
        "Let us use an inbox table in SQL Server instead. → Done, the table is there."
    )
    assert abridged(text, 60) == "Let us use an inbox table in SQL Server instead."
    assert abridged(text, 1_000) == text
    assert len(abridged("word " * 200, 80)) <= 80


def test_less_room_keeps_what_was_then_done() -> None:
    text = (
        "The proofs came back from the three readers with 14 remarks on `index.md`. "
        "Plain millimetres, and a ruler inside the cover. They must like it, it is not the last print."
    )
    core = "Plain millimetres, and a ruler inside the cover."
    assert core not in abridged(text, 80)
    assert core in abridged(text, 80, core=core)


def test_a_summary_with_less_room_keeps_the_sentence_that_the_code_shows() -> None:
    talk = timeouts()
    talk.person(
        "The partner wrote again and they will not give us any promise about their night window of 2026. "
        "Jitter of a quarter on every retry. Their operator should not want our calls, only mails."
    )
    talk.edit("retry.py", "pause()", "pause(jitter=quarter, every=retry)").agent("In.")
    decision = next(one for one in talk.decisions if "Jitter" in one.decision)
    assert decision.core == "Jitter of a quarter on every retry."


def bundle() -> Talk:
    talk = Talk().person("I need a backup for the six boxes, propose something boring.").run("ls")
    talk.agent(
        "I suggest this:\n- restic, one repository per host\n- nightly at 02:00 by a timer\n"
        "- target: the NAS over sftp"
    )
    talk.person("ok to all of it").write("backup.yml", "restic nightly 02:00 target: nas sftp")
    talk.agent("The role is there.").person(
        "The NAS is dying, so no sftp: make the target the object storage at the colo, s3."
    )
    return talk.edit("backup.yml", "target: nas sftp", "target: s3 colo object storage").agent(
        "It is in the bucket."
    )


def test_of_a_proposal_that_was_taken_as_a_whole_a_part_can_be_taken_back() -> None:
    decisions = bundle().decisions
    [changed] = [one for one in decisions if one.reverses]
    assert "NAS over sftp" in changed.reverses
    assert "nightly" not in changed.reverses
    assert "restic" not in changed.reverses
    assert changed.reversed_messages == (3, 4)  # the proposal, and the consent to it
    assert any("one repository per host · nightly at 02:00" in one.decision for one in decisions)


def test_what_took_the_place_of_a_decision_is_not_given_up_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk().person("The shop needs invoices.").agent("Which format, and where do they go?")
    talk.person("Invoices as docx, by mail.").agent("Docx by mail.")
    talk.person("pdf for invoices after all").agent("Pdf.")
    talk.person("invoices go to the portal").agent("To the portal.")
    known = [
        Link(4, 2, 0.9, ("Invoices as docx, by mail.",)),
        Link(6, 2, 0.9, ("Invoices as docx, by mail.",)),
    ]
    monkeypatch.setattr(points, "links", lambda *_: known)
    told = [one.decision for one in talk.decisions]
    assert any("pdf for invoices" in one for one in told)
    assert any("portal" in one for one in told)


@pytest.mark.parametrize(
    "text", ["My choices: Alpine as the base image.", "I am putting in 0.15 s of coyote time."]
)
def test_an_agent_may_tell_what_it_chose_in_many_ways(text: str) -> None:
    assert chosen_alone(text) == text


def compressed() -> Talk:
    talk = Talk().person("The export fills the disk, find out why.").agent("The dump is not compressed.")
    talk.person("one after the other please, and look at the size each time")
    talk.agent("First the dump. I'd use gzip for it, there is nothing to install.")
    return talk.edit("dump.sh", "pg_dump shop", "pg_dump shop | gzip").run("du -h dump")


def test_a_proposal_that_the_agent_carries_out_at_once_is_its_choice() -> None:
    talk = compressed().person("11 GB. hm, the quota is 8")
    talk.agent("gzip does not get below 11 GB. I take it back: zstd at level 12 fits into 7 GB.")
    talk.person("agreed").edit("dump.sh", "| gzip", "| zstd -12").agent("7 GB.")
    [change] = [one for one in talk.decisions if one.reverses]
    assert "zstd" in change.decision
    assert "gzip" in change.reverses
    assert 4 in change.reversed_messages


def test_a_proposal_that_waits_for_an_answer_is_no_choice() -> None:
    talk = compressed()
    waiting = [*talk.turns[:4], *talk.turns[6:]]
    assert [one.index for one in episodes(talk.turns, words(talk.turns)) if one.alone] == [3]
    assert not [one for one in episodes(waiting, words(waiting)) if one.alone]


def test_what_an_agent_chose_rests_on_the_work_of_its_request() -> None:
    talk = compressed().person("and drop the old ones").run("rm -f old.dump").agent("Gone.")
    [asked, chosen] = [one for one in episodes(talk.turns, words(talk.turns)) if one.index in (2, 3)]
    assert "gzip" in asked.written
    assert chosen.inside == asked
    assert "gzip" in chosen.built.written


def test_a_choice_and_its_change_in_one_go_are_two() -> None:
    talk = Talk().person("Store the token safely.").agent("Where is it now?").person("in a plain file. go on")
    talk.write("auth.ts", "keytar.setPassword(token)").agent("I used keytar for it.").run("npm install")
    talk.edit("auth.ts", "keytar.setPassword(token)", "safeStorage.encryptString(token)")
    talk.agent("keytar does not build here, so I moved it to safeStorage.")
    [chosen, changed] = [one for one in episodes(talk.turns, words(talk.turns)) if one.alone]
    assert (chosen.ends, changed.ends) == ((4,), (7,))
    assert changed.since == 4


def test_a_question_about_another_thing_does_not_speak_against_a_change() -> None:
    def wonders(text: str) -> float:
        talk = Talk().person("A small game.").agent("How many levels?").person("twelve levels, drawn by hand")
        talk.agent("Twelve.").person(text)
        said = words(talk.turns)
        [*_, (_, olds)] = Comparing.of(episodes(talk.turns, said), said, None).all()
        return next(signs.wonders for old, signs in olds if old.index == 2)

    assert wonders("Twelve was a dream, it is five levels now. are the hearts drawn anywhere?") < 0.5
    assert wonders("The disk of the tablet is small. are five levels enough?") > 0.9


def test_of_a_long_request_stays_what_the_agent_took_up() -> None:
    tale = "Then I have to use my lunch break for the parrot, and it should not only be fed."
    wish = "Both floors agreed: logs live ninety days, the last part of an address zeroed."
    answer = "Logs live ninety days, addresses are zeroed."
    assert abridged(f"{tale} {wish} → {answer}", 100) == wish
    assert abridged(f"{tale} {wish}", 100) == tale  # nobody said which of the two was done


def test_an_agent_may_change_by_itself_how_it_did_what_was_wanted() -> None:
    talk = Talk().person("A model of the heat in the lake.").agent("How many cells?")
    talk.person("The lake is 40 m deep, so take 200 cells and write hourly means of the temperature.")
    talk.write("model.jl", "laplacian = zeros(200, 200)").agent("The Laplacian is a dense matrix for now.")
    talk.person("write the flux as well").edit("model.jl", "zeros(200, 200)", "Tridiagonal(a, b, c)")
    talk.agent("The flux is there. The dense matrix was slow, so I replaced it with a Tridiagonal.")
    said = words(talk.turns)
    found = episodes(talk.turns, said)
    comparing = Comparing.of(found, said, None)
    [(new, olds)] = [(new, olds) for new, olds in comparing.all() if new.alone]
    wanted = next(old for old, signs in olds if old.index == 2 and signs.unasked == 1.0)
    link = comparing.link(new, wanted, 0.9)
    assert link.added == 4  # where it had told so; what the person wanted stays
    assert "dense" in " ".join(link.part)


def test_the_items_of_a_list_stay_apart() -> None:
    told = condensed("I suggest:\n- restic per host\n- nightly at 02:00\n\nShall I?")
    assert told == "I suggest: restic per host · nightly at 02:00 · Shall I?"


def test_what_the_agent_repeats_of_a_request_is_no_choice_of_its_own() -> None:
    talk = Talk().person("Start the saturation plugin.").agent("How much oversampling?")
    talk.person("8x oversampling. cpu is cheap").write(
        "os.h", "Oversampler os { factor = 8, polyphase, iir }"
    )
    talk.agent("Oversampler runs at 8x with the polyphase IIR filters.")
    talk.person("and a bypass switch").write("bypass.h", "bool bypass;").agent("Added.")
    talk.person("crackles everywhere on the laptop. 4x is plenty, linear phase")
    talk.edit("os.h", "factor = 8, polyphase, iir", "factor = 4, linear").agent("No crackles.")
    [changed] = [one for one in talk.decisions if one.reverses]
    assert changed.reversed_messages == (3, 5)  # where it was wanted, and where the agent told it
    assert "8x oversampling" in changed.reverses


def test_a_request_and_the_consent_to_how_it_was_understood_take_back_together() -> None:
    talk = Talk().person("The nightly report is slow, let us look at it.").agent("Where shall it be stored?")
    talk.person("Keep the report cache in memcached.").write("cache.py", "memcached = connect()")
    talk.agent("Stored.").person("Scrap memcached, the report cache goes into sqlite.")
    talk.agent("So the report cache becomes a table in sqlite.").person("Exactly.")
    talk.edit("cache.py", "memcached = connect()", "sqlite = connect()").agent("Moved.")
    [decision] = [one for one in talk.decisions if one.reverses]
    assert "memcached" in decision.reverses
    assert {6, 8} <= set(decision.messages)
    assert decision.reversed_messages == (3,)


def test_an_agent_that_changes_its_own_choice_says_what_it_was() -> None:
    talk = Talk().person("Mix the deck at the start of a round.").agent("I look at the code first.")
    talk.person("go on, and show the seed in the corner").write("deck.lua", "key = random(); sort(deck, key)")
    talk.agent("For the shuffle I decided on a random key per card and a sort by that key.")
    talk.person("fine. the corner needs a bigger font").edit("corner.lua", "size = 8", "size = 12")
    talk.run("busted spec").edit(
        "deck.lua", "key = random(); sort(deck, key)", "for i = n, 2, -1 do swap(i) end"
    )
    talk.agent(
        "My pick was poor: equal cards got the same key. I put a Fisher-Yates shuffle in place of the sort."
    )
    [decision] = [one for one in talk.decisions if one.reverses]
    assert "Fisher-Yates" in decision.decision
    assert "random key per card" in decision.reverses


def test_what_was_for_all_is_narrowed_to_a_part() -> None:
    talk = Talk().person("Style for the docs site.").agent("Dark or light by default?")
    talk.person("dark everywhere, also on paper exports").write("style.css", "body{background:black}")
    talk.agent("Dark it is.").person("links blue").edit("style.css", "body{", "a{color:blue} body{").agent(
        "ok"
    )
    talk.person("printing eats all my toner. exports on paper light, the site remains dark")
    talk.edit("style.css", "body{background:black}", "body{background:black} @media print{background:white}")
    [decision] = [one for one in talk.agent("Split.").decisions if one.reverses]
    assert "exports on paper light" in decision.decision
    assert "dark everywhere" in decision.reverses


def test_a_number_is_known_in_another_unit() -> None:
    talk = Talk().person("The LED flickers.").agent("Which frequency for the PWM?").person("1 kHz")
    talk.write("pwm.h", "#define PWM_HZ 1000").agent("Done.").person("it sings on the bench. Make it 22 kHz")
    talk.edit("pwm.h", "#define PWM_HZ 1000", "#define PWM_HZ 22000").agent("Flashed.")
    [decision] = [one for one in talk.decisions if one.reverses]
    assert decision.reversed_messages == (3,)


def test_what_the_agent_chose_and_is_corrected_at_once_was_no_decision() -> None:
    talk = Talk().person("Write the price import.").agent("Reading.").write("price.py", "price: float")
    talk.agent("I used float for the price.").person("decimal please, it is money")
    talk.edit("price.py", "price: float", "price: Decimal").agent("Decimal now.")
    assert not [one for one in talk.decisions if one.reverses]
