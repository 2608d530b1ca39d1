"""How much of what an agent needs to go on is in the summary of a real compaction, and what it costs.

    python -m bench.compactions FOLDER [--labels FILE] [--facts FILE --write FILE]

FOLDER holds transcripts as `<repository>/<agent>/<session>.jsonl`. For every compaction: tokens before and
after, seconds, and with labels the share of facts that stand in the summary, in the one made before the
agent's own summary was there, in what the session is told of that when it goes on, and in the simplest thing
that could work: every spoken turn cut to the same length, to the same size. Labels hold no text of a
session: a fact is the hashes of the words that tell it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from claude_memory.context.file_sections import AFTER, summary_lines
from claude_memory.model import ProjectId
from claude_memory.settings import Settings
from claude_memory.store.model import Message
from claude_memory.summaries import stretches
from claude_memory.summaries.making import tokens_of
from claude_memory.summaries.stretches import Stretch, Transcript
from claude_memory.text import quotation
from claude_memory.text.quotation import about_tokens

WINDOW, STEP = 60, 15  # words: a fact is told where its words stand together
_WORD = re.compile(r"[A-Za-z0-9_'#:./\\-]+")
_PARTS = re.compile(r"[./\\:#'-]+")
_SMALL_PARTS = re.compile(r"[./\\:_#'-]+")


# --- the simplest thing that could work


def clipped(messages: Sequence[Message], first: int, last: int, tokens: int) -> list[str]:
    """Every turn that a person or the agent spoke, cut to the same length, so that all fit."""
    spoken = [
        " ".join(one.text.split())
        for one in messages
        if first <= one.ordinal <= last and (one.speaker == "person" or one.role == "assistant")
    ]
    low, high = 10, 20_000
    while high - low > 2:
        middle = (low + high) // 2
        fits = sum(about_tokens(quotation.clipped(text, middle)) for text in spoken) <= tokens
        low, high = (middle, high) if fits else (low, middle)
    return [quotation.clipped(text, low) for text in spoken]


# --- facts


def words_of(text: str) -> list[set[str]]:
    """The words of a text in order, each with its parts: `a/b_c.go` is also `b_c`, `b`, `c`, `go`."""
    found = []
    for match in _WORD.findall(text):
        word = match.strip("'.:/-#").lower()
        found.append({word, *_PARTS.split(word), *_SMALL_PARTS.split(word)})
    return found


def hashed(word: str) -> str:
    return hashlib.blake2b(word.encode(), digest_size=5).hexdigest()


def label(told: str) -> list[list[list[str]]]:
    """A fact as hashes: ways to tell it, each of words that stand together, each word in any of its forms."""
    return [
        [[hashed(form.lower().strip("#")) for form in word.split("/")] for word in way.split()]
        for way in told.split(" || ")
    ]


def holds(fact: list[list[list[str]]], texts: Sequence[str]) -> bool:
    """Whether one place of the texts says a fact."""
    return any(_says(way, text) for text in texts for way in fact)


def _says(way: list[list[str]], text: str) -> bool:
    words = [{hashed(form) for form in forms} for forms in words_of(text)]
    for start in range(0, max(1, len(words) - WINDOW + 1), STEP):
        near = set().union(*words[start : start + WINDOW])
        if all(any(form in near for form in forms) for forms in way):
            return True
    return False


def texts_of(body: dict[str, Any]) -> list[str]:
    """What a summary says, entry by entry; short lists also as a whole."""
    found = [body["executive"], *(" ".join(body[name]) for name in ("tasks_pending", "tasks_completed"))]
    for name, entries in body.items():
        if isinstance(entries, list):
            found += [_flat(entry) for entry in entries if name != "topics"]
    return found


def _flat(entry: Any) -> str:
    if isinstance(entry, dict):
        return " ".join(_flat(value) for value in entry.values())
    return " ".join(map(_flat, entry)) if isinstance(entry, list) else str(entry)


# --- the run


def compactions(folder: Path) -> Iterator[tuple[str, Transcript, Stretch]]:
    """Every compaction of the folder's sessions: its name, its session, which messages it took."""
    told: set[str] = set()
    for path in sorted(folder.rglob("*.jsonl")):
        if b"ompact" not in path.read_bytes():
            continue
        try:
            found = stretches.read(path, Settings())
        except Exception as fault:  # noqa: BLE001  a bench goes on with the next file
            print(f"{path.name}: {fault}")
            continue
        for stretch in found.stretches:
            name = f"{found.session[:8]} {stretch.boundary}"
            if name not in told:
                told.add(name)
                yield name, found, stretch


def measured(folder: Path, facts: dict[str, list[dict[str, Any]]], *, show: bool) -> list[dict[str, Any]]:
    """Prints a line for each compaction; with facts only those that have some. The facts with verdicts."""
    verdicts: list[dict[str, Any]] = []
    smallest, slowest = 1e9, 0.0
    for name, session, stretch in compactions(folder):
        wanted = facts.get(name, [])
        if facts and not wanted:
            continue
        began = time.perf_counter()
        took = session.material(stretch, ProjectId(""))
        seconds = time.perf_counter() - began
        final = took.summary
        early = session.material(replace(stretch, agent_summary=""), ProjectId("")).summary
        size = tokens_of(final)
        smallest, slowest = min(smallest, took.tokens / size), max(slowest, seconds)
        line = f"{name}  {took.tokens:>7,} → {size:>6,} tokens ({took.tokens / size:5.1f}×)  {seconds:5.2f} s"
        if wanted:
            ways = {
                "summary": texts_of(final),
                "early": texts_of(early),
                "start": summary_lines(early, AFTER),
                "clip": clipped(session.messages, stretch.first, stretch.last, size),
                "early_clip": clipped(session.messages, stretch.first, stretch.last, tokens_of(early)),
                "agent": [stretch.agent_summary],
            }
            for fact in wanted:
                told = {way: holds(fact["words"], texts) for way, texts in ways.items()}
                verdicts.append({**fact, "compaction": name, **told})
                if show and not told["summary"]:
                    line += f"\n    missing: {fact['id']} {fact.get('text', '')}"
            own = [one for one in verdicts if one["compaction"] == name]
            line += "  " + "  ".join(f"{way} {sum(one[way] for one in own)}/{len(own)}" for way in ways)
        print(line)
    print(f"at least {smallest:.1f}× smaller, at most {slowest:.2f} s each")
    return verdicts


def told_facts(path: Path) -> Iterator[dict[str, Any]]:
    """Facts in words: `@SESSION BOUNDARY`, then `kind | words` a line."""
    name, number = "", 0
    for line in path.read_text().splitlines():
        if line.startswith("@"):
            name, number = line[1:].strip(), 0
        elif line.strip() and not line.startswith("#"):
            kind, _, told = line.partition(" | ")
            number += 1
            yield {
                "compaction": name,
                "id": f"{name[:8]}-{number:02d}",
                "kind": kind,
                "words": label(told),
                "text": told,
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=Path, help="facts as hashes")
    parser.add_argument("--facts", type=Path, help="facts in words")
    parser.add_argument("--write", type=Path, help="where the facts of --facts go, as hashes with verdicts")
    given = parser.parse_args()
    known: list[dict[str, Any]] = []
    if given.labels:
        known = [json.loads(line) for line in given.labels.read_text().splitlines()]
    elif given.facts:
        known = list(told_facts(given.facts))
    facts: dict[str, list[dict[str, Any]]] = {}
    for fact in known:
        facts.setdefault(fact["compaction"], []).append(fact)
    verdicts = measured(given.folder, facts, show=bool(given.facts))
    for kind in (*dict.fromkeys(one["kind"] for one in verdicts), ""):
        own = [one for one in verdicts if kind in ("", one["kind"])]
        if own:
            shares = (f"{way} {sum(one[way] for one in own) / len(own):.1%}" for way in _WAYS)
            print(f"{kind or 'all':9} n {len(own):3}  {'  '.join(shares)}")
    if given.write:
        lines = [json.dumps({key: value for key, value in one.items() if key != "text"}) for one in verdicts]
        given.write.write_text("\n".join(lines) + "\n")


_WAYS = ("summary", "clip", "early", "early_clip", "agent", "start")

if __name__ == "__main__":
    main()
