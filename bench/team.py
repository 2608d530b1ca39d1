"""A team's server under load, and a SQLite file beside it: many writers and readers on generated memories.

    python bench/team.py [--memories 100000] [--projects 200] [--writers 40] [--readers 40] [--seconds 120]
                         [--folder FOLDER]
    python bench/team.py --exchanges 200
    python bench/team.py --alike DATA_FOLDER [--sets devnotes …]

A server of its own is started and removed; `--folder` keeps both stores there for the next run. Rows are made
by the server; vectors are picked from 5,000 random ones. Every writer and reader is a member with a login of
their own, in one of four processes; at the file all are one person. A read is what one search asks of the
store: statistics and candidates by words, candidates by vector, the passages, statistics of the words of the
best three. Before the load, one client alone does 100 of each, and CPU time is taken per request; and one
writes while another person's transaction, with 500 memories and their vectors, is not committed.

`--exchanges` captures as many exchanges of four events by the hook's own code and lets a member's drain bring
them in, with vectors: CPU time a whole exchange takes there and at the server.

`--alike` asks the questions of development sets of a file and of a server, by words and meaning, and tells
how many have the same first ten, and how many the same first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres_server import Server

from claude_memory import Memory, NewMemory
from claude_memory.errors import MemoryFault
from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    ProjectId,
    ProjectIdentity,
    SearchScope,
    StoredMemory,
)
from claude_memory.search.ranking import FEEDBACK_SOURCES, feedback_sources
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.postgres import team_store
from claude_memory.store.postgres.team_server import conninfo

MODEL, LENGTH, WORDS, PROCESSES, ALONE = "bench", 384, 20_000, 4, 100
_FILL = """
SET session_replication_role = replica;
INSERT INTO projects (team, id, name, path) SELECT %(team)s, 'p' || n, 'p' || n, '/p/' || n
    FROM generate_series(1, %(projects)s) n;
INSERT INTO models (team, id) VALUES (%(team)s, 'bench');
CREATE TEMP TABLE some_vectors AS SELECT n, (SELECT array_agg((random() * 254 - 127)::int)::real[]::halfvec
    FROM generate_series(1, 384) WHERE n > 0) AS vector FROM generate_series(0, 4999) n;
UPDATE some_vectors SET vector = (SELECT vector FROM some_vectors WHERE n = 1) WHERE n = 0;
DROP INDEX passages_by_terms;
INSERT INTO memories (team, number, id, project, space, kind, title, body, created_at, updated_at, trust,
        status, topics, files, provenance, pinned, author, member)
    SELECT %(team)s, n, 'm' || n, p.number, p.number, 'note', '', (SELECT string_agg('w' ||
        floor(power(random(), 3) * 20000)::int, ' ') FROM generate_series(1, 40) WHERE n > 0),
        1700000000000000 + n, 1700000000000000 + n, 'agent', 'active', '[]', '[]', '{}', false,
        %(person)s, 'ann'
    FROM generate_series(1, %(memories)s) n
    JOIN projects p ON p.team = %(team)s AND p.id = 'p' || (1 + n %% %(projects)s);
INSERT INTO passages (team, id, memory, space, ordinal, start, stop, own, near, far, dates, terms, length)
    SELECT team, number, number, space, 0, 0, length(body), body, '', '', '',
        (SELECT array_agg(DISTINCT space || '_' || w) FROM unnest(string_to_array(body, ' ')) w), 40
    FROM memories WHERE team = %(team)s;
INSERT INTO vectors (team, passage, model, space, vector) SELECT q.team, q.id, m.number, q.space, s.vector
    FROM passages q JOIN models m ON m.team = q.team AND m.id = 'bench'
    JOIN some_vectors s ON s.n = q.id %% 5000
    WHERE q.team = %(team)s;
CREATE INDEX passages_by_terms ON passages USING gin (terms) WITH (fastupdate = off);
INSERT INTO lexicon (team, space, term, passages)
    SELECT q.team, q.space, substr(k.key, 2 + length(q.space::text)), count(*)
    FROM passages q, unnest(q.terms) k (key) WHERE q.team = %(team)s GROUP BY q.team, q.space, k.key;
INSERT INTO lexicons (team, space, through, passages, length)
    SELECT team, space, max(id), count(*), sum(length)
    FROM passages WHERE team = %(team)s GROUP BY team, space;
SELECT setval('memories_number_seq', %(memories)s + 1); SELECT setval('passages_id_seq', %(memories)s + 1);
SET session_replication_role = origin
"""
_VECTORS_OF_NEW = """INSERT INTO vectors (passage, model, space, vector)
    SELECT q.id, v.model, q.space, v.vector FROM passages q, (SELECT model, vector FROM vectors LIMIT 1) v
    ORDER BY q.id DESC LIMIT 500"""


def fill(url: str, team: str, memories: int, projects: int) -> None:
    with psycopg.connect(conninfo(url), autocommit=True, cursor_factory=psycopg.ClientCursor) as owner:
        owner.execute("SET search_path = claude_memory, public")
        row = owner.execute(
            "SELECT t.number, m.person FROM teams t JOIN members m ON m.team = t.number WHERE t.name = %s",
            (team,),
        ).fetchone()
        assert row is not None
        values = {"team": row[0], "person": row[1], "memories": memories, "projects": projects}
        owner.execute(_FILL, values)
        owner.execute("VACUUM ANALYZE")


def fill_file(home: Path, memories: int, projects: int) -> None:
    """As many memories in a file, by the store's own way; the projects' ids lie beside it."""
    chance = random.Random(1)
    vectors = np.random.default_rng(1).integers(-127, 128, (5000, LENGTH), dtype=np.int8)
    with contextlib.closing(open_store(home, Settings())) as store:
        ids = [
            store.project_for(ProjectIdentity((f"path:/p/{number}",), f"p{number}", f"/p/{number}")).id
            for number in range(projects)
        ]
        for start in range(0, memories, 5000):
            numbers = range(start, min(start + 5000, memories))
            store.memories.add([new_memory(chance, ids[number % projects]) for number in numbers])
            missing = store.memories.unembedded(MODEL, 5000)
            made = [(one.id, vectors[one.id % 5000].tobytes()) for one in missing]
            store.memories.add_vectors(MODEL, made)
            changed = store.changes_since("memories.jsonl", 10_000)
            store.changes_taken("memories.jsonl", changed[-1].sequence)
    (home / "projects.json").write_text(json.dumps([str(id_) for id_ in ids]))


def read(store: Store, chance: random.Random, projects: list[str]) -> None:
    scope = SearchScope((ProjectId(chance.choice(projects)),))
    terms = {f"w{int(chance.random() ** 3 * WORDS)}": 1.0 for _ in range(8)}
    store.memories.term_statistics(scope, terms)
    found = store.memories.text_candidates(scope, MemoryFilter(), terms, 60)
    vector = bytes(chance.randrange(256) for _ in range(LENGTH))
    near = store.memories.vector_candidates(scope, MemoryFilter(), vector, MODEL, 50)
    passages = store.memories.passages([*found, *(id_ for id_, _ in near.candidates)])
    store.memories.term_statistics(scope, feedback_sources(passages[:FEEDBACK_SOURCES]))


def write(store: Store, chance: random.Random, projects: list[str]) -> None:
    store.memories.add([new_memory(chance, ProjectId(chance.choice(projects)))])


def new_memory(chance: random.Random, project: ProjectId) -> StoredMemory:
    now = datetime.now(UTC)
    return StoredMemory(
        id=MemoryId(f"n{secrets.token_hex(10)}"),  # a kept store has those of the run before
        project=project,
        kind=Kind.NOTE,
        title="",
        body=" ".join(f"w{int(chance.random() ** 3 * WORDS)}" for _ in range(40)),
        created_at=now,
        updated_at=now,
    )


def opened(named: str) -> contextlib.closing[Store]:
    """A server by its URL, a file by its folder."""
    at_server = named.startswith("postgresql:")
    return contextlib.closing(open_store(Path(named), Settings(store=named if at_server else "")))


def member(
    named: str, act: Any, seed: int, projects: list[str], until: float, out: list[tuple[str, float, str]]
) -> None:
    chance = random.Random(seed)
    with opened(named) as store:
        while time.time() < until:
            began, fault = time.perf_counter(), ""
            try:
                act(store, chance, projects)
            except MemoryFault as error:
                fault = str(error)
            out.append((act.__name__, time.perf_counter() - began, fault))
            time.sleep(chance.random() * 0.2)  # people think between two questions


def process(tasks: list[tuple[str, str, int]], projects: list[str], until: float, answers: Any) -> None:
    out: list[tuple[str, float, str]] = []
    threads = [
        threading.Thread(
            target=member, args=(named, {"read": read, "write": write}[act], seed, projects, until, out)
        )
        for named, act, seed in tasks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put(out)


def under_load(tasks: list[tuple[str, str, int]], projects: list[str], seconds: int) -> dict[str, Any]:
    answers: Any = multiprocessing.Queue()
    until = time.time() + seconds
    running = [
        multiprocessing.Process(target=process, args=(tasks[part::PROCESSES], projects, until, answers))
        for part in range(PROCESSES)
    ]
    for one in running:
        one.start()
    out = [line for _ in running for line in answers.get()]
    for one in running:
        one.join()
    return {"write": figures(out, "write", seconds), "read": figures(out, "read", seconds)}


def alone(named: str, projects: list[str], server: Server | None) -> dict[str, Any]:
    """One client, nothing else: how long a request takes, and what it costs here and at the server."""
    chance, report = random.Random(9), dict[str, Any]()
    with opened(named) as store:
        for act in (read, write):
            out: list[tuple[str, float, str]] = []
            before = time.process_time(), server_cpu(server)
            for _ in range(ALONE):
                began = time.perf_counter()
                act(store, chance, projects)
                out.append((act.__name__, time.perf_counter() - began, ""))
            spent = time.process_time() - before[0], server_cpu(server) - before[1]
            cpu = {
                name: round(1000 * value / ALONE, 1)
                for name, value in zip(("client_cpu_ms", "server_cpu_ms"), spent, strict=True)
            }
            took = sum(one for _, one, _ in out)
            report[act.__name__] = {**figures(out, act.__name__, took), **cpu}
    return report


def beside_a_drain(urls: list[str], projects: list[str]) -> dict[str, Any]:
    """One member writes to a project, alone and while another's long transaction there is not committed."""
    from claude_memory.store.sql import write as rows_of

    chance, project, report = random.Random(7), ProjectId(projects[0]), dict[str, Any]()
    with opened(urls[0]) as store, opened(urls[1]) as other, contextlib.ExitStack() as held:
        for name in ("alone", "beside"):
            if name == "beside":
                drain = held.enter_context(other.transactions.writing())  # type: ignore[attr-defined]
                rows_of.add(drain, [new_memory(chance, project) for _ in range(500)])
                drain.execute(_VECTORS_OF_NEW)
            out: list[tuple[str, float, str]] = []
            for _ in range(2 * ALONE):
                began = time.perf_counter()
                write(store, chance, [str(project)])
                out.append(("write", time.perf_counter() - began, ""))
            report[name] = figures(out, "write", sum(took for _, took, _ in out))
    return report


def exchanges(server: Server, home: Path, count: int) -> dict[str, Any]:
    """CPU time that exchanges take from the hook's file to the server, by what takes it."""
    from claude_memory.hook import claude_memory_hook as hook

    login = team_store.create_team(server.url(), "exchanges", "ann")
    assert login is not None
    work, chance, spent = home / "work", random.Random(2), dict[str, float]()
    work.mkdir()
    flags = {"store": login}
    with Memory.open(home / "memory", work, flags=flags) as memory:
        memory.remember(NewMemory(body="So that everything is loaded and connected."))
        memory.upkeep.vectors.some()
        began = time.process_time()
        for number in range(count):
            for event, told in one_exchange(chance, number, str(work)):
                hook.spool(str(memory.home), event, hook.DEFAULT_AGENT, [json.dumps(told).encode()])
        spent["capture"] = time.process_time() - began
        at_server = server_cpu(server)
        for name, act in (("drain", memory.upkeep.drain), ("vectors", memory.upkeep.vectors.some)):
            began = time.process_time()
            act()
            spent[name] = time.process_time() - began
            spent[f"{name}_at_server"], at_server = server_cpu(server) - at_server, server_cpu(server)
        stats = memory.store.stats()
    per = {f"{name}_ms": round(1000 * value / count, 2) for name, value in spent.items()}
    return {
        "exchanges": count,
        "events": stats.events,
        "memories": stats.memories,
        "vectors": stats.vectors,
        **per,
    }


def one_exchange(chance: random.Random, number: int, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A prompt of 30 words, two calls of tools, an answer of 120 words; ten to a session."""
    words = lambda count: " ".join(f"w{int(chance.random() ** 3 * WORDS)}" for _ in range(count))  # noqa: E731
    common = {"session_id": f"s{number // 10}", "cwd": folder, "prompt_id": f"p{number}"}
    yield "UserPromptSubmit", {**common, "prompt": f"Please change {words(30)}."}
    for call in range(2):
        tool = {"command": f"make {words(3)}"}
        done = {"tool_name": "Bash", "tool_use_id": f"t{number}-{call}", "tool_input": tool}
        yield "PostToolUse", {**common, **done, "tool_response": {"stdout": words(80)}}
    yield "Stop", {**common, "last_assistant_message": f"I changed {words(120)}."}


def server_cpu(server: Server | None) -> float:
    """Seconds that the server and its children have spent so far."""
    if server is None or server._process is None:
        return 0.0
    top, spent = server._process.pid, 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(") ", 1)[1].split()
            if int(path.parent.name) == top:
                spent += sum(int(fields[place]) for place in (11, 12, 13, 14))
            elif int(fields[1]) == top:
                spent += int(fields[11]) + int(fields[12])
    return spent / os.sysconf("SC_CLK_TCK")


def figures(out: list[tuple[str, float, str]], act: str, seconds: float) -> dict[str, Any]:
    took = sorted(1000 * one for name, one, fault in out if name == act and not fault)
    faults = [fault for name, _, fault in out if name == act and fault]
    at = lambda share: round(took[min(len(took) - 1, int(share * len(took)))], 1) if took else None  # noqa: E731
    done = {
        "n": len(took),
        "per_second": round(len(took) / seconds, 1),
        "p50_ms": at(0.5),
        "p99_ms": at(0.99),
    }
    return {**done, "faults": len(faults), "first_fault": faults[0] if faults else ""}


def alike(server: Server, home: Path, data: Path, names: list[str]) -> dict[str, Any]:
    """How often a file and a server that hold the same put the same memories first, in the same order."""
    sys.path.insert(0, str(Path(__file__).parent))
    from quality import LOADERS, embedder_for, feed

    embedder, same = embedder_for(home, None), {"questions": 0, "first_ten": 0, "first": 0}
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for number, corpus in enumerate(corpus for name in names for corpus in LOADERS[name](data)):
        units = tuple(
            replace(unit, when=unit.when or start + timedelta(minutes=place))
            for place, unit in enumerate(corpus.units)
        )
        login = team_store.create_team(server.url(), f"alike {number}", "ann")
        assert login is not None
        answers = []
        for store in ("", login):
            folder = home / f"{number} {bool(store)}"
            folder.mkdir()
            with Memory.open(folder / "memory", folder, flags={"store": store}) as memory:
                memory._embedder = embedder
                keys = feed(memory, replace(corpus, units=units))
                found = [memory.search(one.text, limit=10, min_relevance=0.0) for one in corpus.questions]
                answers.append([[keys[hit.id] for hit in hits] for hits in found])
        for one, other in zip(*answers, strict=True):
            same["questions"] += 1
            same["first_ten"] += one == other
            same["first"] += one[:1] == other[:1]
    return {"sets": names, "model": embedder.model, **same}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in {
        "memories": 100_000,
        "projects": 200,
        "writers": 40,
        "readers": 40,
        "seconds": 120,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="keeps both stores there for the next run")
    parser.add_argument("--exchanges", type=int, default=0)
    parser.add_argument("--alike", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--sets", nargs="+", default=["devnotes"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="team-bench-") as scratch:
        home = given.folder or Path(scratch)
        kept = (home / "server.txt").read_text() if (home / "server.txt").exists() else ""
        settings = ("max_connections=200", "shared_buffers=2GB", "fsync=on", "full_page_writes=on")
        server = Server(*settings, "max_wal_size=4GB", folder=Path(kept) if kept else None)
        server.start()
        try:
            if given.alike:
                report = alike(server, home, given.alike, given.sets)
            elif given.exchanges:
                report = exchanges(server, home, given.exchanges)
            else:
                report = run(server, home, given, is_filled=bool(kept))
            if given.folder and not kept:
                (home / "server.txt").write_text(str(server.folder))
        finally:
            if given.folder:
                server.stop()
            else:
                server.remove()
    print(json.dumps(report, indent=2))
    if given.json:
        given.json.write_text(json.dumps(report, indent=2))


def filled(server: Server, home: Path, memories: int, projects: int) -> dict[str, float]:
    """Fill the server and, in another process, the file; tells how long each took."""
    assert team_store.create_team(server.url(), "bench", "ann") is not None
    filling = multiprocessing.Process(target=fill_file, args=(home, memories, projects))
    filling.start()
    began = time.time()
    fill(server.url(), "bench", memories, projects)
    took = round(time.time() - began, 1)
    filling.join()
    return {"fill_seconds": took, "file_fill_seconds": round(time.time() - began, 1)}


def run(server: Server, home: Path, given: argparse.Namespace, *, is_filled: bool) -> dict[str, Any]:
    report: dict[str, Any] = {
        name: getattr(given, name) for name in ("memories", "projects", "writers", "readers", "seconds")
    }
    if not is_filled:
        report |= filled(server, home, given.memories, given.projects)
    projects = [f"p{number + 1}" for number in range(given.projects)]
    in_file = json.loads((home / "projects.json").read_text())
    acts = ["write"] * given.writers + ["read"] * given.readers
    urls = [team_store.invite(server.url(), "bench", f"p{number}") for number in range(len(acts))]
    report["load_average"] = os.getloadavg()
    report["alone"] = {
        "server": alone(urls[0], projects, server),
        "file": alone(str(home), in_file, None),
    }
    report["beside_a_drain"] = beside_a_drain(urls, projects)
    tasks = list(zip(urls, acts, range(len(acts)), strict=True))
    before = server_cpu(server)
    report["server"] = under_load(tasks, projects, given.seconds)
    report["server"]["cpu_seconds"] = round(server_cpu(server) - before, 1)
    report["file"] = under_load([(str(home), act, seed) for _, act, seed in tasks], in_file, given.seconds)
    with psycopg.connect(conninfo(server.url())) as owner:
        sizes = owner.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
            " AND relname IN ('memories', 'passages', 'lexicon', 'vectors', 'feed', 'changes')"
        ).fetchall()
        deadlocks = owner.execute("SELECT sum(deadlocks) FROM pg_stat_database").fetchone()
    report["deadlocks"] = int(deadlocks[0]) if deadlocks else None
    report["bytes_per_memory"] = {name: round(size / given.memories) for name, size in sorted(sizes)}
    report["file_bytes_per_memory"] = round((home / "memory.db").stat().st_size / given.memories)
    return report


if __name__ == "__main__":
    main()
