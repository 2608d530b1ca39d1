"""Does search find the real work? Commits, prompts and readers' questions against the sessions behind them.

    python bench/real.py FOLDER --commits commits.jsonl [--questions questions.jsonl --part dev]
    python bench/real.py --git REPOSITORY [--git REPOSITORY …]

Builds one home a repository by `import`, from copies without the calls that committed, and asks it in turn:
commit subject → its session, prompt → earlier sessions that edited the same files, question → its exchange.
BM25 over whole exchanges and the latest sessions stand beside it. Protocol: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bootstrap import interval
from claude_memory import Memory
from claude_memory.embed import Embedder
from claude_memory.model import Hit, MemoryId, SearchScope
from claude_memory.text.words import index_terms, query_terms
from claude_memory.understand.calls import is_scratch
from claude_memory.understand.model import Exchange, from_json, places_of
from quality import embedder_for
from sets.sessions import Repository, copied, from_folder, from_git

EVERYWHERE = SearchScope(None)
SUBJECT_WORDS = 4
PROMPT_CHARACTERS = 25
COMMON_FILE = 0.15  # of sessions; a file that more of them edited tells nothing
EARLIER_SESSIONS = 20
GOLD_SHARE = 0.3  # of the earlier sessions; more, and chance finds one
HITS = 60
K1, B = 1.2, 0.75
SURE = 0.8


@dataclass
class Held:
    """One exchange as it was held: for baselines and for what counts as found."""

    memory: MemoryId
    session: str
    conversation: str
    exchange: Exchange
    words: Counter[str]
    moments: frozenset[datetime]  # of its messages: a fork of a session keeps them, under another id


@dataclass
class Set:
    """A repository's home and what is known of it."""

    repository: Repository
    memory: Memory
    held: list[Held] = field(default_factory=list)
    edited: dict[str, set[str]] = field(default_factory=dict)  # files by session
    began: dict[str, datetime] = field(default_factory=dict)
    ended: dict[str, datetime] = field(default_factory=dict)
    places: dict[MemoryId, set[MemoryId]] = field(default_factory=dict)  # exchanges a memory tells of

    def exchanges_of(self, hits: Sequence[Hit]) -> list[set[MemoryId]]:
        """For each hit the exchanges that it shows: its own, or those that a typed memory came from."""
        found = self.memory.store.memories.find(EVERYWHERE, _ANY, ids=[hit.id for hit in hits])
        known = {memory.id: memory for memory in found}
        shown: list[set[MemoryId]] = []
        for hit in hits:
            spans = places_of(known[hit.id]) if hit.id in known else []
            inside = {
                held.memory
                for held in self.held
                for talk, first, last in spans
                if held.conversation == talk and held.exchange.first <= last and first <= held.exchange.last
            }
            alone = [held.memory for held in self.held if held.session == hit.session]
            shown.append(inside or (set(alone) if hit.kind == "summary" and len(alone) == 1 else set()))
        return shown


def _any_status() -> Any:
    from claude_memory.model import MemoryFilter, Status

    return MemoryFilter(statuses=tuple(Status))


_ANY = _any_status()


def built(repository: Repository, scratch: Path, embedder: Embedder | None, *, cut: bool) -> Set:
    """Import a repository's sessions into a home of its own."""
    copies = scratch / "copies" / repository.name
    if cut:
        copied(repository, copies)
        paths = (copies,)
    else:
        paths = tuple(dict.fromkeys(path.parent for _, path in repository.files))
    folder = scratch / "work" / repository.name
    folder.mkdir(parents=True)
    flags = {"embedder": "none"} if embedder is None else {}
    memory = Memory.open(scratch / "homes" / repository.name, folder, flags=flags)
    if embedder is not None:
        memory._embedder = embedder
    memory.import_history(paths, workers=1)
    memory.embed_pending()
    made = Set(repository, memory)
    for talk in memory.archive.conversations(EVERYWHERE):
        session = talk.parent or talk.session
        for id_, first, last, record in memory.archive.exchanges(talk.number):
            messages = memory.archive.messages(talk.number, first=first, last=last)
            words = Counter(
                term
                for message in messages
                if message.role in ("user", "assistant", "summary", "task")
                for term in index_terms(message.text)
            )
            exchange = from_json(record)
            moments = frozenset(message.at for message in messages)
            made.held.append(Held(id_, session, talk.session, exchange, words, moments))
            files = {name for name, _ in exchange.files_edited if not is_scratch(name)}
            made.edited.setdefault(session, set()).update(files)
            made.began[session] = min(made.began.get(session, exchange.began), exchange.began)
            made.ended[session] = max(made.ended.get(session, exchange.ended), exchange.ended)
    return made


class Bm25:
    """The simplest thing that could work: whole exchanges by their words, nothing else."""

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = held
        self._lengths = [sum(one.words.values()) for one in held]
        self._mean = sum(self._lengths) / max(len(held), 1)
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        for place, one in enumerate(held):
            for term in one.words:
                self._postings[term].append(place)

    def ranked(self, question: str, allowed: Callable[[Held], bool]) -> list[Held]:
        """Exchanges that share a word, best first."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in query_terms(question):
            places = self._postings.get(term, [])
            rarity = math.log(1 + (len(self._held) - len(places) + 0.5) / (len(places) + 0.5))
            for place in places:
                times = self._held[place].words[term]
                norm = K1 * (1 - B + B * self._lengths[place] / self._mean)
                scores[place] += rarity * times * (K1 + 1) / (times + norm)
        order = sorted(scores, key=lambda place: -scores[place])
        return [self._held[place] for place in order if allowed(self._held[place])]


def asked_of(made: Set, question: str, moment: datetime | None = None) -> list[Hit]:
    """The hits that a person would have got at a moment, by default right after the last session."""
    until = moment or max(made.ended.values())
    return made.memory.search(question, limit=HITS, all_projects=True, until=until, min_relevance=0.0)


def first_sessions(sessions: Iterable[str | None]) -> list[str]:
    """Each session once, at its best place."""
    return list(dict.fromkeys(session for session in sessions if session))


def commit_to_session(made: Set, bm25: Bm25) -> Iterator[dict[str, Any]]:
    """The subject of a commit, and whether its session comes first."""
    for commit in made.repository.commits:
        gold = commit.sessions & made.began.keys()
        if len(commit.subject.split()) < SUBJECT_WORDS or not gold:
            continue
        hits = asked_of(made, commit.subject)
        others = bm25.ranked(commit.subject, lambda _: True)
        latest = sorted(made.ended, key=lambda session: made.ended[session], reverse=True)
        yield {
            "question": commit.subject,
            "at": commit.at,
            "gold": sorted(gold),
            "ours": first_sessions(hit.session for hit in hits),
            "BM25": first_sessions(held.session for held in others),
            "latest": latest,
        }


def prompt_to_sessions(made: Set, bm25: Bm25) -> Iterator[dict[str, Any]]:
    """A prompt, and whether earlier sessions that edited the files it led to come first."""
    sessions_of: Counter[str] = Counter(name for files in made.edited.values() for name in files)
    rare = {name for name, count in sessions_of.items() if count <= COMMON_FILE * len(made.edited)}
    for held in made.held:
        exchange = held.exchange
        typed = exchange.request.strip()
        files = {name for name, _ in exchange.files_edited if name in rare}
        if held.session != held.conversation or len(typed) < PROMPT_CHARACTERS or not files:
            continue
        moment = exchange.began
        earlier = {one for one, at in made.began.items() if at < made.began[held.session]}
        gold = {one for one in earlier if files & made.edited[one]}
        if len(earlier) < EARLIER_SESSIONS or not gold or len(gold) > GOLD_SHARE * len(earlier):
            continue
        hits = asked_of(made, typed, moment)
        others = bm25.ranked(typed, lambda one, earlier=earlier: one.session in earlier)  # type: ignore[misc]
        yield {
            "question": typed,
            "gold": sorted(gold),
            "ours": [one for one in first_sessions(hit.session for hit in hits) if one in earlier],
            "BM25": first_sessions(one.session for one in others),
            "latest": sorted(earlier, key=lambda session: made.ended[session], reverse=True),
            "chance": len(gold) / len(earlier),
        }


def question_to_exchange(
    made: Set, bm25: Bm25, asked: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """A reader's question, and whether the exchange that answers it comes first."""
    for told in asked:
        gold = {held.memory for held in made.held if _answers(held, told)}
        hits = asked_of(made, told["question"])
        others = bm25.ranked(told["question"], lambda _: True)
        yield {
            "question": told["question"],
            "durable": told.get("durable", False),
            "id": told["id"],
            "gold": sorted(gold),
            "ours": [_first(shown, gold) for shown in made.exchanges_of(hits)],
            "BM25": [held.memory for held in others],
            "relevance": [hit.relevance for hit in hits],
            "hits": [(hit.kind, hit.relevance, hit.title, hit.snippet) for hit in hits[:8]],
            "session": [hit.session for hit in hits],
            "gold_session": told["session"],
        }


def _first(shown: set[MemoryId], gold: set[MemoryId]) -> str:
    return min(shown & gold, default=min(shown, default=""))


def _answers(held: Held, told: Mapping[str, Any]) -> bool:
    """Whether the prompt that a reader named, or another that answers too, stands in the exchange."""
    if told["session"] in (held.session, held.conversation):
        return any(held.exchange.began <= at <= held.exchange.ended for at in told["moments"])
    return not held.moments.isdisjoint(told["moments"])


def with_moments(asked: Sequence[dict[str, Any]]) -> None:
    """When the prompts that answer were typed."""
    for told in asked:
        told["moments"] = [_moment(text) for text in told["moments"]]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# --- figures


def any_at(found: Sequence[str], gold: Iterable[str], k: int) -> float:
    wanted = set(gold)
    return float(any(one in wanted for one in found[:k]))


def table(
    name: str, rows: Sequence[dict[str, Any]], places: Sequence[int], ways: Sequence[str]
) -> list[dict[str, Any]]:
    """One line a way and depth: mean, n and interval; and what ours is above BM25, question by question."""
    figures = []
    for k in places:
        hit = {way: [any_at(row[way], row["gold"], k) for row in rows] for way in ways}
        for way in ways:
            figures.append(_figure(f"{name} @{k} {way}", hit[way]))
        difference = [a - b for a, b in zip(hit["ours"], hit["BM25"], strict=True)]
        figures.append(_figure(f"{name} @{k} ours above BM25", difference))
    return figures


def _findable(row: Mapping[str, Any], k: int) -> bool:
    """Whether either way has the session, or a reader found the commit's work in it."""
    hit = any(any_at(row[way], row["gold"], k) for way in ("ours", "BM25"))
    return bool(row.get("verdict")) and (hit or row["verdict"] == "a")


def _figure(name: str, values: Sequence[float]) -> dict[str, Any]:
    low, high = interval(values)
    mean = sum(values) / len(values) if values else 0.0
    return {"measure": name, "value": mean, "n": len(values), "low": low, "high": high}


def report(results: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    figures = table("commit → session", results["commits"], (1, 5), ("ours", "BM25", "latest"))
    for k in (1, 5):
        judged = [row for row in results["commits"] if _findable(row, k)]
        figures += table("findable commit → session", judged, (k,), ("ours", "BM25"))
    figures += table("prompt → same files", results["prompts"], (3, 10), ("ours", "BM25", "latest"))
    if results["prompts"]:
        figures.append(
            _figure("prompt → same files, chance @1", [row["chance"] for row in results["prompts"]])
        )
    if results["questions"]:
        figures += table("question → exchange", results["questions"], (1, 5), ("ours", "BM25"))
        durable = [row for row in results["questions"] if row["durable"]]
        figures += table("durable → exchange", durable, (5,), ("ours", "BM25"))
        right = [
            float(found in row["gold"])
            for row in results["questions"]
            for found, value in list(zip(row["ours"], row["relevance"], strict=True))[:5]
            if value >= SURE
        ]
        figures.append(_figure(f"shown ≥ {SURE} among the first five: right", right))
        own = [float(max(row["relevance"], default=0.0) >= SURE) for row in results["questions"]]
        figures.append(_figure(f"own question, best hit ≥ {SURE}", own))
        foreign = [float(row["top"] >= SURE) for row in results["foreign"]]
        figures.append(_figure(f"foreign question, best hit ≥ {SURE}", foreign))
    return figures


def show(figures: Sequence[Mapping[str, Any]], title: str) -> None:
    print(f"\n{title}\n{'measure':48s} {'figure':>7s} {'n':>5s}  95% interval")
    for row in figures:
        if row["n"]:
            print(
                f"{row['measure']:48s} {100 * row['value']:7.1f} {row['n']:5d}"
                f"  {100 * row['low']:.1f}–{100 * row['high']:.1f}"
            )


def measured(
    repositories: Sequence[Repository],
    asked: Sequence[Mapping[str, Any]],
    scratch: Path,
    embedder: Embedder | None,
    *,
    wanted: Sequence[str],
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Results by repository."""
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for repository in repositories:
        started = time.perf_counter()
        made = built(repository, scratch, embedder, cut=True)
        bm25 = Bm25(made.held)
        own = [told for told in asked if told["repo"] == repository.name]
        others = [told for told in asked if told["repo"] != repository.name]
        results[repository.name] = {
            "commits": list(commit_to_session(made, bm25)) if "commits" in wanted else [],
            "prompts": list(prompt_to_sessions(made, bm25)) if "prompts" in wanted else [],
            "questions": list(question_to_exchange(made, bm25, own)) if "questions" in wanted else [],
            "foreign": list(foreign(made, others)) if "questions" in wanted else [],
        }
        made.memory.close()
        seconds = time.perf_counter() - started
        print(
            f"  {repository.name}: {len(made.began)} sessions, {len(made.held)} exchanges, {seconds:.0f} s",
            file=sys.stderr,
        )
    return results


def foreign(made: Set, asked: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Questions about other repositories: what is shown must look as doubtful as it is."""
    for told in asked:
        hits = asked_of(made, told["question"])
        yield {
            "question": told["question"],
            "top": hits[0].relevance if hits else 0.0,
            "title": hits[0].title if hits else "",
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="<repository>/<agent>/<session>.jsonl")
    parser.add_argument(
        "--git", type=Path, action="append", default=[], help="a repository with the branch of checkpoints"
    )
    parser.add_argument("--commits", type=Path, help="JSON lines: repo, subject, sessions")
    parser.add_argument(
        "--questions", type=Path, help="JSON lines: id, part, repo, session, moments, durable, question"
    )
    parser.add_argument(
        "--verdicts", type=Path, help="JSON lines: repo, at, verdict of commits that were missed"
    )
    parser.add_argument("--part", default="dev", help="which part of the questions")
    parser.add_argument("--only", nargs="+", default=["commits", "prompts", "questions"])
    parser.add_argument("--repositories", nargs="+", help="only these")
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--cache", type=Path, help="folder for vectors of repeated runs")
    parser.add_argument("--json", type=Path, help="write every result here")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="real-") as name:
        scratch = Path(name)
        repositories = from_folder(chosen.folder, chosen.commits) if chosen.folder else []
        repositories += [from_git(directory, scratch / "git") for directory in chosen.git]
        repositories = [
            one for one in repositories if not chosen.repositories or one.name in chosen.repositories
        ]
        if not repositories:
            parser.error("no sessions: name a folder of them, or a repository with --git")
        asked = (
            [json.loads(line) for line in chosen.questions.read_text("utf-8").splitlines()]
            if chosen.questions
            else []
        )
        asked = [told for told in asked if told.get("part", chosen.part) == chosen.part]
        with_moments(asked)
        embedder = None if chosen.words_only else embedder_for(scratch / "model", chosen.cache)
        results = measured(repositories, asked, scratch, embedder, wanted=chosen.only)
    for line in chosen.verdicts.read_text("utf-8").splitlines() if chosen.verdicts else ():
        told = json.loads(line)
        for row in results.get(told["repo"], {}).get("commits", ()):
            row.setdefault("verdict", "hit")
            if row["at"] == told["at"]:
                row["verdict"] = told["verdict"]
    for name, parts in results.items():
        show(report(parts), name)
    together = {
        key: [row for parts in results.values() for row in parts[key]]
        for key in ("commits", "prompts", "questions", "foreign")
    }
    show(report(together), f"all repositories; load {os.getloadavg()[0]:.1f}")
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1, ensure_ascii=False, default=str) + "\n", "utf-8")


if __name__ == "__main__":
    main()
