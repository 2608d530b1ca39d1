"""Random histories on three homes of one person: however they meet, they end alike, and nothing is lost.

Homes remember, revise, forget, erase, hold conversations and regroup projects; they exchange by path, through a
place and over a pipe to a stand-in for ssh, are killed in the middle, and do it again in any order.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.integration.histories import ClaudeSession

from claude_memory import Memory, NewMemory
from claude_memory.backup import home_state
from claude_memory.errors import MemoryFault, NotFound
from claude_memory.store.sql.rows import DERIVED, unpacked

NAMES = ("a", "b", "c")
SHARE, ALL = 12, 200
STEPS = 24
NOWHERE = "/nowhere"

homes = st.sampled_from(NAMES)
pairs = st.permutations(NAMES).map(lambda names: (names[0], names[1]))
projects = st.sampled_from(("plain", "clone"))
# So many calls of Python functions later a process is killed; an exchange takes some ten thousand.
kills = st.one_of(st.none(), st.none(), st.integers(1, 30_000))
numbers = st.integers(0, 1000)

# Stands for ssh: serves the home that is named as a host; with CUT, the other end dies after so many bytes.
SSH = """#!{python} -IS
import os, subprocess, sys
served = os.path.join(os.environ["HOMES"], sys.argv[3])
command = ["{python}", "-m", "claude_memory", "--home", served, *sys.argv[4].split()[1:]]
if not os.environ["CUT"]:
    os.execv(command[0], command)
process, left = subprocess.Popen(command, stdout=subprocess.PIPE), int(os.environ["CUT"])
while left and (part := os.read(process.stdout.fileno(), left)):
    left -= os.write(1, part)
process.kill()
process.wait()
"""


def pair(home: Path, other: str, name: str) -> None:
    home_state.note(home, paired={**home_state.load(home).paired, other: name})


def clones(folder: Path) -> None:
    """A project that all homes have at one path, and one that each has a clone of."""
    (folder / "plain").mkdir()
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run([*git, "init", "-q", "origin"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], cwd=folder / "origin", check=True)
    for name in NAMES:
        subprocess.run([*git, "clone", "-q", "origin", f"clone-{name}"], cwd=folder, check=True)
        url = "https://example.org/team/shop.git"
        subprocess.run([*git, "remote", "set-url", "origin", url], cwd=folder / f"clone-{name}", check=True)


def killed_after(calls: int, action: Callable[[], object]) -> None:
    """Do something in a process that dies, without a chance to tidy up, after so many calls of functions."""
    process = os.fork()
    if process:
        os.waitpid(process, 0)
        return

    left = calls

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.setprofile(count)
        action()
    finally:
        os._exit(0)


class Homes(RuleBasedStateMachine):
    """Three homes, and what must be true of them at the end whatever happens."""

    folder: Path  # with the projects, made once

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="homes-", dir=self.folder))
        self.words = 0
        self.ids: dict[str, str] = {}  # every memory that was ever made, with the project it was made in
        self.last: dict[str, tuple[tuple[int, str], str]] = {}  # its latest wording
        self.hidden: dict[str, tuple[int, str, bool]] = {}
        self.sentences: set[str] = set()  # what conversations said
        self.gone_ids: set[str] = set()
        self.gone_words: set[str] = set()
        self.refused: set[str] = set()

    @initialize()
    def begin(self) -> None:
        for name in NAMES:
            home = self.root / name
            home.mkdir(mode=0o700)
            (home / "config.toml").write_text('embedder = "none"\n')
            with self.opened(name) as memory:
                assert memory.project
            home_state.home_id(home)
        for name in NAMES:
            for other in NAMES:
                if other != name:
                    pair(self.root / name, home_state.home_id(self.root / other), other)

    def teardown(self) -> None:
        try:
            if (self.root / "c").exists():
                self.settle()
                self.check()
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    # --- what happens in one home

    @contextmanager
    def opened(self, name: str, project: str = "plain") -> Iterator[Memory]:
        where = self.folder / (f"clone-{name}" if project == "clone" else project)
        with Memory.open(self.root / name, where) as memory:
            yield memory

    def word(self) -> str:
        self.words += 1
        return f"quagga{self.words:03}x"

    def known(self, name: str, number: int, status: str) -> tuple[str, str] | None:
        """One of the memories that a home has, by chance: its id and its project."""
        db = opened_file(self.root / name)
        try:
            wanted = "SELECT id FROM memories WHERE status = ? ORDER BY id"
            ids = [id_ for (id_,) in db.execute(wanted, (status,)) if id_ in self.ids]
        finally:
            db.close()
        if not ids:
            return None
        id_ = ids[number % len(ids)]
        with (
            self.opened(name, self.ids[id_]) as memory,
            suppress(NotFound),
        ):  # of a project split off meanwhile
            return memory.find([id_])[0].id, self.ids[id_]
        return None

    def note(self, name: str, id_: str) -> None:
        """What the latest word on a memory is by now."""
        db = opened_file(self.root / name)
        row = next(
            db.execute(
                "SELECT clock, home, body, hidden_clock, hidden_home, status FROM memories WHERE id = ?",
                (id_,),
            )
        )
        db.close()
        self.last[id_] = max(self.last.get(id_, ((-1, ""), "")), (row[:2], row[2]))
        hiding = (row[3], row[4], row[5] == "forgotten")
        self.hidden[id_] = max(self.hidden.get(id_, (-1, "", False)), hiding)

    @rule(name=homes, project=projects, travels=st.booleans())
    def remember(self, name: str, project: str, travels: bool) -> None:
        body = f"The tariff of the harbour is called {self.word()} in all of its papers."
        with self.opened(name, project) as memory:
            new = NewMemory(body, trust="user", scope="user" if travels else "project")
            id_ = memory.remember(new, embed=False).id
        self.ids[id_] = project
        self.note(name, id_)

    @rule(name=homes, number=numbers)
    def revise(self, name: str, number: int) -> None:
        if target := self.known(name, number, "active"):
            with self.opened(name, target[1]) as memory:
                memory.revise(
                    target[0], body=f"By now the harbour says {self.word()} to all who ask.", trust="user"
                )
            self.note(name, target[0])

    @rule(name=homes, number=numbers)
    def pin(self, name: str, number: int) -> None:
        if target := self.known(name, number, "active"):
            with self.opened(name, target[1]) as memory:
                memory.revise(target[0], pinned=bool(number % 2), trust="user")
            self.note(name, target[0])

    @rule(name=homes, project=projects, accepted=st.booleans())
    def answer_proposal(self, name: str, project: str, accepted: bool) -> None:
        with self.opened(name, project) as memory:
            for proposal in memory.inbox()[:1]:
                if accepted:
                    memory.accept([proposal.id])
                else:
                    memory.reject([proposal.id])
                    self.refused.add(proposal.id)

    @rule(name=homes, number=numbers)
    def supersede(self, name: str, number: int) -> None:
        if target := self.known(name, number, "active"):
            with self.opened(name, target[1]) as memory:
                body = f"Instead of the old tariff there is {self.word()} from now on."
                made = memory.supersede(target[0], NewMemory(body, trust="user"))
            self.ids[made.id] = target[1]
            self.note(name, made.id)
            self.note(name, target[0])

    @rule(name=homes, number=numbers)
    def forget(self, name: str, number: int) -> None:
        if target := self.known(name, number, "active"):
            with self.opened(name, target[1]) as memory:
                memory.forget([target[0]])
            self.note(name, target[0])

    @rule(name=homes, number=numbers)
    def undo(self, name: str, number: int) -> None:
        if target := self.known(name, number, "forgotten"):
            with self.opened(name, target[1]) as memory:
                memory.restore([target[0]])
            self.note(name, target[0])

    @rule(name=homes, number=numbers)
    def erase(self, name: str, number: int) -> None:
        if target := self.known(name, number, "active"):
            with self.opened(name, target[1]) as memory:
                words = memory.find([target[0]])[0].body
                memory.erase([target[0]])
            self.gone_ids.add(target[0])
            self.gone_words.add(words)

    @rule(name=homes, session=st.sampled_from("xyz"), length=st.integers(1, 3), project=projects)
    def converse(self, name: str, session: str, length: int, project: str) -> None:
        """A home reads the beginning of a conversation; another may have read more of it, or less."""
        where = self.folder / ("plain" if project == "plain" else "clone-a")
        talk = ClaudeSession(f"{session}-{project}", str(where))
        for turn in range(length):
            sentence = f"The pilot of {session}{project}{turn} takes the northern channel at night."
            talk.prompt(f"{sentence}\nFrom now on always name the channel of {session}{turn} in the log.")
            talk.says(f"Noted for {session}{project}{turn}: the northern channel it is.")
            self.sentences.add(sentence)
        with self.opened(name, project) as memory:
            memory.import_history([talk.write(self.root / f"user-{name}")], workers=1)

    @rule(name=homes, project=projects)
    def intend(self, name: str, project: str) -> None:
        with self.opened(name, project) as memory:
            memory.intentions.set(f"look at {self.word()}", at="tomorrow")

    @rule(name=homes)
    def finish_intentions(self, name: str) -> None:
        with self.opened(name) as memory:
            for item in memory.intentions.list()[:1]:
                memory.intentions.complete(item.id)

    @rule(name=homes)
    def merge_projects(self, name: str) -> None:
        with self.opened(name, "clone") as memory:
            source, target = memory.project.id, memory.projects.at(self.folder / "plain").id
            if source != target:
                memory.projects.merge(source, target)

    @rule(name=homes)
    def split_project(self, name: str) -> None:
        with self.opened(name, "plain") as memory:
            memory.projects.split(self.folder / f"clone-{name}")

    # --- what happens between homes

    def exchanged(self, name: str, where: list[str]) -> None:
        with self.opened(name) as memory:
            memory.homes.sync(where)

    def attempt(self, name: str, where: list[str], kill: int | None) -> None:
        if kill is None:
            self.exchanged(name, where)
        else:
            killed_after(kill, lambda: self.exchanged(name, where))

    @rule(pair=pairs, kill=kills)
    def by_path(self, pair: tuple[str, str], kill: int | None) -> None:
        self.attempt(pair[0], [str(self.root / pair[1])], kill)

    @rule(name=homes, kill=kills)
    def through_place(self, name: str, kill: int | None) -> None:
        self.attempt(name, [str(self.root / "place")], kill)

    @rule(pair=pairs, cut=st.one_of(st.none(), st.integers(0, 4000)))
    def over_ssh(self, pair: tuple[str, str], cut: int | None) -> None:
        os.environ.update({"HOMES": str(self.root), "CUT": "" if cut is None else str(cut)})
        try:
            self.exchanged(pair[0], ["ssh", pair[1]])
        except MemoryFault:
            assert cut is not None
        finally:
            del os.environ["HOMES"], os.environ["CUT"]

    @rule(name=homes)
    def merge_archive(self, name: str) -> None:
        other = NAMES[NAMES.index(name) - 1]
        file = self.root / "one.zip"
        with self.opened(other) as memory:
            memory.backups.create(memory.store, file, force=True)
        with self.opened(name) as memory:
            memory.homes.merge(file)

    # --- the end

    def settle(self) -> None:
        """Everybody leaves what is new at the place, and fetches what the others left."""
        for name in (*NAMES, *NAMES):
            self.exchanged(name, [str(self.root / "place")])

    def check(self) -> None:
        states = {name: state(self.root / name) for name in NAMES}
        for part in states["a"]:
            for name in ("b", "c"):
                assert states[name][part] == states["a"][part], f"{part} of {name} and a differ"
        known = states["a"]["memories"]
        said = {text for talk in states["a"]["conversations"].values() for _, _, text, *_ in talk["messages"]}
        for id_ in self.ids.keys() - self.gone_ids:
            assert id_ in known, f"{id_} is lost"
            assert known[id_]["body"] == self.last[id_][1], "a later wording did not win"
            assert (known[id_]["status"] == "forgotten") == self.hidden[id_][2], (
                "a later word on hiding did not win"
            )
        assert not self.gone_ids & known.keys(), "erased memories are back"
        back = {id_ for id_ in self.refused & known.keys() if known[id_]["status"] == "proposed"}
        assert not back, "refused proposals are back"
        for sentence in self.sentences:
            assert any(sentence in text for text in said), "a message is lost"
        for name in (*NAMES, "place"):
            for path in (self.root / name).rglob("*"):
                if path.is_file() and path.suffix != ".lock":
                    content = path.read_bytes()
                    for word in self.gone_words:
                        assert word.encode() not in content, f"{word} is back in {path.name}"


def opened_file(home: Path) -> apsw.Connection:
    return apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)


def state(home: Path) -> dict[str, Any]:
    """All that must be alike in homes that have met; rows by name, not by number."""
    db = opened_file(home)
    try:
        return {
            "projects": {
                id_: {
                    "names": dict(
                        db.execute("SELECT identity, clock FROM project_aliases WHERE project = ?", (number,))
                    )
                }
                for number, id_ in db.execute("SELECT number, id FROM projects")
            },
            "memories": {row["id"]: row for row in memories(db)},
            "conversations": {(talk["agent"], talk["session"]): talk for talk in conversations(db)},
            "exchanges": sorted(
                db.execute(
                    "SELECT m.id, c.session, e.first, e.last, e.record FROM exchanges e "
                    "JOIN memories m ON m.number = e.memory JOIN conversations c ON c.number = e.conversation"
                )
            ),
            "tombstones": sorted(db.execute("SELECT salt, hash FROM tombstones")),
            "rejected": sorted(db.execute("SELECT hash FROM rejected")),
            "intentions": sorted(db.execute("SELECT id, record, clock, home FROM intentions")),
            "relations": sorted(
                db.execute(
                    "SELECT a.id, b.id, r.kind FROM relations r JOIN memories a ON a.number = r.source "
                    "JOIN memories b ON b.number = r.target"
                )
            ),
        }
    finally:
        db.close()


def memories(db: apsw.Connection) -> Iterator[dict[str, Any]]:
    columns = (
        "m.id, p.id AS project, m.kind, m.title, m.body, m.created_at, m.trust, m.status, m.pinned, "
        "m.supersedes, m.superseded_by, m.clock, m.home, m.hidden_clock, m.hidden_home, m.provenance"
    )
    cursor = db.execute(f"SELECT {columns} FROM memories m JOIN projects p ON p.number = m.project")
    for row in cursor:
        told = dict(zip([name for name, _ in cursor.get_description()], row, strict=True))
        told["provenance"] = json.loads(told["provenance"])
        told["provenance"].get("places", []).sort(key=str)
        if told["provenance"].get("source") in DERIVED and told["status"] == "active":
            told["clock"], told["home"] = 0, ""  # every home makes it itself, at its own time
        yield told


def conversations(db: apsw.Connection) -> Iterator[dict[str, Any]]:
    found = "SELECT c.number, c.agent, c.session, p.id, c.imported FROM conversations c JOIN projects p ON p.number = c.project"
    for number, agent, session, project, imported in list(db.execute(found)):
        spoken = (
            "SELECT role, at, body, speaker, manner FROM messages WHERE conversation = ? ORDER BY ordinal"
        )
        told = [(role, at, unpacked(body), *rest) for role, at, body, *rest in db.execute(spoken, (number,))]
        yield {"agent": agent, "session": session, "project": project, "imported": imported, "messages": told}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Homes]:
    clones(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "ssh").write_text(SSH.format(python=sys.executable))
    (tools / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return type("Homes", (Homes,), {"folder": tmp_path})


def run(machine: type[Homes], examples: int, *, same: bool) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            derandomize=same,
            database=None,
            deadline=None,
            phases=[
                Phase.generate
            ],  # each history costs a second: to make a bad one smaller would take hours
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes of its own")
def test_some_random_histories_end_alike_in_all_homes(world: type[Homes]) -> None:
    run(world, SHARE, same=True)


@pytest.mark.soak
def test_two_hundred_random_histories_end_alike_in_all_homes(world: type[Homes]) -> None:
    run(world, int(os.environ.get("SYNC_HISTORIES", ALL)), same=False)
