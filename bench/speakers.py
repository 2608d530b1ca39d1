"""Who speaks in real sessions, as the readers tell it: counts by agent, speaker and manner, and samples.

    python bench/speakers.py FOLDER [--sample N] [--seed S] [--speaker person] [--manner queued]

FOLDER holds `<repository>/<agent>/<session>.jsonl`. Nothing is written and nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.transcripts import sources
from claude_memory.transcripts.model import Reader, Role, SourceFile, Turn
from claude_memory.transcripts.readers import READERS
from claude_memory.transcripts.sources import described
from claude_memory.understand.typed import typed_words

AGENTS = {"agent": "claude-code"}  # a folder's name where it is not the agent's


class Heard(NamedTuple):
    """One turn and the session it is from."""

    repository: str
    agent: str
    session: str
    turn: Turn


def heard(root: Path) -> Iterator[Heard]:
    """Every turn of every session below a folder."""
    for path in sorted(root.rglob("*.jsonl")):
        agent = AGENTS.get(path.parent.name, path.parent.name)
        source = described(agent, path)
        if agent in READERS and source is not None:
            for turn in turns(source):
                yield Heard(path.parent.parent.name, agent, path.stem, turn)


def turns(source: SourceFile) -> Iterator[Turn]:
    """A session's turns; some agents' sessions are one document instead of lines."""
    reader = READERS[source.agent](source, {})
    for document in sources.whole(source) if sources.is_whole(source) else _lines(source, reader):
        yield from reader.feed(document)
    yield from reader.finish()


def _lines(source: SourceFile, reader: Reader) -> Iterator[Mapping[str, Any]]:
    with sources.open_stream(source.path) as handle:
        for line in sources.lines(handle):
            if line.raw and not reader.is_bookkeeping(line.raw) and (found := sources.json_object(line.raw)):
                yield found


def main() -> None:
    """Print the counts, then the samples that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speaker", default="")
    parser.add_argument("--manner", default="")
    parser.add_argument("--agent", default="")
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--pasted", action="store_true", help="only prompts of which a part was pasted")
    wanted = parser.parse_args()
    counts: Counter[tuple[str, str, str, str]] = Counter()
    samples: list[Heard] = []
    for one in heard(wanted.folder):
        counts[one.agent, one.turn.role, one.turn.speaker, one.turn.manner] += 1
        fits = (
            (not wanted.speaker or one.turn.speaker in wanted.speaker.split(","))
            and (not wanted.manner or one.turn.manner in wanted.manner.split(","))
            and (not wanted.agent or one.agent == wanted.agent)
            and (one.turn.role in (Role.USER, Role.TASK) or one.turn.manner in ("answer", "rejection"))
            and (not wanted.pasted or typed_words(one.turn.text)[1])
        )
        if wanted.sample and fits:
            samples.append(one)
    for (agent, role, speaker, manner), count in sorted(counts.items()):
        print(f"{agent:12} {role:10} {speaker:8} {manner:20} {count:7,}")
    for one in random.Random(wanted.seed).sample(samples, min(wanted.sample, len(samples))):
        own, pasted = typed_words(one.turn.text) if wanted.pasted else (one.turn.text, ())
        print(f"\n[{one.repository} {one.agent} {one.session[:8]} {one.turn.speaker} {one.turn.manner}]")
        print(own[: wanted.width].replace("\n", " ⏎ "))
        for part in pasted:
            print(f"   | {part[: wanted.width]!r}")


if __name__ == "__main__":
    main()
