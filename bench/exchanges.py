"""What exchanges are made of real sessions: counts, titles, commits; and samples to read.

    python bench/exchanges.py FOLDER [--commits commits.jsonl] [--sample N --seed S --agent A]

FOLDER holds `<repository>/<agent>/<session>.jsonl`; `commits.jsonl` says which sessions each commit came
from. Nothing is written and nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from claude_memory.capture.messages import CALL_CHARACTERS, RESULT_CHARACTERS
from claude_memory.capture.parse import bound_text
from claude_memory.model import SessionId
from claude_memory.store.model import Message
from claude_memory.transcripts.model import Role, Turn
from claude_memory.transcripts.readers import READERS
from claude_memory.transcripts.sources import described
from claude_memory.understand.calls import rendered
from claude_memory.understand.exchanges import exchanges, record, session_text
from claude_memory.understand.model import Exchange
from claude_memory.understand.titles import search_text, telling_words, title
from speakers import turns

AGENTS = {"agent": "claude-code"}  # a folder's name where it is not the agent's
FORBIDDEN = re.compile(
    r"analysis\W*$|implement the following plan|\(no title\)|unanswered prompt|short reply|done\W*$"
    r"|here'?s (?:a|the) summary|(?:all )?tests pass\W*$|perfect\W*$|(?:yes|ok|sure|thanks?)\W*$",
    re.IGNORECASE,
)


def messages(found: Iterable[Turn], session: str) -> Iterator[Message]:
    """Turns as the archive keeps them, but for what is redacted."""
    tools: dict[str, str] = {}
    for ordinal, turn in enumerate((one for one in found if one.session == session), 1):
        text = turn.text
        if turn.role is Role.CALL:
            tools[turn.call] = turn.tool
            text = bound_text(rendered(turn.given), CALL_CHARACTERS)
        elif turn.role is Role.RESULT:
            text = bound_text(text, RESULT_CHARACTERS)
        yield Message(
            number=ordinal,
            conversation=1,
            ordinal=ordinal,
            role=turn.role.value,
            at=turn.at,
            text=text,
            tool=turn.tool or tools.get(turn.call, ""),
            call=turn.call,
            failed=turn.failed,
            speaker=turn.speaker.value,
            manner=turn.manner.value,
            branch=turn.branch,
        )


def read(root: Path, agent: str = "") -> Iterator[tuple[str, str, str, str, list[Message]]]:
    """Repository, agent, session, folder and messages of every session below a folder."""
    for path in sorted(root.rglob("*.jsonl")):
        name = AGENTS.get(path.parent.name, path.parent.name)
        source = described(name, path)
        if name in READERS and source is not None and agent in ("", name):
            found = list(turns(source))
            for session in dict.fromkeys(turn.session for turn in found):
                cwd = next((turn.cwd for turn in found if turn.session == session and turn.cwd), "")
                yield path.parent.parent.name, name, session, cwd, list(messages(found, session))


def main() -> None:
    """Print the figures, then the samples that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=Path)
    parser.add_argument("--agent", default="")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--titles", action="store_true", help="print every title")
    wanted = parser.parse_args()
    made: list[tuple[str, str, Exchange]] = []
    per_session: dict[str, list[Exchange]] = {}
    spent = 0.0
    for repository, agent, session, cwd, kept in read(wanted.folder, wanted.agent):
        began = time.process_time()
        found = exchanges(SessionId(session), kept, cwd)
        for one in found:
            title(one), search_text(one)
        if found:
            session_text(record(SessionId(session), found))
        spent += time.process_time() - began
        per_session[session] = found
        made += [(repository, agent, one) for one in found]
    report(made, per_session, spent)
    if wanted.commits:
        report_commits(wanted.commits, per_session)
    if wanted.titles:
        for repository, agent, one in made:
            print(f"{repository}/{agent} {one.session[:8]}:{one.first} {title(one)}")
    for repository, agent, one in random.Random(wanted.seed).sample(made, min(wanted.sample, len(made))):
        show(repository, agent, one)


def report(
    made: list[tuple[str, str, Exchange]], per_session: dict[str, list[Exchange]], spent: float
) -> None:
    """Counts over all exchanges, and by agent."""
    counts = [len(found) for found in per_session.values() if found]
    print(f"{len(made)} exchanges in {len(counts)} sessions; CPU {spent:.1f} s")
    middle, mean = statistics.median(counts), statistics.mean(counts)
    print(f"a session: median {middle}, mean {mean:.1f}, most {max(counts)}")
    for name in ("", *sorted({agent for _, agent, _ in made})):
        ours = [one for _, agent, one in made if name in ("", agent)]
        bad = [one for one in ours if FORBIDDEN.match(title(one)) or telling_words(title(one)) < 1]
        texts = [len(search_text(one)) for one in ours]
        print(
            f"{name or 'all':12} n {len(ours):5}"
            f"  asked by a person {share(ours, lambda one: bool(one.asked))}"
            f"  closing words {share(ours, lambda one: bool(one.closing))}"
            f"  edits {share(ours, lambda one: bool(one.files_edited))}"
            f"  empty or forbidden titles {len(bad)}  search text median {statistics.median(texts):.0f}"
        )
    print("outcomes", dict(Counter(one.outcome.value for _, _, one in made)))


def share(ours: list[Exchange], holds: object) -> str:
    """How many in a hundred."""
    assert callable(holds)
    return f"{100 * sum(map(holds, ours)) / max(1, len(ours)):.0f}%"


def report_commits(path: Path, per_session: dict[str, list[Exchange]]) -> None:
    """How many of the repository's commits are known from the sessions that made them."""
    listed = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    listed = [one for one in listed if set(one["sessions"]) & set(per_session)]
    known = {
        session: {commit.subject for one in found for commit in one.commits}
        for session, found in per_session.items()
    }
    hits = 0
    for one in listed:
        subject = re.sub(r" \(#\d+\)$", "", one["subject"])  # a merged pull request adds its number
        hits += any(subject in known.get(name, ()) for name in one["sessions"])
    everything = sum(len(subjects) for subjects in known.values())
    print(f"commits: {hits} of {len(listed)} subjects of the repositories' history; {everything} seen in all")


def show(repository: str, agent: str, one: Exchange) -> None:
    """One exchange, to be read beside its transcript."""
    print(
        f"\n=== {repository}/{agent} {one.session} {one.first}-{one.last} {one.outcome.value} [{one.branch}]"
    )
    print(f"TITLE  {title(one)}")
    for spoken in one.asked:
        print(
            f"ASKED  ({spoken.manner}) {spoken.words[:400]!r} pasted {len(spoken.pasted)}"
            f" question {spoken.question[:120]!r}"
        )
    print(f"HANDED {one.handed[:120]!r} PLAN {one.plan[:80]!r}")
    print(f"DONE   edited {one.files_edited[:5]} read {len(one.files_read)} ran {len(one.commands)}")
    print(f"       commits {[commit.subject for commit in one.commits]} prs {one.pull_requests}")
    print(f"       tasks {[(task.title, task.status) for task in one.tasks][:5]}")
    print(f"       uncommitted {one.uncommitted[:4]}")
    print(f"       failing {[(ran.command, ran.error[:120]) for ran in one.failing]}")
    print(f"SAID   {[text[:100] for text in one.said[-3:]]}")
    print(f"CLOSE  {one.closing[:700]!r}")


if __name__ == "__main__":
    main()
