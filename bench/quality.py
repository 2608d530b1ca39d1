"""How well search finds what was asked, on public sets, through the public Python API.

    python bench/quality.py DATA_FOLDER [--sets NAME …] [--words-only] [--cache FOLDER] [--json FILE]

The data stays where it is. Every figure has its n and a 95% bootstrap interval; "any", "all" and
"fraction" say what a hit means. `--cache` keeps vectors by model and text, for repeated runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bootstrap import interval
from claude_memory import Memory, NewMemory
from claude_memory.embed import Embedder
from claude_memory.lifecycle.consolidate import derive_pending
from measures import Answer, measured, off_topic
from sets import devnotes, locomo, longmemeval, memorycode
from sets.corpus import Corpus

LOADERS: dict[str, Callable[[Path], list[Corpus]]] = {
    "devnotes": devnotes.load,
    "locomo": locomo.load,
    "longmemeval": longmemeval.load,
    "memorycode": memorycode.load,
}
DEPTH = 100  # hits asked for; measures look at the first 5 to 20, session measures at all of them
RELATED = {frozenset({"memorycode", "developer"})}  # both speak of coding rules: not foreign enough
FOREIGN_QUESTIONS = 40  # questions of each other set asked of every corpus


class CachedEmbedder:
    """The product's own embedder behind a folder of vectors, keyed by model and text."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def model(self) -> str:
        return self._inner.model

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._one(text, query=query) for text in texts]

    def _one(self, text: str, *, query: bool) -> bytes:
        name = f"{self.model}\0{query}\0{text}".encode("utf-8", "surrogatepass")
        path = self._folder / hashlib.blake2b(name, digest_size=16).hexdigest()
        if path.exists():
            return path.read_bytes()
        [vector] = self._inner.embed([text], query=query)
        path.write_bytes(vector)
        return vector


def answers(
    home: Path, corpora: list[Corpus], embedder: Embedder | None, settings: Mapping[str, float]
) -> Iterator[Answer]:
    """Feed each corpus to a project of its own; ask its own questions and those of the others."""
    foreign = {corpus.name: foreign_questions(corpus, corpora) for corpus in corpora}
    for number, corpus in enumerate(corpora):
        folder = home / "projects-under-test" / str(number)
        folder.mkdir(parents=True)
        flags = {**settings, **({"embedder": "none"} if embedder is None else {})}
        with Memory.open(home, folder, flags=flags) as memory:
            if embedder is not None:
                memory._embedder = embedder  # loaded once, not once per corpus
            keys = feed(memory, corpus)
            for question in corpus.questions:
                hits = memory.search(question.text, limit=DEPTH, min_relevance=0.0)
                yield Answer(corpus, question, hits, keys)
            for text in foreign[corpus.name]:
                yield Answer(corpus, None, memory.search(text, limit=1), keys)
        print(f"  {corpus.name}: {len(corpus.units)} memories", file=sys.stderr)


def feed(memory: Memory, corpus: Corpus) -> dict[str, str]:
    """Remember every unit; gives the unit's key by memory id."""
    ids = memory.remember_many(
        [
            NewMemory(body=unit.text, title=unit.title, session=unit.session, created_at=unit.when)
            for unit in corpus.units
        ]
    )
    while memory.settings.activation and derive_pending(memory.store, memory.project.id):
        pass  # the graph of a large import is made bit by bit, in slack
    return dict(zip(ids, (unit.key for unit in corpus.units), strict=True))


def foreign_questions(corpus: Corpus, corpora: list[Corpus]) -> list[str]:
    """Questions of other sets, which this corpus cannot answer."""
    family = corpus.name.split()[0]
    asked: dict[str, list[str]] = {}
    for other in corpora:
        if frozenset({other.name.split()[0], family}) not in RELATED and other.name.split()[0] != family:
            texts = [question.text for question in other.questions]
            asked.setdefault(other.name.split()[0], []).extend(texts)
    wanted = FOREIGN_QUESTIONS if len(corpus.questions) > 1 else 4
    return [text for texts in asked.values() for text in _spread(list(dict.fromkeys(texts)), wanted)]


def _spread(texts: list[str], wanted: int) -> list[str]:
    step = max(len(texts) / wanted, 1.0)
    return [texts[int(place * step)] for place in range(min(wanted, len(texts)))]


def run(
    folder: Path, names: Sequence[str], *, words_only: bool, cache: Path | None, activation: float = 0.0
) -> dict[str, object]:
    """All measures of the named sets."""
    corpora = [corpus for name in names for corpus in LOADERS[name](folder)]
    with tempfile.TemporaryDirectory(prefix="quality-") as scratch:
        home = Path(scratch)
        embedder = None if words_only else embedder_for(home, cache)
        started = time.perf_counter()
        given = list(answers(home, corpora, embedder, {"activation": activation}))
        seconds = time.perf_counter() - started
    rows = []
    for name, values in {**measured(given), **off_topic(given)}.items():
        low, high = interval(values)
        mean = sum(values) / len(values)
        rows.append({"measure": name, "value": mean, "n": len(values), "low": low, "high": high})
    mode = "words only" if embedder is None else f"words and meaning ({embedder.model})"
    return {
        "mode": mode,
        "sets": list(names),
        "seconds": seconds,
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "rows": rows,
    }


def embedder_for(home: Path, cache: Path | None) -> Embedder:
    """The product's default embedder, opened once for all corpora."""
    with Memory.open(home, home) as memory:
        embedder = memory.embedder
        if embedder is None:
            raise SystemExit(f"no embedder: {memory.search_mode}")
    return CachedEmbedder(embedder, cache) if cache else embedder


def show(report: dict[str, object]) -> None:
    """The table, for people."""
    load = report["load_average"]
    print(f"{report['mode']}; {report['seconds']:.0f} s; load {load and [round(x, 1) for x in load]}")
    print(f"{'measure':58s} {'figure':>7s} {'n':>5s}  95% interval")
    for row in report["rows"]:
        print(
            f"{row['measure']:58s} {100 * row['value']:7.1f} {row['n']:5d}"
            f"  {100 * row['low']:.1f}–{100 * row['high']:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", choices=list(LOADERS), default=list(LOADERS))
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--activation", type=float, default=0.0, help="what the graph adds, as the setting")
    parser.add_argument("--cache", type=Path, help="folder for vectors of repeated runs")
    parser.add_argument("--json", type=Path, help="write the report here")
    wanted = parser.parse_args()
    present = [name for name in wanted.sets if (wanted.folder / name).is_dir()]
    if not present:
        parser.error(f"none of {', '.join(wanted.sets)} is in {wanted.folder}")
    report = run(
        wanted.folder, present, words_only=wanted.words_only, cache=wanted.cache, activation=wanted.activation
    )
    show(report)
    if wanted.json:
        wanted.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
