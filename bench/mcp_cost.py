"""What asking over MCP costs: time to answer `initialize`, tokens of the layers, a search's time, memory.

    python bench/mcp_cost.py FOLDER [--parts start layers speed memory] [--data FOLDER] [--json FILE]

Pairs run alternately, so that the machine's load falls on both sides alike. The layers are measured on
5,000 memories as long as an agent's replies and 50 questions: made-up ones with one fact in each, and,
with the folder of the sets, ones around developers' notes, asked for in other words; the speed on 20,000
memories with made-up vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from claude_memory import Memory, NewMemory
from claude_memory.text.quotation import tokens

LINES = (5, 10, 20)
START_TARGET, SPEED_TARGET, LAYERS_TARGET, MEMORY_TARGET_MB = 1.3, 1.5, 0.1, 120
SERVE = [sys.executable, "-I", "-m", "claude_memory", "mcp"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
SHORT_RELEASE = (
    "import sys; from pathlib import Path; from claude_memory.surfaces.mcp.server import Server; "
    "Server(Path(sys.argv[1]), Path.cwd(), release_seconds=1).run()"
)


def environment(home: Path) -> dict[str, str]:
    """Nothing but what the server needs."""
    return {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLAUDE_MEMORY_HOME": str(home)}


def start(folder: Path, count: int = 9) -> dict[str, Any]:
    """From starting the server to its answer to `initialize`, beside importing `mcp`."""
    home = folder / "start"
    home.mkdir(mode=0o700)
    times = []
    for _ in range(count + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "import mcp"], check=True, env=environment(home))
        bare = time.perf_counter() - begun
        begun = time.perf_counter()
        pipe = subprocess.PIPE
        with subprocess.Popen(SERVE, cwd=folder, env=environment(home), stdin=pipe, stdout=pipe) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(HELLO).encode() + b"\n")
            server.stdin.flush()
            assert b"serverInfo" in server.stdout.readline()
            ours = time.perf_counter() - begun
            server.stdin.close()
        times.append((bare, ours))
    bare, ours = (statistics.median(side) for side in zip(*times[1:], strict=True))
    ratio = statistics.median(after / before for before, after in times[1:])
    return {
        "import_mcp_ms": round(bare * 1e3),
        "initialize_ms": round(ours * 1e3),
        "ratio": round(ratio, 3),
        "target": START_TARGET,
        "n": count,
    }


def talk(home: Path, folder: Path, conversation: Callable[[ClientSession], Awaitable[Any]]) -> Any:
    """One conversation with a server of its own."""
    wanted = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=environment(home), cwd=str(folder))

    async def run() -> Any:
        async with stdio_client(wanted) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await conversation(session)

    return asyncio.run(run())


PARTS = "gateway ledger parser planner mailer importer renderer scheduler indexer exporter".split()
PLACES = "staging production nightly mobile desktop billing search archive support partner".split()
THINGS = "timeout retry quota buffer cache token batch window lock queue".split()
NAMES = "amber birch cedar delta ember falcon garnet harbor indigo juniper".split()
FILLER = (
    "We looked at the logs of the {part} first and compared them with what the {place} system reports. ",
    "The tests of that module pass, and the linter has nothing to say about the change any more. ",
    "I left the older code path in place because two callers still depend on how it orders its results. ",
    "The documentation now mentions both ways, and the example was run once more from a clean checkout. ",
    "After that the build was repeated with the flags of the release, which took a little over six minutes. ",
    "None of the dashboards showed a change in error rates while the deployment went through its stages. ",
)


def replies(count: int) -> list[tuple[str, str, str]]:
    """Question, answer and memory: a reply of 150 to 900 words with one fact at a random place."""
    dice = random.Random(5)
    subjects = [
        (part, place, thing, name) for part in PARTS for place in PLACES for thing in THINGS for name in NAMES
    ]
    dice.shuffle(subjects)
    made = []
    for number, (part, place, thing, name) in enumerate(subjects[:count]):
        answer = f"{name}-{number * 7919 % 99991}"
        fact = f"The {thing} of the {part} in {place} for team {name} is now set by {answer}. "
        said = [dice.choice(FILLER).format(part=part, place=place) for _ in range(dice.randint(8, 50))]
        said.insert(dice.randrange(len(said)), fact)
        question = f"what sets the {thing} of the {part} in {place} for team {name}"
        made.append((question, answer, "".join(said).strip()))
    return made


def notes_in_replies(data: Path, count: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Memories as long as replies around developers' notes, and (question, note) as people asked."""
    sys.path.insert(0, str(Path(__file__).parent))
    from sets import devnotes

    [corpus] = devnotes.load(data)
    made = [body for _, _, body in replies(count)]
    dice = random.Random(11)
    texts = {unit.key: unit.text for unit in corpus.units}
    for at, text in enumerate(texts.values()):
        before = made[at].split(". ")
        before.insert(dice.randrange(len(before)), text.rstrip("."))
        made[at] = ". ".join(before)
    asked = [
        (item.text, texts[next(iter(item.gold))]) for item in corpus.questions if item.kind == "as asked"
    ]
    return made, asked


def layers(folder: Path, data: Path | None = None, count: int = 5_000, asked: int = 50) -> dict[str, Any]:
    """Layer 1, then opening two, beside the top twenty in full: tokens, and how often the right one is there.

    Opened: the answer stands in one of the two that were opened; seen: there or in a line of layer 1; listed:
    the line of the memory that holds it is there. Of five lines the first two are opened; of ten and twenty
    the two whose lines share most words with the question, as a stand-in for a model that reads them.
    """
    found = {"made_up": _layers(folder / "layers", replies(count), asked)}
    if data is not None:
        bodies, questions = notes_in_replies(data, count)
        rows = [(question, text, text) for question, text in questions]
        known = [(f"filler {at}", body, body) for at, body in enumerate(bodies)]
        found["developers_notes"] = _layers(folder / "layers-notes", known, asked, rows)
    return found


def _layers(
    home: Path,
    made: list[tuple[str, str, str]],
    asked: int,
    questions: list[tuple[str, str, str]] | None = None,
) -> dict[str, Any]:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('embedder = "none"\n')
    (home / "config.toml").chmod(0o600)
    with Memory.open(home, home.parent) as memory:
        for at in range(0, len(made), 500):
            memory.remember_many(
                [NewMemory(body, trust="agent") for _, _, body in made[at : at + 500]], embed=False
            )
    chosen = random.Random(6).sample(questions or made, asked)
    rows = talk(home, home.parent, lambda session: _both_ways(session, chosen))
    mean = {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
    whole = mean["tokens_top_20_in_full"]
    return {
        "memories": len(made),
        "questions": asked,
        **{key: round(value, 3 if value <= 1 else None) for key, value in mean.items()},
        **{f"ratio_{lines}_lines": round(mean[f"tokens_{lines}_lines"] / whole, 3) for lines in LINES},
        "target": LAYERS_TARGET,
    }


async def _both_ways(session: ClientSession, asked: list[tuple[str, str, str]]) -> list[dict[str, float]]:
    async def text(name: str, **arguments: Any) -> str:
        result = await session.call_tool(name, arguments)
        return str(result.content[0].text)

    rows = []
    for question, answer, _ in asked:
        row: dict[str, float] = {}
        listing = {
            lines: await text("search_memory", query=question, limit=lines, min_relevance=0)
            for lines in LINES
        }
        every = [hit["id"] for hit in json.loads(listing[20])["hits"]]
        full = await text("get_memories", ids=every, max_tokens=50_000)
        row["tokens_top_20_in_full"], row["found_top_20_in_full"] = tokens(full), shows(full, answer)
        right = next((id_ for id_, item in zip(every, parts(full), strict=True) if shows(item, answer)), "")
        for lines, listed in listing.items():
            hits = json.loads(listed)["hits"]
            ids = [hit["id"] for hit in (hits if lines == 5 else fitting(question, hits))[:2]]
            opened = await text("get_memories", ids=ids)
            row[f"tokens_{lines}_lines"] = tokens(listed) + tokens(opened)
            row[f"opened_{lines}_lines"] = shows(opened, answer)
            row[f"seen_{lines}_lines"] = shows(opened, answer) or (len(answer) < 60 and answer in listed)
            row[f"listed_{lines}_lines"] = right in [hit["id"] for hit in hits]
        rows.append(row)
    return rows


def parts(opened: str) -> list[str]:
    """One document for each memory that was opened."""
    return [json.dumps({"memories": [item]}, ensure_ascii=False) for item in json.loads(opened)["memories"]]


def fitting(question: str, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hits by how many of the question's words their lines share; among equals, as they came."""
    from claude_memory.text.words import index_terms, is_stop_term, query_terms

    wanted = {term for term in query_terms(question) if not is_stop_term(term)}
    return sorted(
        hits, key=lambda hit: -len(wanted.intersection(index_terms(f"{hit['title']} {hit['snippet']}")))
    )


def shows(opened: str, answer: str) -> bool:
    """Whether an answer is among what was opened; a note, if a sentence of it is."""
    if len(answer) < 60:
        return answer in opened
    seen = " ".join(" ".join(str(item.get("text", "")).split()) for item in json.loads(opened)["memories"])
    return any(part in seen for part in answer.split(". ") if len(part) > 40)


def filled(folder: Path, home: Path, count: int) -> None:
    """A store with vectors of the real model's name and size."""
    import numpy as np

    dice = np.random.default_rng(7)
    with Memory.open(home, folder) as memory:
        bodies = [f"{fact} It was number {number}." for number, (_, _, fact) in enumerate(short(count))]
        for at in range(0, count, 2_000):
            memory.remember_many([NewMemory(body) for body in bodies[at : at + 2_000]], embed=False)
        assert memory.embedder is not None
        model, dimensions = memory.embedder.model, len(memory.embedder.embed(["x"])[0])
        while waiting := memory.store.memories.unembedded(model, 2_000):
            rows = dice.standard_normal((len(waiting), dimensions))
            rows = np.round(rows / np.linalg.norm(rows, axis=1, keepdims=True) * 127).astype(np.int8)
            memory.store.memories.add_vectors(
                model, [(item.id, row.tobytes()) for item, row in zip(waiting, rows, strict=True)]
            )


def short(count: int) -> list[tuple[str, str, str]]:
    """Question, answer and one sentence."""
    dice = random.Random(8)
    made = []
    for number in range(count):
        part, place, thing, name = (dice.choice(words) for words in (PARTS, PLACES, THINGS, NAMES))
        fact = (
            f"The {thing} {number % 977} of the {part} in {place} was set by {name} after incident {number}."
        )
        made.append((f"who set the {thing} {number % 977} of the {part} in {place}", name, fact))
    return made


def speed(folder: Path, count: int = 20_000, asked: int = 60) -> dict[str, Any]:
    """A warm search over stdio beside the same search in this process."""
    home = folder / "speed"
    filled(folder, home, count)
    questions = [question for question, _, _ in random.Random(9).sample(short(count), 2 * asked + 20)]

    async def ask(session: ClientSession) -> list[tuple[float, float]]:
        times = []
        with Memory.open(home, folder) as memory:
            for number in range(asked + 10):
                begun = time.perf_counter()
                memory.catch_up()  # as the server does before each question
                memory.search(questions[2 * number], limit=5, min_relevance=0.0)
                inside = time.perf_counter() - begun
                begun = time.perf_counter()
                await session.call_tool(
                    "search_memory", {"query": questions[2 * number + 1], "limit": 5, "min_relevance": 0}
                )
                times.append((inside, time.perf_counter() - begun))
        return times[10:]

    times = talk(home, folder, ask)
    inside, outside = (statistics.median(side) for side in zip(*times, strict=True))
    return {
        "memories": count,
        "in_process_ms": round(inside * 1e3, 1),
        "over_stdio_ms": round(outside * 1e3, 1),
        "ratio": round(outside / inside, 3),
        "target": SPEED_TARGET,
        "n": asked,
    }


def resident_mb(process: int) -> float:
    """Resident memory of a process and its children."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    total = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    children = Path(f"/proc/{process}/task").glob("*/children")
    return total + sum(resident_mb(int(child)) for file in children for child in file.read_text().split())


def memory_use(folder: Path) -> dict[str, Any]:
    """Of the server and its children: before the embedder is needed, with it, after it was given back."""
    home = folder / "speed"
    if not home.exists():
        filled(folder, home, 20_000)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SHORT_RELEASE, str(home)]
    with subprocess.Popen(command, cwd=folder, env=environment(home), stdin=pipe, stdout=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def ask(message: dict[str, Any]) -> None:
            server.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]
            if "id" in message:
                assert server.stdout.readline()  # type: ignore[union-attr]

        ask(HELLO)
        ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
        ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        time.sleep(3)
        before = resident_mb(server.pid)
        search = {"name": "search_memory", "arguments": {"query": "who set the quota 12 of the parser"}}
        ask({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": search})
        during = resident_mb(server.pid)
        time.sleep(6)
        after = resident_mb(server.pid)
        server.stdin.close()
    return {
        "before_mb": round(before),
        "with_model_mb": round(during),
        "given_back_mb": round(after),
        "target_mb": MEMORY_TARGET_MB,
    }


def main() -> None:
    """Measure and print."""
    parts = {"start": start, "layers": layers, "speed": speed, "memory": memory_use}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", nargs="*", choices=list(parts), default=list(parts))
    parser.add_argument("--data", type=Path, help="folder with the sets, for the layers")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    for name in chosen.parts:
        found[name] = layers(chosen.folder, chosen.data) if name == "layers" else parts[name](chosen.folder)
        print(name, json.dumps(found[name]), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
