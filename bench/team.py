"""A team's server under load: many writers and readers at once, on generated memories with vectors.

    python bench/team.py [--memories 100000] [--projects 200] [--writers 40] [--readers 40] [--seconds 120]

A server of its own is started and removed. Rows are made by the server; vectors are picked from 5,000 random
ones. Every writer and reader is a member with a login of their own, in one of four processes. A read is
what one search asks of the store: statistics and candidates by words, candidates by vector, the passages.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import random
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres_server import Server

from claude_memory.errors import MemoryFault
from claude_memory.model import Kind, MemoryFilter, MemoryId, ProjectId, SearchScope, StoredMemory
from claude_memory.store.postgres import directory
from claude_memory.store.postgres.team_server import conninfo
from claude_memory.store.postgres.team_store import PostgresStore

MODEL, LENGTH, WORDS, PROCESSES = "bench", 384, 20_000, 4
_FILL = """
SET session_replication_role = replica;
INSERT INTO projects (team, id, name, path) SELECT %(team)s, 'p' || n, 'p' || n, '/p/' || n
    FROM generate_series(1, %(projects)s) n;
INSERT INTO models (team, id) VALUES (%(team)s, 'bench');
CREATE TEMP TABLE some_vectors AS SELECT n, (SELECT array_agg((random() * 254 - 127)::int)::real[]::halfvec
    FROM generate_series(1, 384) WHERE n > 0) AS vector FROM generate_series(0, 4999) n;
UPDATE some_vectors SET vector = (SELECT vector FROM some_vectors WHERE n = 1) WHERE n = 0;
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
SELECT setval('memories_number_seq', %(memories)s + 1); SELECT setval('passages_id_seq', %(memories)s + 1);
SET session_replication_role = origin
"""


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


def read(store: PostgresStore, chance: random.Random, projects: int) -> None:
    scope = SearchScope((ProjectId(f"p{chance.randint(1, projects)}"),))
    terms = {f"w{int(chance.random() ** 3 * WORDS)}": 1.0 for _ in range(8)}
    store.memories.term_statistics(scope, terms)
    found = store.memories.text_candidates(scope, MemoryFilter(), terms, 60)
    vector = bytes(chance.randrange(256) for _ in range(LENGTH))
    near = store.memories.vector_candidates(scope, MemoryFilter(), vector, MODEL, 50)
    store.memories.passages([*found, *(id_ for id_, _ in near.candidates)])


def write(store: PostgresStore, chance: random.Random, projects: int) -> None:
    body = " ".join(f"w{int(chance.random() ** 3 * WORDS)}" for _ in range(40))
    now = datetime.now(UTC)
    store.memories.add(
        [
            StoredMemory(
                id=MemoryId(f"n{chance.getrandbits(80):x}"),
                project=ProjectId(f"p{chance.randint(1, projects)}"),
                kind=Kind.NOTE,
                title="",
                body=body,
                created_at=now,
                updated_at=now,
            )
        ]
    )


def member(
    url: str, act: Any, seed: int, projects: int, until: float, out: list[tuple[str, float, str]]
) -> None:
    chance = random.Random(seed)
    with contextlib.closing(PostgresStore.open(url)) as store:
        while time.time() < until:
            began, fault = time.perf_counter(), ""
            try:
                act(store, chance, projects)
            except MemoryFault as error:
                fault = str(error)
            out.append((act.__name__, time.perf_counter() - began, fault))
            time.sleep(chance.random() * 0.2)  # people think between two questions


def process(tasks: list[tuple[str, str, int]], projects: int, until: float, answers: Any) -> None:
    out: list[tuple[str, float, str]] = []
    threads = [
        threading.Thread(
            target=member, args=(url, {"read": read, "write": write}[act], seed, projects, until, out)
        )
        for url, act, seed in tasks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put(out)


def figures(out: list[tuple[str, float, str]], act: str, seconds: int) -> dict[str, Any]:
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
    given = parser.parse_args()
    server = Server("max_connections=200", "shared_buffers=512MB", "fsync=on", "full_page_writes=on")
    server.start()
    try:
        login = directory.create_team(server.url(), "bench", "ann")
        assert login is not None
        began = time.time()
        fill(server.url(), "bench", given.memories, given.projects)
        filled = time.time() - began
        acts = ["write"] * given.writers + ["read"] * given.readers
        invited = [directory.invite(server.url(), "bench", f"p{number}") for number in range(len(acts))]
        urls = [directory.login_url(server.url(), one) for one in invited]
        tasks = list(zip(urls, acts, range(len(acts)), strict=True))
        answers: Any = multiprocessing.Queue()
        until = time.time() + given.seconds
        running = [
            multiprocessing.Process(
                target=process, args=(tasks[part::PROCESSES], given.projects, until, answers)
            )
            for part in range(PROCESSES)
        ]
        for one in running:
            one.start()
        out = [line for _ in running for line in answers.get()]
        for one in running:
            one.join()
        with psycopg.connect(conninfo(server.url())) as owner:
            sizes = dict(
                owner.execute(
                    "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
                    " AND relname IN ('memories', 'passages', 'vectors', 'feed', 'changes')"
                ).fetchall()
            )
            deadlocks = owner.execute("SELECT sum(deadlocks) FROM pg_stat_database").fetchone()
        report = {
            **{
                name: getattr(given, name)
                for name in ("memories", "projects", "writers", "readers", "seconds")
            },
            "fill_seconds": round(filled, 1),
            "write": figures(out, "write", given.seconds),
            "read": figures(out, "read", given.seconds),
            "deadlocks": int(deadlocks[0]) if deadlocks else None,
            "bytes_per_memory": {name: round(size / given.memories) for name, size in sorted(sizes.items())},
        }
    finally:
        server.remove()
    print(json.dumps(report, indent=2))
    if given.json:
        given.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
