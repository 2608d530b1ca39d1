"""Every operation of the product on one home at once, killed at random moments, then held to its promises.

Each round has its weather: calm, a disk that is full now and then, a file system that is read-only now and
then or refuses locks, a clock that jumps 400 days and back. Run as a program: `storm.py FOLDER KILLS SEED WEATHER…`; prints a report as JSON. It loads the package once and forks
a child for each operation, which then runs the real entry point (the hook's `main`, the command's `main`,
the detached drain), so that a kill costs the operation and not a start of the interpreter.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

WIDTH = 4  # operations at the same time
LARGEST_ROUND = 250  # kills on one home: a larger one would only make every operation slower
SMALLEST_ROUND = 45
DISK_BYTES = 24_000_000
CLOCK = "FAKETIME_TIMESTAMP_FILE"
FAKE_CLOCK = "/usr/lib/*/faketime/libfaketime.so.1"
KILLED = 0.75  # the others may finish, and what they acknowledge must stay
STOPPED = 0.04
WEIGHTS = {
    "hook": 28, "drain": 18, "remember": 10, "import": 12, "consolidate": 8, "reindex": 8, "backup": 6,
    "restore": 6, "erase": 4,
}  # fmt: skip
TYPICAL = 0.15  # seconds, until an operation was seen to finish
AN_HOUR_AGO = 2 * 3600


@dataclass
class Job:
    """One child."""

    operation: str
    name: str
    output: Path
    started: float
    kill_at: float | None
    stop_at: float | None = None
    continue_at: float | None = None
    about: Any = None


@dataclass
class Round:
    """One home and what was acknowledged on it."""

    folder: Path
    chance: random.Random
    weather: str = "calm"
    kills: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    events_tried: set[str] = field(default_factory=set)
    events: set[str] = field(default_factory=set)
    notes_tried: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)  # text → id
    erased: set[str] = field(default_factory=set)
    perhaps_erased: set[str] = field(default_factory=set)
    talks: dict[str, list[str]] = field(default_factory=dict)
    backups: list[tuple[Path, set[str]]] = field(default_factory=list)
    restored: list[set[str]] = field(default_factory=list)
    stopped: int = 0
    count: int = 0
    bad: bool = False  # the disk is full, or read-only
    changes_at: float = 0.0
    changes: int = 0

    def __post_init__(self) -> None:
        self.user, self.work, self.disk = (self.folder / name for name in ("user", "work", "disk"))
        self.home, self.other = self.disk / "memory", self.folder / "other" / "memory"
        self.outputs, self.archives = self.folder / "outputs", self.folder / "archives"
        for folder in (self.user, self.work, self.disk, self.home, self.other, self.outputs, self.archives):
            folder.mkdir(parents=True, mode=0o700)
            if folder == self.disk and self.weather in ("full", "readonly"):
                mount(self.disk, f"size={DISK_BYTES}")
        for home in (self.home, self.other):
            (home / "config.toml").write_text('embedder = "none"\nimport_in_drain_seconds = 0\n')

    # --- the storm

    def run(self, kills: int, typical: dict[str, float]) -> None:
        running: dict[int, Job] = {}
        while sum(self.kills.values()) < kills and not self.failures:
            wants_quiet = self.change_weather(running)
            while len(running) < WIDTH and not wants_quiet:
                job = self.next_job(running, typical)
                running[self.fork(job)] = job
            self.strike(running)
            self.reap(running, typical)
            time.sleep(0.001)
        for job in running.values():
            job.kill_at, job.stop_at = 0.0, None
        while running:
            self.strike(running)
            self.reap(running, typical)
            time.sleep(0.001)
        self.clear_up()

    def change_weather(self, running: dict[int, Job]) -> bool:
        """Let the weather turn now and then; True if that has to wait until nobody is at work."""
        now = time.monotonic()
        if self.weather in ("calm", "nolock") or now < self.changes_at:
            return False
        if self.weather == "readonly" and running:  # no file system becomes read-only under a writer
            return True
        self.bad = not self.bad
        self.changes += 1
        if self.weather == "full":
            ballast = self.disk / "ballast"
            fill(ballast) if self.bad else ballast.unlink()
        elif self.weather == "readonly":
            mount(self.disk, "remount,ro" if self.bad else f"remount,rw,size={DISK_BYTES}")
        else:
            set_clock(self.chance.choice((400, -400)) if self.bad else 0)
        self.changes_at = now + self.chance.uniform(0.1, 0.6)
        return False

    def clear_up(self) -> None:
        """Good weather for the end."""
        if self.bad and self.weather == "full":
            (self.disk / "ballast").unlink()
        elif self.bad and self.weather == "readonly":
            mount(self.disk, f"remount,rw,size={DISK_BYTES}")
        elif self.weather == "clock":
            set_clock(0)
        self.bad = False

    def remove(self) -> None:
        if self.weather in ("full", "readonly"):
            subprocess.run(["umount", "-l", str(self.disk)], check=True)
        os.chdir("/")
        shutil.rmtree(self.folder)

    def next_job(self, running: dict[int, Job], typical: dict[str, float]) -> Job:
        names = list(WEIGHTS)
        operation = self.chance.choices(names, [WEIGHTS[name] for name in names])[0]
        busy = {job.operation for job in running.values()}
        if (operation == "restore" and (not self.backups or "restore" in busy)) or (
            operation == "erase" and not self.free_notes(running)
        ):
            operation = "hook"
        self.count += 1
        now = time.monotonic()
        killed = self.chance.random() < KILLED
        delay = self.chance.uniform(0, 1.5 * typical.get(operation, TYPICAL))
        job = Job(
            operation,
            f"n{self.count}",
            self.outputs / f"{self.count}",
            now,
            now + delay if killed else None,
            now + delay / 2 if self.chance.random() < STOPPED else None,
        )
        self.prepare(job, running)
        return job

    def free_notes(self, running: dict[int, Job]) -> list[str]:
        taken = {job.about for job in running.values() if job.operation == "erase"}
        return sorted(self.notes.keys() - self.erased - self.perhaps_erased - taken)

    def prepare(self, job: Job, running: dict[int, Job]) -> None:
        """What has to be known before the child starts."""
        if job.operation == "hook":
            self.events_tried.add(job.name)
        elif job.operation == "remember":
            job.about = (
                f"note {job.name} says that the {job.name} of the harbour is painted in {job.name} colours"
            )
            self.notes_tried.add(job.about)
        elif job.operation == "import":
            if self.chance.random() < 0.4:
                self.write_talk(job.name)
            job.about = list(self.talks)
        elif job.operation == "backup":
            job.about = (self.archives / f"{job.name}.zip", stored(self.home))
        elif job.operation == "restore":
            job.about = self.chance.choice(self.backups)
        elif job.operation == "erase":
            job.about = self.chance.choice(self.free_notes(running))

    def write_talk(self, name: str) -> None:
        """A conversation of another agent's, as its own file keeps it."""
        said = [f"turn {turn} of talk {name} " + "about the harbour and its lamps " * 6 for turn in range(6)]
        lines = []
        for turn, text in enumerate(said):
            role = "user" if turn % 2 == 0 else "assistant"
            content: Any = text if role == "user" else [{"type": "text", "text": text}]
            lines.append(
                {
                    "type": role,
                    "uuid": f"{name}-{turn}",
                    "parentUuid": f"{name}-{turn - 1}" if turn else None,
                    "sessionId": f"talk-{name}",
                    "cwd": str(self.work),
                    "timestamp": f"2026-10-01T09:00:{turn:02d}.000Z",
                    "message": {"role": role, "content": content, "id": f"msg-{name}-{turn}"},
                    **({"promptId": f"{name}-p{turn}"} if role == "user" else {}),
                }
            )
        path = self.user / ".claude" / "projects" / "-work" / f"talk-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.talks[f"talk-{name}"] = said

    def strike(self, running: dict[int, Job]) -> None:
        now = time.monotonic()
        for pid, job in running.items():
            with contextlib.suppress(ProcessLookupError):
                if job.stop_at is not None and now >= job.stop_at:
                    os.kill(pid, signal.SIGSTOP)
                    self.stopped += 1
                    # It is killed while it stands still, or goes on much later.
                    goes_on = self.chance.random() < 0.5
                    job.stop_at, job.kill_at = None, None if goes_on else now + 0.3
                    job.continue_at = now + 0.3 if goes_on else None
                elif job.continue_at is not None and now >= job.continue_at:
                    os.kill(pid, signal.SIGCONT)
                    job.continue_at = None
                if job.kill_at is not None and now >= job.kill_at:
                    os.kill(pid, signal.SIGKILL)

    def reap(self, running: dict[int, Job], typical: dict[str, float]) -> None:
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            job = running.pop(pid, None)
            if job is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            output = job.output.read_bytes() if job.output.exists() else b""
            if code == -signal.SIGKILL:
                self.kills[job.operation] += 1
                self.killed(job)
            elif code == 0:
                took = time.monotonic() - job.started
                typical[job.operation] = 0.8 * typical.get(job.operation, took) + 0.2 * took
                self.finished[job.operation] += 1
                self.acknowledged(job, output)
            elif code == 1 and b"Traceback" not in output:
                self.refused[job.operation] += 1
                self.killed(job)
            else:
                self.failures.append(f"{job.operation} ended with {code}: {output.decode()[-800:]}")
            job.output.unlink(missing_ok=True)

    def killed(self, job: Job) -> None:
        if job.operation == "erase":
            self.perhaps_erased.add(job.about)
        elif job.operation == "restore":
            self.restored.append(job.about[1])  # it may count, or not

    def acknowledged(self, job: Job, output: bytes) -> None:
        if job.operation == "hook":
            self.events.add(job.name)
            if output:
                self.failures.append(f"a capture printed {output!r}")
        elif job.operation == "remember":
            self.notes[job.about] = json.loads(output)["id"]
        elif job.operation == "backup":
            self.backups.append(job.about)
        elif job.operation == "restore":
            self.restored = [job.about[1]]
        elif job.operation == "erase":
            self.erased.add(job.about)

    # --- a child

    def fork(self, job: Job) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 70
        try:
            self.become(job)
            code = OPERATIONS[job.operation](self, job)
        except BaseException:  # noqa: BLE001 - whatever it is, the parent reads it
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def become(self, job: Job) -> None:
        """Standard streams, folder and environment as a process of its own would have them."""
        target = os.open(job.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for descriptor in (1, 2):
            os.dup2(target, descriptor)
        home = self.other if job.operation == "restore" else self.home
        os.environ.update({"CLAUDE_MEMORY_HOME": str(home), "HOME": str(self.user)})
        os.chdir(self.work)
        if self.weather == "nolock":
            refuse_locks()
        random.seed()


def hook(storm: Round, job: Job) -> int:
    from claude_memory.hook import claude_memory_hook

    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": f"s{job.name[-1]}",
        "cwd": str(storm.work),
        "prompt_id": job.name,
        "prompt": f"remark {job.name} " + "about the harbour " * 10,
    }
    if storm.weather in ("full", "readonly"):  # a hook ends with 0 whatever happens: its file is the word
        try:
            claude_memory_hook.spool(
                str(storm.home), "UserPromptSubmit", "claude-code", [json.dumps(event).encode()]
            )
        except OSError:
            return 1
        return 0
    reader, writer = os.pipe()
    os.write(writer, json.dumps(event).encode())
    os.close(writer)
    os.dup2(reader, 0)
    return claude_memory_hook.main(["UserPromptSubmit"])


def drain(storm: Round, _job: Job) -> int:
    from claude_memory.surfaces.hooks.background import drain_all

    drain_all(str(storm.home))
    return 0


def command(*words: str) -> Callable[[Round, Job], int]:
    def run(_storm: Round, _job: Job) -> int:
        from claude_memory.surfaces.cli import main

        return main(list(words))

    return run


def with_job(words: Callable[[Round, Job], list[str]]) -> Callable[[Round, Job], int]:
    def run(storm: Round, job: Job) -> int:
        from claude_memory.surfaces.cli import main

        return main(words(storm, job))

    return run


OPERATIONS: dict[str, Callable[[Round, Job], int]] = {
    "hook": hook,
    "drain": drain,
    "remember": with_job(lambda _, job: ["remember", job.about, "--json"]),
    "import": command("import", "--json"),
    "consolidate": command("consolidate", "--json"),
    "reindex": with_job(lambda storm, job: ["reindex", *(["--from-files"] if storm.count % 2 else [])]),
    "backup": with_job(lambda _, job: ["backup", "create", str(job.about[0])]),
    "restore": with_job(lambda _, job: ["backup", "restore", str(job.about[0]), "--yes"]),
    "erase": with_job(lambda storm, job: ["forget", storm.notes[job.about], "--erase", "--yes"]),
}


# --- the weather


def mount(place: Path, options: str) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        raise PermissionError(done.stderr.decode())


def fill(ballast: Path) -> None:
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as handle:
        for size in (1_000_000, 10_000, 100):
            with contextlib.suppress(OSError):
                while True:
                    handle.write(b"x" * size)


def set_clock(days: int) -> None:
    path = Path(os.environ[CLOCK])
    fresh = path.with_name("clock.new")
    fresh.write_text(f"{days:+d}d")
    fresh.rename(path)


def refuse_locks() -> None:
    """As some network file systems do."""
    import errno
    import fcntl

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    fcntl.flock = fcntl.lockf = refuse  # type: ignore[assignment]


def can_mount(folder: Path) -> bool:
    place = folder / "mounted"
    place.mkdir(exist_ok=True)
    try:
        mount(place, "size=1m")
        subprocess.run(["umount", str(place)], check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def start_under_a_clock_that_can_be_set(folder: Path) -> None:
    """Start this program again with one, if there is the library for it."""
    library = next(iter(glob.glob(FAKE_CLOCK)), None)  # noqa: PTH207
    if library is None or CLOCK in os.environ:
        return
    clock = folder / "clock"
    clock.write_text("+0d")
    environment = {
        "LD_PRELOAD": library, CLOCK: str(clock), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
    }  # fmt: skip
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **environment})


# --- the promises


def stored(home: Path) -> set[str]:
    """The events in the database; what only waits in the spool is no part of a backup."""
    import apsw

    if not (home / "memory.db").exists():
        return set()
    try:
        with contextlib.closing(
            apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
        ) as db:
            return {id_ for (id_,) in db.execute("SELECT id FROM events")}
    except apsw.Error:
        return set()


def check(storm: Round) -> Iterator[str]:
    """What does not hold once the storm is over and everything had its turn."""
    from claude_memory import Memory
    from claude_memory.capture.drain import Spool
    from claude_memory.capture.parse import event_id
    from claude_memory.model import EventKind, MemoryFilter, SearchScope, Status
    from claude_memory.store.model import EventFilter

    everything = SearchScope(None)

    def ids(names: set[str]) -> set[str]:
        return {event_id(EventKind.PROMPT, own_id=name, moment=datetime.now(UTC)) for name in names}

    still_running(
        storm
    )  # what was started beside an operation may hold the spool's lock, and swept it before
    age(storm.folder)
    os.environ.update({"CLAUDE_MEMORY_HOME": str(storm.home), "HOME": str(storm.user)})
    os.chdir(storm.work)
    settle(storm)
    still_running(storm)
    with Memory.open(storm.home, storm.work) as memory:
        found = memory.store.archive.events(everything, EventFilter(), limit=1_000_000)
        own = [event.id for event in found if event.session and not event.session.startswith("talk-")]
        lost = ids(storm.events) - set(own)
        if lost:
            yield f"{len(lost)} acknowledged events are lost"
        if len(own) != len(set(own)) or set(own) - ids(storm.events_tried):
            yield "events stand twice, or were never captured"
        every = memory.store.memories.find(everything, MemoryFilter(statuses=tuple(Status)))
        notes = Counter(one.body for one in every if one.body in storm.notes_tried)
        gone = storm.erased | storm.perhaps_erased
        yield from (f"lost: {text}" for text in storm.notes.keys() - gone if not notes[text])
        yield from (f"kept {count} times: {text}" for text, count in notes.items() if count > 1)
        yield from (f"erased and there: {text}" for text in storm.erased if notes[text])
        yield from talks_that_differ(storm, memory)
        yield from memory.store.check().problems
        if memory.store.changes_since("memories.jsonl", 1):
            yield "changes wait for the mirror"
    depth = Spool(storm.home).depth()
    if depth.count or depth.rejected:
        yield f"the spool still holds {depth.count}, and {depth.rejected} were rejected"
    yield from (f"erased, but {path} holds it" for path in holding(storm.home, storm.erased))
    yield from left_over(storm)
    yield from restored_badly(storm)
    yield from rebuilt_badly(storm)


def age(folder: Path) -> None:
    """Whatever was written was written more than an hour ago."""
    then = time.time() - AN_HOUR_AGO
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            os.utime(path, (then, then), follow_symlinks=False)


def settle(storm: Round) -> None:
    """Everybody comes by once more, undisturbed."""
    from claude_memory.surfaces.cli import main
    from claude_memory.surfaces.hooks.background import drain_all

    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):  # noqa: PTH123
        drain_all(str(storm.home))
        for words in (
            ["import"],
            ["consolidate"],
            ["reindex"],
            ["backup", "create", str(storm.archives / "x.zip")],
        ):
            code = main(words)
            if code:
                storm.failures.append(f"{words} ended with {code} after the storm")
        if storm.restored:
            os.environ["CLAUDE_MEMORY_HOME"] = str(storm.other)
            drain_all(str(storm.other))
            if main(["backup", "restore", str(storm.backups[-1][0]), "--yes"]):
                storm.failures.append("a restore failed after the storm")
            os.environ["CLAUDE_MEMORY_HOME"] = str(storm.home)


def talks_that_differ(storm: Round, memory: Any) -> Iterator[str]:
    from claude_memory.model import SearchScope

    kept = {talk.session: talk for talk in memory.archive.conversations(SearchScope(None))}
    for session, said in storm.talks.items():
        talk = kept.get(session)
        texts = [message.text.strip() for message in memory.archive.messages(talk.number)] if talk else []
        if texts != [text.strip() for text in said]:
            yield f"{session}: {len(texts)} of {len(said)} messages, or others"


def holding(home: Path, texts: set[str]) -> Iterator[str]:
    for path in home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            yield from (str(path) for text in texts if text.encode() in content)


def left_over(storm: Round) -> Iterator[str]:
    """Temporary files and processes, an hour later."""
    for path in storm.folder.rglob("*"):
        if path.name.endswith((".tmp", ".purge")) or path.parent == storm.home / "spool" / "tmp":
            yield f"left over: {path.relative_to(storm.folder)}"
    yield from (f"still running: {name}" for name in still_running(storm))


def still_running(storm: Round) -> list[str]:
    """Processes of this storm that have not ended by themselves; a busy machine needs its time."""
    mark = str(storm.folder).encode()
    deadline = time.monotonic() + 60
    while (found := list(processes(mark))) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def processes(mark: bytes) -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*"):
        if place.name in (str(os.getpid()), str(os.getppid())):
            continue
        with contextlib.suppress(OSError):
            environment = (place / "environ").read_bytes()
            if mark in environment and b"CLAUDE_MEMORY_HOME" in environment:
                yield (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")


def restored_badly(storm: Round) -> Iterator[str]:
    """The restored home is whole, and has all that was stored when its backup began."""
    from claude_memory import Memory
    from claude_memory.model import SearchScope
    from claude_memory.store.model import EventFilter

    if not storm.restored:
        return
    with Memory.open(storm.other, storm.work) as memory:
        memory.drain()
        there = {
            event.id
            for event in memory.store.archive.events(SearchScope(None), EventFilter(), limit=1_000_000)
        }
        if not storm.backups[-1][1] <= there:
            yield "the restored home lacks what was stored before its backup"
        yield from memory.store.check().problems


def rebuilt_badly(storm: Round) -> Iterator[str]:
    """Without the database, the mirror gives back every note that was acknowledged."""
    from claude_memory import Memory
    from claude_memory.model import MemoryFilter, SearchScope, Status

    for path in storm.home.glob("memory.db*"):
        path.unlink()
    with Memory.open(storm.home, storm.work) as memory:
        memory.reindex(from_files=True)
        every = memory.store.memories.find(SearchScope(None), MemoryFilter(statuses=tuple(Status)))
        there = {one.body for one in every}
        missing = storm.notes.keys() - storm.erased - storm.perhaps_erased - there
        yield from (f"not in the mirror: {text}" for text in missing)
        yield from (f"erased, but rebuilt: {text}" for text in storm.erased & there)


def main(folder: Path, kills: int, seed: int, weathers: list[str]) -> int:

    began = time.monotonic()
    totals: dict[str, Counter[str]] = {name: Counter() for name in ("kills", "finished", "refused")}
    sums: Counter[str] = Counter()
    problems: list[str] = []
    typical: dict[str, float] = {}
    skipped = {}
    if not can_mount(folder):
        skipped = dict.fromkeys(("full", "readonly"), "no file system can be mounted here")
    if "clock" in weathers:
        start_under_a_clock_that_can_be_set(folder)
        if CLOCK not in os.environ:
            skipped["clock"] = "there is no libfaketime"
        # The library cannot sleep by a clock that it leaves alone.
        time.sleep = lambda seconds: select.select([], [], [], seconds)  # type: ignore[assignment, return-value]
    weathers = [weather for weather in weathers if weather not in skipped]
    size = max(SMALLEST_ROUND, min(LARGEST_ROUND, kills // 20))
    number = 0
    while weathers and sum(totals["kills"].values()) < kills and not problems:
        weather = weathers[number % len(weathers)]
        number += 1
        storm = Round(folder / f"round-{number}", random.Random(seed * 1000 + number), weather)
        storm.run(min(size, kills - sum(totals["kills"].values())), typical)
        if not storm.failures:
            problems += checked(storm)
        problems += [f"{weather}: {failure}" for failure in storm.failures]
        for name, counted in totals.items():
            counted.update(getattr(storm, name))
        sums.update(
            events=len(storm.events), notes=len(storm.notes), erased=len(storm.erased), talks=len(storm.talks),
            backups=len(storm.backups), stopped=storm.stopped, rounds=1, **{f"{weather} changes": storm.changes},
        )  # fmt: skip
        if not problems:
            storm.remove()
    report = {
        "problems": list(dict.fromkeys(problems)),
        "skipped": skipped,
        **{name: dict(counted) for name, counted in totals.items()},
        "acknowledged": dict(sums),
        "typical_seconds": {name: round(value, 3) for name, value in sorted(typical.items())},
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(report))
    return 1 if problems else 0


def checked(storm: Round) -> list[str]:
    """The promises that do not hold, looked at by a child: it sees the weather's last trace, and we do not."""
    answer = storm.outputs / "answer"
    pid = os.fork()
    if not pid:
        code = 70
        try:
            if storm.weather == "nolock":
                refuse_locks()
            found = [f"{storm.weather}: {problem}" for problem in (*check(storm), *storm.failures)]
            answer.write_text(json.dumps(found))
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the parent reads it
            answer.write_text(json.dumps([f"{storm.weather}: {traceback.format_exc()}"]))
        finally:
            os._exit(code)
    os.waitpid(pid, 0)
    return json.loads(answer.read_text()) if answer.exists() else [f"{storm.weather}: the check failed"]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
