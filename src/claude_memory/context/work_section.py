"""Where work stands: what was asked, committed, edited and left open, by branch, over the last working days.

Reads the records of sessions as the store keeps them. Days on which nobody worked do not count: after a
holiday the last three are as near as after a weekend.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from claude_memory.context.moments import Line
from claude_memory.model import SearchScope
from claude_memory.notes.person_files import recent_sessions, session_logs
from claude_memory.text.quotation import clipped, inner, named, plain, quoted
from claude_memory.text.words import index_terms, query_terms
from claude_memory.understand.titles import outside_fences, plain_line, telling_words

if TYPE_CHECKING:
    from claude_memory.context.sections import Situation

DAYS = 3  # on which there were sessions
RECORDS = 40  # of the latest sessions, among which the branch's own are looked for
IN_FULL = 3  # sessions of this branch; where it has none, the latest of any
BRIEFLY, LOGGED = 4, 5
COMMITS, FILES, TASKS, CHECKS = 4, 5, 4, 5
CHECKED_IN, CHECKED_SHARE = 2, 0.2  # sessions, at least, and of those that ran any check
ASKED, LAST, ENDED, SUBJECT = 260, 200, 460, 90  # characters
RUNNING = timedelta(hours=1)  # a session without an answer may still go on in another window
TELLING_TERMS = 3  # of a request; "do you have access?" says nothing of the work
_NO_BRANCH = ("", "HEAD")
_MINOR = ("wip", "WIP", "fixup!", "squash!", "amend!", "Merge ")
_COMMITTING = re.compile(r"(?i)(?<![\w-])(?:commit|push|merge|rebase|pr)(?![\w-])")


def work(situation: Situation) -> list[Line]:
    """The last working days, the current branch first; a session that goes on hears of its branch only."""
    scope = SearchScope((situation.project.id,))
    recorded = [
        SessionWork(record, situation)
        for conversation, record in situation.store.archive.session_records(scope, RECORDS)
        if not conversation.parent and conversation.session != situation.session and _has_work(record)
    ]
    sessions = _once(recorded)
    is_new = situation.source in ("startup", "clear")
    days = list(dict.fromkeys(one.ended.date() for one in sessions))[:DAYS]
    lately = [one for one in sessions if one.ended.date() in days]
    own = [one for one in lately if one.is_here]
    others = [one for one in lately if not one.is_here and is_new]
    full = own[:IN_FULL] or others[:1]
    counted = [one for one in recorded if one.ended.date() in days]
    lines = [_overview(situation, counted)] if lately and not own else []
    lines += _checks(recorded) if is_new else []
    # Of this branch the last session, however long ago.
    earlier = [] if own else [one for one in sessions if one.is_here][:1]
    lines += [one.brief() for one in earlier if one.answered]
    for one in full:
        lines += one.block(is_latest=one is full[0])
    newest = list({one.branch: one for one in reversed(others)}.values())[::-1]
    brief = dict.fromkeys(one for one in (*newest, *own, *others) if one not in full and one.is_told())
    lines += [one.brief() for one in list(brief)[:BRIEFLY]]
    known = (situation.session, *(one.session for one in recorded))
    return lines + _logs(situation, known, str(min(days, default="")))[: LOGGED if is_new else 1]


def _has_work(record: Mapping[str, Any]) -> bool:
    """Whether something was done, or asked that says what; a greeting is no work."""
    done = record.get("files") or record.get("commits") or record.get("pull_requests")
    return bool(done) or len(query_terms(str(record.get("first_request", "")))) >= TELLING_TERMS


def _once(sessions: Sequence[SessionWork]) -> list[SessionWork]:
    """Without commits that were reverted or made again later, and without sessions that have no others, or
    that were given up before anything was done.
    """
    subjects = [str(commit["subject"]) for one in sessions for commit in one.commits]
    reverted = {subject[8:-1] for subject in subjects if subject.startswith('Revert "')}
    gone = reverted.union(f'Revert "{subject}"' for subject in reverted)
    once: list[SessionWork] = []
    for one in sessions:
        made = one.commits
        one.commits = [commit for commit in made if commit["subject"] not in gone]
        gone.update(str(commit["subject"]) for commit in one.commits)
        given_up = once and not one.answered and not one.counts
        if one.commits or not (made or given_up):
            once.append(one)
    return once


def _overview(situation: Situation, lately: Sequence[SessionWork]) -> Line:
    """When somebody worked last, for who is where nobody did."""
    today = situation.now.astimezone().date()
    counts = Counter(one.ended.date() for one in lately)
    told = [f"{_day(day, today, '%A')} ({count})" for day, count in counts.items()]
    told[0] = told[0].replace(")", " session)" if told[0].endswith("(1)") else " sessions)")
    where = f" You are on {named(situation.branch)}; that work is on other branches."
    where = where if situation.branch not in _NO_BRANCH else ""
    return Line(f"Last worked on: {', '.join(told)}.{where}", reason="the last working days")


def _checks(sessions: Sequence[SessionWork]) -> list[Line]:
    """The commands that check the work here, by the number of sessions that ran them."""
    ran = [one.record["checks"] for one in sessions if one.record.get("checks")]
    counted = Counter(str(name) for names in ran for name in names)
    least = max(CHECKED_IN, CHECKED_SHARE * len(ran))
    names = [plain(name) for name, count in counted.most_common(CHECKS) if count >= least]
    return [Line(f"Checked here with: {', '.join(names)}", reason="run in several sessions")] if names else []


def _logs(situation: Situation, known: Sequence[str | None], since: str) -> list[Line]:
    """Session logs of the three days up to the latest, of sessions that no record tells of, newest first."""
    days = []
    for path in session_logs(situation.home):
        with suppress(ValueError):  # not every name is a day
            days.append(date.fromisoformat(path.stem))
    if not days:
        return []
    found, _ = recent_sessions(situation.home, today=max(days), days=DAYS, project=situation.project.id)
    lines = []
    for line in sorted(found, key=lambda line: not line.project):  # this project's first, in their order
        if line.session_id in known or line.date < since:
            continue
        parts = [line.summary or line.session]
        for mark, texts in (("decided", line.decisions), ("open", line.open_threads)):
            parts += [f"{mark}: {'; '.join(texts[:3])}"] if texts else []
        when = f"{named(line.date, 20)} {named(line.time, 20)}"
        text = f"Session log {when}: {quoted(' · '.join(parts), 2 * ASKED)}"
        lines.append(Line(text, reason="a session log", source=f"sessions/{line.date}.jsonl"))
    return lines


def _day(day: date, today: date, weekday: str) -> str:
    """A weekday within the last week, else the date."""
    ago = (today - day).days
    date_ = f"{day.day} {day:%b}" + (f" {day.year}" if day.year != today.year else "")
    return "today" if not ago else f"{day:{weekday}}" if 0 < ago < 7 else date_


class SessionWork:
    """One session, under the branch that its commits, and what was edited after them, are of."""

    def __init__(self, record: Mapping[str, Any], situation: Situation) -> None:
        self.record, self._situation = record, situation
        self.session = str(record["session"])
        self.commits: Sequence[Mapping[str, Any]] = record.get("commits", ())
        self.counts: dict[str, int] = dict(record.get("files", ()))
        self.answered = bool(record.get("answered", True))
        self.ended = datetime.fromisoformat(record["ended"]).astimezone()
        branches = [str(one["branch"]) for one in self.commits if one.get("branch") and not _is_minor(one)]
        edited = record.get("branches") or [""] if not branches or record.get("uncommitted") else []
        self.is_here = situation.branch in (*branches, *edited)
        self.branch = situation.branch if self.is_here else (branches or edited)[-1]
        uncommitted = record.get("uncommitted", ())
        self._loose = [name for name in uncommitted if name in situation.changed_files]
        self._closing = str(record.get("closing", ""))

    def block(self, *, is_latest: bool) -> Iterator[Line]:
        """The session in full, under its place."""
        why = f"session of {self.ended:%Y-%m-%d} on {self.branch or 'no branch'}"
        request = "".join(re.findall(r"\d+$", link)[0] for link in self.record.get("pull_requests", ())[-1:])
        runs = not self.answered and self._situation.now - self.ended < RUNNING
        marks = f"{f' · PR #{request}' if request else ''}{' · may still be running' if runs else ''}"
        head = f"{self._place()}{marks} [{self.session[:8]}]"
        yield Line(head, reason=why, source=self.session, level=1)
        commits = self._told_commits()
        in_full = is_latest or not commits  # of finished work the commits tell
        ended = self._ended() if in_full else ""
        tasks = [quoted(str(task["title"]), SUBJECT) for task in self.record.get("open_tasks", ())]
        # What is open on another branch may long be done there, unless its work still lies here.
        is_open = is_latest and not runs and (self.is_here or self._loose)
        told = (
            self._asked(self.commits if commits else (), is_open=is_latest and self.is_here, runs=runs),
            f"Commits: {commits}" if commits else "",
            self._edited(ended) if in_full else "",
            f"Ended with: {quoted(ended, ENDED)}" if ended else "",
            f"Open tasks: {', '.join(tasks[:TASKS])}" if tasks and is_open else "",
        )
        yield from (Line(f"  {text}", reason=why, source=self.session) for text in told if text)

    def brief(self) -> Line:
        commits = self._told_commits(most=2)
        label, request = self._request()
        told = f"committed {commits}" if commits else f"{label} {quoted(request, LAST)}, answered"
        text = f"{self._place()}: {told} [{self.session[:8]}]"
        return Line(text, reason=f"session of {self.ended:%Y-%m-%d}", source=self.session)

    def is_told(self) -> bool:
        """Whether a line can say what was done: of a question it would say neither the answer nor what came
        of it, and what was not answered then may be by now.
        """
        request = self._request()[1]
        worked = self.counts and not self.commits and self.answered
        return bool(self._told_commits() or (worked and request and not _COMMITTING.search(request)))

    def _place(self) -> str:
        today = self._situation.now.astimezone().date()
        branch = named(self.branch, 80) if self.branch not in _NO_BRANCH else "no branch"
        return f"{branch} ({_day(self.ended.date(), today, '%a')} {self.ended:%H:%M})"

    def _request(self) -> tuple[str, str]:
        """What the session was for: what a person asked first, or the title of a plan or of the session."""
        first, title = (str(self.record.get(name) or "").strip() for name in ("first_request", "title"))
        if first.startswith("#"):
            return "plan", first.splitlines()[0].lstrip("# ")
        is_telling = len(query_terms(first)) >= TELLING_TERMS or title in ("", first)
        return ("asked", first) if is_telling else ("about", title)

    def _asked(self, commits: Sequence[Mapping[str, Any]], *, is_open: bool, runs: bool) -> str:
        """The first request, and the last one unless the commits hold it.

        Whether the last one waits for an answer is said where nobody can have gone on since. Beside commits
        a request that shares no word with them or their files ("fix it"), or that asks to commit goes.
        """
        (label, first), last = self._request(), str(self.record.get("last_request", ""))
        if commits:
            names = (*(str(one["subject"]) for one in commits), *self.counts)
            done = {term for name in names for term in index_terms(name)}
            first = "" if label == "about" else first  # the commits tell it
            first, last = (
                text if done.intersection(query_terms(text)) and not _COMMITTING.search(text) else ""
                for text in (first, last if self.record.get("uncommitted") else "")
            )
        told = f"{label.capitalize()}: {quoted(first, ASKED)}" if first else ""
        is_said = len(last.split()) <= 4 or last == self.record.get("first_request")
        if is_said or not (self.answered or is_open):
            return told
        open_ = "" if self.answered or runs else ", not answered"
        return f"{told}, last {quoted(last, LAST)}{open_}" if told else f"Asked: {quoted(last, LAST)}{open_}"

    def _told_commits(self, most: int = COMMITS) -> str:
        """The branch's commits, newest last; those that say little only where there is nothing else."""
        own = [one for one in self.commits if one.get("branch") in (None, "", self.branch)]
        found = [one for one in own if not _is_minor(one)]
        found = [one for one in found if len(query_terms(str(one["subject"]))) > 2] or found
        # After a rebase or an amendment the hashes that were printed before it name nothing any more.
        rewritten = _REWRITTEN.search(self._closing)
        hashes = ["" if rewritten else named(str(one["hash"])) for one in found]
        subjects = [clipped(plain(inner(str(one["subject"]))), SUBJECT) for one in found]
        told = [f"{hash_} {subject}".strip() for hash_, subject in zip(hashes, subjects, strict=True)]
        return "; ".join(told[-most:]) + (f" (and {len(told) - most} before)" if len(told) > most else "")

    def _edited(self, ended: str) -> str:
        """Files that are still uncommitted; where nothing was committed, those it worked on."""
        if not self._loose and (not self.is_here or self.commits):
            return ""  # of no use there, or the commits tell
        if not self._loose and all(name.rpartition("/")[2] in ended for name in self.counts):
            return ""  # the closing words name them
        counts = {name: self.counts.get(name, 1) for name in self._loose or self.counts}
        names = sorted(counts, key=lambda name: -counts[name])
        told = [named(name) + f" ({counts[name]})" * (counts[name] > 1) for name in names]
        more = f" and {len(told) - FILES} more" if len(told) > FILES else ""
        return f"{'Still uncommitted' if self._loose else 'Files'}: {', '.join(told[:FILES])}{more}"

    def _ended(self) -> str:
        """The closing words, without sentences that only name commits, ask, offer or say what waits: those
        were for that moment. None if work went on after them.
        """
        if not self.answered or self._closing.rstrip(" *_`)\n").endswith("?"):
            return ""  # it ended with a question, and what stands before that is what it asked about
        hashes = [str(one["hash"])[:7] for one in self.commits if one["hash"]]
        told = " ".join(
            one
            for one in _SENTENCE.split(closing_words(self._closing))
            if not (one.endswith("?") or _PASSING.search(one) or (self.commits and _REWRITTEN.search(one)))
            and not (len(one) <= ENDED // 2 and any(hash_ in one for hash_ in hashes))
        )
        return told if len(told.split()) > 7 else ""


def _is_minor(commit: Mapping[str, Any]) -> bool:
    return str(commit["subject"]).startswith(_MINOR)


# --- closing words

_REWRITTEN = re.compile(
    r"(?i)\b(?:rebased|rewr(?:ote|itten)|squashed|amended|folded into|force-push|cherry-pick)"
)
_PASSING = re.compile(
    r"(?i)^(?:those|these|the remaining) |\b(?:let me know|say the word|want me to|shall i|would you like"
    r"|whenever (?:you|ready)|your (?:go-ahead|approval|call|decision)|i'd need|diverge[sd]?|ready to"
    r" (?:commit|push|merge|go)|not (?:yet )?(?:pushed|committed)|un(?:pushed|committed)|standing by|go ahead"
    r"|waiting for|next steps?|still (?:need|to do|open|failing|running|watching)|will report|no need to poll"
    r"|in the background|monitor(?:ing)? task)\b"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE = re.compile(r"(?<=[.!?;:—])\s+")


def closing_words(closing: str) -> str:
    """What the agent said at the end, without its opening, code, tables and lead-ins, in one line."""
    told: list[str] = []
    for line in outside_fences(closing):
        said = "" if line.lstrip().startswith(("|", "---", "===")) else plain_line(line)
        clauses = [] if told else _CLAUSE.split(said)
        while clauses and not telling_words(clauses[0]) and not clauses[0].startswith("No"):
            del clauses[0]  # it says that it is done, and nothing of what
        said = said if told else " ".join(clauses)
        if len(said.split()) > 2 and not (said.endswith(":") and len(said) < 100):
            told.append(said if said[-1] in ".!?:;…" else said + ";")
    return " ".join(told).rstrip(";")
