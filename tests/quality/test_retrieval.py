"""A small set of our own: search must keep finding what is asked in other words, and keep silent else.

The public sets are measured by bench/quality.py; this one only catches a search that got worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.search.ranking import INJECTION_THRESHOLD

# (note, a question in other words, a question in the same words)
NOTES = [
    ("Passwords are hashed with argon2id; bcrypt hashes are upgraded at the next login.",
     "how do we store user credentials safely", "argon2id bcrypt upgrade login"),
    ("The nightly job dumps the database at 02:00 and restores it into a scratch instance to prove it.",
     "do we know that our backups actually work", "nightly dump restore scratch instance"),
    ("Feature flags live in flags.toml and are read once at start; changing one needs a restart.",
     "why did toggling that switch not do anything until I bounced the process", "feature flags.toml restart"),
    ("Invoices are numbered per country because Italian law forbids gaps in the sequence.",
     "reason for separate counters on bills", "invoice number per country gaps"),
    ("The mobile client retries uploads with exponential backoff, at most six times.",
     "what happens when sending a photo fails on the phone", "upload retry exponential backoff"),
    ("We pinned protobuf below 5 because the generated code broke on Python 3.9.",
     "can I bump the serialization library", "protobuf pin python 3.9"),
    ("Search results are cached in Redis for ninety seconds, keyed by tenant and query.",
     "why do I see stale listings for a minute or so", "search redis cache ninety seconds tenant"),
    ("All timestamps are stored in UTC; the browser converts them for display.",
     "which timezone do we save dates in", "timestamps utc browser"),
    ("The import of supplier catalogues streams rows, since loading the XML whole took 12 GB.",
     "out of memory when reading vendor product files", "supplier catalogue import stream xml"),
    ("Pull requests need one approval, two when they touch the payments folder.",
     "how many reviewers must sign off", "pull request approval payments"),
    ("Logs never contain e-mail addresses; the formatter masks everything that looks like one.",
     "are we leaking personal data in our log files", "logs mask e-mail formatter"),
    ("The websocket gateway drops idle clients after five minutes to save file descriptors.",
     "connection closes by itself when nobody types", "websocket gateway idle clients"),
    ("Integration tests use a real PostgreSQL in a container; SQLite hid a locking bug from us.",
     "why not run the test suite on an in-memory database", "integration tests postgresql container sqlite"),
    ("We chose server-side rendering for the shop pages to be indexed by search engines.",
     "what was the SEO argument for not making it a single page app", "server-side rendering shop indexed"),
    ("Translations are exported from the spreadsheet by tools/i18n_export.py before each release.",
     "where do the strings for other languages come from", "i18n_export translations spreadsheet"),
    ("The rate limiter allows 100 requests a minute per key and answers 429 with Retry-After.",
     "API client gets throttled, what is our quota", "rate limiter 429 retry-after"),
    ("Image thumbnails are made lazily on first view and kept in object storage.",
     "when are the small previews of pictures generated", "thumbnails lazily object storage"),
    ("Cron jobs run on the worker named atlas; the others ignore the schedule.",
     "which machine executes the periodic tasks", "cron worker atlas schedule"),
    ("Prices are integers in cents; floating point cost us a rounding scandal in 2021.",
     "how do we represent money", "prices integer cents rounding"),
    ("The design system's buttons must not be restyled locally; open a ticket with the design team.",
     "may I change the colour of a button in my component", "design system buttons restyle ticket"),
]  # fmt: skip

FOREIGN = [
    "What did Grandma bake for the birthday party?",
    "Which trail did we hike in the Alps last August?",
    "Who won the chess tournament at school?",
    "How should I water my tomato plants in summer?",
    "When does the train to Marseille leave?",
    "What is the name of my neighbour's dog?",
]


@pytest.fixture
def memory(memory_home: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(memory_home, tmp_path) as opened:
        opened.remember_many([NewMemory(body=note) for note, _, _ in NOTES])
        yield opened


def rank_of(memory: Memory, question: str, note: str) -> int:
    bodies = [found.body for found in memory.show([hit.id for hit in memory.search(question, limit=20)])]
    return bodies.index(note) + 1 if note in bodies else 99


def test_questions_in_other_words_find_their_note_among_the_first_three(memory: Memory) -> None:
    ranks = [rank_of(memory, question, note) for note, question, _ in NOTES]
    assert sum(rank <= 3 for rank in ranks) >= 19, ranks
    assert sum(rank == 1 for rank in ranks) >= 16, ranks


def test_questions_in_the_same_words_find_their_note_first(memory: Memory) -> None:
    ranks = [rank_of(memory, question, note) for note, _, question in NOTES]
    assert all(rank == 1 for rank in ranks), ranks


def test_own_questions_are_more_relevant_than_foreign_ones(memory: Memory) -> None:
    def top(question: str) -> float:
        return memory.search(question, limit=1)[0].relevance

    foreign = [top(question) for question in FOREIGN]
    assert max(foreign) < INJECTION_THRESHOLD, foreign
    assert all(top(question) >= INJECTION_THRESHOLD for _, _, question in NOTES)
    # In other words only and among so few notes certainty is out of reach, but not the order.
    own = [top(question) for _, question, _ in NOTES]
    assert sum(value > max(foreign) for value in own) >= 18, (own, foreign)


def test_words_alone_still_find_most_of_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", tmp_path, flags={"embedder": "none"}) as opened:
        opened.remember_many([NewMemory(body=note) for note, _, _ in NOTES])
        ranks = [rank_of(opened, question, note) for note, _, question in NOTES]
        assert all(rank == 1 for rank in ranks), ranks


def test_a_conversation_is_found_by_what_was_said_around_the_answer(memory: Memory) -> None:
    start = datetime(2024, 3, 2, 9, 0, tzinfo=UTC)
    turns = {
        "budget": [
            "Ira: How much may the new staging cluster cost?",
            "Oto: Four hundred a month.",
            "Ira: Fine.",
        ],
        "venue": [
            "Ira: Where do we hold the offsite?",
            "Oto: At the lake house.",
            "Ira: Great, I will book it.",
        ],
    }
    memory.remember_many(
        [
            NewMemory(body=turn, session=session, created_at=start + timedelta(minutes=place))
            for session, said in turns.items()
            for place, turn in enumerate(said)
        ]
    )
    hits = memory.search("what is the monthly cost of the staging cluster", limit=10)
    bodies = [found.body for found in memory.show([hit.id for hit in hits])]
    assert "Oto: Four hundred a month." in bodies[:3]
    assert hits[0].session == "budget"
