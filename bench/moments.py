"""What real sessions would have been given: at their starts, prompts, first edits, commands and compactions.

    python bench/moments.py FOLDER --out FILE [--kinds start,prompt] [--limit N] [--only ID] [--seed N]
    python bench/moments.py --verdicts tests/quality/data/real/moments.jsonl

FOLDER holds transcripts as `<repository>/<agent>/<session>.jsonl`. Moments are sampled from them and lived
through in order of time: the sessions of the repository are brought in as far as they were written by then,
the clock (libfaketime, `apt-get install faketime`) is set, and the hooks that `claude-memory install` has
registered get the event. All clones of all people become one scratch repository in a scratch home. Starts of
sessions are always played: what was given then is not given again. No MCP server runs, so words alone find
context; `--embedder bundled` makes vectors, in four times the time. Tokens are characters / 4.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import accumulate, dropwhile, zip_longest
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

COUNTS = {"start": 12, "prompt": 60, "known": 30, "new": 10, "command": 40, "compact": 14}
OPTIONS = {"repos": "cli,oh-my-posh", "kinds": "start,prompt,edit,command,compact", "embedder": "none"}
NOT_TYPED = ("isMeta", "isCompactSummary", "toolUseResult", "planContent", "sourceToolUseID")
NOT_A_PERSON = re.compile(
    r"<|/|\[Request interrupted|Caveat: |This session is being continued|Implement the following plan:"
    r"|Base directory for this skill|Stop hook feedback|Operation stopped by hook|$"
)
ADDED = re.compile(r"<(ide_\w+|system-reminder)>.*?</\1>", re.DOTALL)
COMMIT = re.compile(r"^\[[^\]\n]+ [0-9a-f]{7,}\] .+", re.MULTILINE)
PERSON = re.compile(r"(?:/Users|/home|[A-Za-z]:[\\/]+Users)[\\/]+([^\\/]+)")
PASSED_OVER = re.compile(r"(?:\w+=\S*|sudo|timeout|\d+[smh]?)$")  # words before a command
LOOKING = set("cd ls cat grep rg find echo head tail sed awk pwd which wc test tree diff sleep #".split())


class Step(NamedTuple):  # something that was said or done in a session
    place: int
    kind: str  # prompt, queued, refused, reply, edit, command, failed, commit, compact
    text: str
    line: dict[str, str]
    tool: dict[str, Any]


class Session(NamedTuple):
    repo: str
    name: str
    person: str
    lines: list[bytes]  # as they will stand in the scratch home
    times: list[str]  # when each line was written; a fork begins with copies of older ones
    steps: list[Step]
    copied: set[int]  # places of such copies


class Moment(NamedTuple):
    kind: str
    session: Session
    place: int
    at: str
    step: Step

    @property
    def id(self) -> str:
        words = f"{self.kind} {self.session.name} {self.step.line['uuid'] or self.step.place}"
        return hashlib.blake2b(words.encode(), digest_size=4).hexdigest()


def rewriter(folders: Iterable[str], target: Path) -> Callable[[bytes], bytes]:
    """Puts the scratch repository in the place of every clone and worktree, in raw lines."""
    roots: list[str] = []
    for path in sorted(set(folders), key=len):
        above = [root for root in roots if path.startswith((f"{root}/", f"{root}\\"))]
        if not any(("worktrees" in root) == ("worktrees" in path) for root in above):
            roots.append(path)
    joint, ways = r"(?:/|(?:\\\\)+)", []
    for root in reversed(roots):
        drive, *names = map(re.escape, re.split(r"[\\/]+", root))
        windows = joint.join([f"(?:{drive}|/{drive[:1].lower()})", *names])
        ways.append(windows if drive else re.escape(root))
    pattern = re.compile(f"(?:{'|'.join(ways)})(?![\\w-])((?:{joint}[\\w.@-]+)*)".encode())
    return lambda raw: pattern.sub(lambda found: str(target).encode() + found[1].replace(b"\\\\", b"/"), raw)


def read(folder: Path, target: Path) -> list[Session]:
    """A repository's Claude Code sessions by their first line's time; other agents' are one document."""
    paths = sorted((*folder.glob("claude-code/*.jsonl"), *folder.glob("agent/*.jsonl")))
    raw = {path: lines for path in paths if len((lines := path.read_bytes().splitlines(True))[0]) > 2}
    folders = {path: [json.loads(line).get("cwd") or "" for line in lines] for path, lines in raw.items()}
    move = rewriter((cwd for own in folders.values() for cwd in own if cwd), target)
    sessions = []
    for path, old in raw.items():
        named = "".join(PERSON.findall(max(folders[path]))[:1])
        lines = [move(line) for line in old]
        documents = [json.loads(line) for line in lines]
        times = list(accumulate((one.get("timestamp") or "" for one in documents), max))
        times = [at or next(filter(None, times)) for at in times]
        steps = [step for place, one in enumerate(documents) for step in happened(place, one)]
        sessions.append(Session(folder.name, path.stem, named, lines, times, steps, set()))
    sessions.sort(key=lambda one: (one.times[0], one.name))
    known: set[str] = set()
    for session in sessions:
        for step in session.steps:
            late = session.times[step.place][:16] > step.line["timestamp"][:16]  # by minutes
            session.copied.update([step.place] if late or step.line["uuid"] in known else [])
        known |= {step.line["uuid"] for step in session.steps if step.line["uuid"]}
    return sessions


def happened(place: int, line: dict[str, Any]) -> Iterator[Step]:
    """What one line of a transcript says."""
    told = {name: str(line.get(name) or "") for name in ("uuid", "timestamp", "cwd", "gitBranch")}
    if line.get("operation") == "enqueue" and not NOT_A_PERSON.match(str(line.get("content") or "")):
        yield Step(place, "queued", str(line["content"]), told, {})
    if line.get("subtype") == "compact_boundary":
        yield Step(place, "compact", str(line.get("compactMetadata", {}).get("trigger")), told, {})
    if line.get("type") not in ("user", "assistant") or line.get("isSidechain"):
        return
    content: Any = line["message"].get("content") or ""
    blocks: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said = "\n".join(block["text"] for block in blocks if block.get("type") == "text").strip()
    if line["type"] == "assistant" and said:
        yield Step(place, "reply", said, told, {})
    for block in blocks:
        inputs, text = block.get("input") or {}, block.get("content") or ""
        if block.get("name") in ("Edit", "Write", "MultiEdit") and inputs.get("file_path"):
            yield Step(place, "edit", str(inputs["file_path"]), told, block)
        elif block.get("name") == "Bash" and inputs.get("command"):
            yield Step(place, "command", str(inputs["command"]), told, block)
        elif block.get("type") == "tool_result":
            text = text if isinstance(text, str) else "\n".join(str(one.get("text")) for one in text)
            if block.get("is_error") and text.startswith("Exit code"):
                yield Step(place, "failed", text, told, {"id": block.get("tool_use_id")})
            elif block.get("is_error") and "the user said:" in text:
                yield Step(place, "refused", text.split("the user said:", 1)[1].strip(), told, {})
            yield from (Step(place, "commit", commit, told, {}) for commit in COMMIT.findall(text))
    human = line["type"] == "user" and (line.get("origin") or {"kind": "human"})["kind"] == "human"
    typed = ADDED.sub("", said).strip()
    if human and not any(map(line.get, NOT_TYPED)) and not NOT_A_PERSON.match(typed):
        yield Step(place, "prompt", typed, told, {})


def calls(command: str) -> list[str]:
    """The single commands of a line with what they are pointed at, without options and numbers; none that
    only looks. Two lines run the same command if they share one."""
    command = re.sub(r"<<-?\s*['\"]?\w+.*", "", command, flags=re.DOTALL)
    found = []
    for part in re.split(r"&&|\|\||[;|\n]", command):
        words = list(dropwhile(PASSED_OVER.match, part.split()))
        plain = [
            word.strip("'\"") for word in words[1:] if not re.match(r"[-&\d#>]", word) and ">" not in word
        ]
        if words and words[0] not in LOOKING and re.fullmatch(r"[\w.+-]+", words[0]):
            found.append(" ".join([words[0], *plain]))
    return found


def failed_call(command: str, output: str) -> str:
    """The part of a line that failed: the only one, else the last one that the output names."""
    parts = calls(command)
    named = [part for part in parts if re.search(rf"\b{re.escape(part.split()[-1])}\b", output)]
    return (parts if len(parts) == 1 else [*named, ""])[-1] if parts else ""


def candidates(sessions: Sequence[Session], root: Path) -> Iterator[tuple[str, Moment]]:
    """Every moment of a repository that could be taken; first edits are of known files or of new ones."""
    marks: dict[str, dict[str, str]] = defaultdict(dict)  # what was edited or failed → session → when first
    for session in sessions:
        lines = {step.tool["id"]: step.text for step in session.steps if step.kind == "command"}
        for step in session.steps:
            if step.kind in ("edit", "failed"):
                line = lines.get(step.tool["id"], "")
                what = step.text if step.kind == "edit" else failed_call(line, step.text)
                marks[what].setdefault(session.name, session.times[step.place])
    for session in sessions[5:]:  # those before have too little to remember
        met: set[str] = set()

        def known(what: str, at: str, own: str = session.name) -> bool:
            return any(when < at for name, when in marks.get(what, {}).items() if name != own)

        for step in session.steps:
            at = session.times[step.place]
            parts = calls(step.text) if step.kind == "command" else []
            failed = [part for part in parts if known(part, at)]
            what = step.text if step.kind == "edit" else "".join(failed[-1:]) if parts else step.kind
            first, before = what not in met, known(what, at)
            met.add(what)
            moment = Moment(step.kind, session, step.place, at, step)
            kind = step.kind if what and step.place not in session.copied else ""
            if kind == "prompt" and first:
                yield "start", Moment("start", session, 0, session.times[0], step)
            if kind in ("prompt", "compact") or (kind == "command" and first and before):
                yield kind, moment
            elif kind == "edit" and first and root in Path(what).parents:
                yield "known" if before else "new", moment


def spread(moments: Sequence[Moment], chance: random.Random) -> list[Moment]:
    """In an order of chance, repositories taking turns, and in each its people."""
    order = chance.sample(moments, len(moments))
    for names in (("repo", "person"), ("repo",)):
        seen: dict[tuple[str, ...], list[Moment]] = defaultdict(list)
        for one in order:
            seen[tuple(str(getattr(one.session, name)) for name in names)].append(one)
        order = [one for turn in zip_longest(*seen.values()) for one in turn if one]
    return order


def evenly(texts: Sequence[str], size: int) -> str:
    """Every text in one line, all cut to the same length, so that they fit."""
    lines = [" ".join(text.split()) for text in texts]
    width = bisect_right(range(4_000), size, key=lambda n: sum(min(len(line), n) + 2 for line in lines))
    return "\n".join(line[: max(width, 20)] + "…" * (len(line) > width) for line in lines)[:size]


def surroundings(moment: Moment, sessions: Sequence[Session], size: int) -> dict[str, str]:
    """What was said before, what came of it, and what the simplest thing would have given."""
    steps, exchange = moment.session.steps, moment.kind not in ("start", "compact")
    before, later = ([one for one in steps if (one.place < moment.place) is early] for early in (True, False))
    ends = [step.place for step in later if step.kind == "prompt" and step.place > moment.place and exchange]
    later = [step for step in later if not ends or step.place <= ends[0]]  # with what was said to it
    said = {step.text for step in steps if step.kind == "prompt"}
    outcome, baseline = list[str](), ""
    for step, following in zip_longest(later, later[1:]):
        closing = following is None or following.kind in ("prompt", "queued", "compact")
        told = {"reply": closing, "queued": step.text not in said, "edit": False, "command": False}
        outcome += [f"{step.kind}: {step.text}"] * told.get(step.kind, True)
    files = dict.fromkeys(Path(step.text).name for step in later if step.kind == "edit")
    if moment.kind == "start":
        cuts = [[step for step in one.steps if one.times[step.place] < moment.at] for one in sessions]
        cuts = sorted((cut for cut in cuts if cut), key=lambda cut: cut[-1].line["timestamp"])
        baseline = next((step.text for step in reversed(cuts[-1]) if step.kind == "reply"), "")[:3_000]
        before = [step for cut in cuts[-3:] for step in cut if step.kind == "prompt"]
    last = max((step.place for step in before if step.kind == "compact"), default=-1)
    spoken = [step for step in before if step.kind in ("prompt", "queued", "reply") and step.place > last]
    words = [f"{step.kind}: {step.text}" for step in spoken]
    baseline = evenly(words, size) if moment.kind == "compact" else baseline
    after = evenly([*outcome, "edited: " + ", ".join(files)], 3_000)
    return {"before": evenly(words[-6:], 1_800), "after": after, "baseline": baseline}


class Machine:  # one repository in a home of its own, with a clock that is set
    def __init__(self, root: Path, sessions: Sequence[Session], embedder: str) -> None:
        self.home, self.root, self.sessions, self.clock = root.parent, root, sessions, 0.0
        self.projects = self.home / ".claude/projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(root))
        self.projects.mkdir(parents=True)
        self.written: Counter[str] = Counter()  # lines of each session
        library = str(next(Path("/usr").glob("lib*/**/libfaketime.so.1")))  # apt-get install faketime
        places = {"HOME": str(self.home), "CLAUDE_MEMORY_HOME": str(self.home / ".claude/memory")}
        clock = {"LD_PRELOAD": library, "NO_FAKE_STAT": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.environment = {"PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8", **places, **clock}
        paths = [Path(step.text) for one in sessions for step in one.steps if step.kind == "edit"]
        for path in (root / "README.md", *(path for path in paths if root in path.parents)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{path.name}\n")
        address = f"remote add origin https://example.com/team/{root.name}.git"
        for words in ("init -q -b main", address, "add -A -f", "commit -q -m Begin"):
            self.git(words)
        self.commit = self.git("rev-parse HEAD").strip()  # the same in every run
        self.program = str(Path(sys.executable).with_name("claude-memory"))
        for command in (["install", "--json"], ["config", "set", "embedder", embedder]):
            self.run([self.program, *command], sessions[0].times[0])
        self.hooks = json.loads((self.home / ".claude/settings.json").read_text())["hooks"]

    def git(self, words: str) -> str:
        command = ["git", "-c", "user.name=dev", "-c", "user.email=dev", *words.split()]
        return self.run(command, "2026-01-01T00:00:00Z")

    def run(self, command: list[str], at: str, given: str = "") -> str:
        self.clock = max(datetime.fromisoformat(at).timestamp(), self.clock + 2)  # never back: order stays
        clock = {"FAKETIME": f"@{datetime.fromtimestamp(self.clock, UTC):%Y-%m-%d %H:%M:%S}"}
        options = {"cwd": self.root, "env": {**self.environment, **clock}}
        done = subprocess.run(command, **options, input=given.encode(), capture_output=True, check=False)  # type: ignore[call-overload]
        if done.returncode and "update-ref" not in command:  # a branch may be named like another's folder
            sys.exit(f"{command}: {done.stderr.decode()}")
        return str(done.stdout.decode())

    def hook(self, event: str, moment: Moment, **fields: Any) -> tuple[str, float]:
        """What the registered hooks answer, and in how many milliseconds; nothing of theirs runs on."""
        cwd = Path(moment.step.line["cwd"])
        cwd = cwd if cwd.is_dir() and self.root in cwd.parents else self.root
        payload = {"session_id": moment.session.name, "cwd": str(cwd), "hook_event_name": event, **fields}
        payload["transcript_path"] = str(self.projects / f"{moment.session.name}.jsonl")
        given, began, tool = [], time.perf_counter(), str(fields.get("tool_name", ""))
        groups = [one for one in self.hooks.get(event, ()) if re.fullmatch(one.get("matcher") or ".*", tool)]
        for hook in (hook for group in groups for hook in group["hooks"]):
            answer = self.run([hook["command"], *hook.get("args", ())], moment.at, json.dumps(payload))
            given.append(
                json.loads(answer or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
            )
        spent = 1e3 * (time.perf_counter() - began)
        search = f"grep -qasF 'MEMORY_HOME={self.home}/' /proc/[0-9]*/environ"  # twice: an exec shows nothing
        while subprocess.call(f"{search} || (sleep 0.03; {search})", shell=True) == 0:
            time.sleep(0.05)
        return "\n".join(filter(None, given)), spent

    def bring_in(self, moment: Moment) -> None:
        """All that was written before the moment; the session that ended last leaves what a Stop leaves."""
        ended: list[tuple[str, str, Session]] = []
        for session in self.sessions:
            wanted = moment.place if session is moment.session else bisect_left(session.times, moment.at)
            if wanted > self.written[session.name]:
                path, last = self.projects / f"{session.name}.jsonl", session.times[wanted - 1]
                with path.open("ab") as handle:
                    handle.writelines(session.lines[self.written[session.name] : wanted])
                os.utime(path, (datetime.fromisoformat(last).timestamp(),) * 2)
                self.written[session.name] = wanted
                ended += [(last, session.name, session)] if wanted == len(session.lines) else []
        if ended:
            last, _, session = max(ended)
            words = next((step.text for step in reversed(session.steps) if step.kind == "reply"), "")
            self.check_out(session.steps[-1].line["gitBranch"] if session.steps else "")
            self.hook("Stop", moment._replace(session=session, at=last), last_assistant_message=words)
        self.run([self.program, "import", "--json"], moment.at)

    def check_out(self, branch: str) -> None:
        if branch and branch != "HEAD":
            self.git(f"update-ref refs/heads/{branch} {self.commit}")
            self.git(f"symbolic-ref HEAD refs/heads/{branch}")
        else:
            self.git(f"update-ref --no-deref HEAD {self.commit}")

    def live(self, moment: Moment) -> tuple[str, float]:
        """What the agent is given at a moment."""
        self.bring_in(moment)
        step = moment.step
        self.check_out(step.line["gitBranch"])
        if moment.kind == "prompt":
            return self.hook("UserPromptSubmit", moment, prompt=step.text, prompt_id=step.line["uuid"])
        if moment.kind in ("edit", "command"):
            tool = {"tool_name": step.tool["name"], "tool_input": step.tool["input"]}
            return self.hook("PreToolUse", moment, **tool, tool_use_id=step.tool["id"])
        if moment.kind == "compact":
            self.hook("PreCompact", moment, trigger=step.text, custom_instructions="")
        return self.hook("SessionStart", moment, source="startup" if moment.kind == "start" else "compact")

    def source(self, given: str, at: str) -> str:
        """What the memories say that a moment's lines were made from, for who judges them."""
        ids = re.findall(r"\[(m[0-9a-z]{8,})\]", given)
        shown = [self.run([self.program, "show", id_], at)[:3_500] for id_ in dict.fromkeys(ids)]
        return "\n\n".join(shown)

    def records(self, moments: Sequence[Moment]) -> list[dict[str, Any]]:
        """A record for each moment, in order of time."""
        played = {(one.at, one.session.name, one.place, one.kind): one for one in moments}
        for one in moments:
            first = next((step for step in one.session.steps if step.line["cwd"]), one.step)
            start = Moment("start", one.session, 0, one.session.times[0], first)
            played.setdefault((start.at, one.session.name, 0, "start"), start)
        found, record = list[dict[str, Any]](), dict[str, Any]()
        for _, one in sorted(played.items()):
            given, spent = self.live(one)
            texts = {"event": evenly([one.step.text] * (one.kind != "start"), 1_000), "given": given}
            texts |= surroundings(one, self.sessions, len(given) or 3_200)
            texts["source"] = "" if one.kind in ("start", "compact") else self.source(given, one.at)
            record = {"id": one.id, "kind": one.kind, "repo": one.session.repo, "session": one.session.name}
            record |= {"moment": one.at, "person": one.session.person, "branch": one.step.line["gitBranch"]}
            record |= {name: text.replace(str(self.home), "/home/dev") for name, text in texts.items()}
            record |= {"tokens": len(given) // 4, "latency_ms": round(spent)}
            found += [record] if one in moments else []
        return found


def judged(verdicts: Sequence[dict[str, Any]]) -> None:
    """What readers said, sample by sample: of lines, of the baseline beside them, or of whole moments."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    moments = Counter(str(one["sample"]) for one in verdicts)
    for one in verdicts:
        counts[one["sample"]].update(one.get("lines") or {one["verdict"]: 1})
        counts[f"{one['sample']}, baseline"].update(one.get("baseline", {}))
        counts[f"{one['sample']}, use"].update([one["use"]] if "use" in one else [])
    for name, found in sorted(counts.items()):
        found.pop("heading", None)
        shares = "  ".join(f"{word} {n} ({n / found.total():.0%})" for word, n in found.most_common() if n)
        if shares:
            print(f"{name:20} n {found.total():4} in {moments[name.partition(',')[0]]:3} moments   {shares}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="of transcripts")
    parser.add_argument("--out", type=Path, help="a record a line")
    parser.add_argument("--verdicts", type=Path, help="count what readers said")
    for name, default in {**OPTIONS, "limit": 1_000, "only": "", "seed": 1}.items():
        parser.add_argument(f"--{name}", default=default, type=type(default))
    wanted = parser.parse_args()
    if wanted.verdicts:
        judged([json.loads(line) for line in wanted.verdicts.read_text().splitlines()])
        return
    began, found, machines = time.monotonic(), defaultdict[str, list[Moment]](list), list[Machine]()
    with tempfile.TemporaryDirectory(prefix="moments-") as scratch, ThreadPoolExecutor() as pool:
        for repo in wanted.repos.split(","):
            root = Path(scratch, f"home-of-{repo}", repo)
            machines.append(Machine(root, read(wanted.folder / repo, root), wanted.embedder))
            for kind, moment in candidates(machines[-1].sessions, root):
                found[kind].append(moment)
        taken: list[Moment] = []
        for kind, count in COUNTS.items():
            own = spread(found[kind], random.Random(f"{wanted.seed} {kind}"))[: min(count, wanted.limit)]
            taken += [one for one in own if one.kind in wanted.kinds and one.id in (wanted.only or one.id)]
        shares = [[one for one in taken if one.session in machine.sessions] for machine in machines]
        records = [one for own in pool.map(Machine.records, machines, shares) for one in own]
    wanted.out.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records))
    for left in Path("/dev/shm").glob("*faketime_*"):  # libfaketime leaves them when a hook ends at once
        if not Path("/proc", left.name.rpartition("_")[2]).exists():
            left.unlink(missing_ok=True)
    for kind in dict.fromkeys(one["kind"] for one in records):
        tokens = [one["tokens"] for one in records if one["kind"] == kind]
        spoke = [number for number in tokens if number]
        print(f"{kind:8} n {len(tokens):3}  spoke {len(spoke):3}  median {median(spoke or [0]):5.0f} tokens")
    print(f"{time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
