"""Where work stands: what was asked, committed, edited and left open, by branch, over the last working days.

Reads the records of sessions as the store keeps them. Days on which nobody worked do not count: after a
holiday the last three are as near as after a weekend.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.context.moments import Line
from claude_memory.model import SearchScope
from claude_memory.notes.person_files import SessionLine, recent_sessions
from claude_memory.notes.places import PersonFiles
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
_COMMITTING = frozenset("commit push merge rebase pr".split())


class SessionWork(NamedTuple):
    """One session: its record, and the branch it belongs to."""

    session: str
    branch: str
    ended: datetime  # in local time
    record: Mapping[str, Any]


def work(situation: Situation) -> list[Line]:
    """The last working days, the current branch first; a session that goes on hears of its branch only."""
    recorded = _sessions(situation)
    sessions = _once(recorded)
    is_new = situation.source in ("startup", "clear")
    days = list(dict.fromkeys(one.ended.date() for one in sessions))[:DAYS]
    here = [one for one in sessions if one.branch == situation.branch]
    lately = [one for one in sessions if one.ended.date() in days]
    own = [one for one in here if one in lately]
    others = [one for one in lately if one.branch != situation.branch and is_new]
    full = own[:IN_FULL] or others[:1]
    newest = list({one.branch: one for one in reversed(others)}.values())[::-1]
    earlier = here[:1] if not own else []  # however long ago
    brief = list({one.session: one for one in (*newest, *own, *others) if one not in full}.values())
    counted = [one for one in recorded if one.ended.date() in days]
    lines = [_overview(situation, counted)] if lately and not own else []
    lines += _checks(recorded) if is_new else []
    lines += [_brief(one, situation) for one in earlier if one.record.get("answered", True)]
    for one in full:
        lines += _block(one, situation, is_latest=one is full[0])
    since = str(min(days, default=""))
    logged = _logs(situation, [one.session for one in recorded], since)[: LOGGED if is_new else 1]
    brief = [one for one in brief if _is_told(one)]
    return [*lines, *(_brief(one, situation) for one in brief[:BRIEFLY]), *logged]


def _checks(sessions: Sequence[SessionWork]) -> list[Line]:
    """The commands that check the work here, by the number of sessions that ran them."""
    counted = Counter(str(name) for one in sessions for name in one.record.get("checks", ()))
    least = max(CHECKED_IN, CHECKED_SHARE * sum(bool(one.record.get("checks")) for one in sessions))
    names = [plain(name) for name, count in counted.most_common(CHECKS) if count >= least]
    return [Line(f"Checked here with: {', '.join(names)}", reason="run in several sessions")] if names else []


def _logs(situation: Situation, recorded: Sequence[str], since: str) -> list[Line]:
    """Session logs of the three days up to the latest, of sessions that no record tells of, newest first."""
    stems = [path.stem for path in PersonFiles(situation.home).sessions.glob("[0-9]*.jsonl")]
    days = [day for stem in stems if (day := _date(stem))]
    if not days:
        return []
    found, _ = recent_sessions(situation.home, today=max(days), days=DAYS, project=situation.project.id)
    found = [line for line in found if line.session_id not in (situation.session, *recorded)]
    found = [line for line in found if line.date >= since]
    found.sort(key=lambda line: not line.project)  # this project's first; the sort keeps the rest's order
    return [
        Line(_logged(line), reason="a session log", source=f"sessions/{line.date}.jsonl") for line in found
    ]


def _date(name: str) -> date | None:
    try:
        return date.fromisoformat(name)
    except ValueError:
        return None


def _logged(line: SessionLine) -> str:
    parts = [line.summary or line.session]
    for mark, texts in (("decided", line.decisions), ("open", line.open_threads)):
        parts += [f"{mark}: {'; '.join(texts[:3])}"] if texts else []
    return (
        f"Session log {named(line.date, 20)} {named(line.time, 20)}: {quoted(' · '.join(parts), 2 * ASKED)}"
    )


def _sessions(situation: Situation) -> list[SessionWork]:
    """The latest sessions of the project in which something was asked or done, newest first."""
    scope = SearchScope((situation.project.id,))
    found = situation.store.archive.session_records(scope, RECORDS)
    sessions = [
        _worked(record, situation.branch)
        for conversation, record in found
        if not conversation.parent and conversation.session != situation.session
    ]
    return [one for one in sessions if _has_work(one.record)]


def _once(sessions: Sequence[SessionWork]) -> list[SessionWork]:
    """Without commits that were reverted or made again later, and without sessions that have no others, or
    that were given up before anything was done.
    """
    subjects = [str(commit["subject"]) for one in sessions for commit in one.record.get("commits", ())]
    reverted = {subject[8:-1] for subject in subjects if subject.startswith('Revert "')}
    gone = reverted.union(f'Revert "{subject}"' for subject in reverted)
    once: list[SessionWork] = []
    for one in sessions:
        made = one.record.get("commits", ())
        commits = [commit for commit in made if commit["subject"] not in gone]
        gone.update(str(commit["subject"]) for commit in commits)
        given_up = once and not one.record.get("answered", True) and not one.record.get("files")
        if commits or not (made or given_up):
            once.append(one._replace(record={**one.record, "commits": commits}))
    return once


def _has_work(record: Mapping[str, Any]) -> bool:
    """Whether something was done, or asked that says what; a greeting is no work."""
    done = record.get("files") or record.get("commits") or record.get("pull_requests")
    return bool(done) or len(query_terms(str(record.get("first_request", "")))) >= TELLING_TERMS


def _worked(record: Mapping[str, Any], current: str) -> SessionWork:
    """The session under the branch that its commits, and what was edited after them, belong to."""
    telling = [one for one in record.get("commits", ()) if not str(one["subject"]).startswith(_MINOR)]
    branches = [str(one["branch"]) for one in telling if one.get("branch")]
    edited = record.get("branches") or [""] if not branches or record.get("uncommitted") else []
    branch = current if current in (*branches, *edited) else (branches or edited)[-1]
    ended = datetime.fromisoformat(record["ended"]).astimezone()
    return SessionWork(str(record["session"]), branch, ended, record)


# --- lines


def _overview(situation: Situation, lately: Sequence[SessionWork]) -> Line:
    """When somebody worked last, for who is where nobody did."""
    today = situation.now.astimezone().date()
    counts = Counter(one.ended.date() for one in lately)
    told = [f"{_day(day, today)} ({count})" for day, count in counts.items()]
    first = next(iter(counts.values()))
    told[0] = told[0].replace(")", " session)" if first == 1 else " sessions)")
    where = f" You are on {named(situation.branch)}; that work is on other branches."
    where = where if situation.branch not in _NO_BRANCH else ""
    return Line(f"Last worked on: {', '.join(told)}.{where}", reason="the last working days")


def _block(one: SessionWork, situation: Situation, *, is_latest: bool) -> Iterator[Line]:
    record, why = one.record, f"session of {one.ended:%Y-%m-%d} on {one.branch or 'no branch'}"

    def line(text: str) -> Line:
        return Line(f"  {text}", reason=why, source=one.session)

    request = "".join(re.findall(r"\d+$", link)[0] for link in record.get("pull_requests", ())[-1:])
    runs = not record.get("answered", True) and situation.now - one.ended < RUNNING
    marks = f"{f' · PR #{request}' if request else ''}{' · may still be running' if runs else ''}"
    head = f"{_place(one, situation)}{marks} [{one.session[:8]}]"
    yield Line(head, reason=why, source=one.session, level=1)
    commits = _commits(one)
    is_here = one.branch == situation.branch
    shown = record if commits else {**record, "commits": ()}
    if asked := _asked(shown, is_open=is_latest and is_here, runs=runs):
        yield line(asked)
    if commits:
        yield line(f"Commits: {commits}")
    ended = _ended(record) if is_latest or not commits else ""  # of finished work the commits tell
    if edited := _edited(one, situation, ended) if is_latest or not commits else "":
        yield line(edited)
    if ended:
        yield line(f"Ended with: {quoted(ended, ENDED)}")
    # What is open on another branch may long be done there, unless its work still lies here.
    if is_latest and not runs and (is_here or _loose(one, situation)):
        yield from map(line, _open(record))


def _brief(one: SessionWork, situation: Situation) -> Line:
    commits = _commits(one, most=2)
    label, request = _request(one.record)
    told = f"committed {commits}" if commits else f"{label} {quoted(request, LAST)}, answered"
    return Line(
        f"{_place(one, situation)}: {told} [{one.session[:8]}]",
        reason=f"session of {one.ended:%Y-%m-%d}",
        source=one.session,
    )


def _is_told(one: SessionWork) -> bool:
    """Whether a line can say what was done: of a question it would say neither the answer nor what came of
    it, and what was not answered then may be by now.
    """
    worked = one.record.get("files") and not one.record.get("commits") and one.record.get("answered", True)
    request = _request(one.record)[1]
    return bool(_commits(one) or (worked and request and not _COMMITTING & _words(request)))


def _place(one: SessionWork, situation: Situation) -> str:
    today = situation.now.astimezone().date()
    branch = named(one.branch, 80) if one.branch not in _NO_BRANCH else "no branch"
    return f"{branch} ({_day(one.ended.date(), today, short=True)} {one.ended:%H:%M})"


def _day(day: date, today: date, *, short: bool = False) -> str:
    """A weekday within the last week, else the date."""
    if day == today:
        return "today"
    if 0 < (today - day).days < 7:
        return f"{day:%a}" if short else f"{day:%A}"
    return f"{day.day} {day:%b}" + (f" {day.year}" if day.year != today.year else "")


def _asked(record: Mapping[str, Any], *, is_open: bool, runs: bool) -> str:
    """The first request, and the last one unless the commits hold it.

    Whether the last one waits for an answer is said where nobody can have gone on since. Beside commits a
    request that shares no word with them or their files ("fix it"), or that asks to commit, tells nothing.
    """
    (label, first), last = _request(record), str(record.get("last_request", ""))
    done = {term for one in record.get("commits", ()) for term in index_terms(str(one["subject"]))}
    if done:
        done.update(term for name, _ in record.get("files", ()) for term in index_terms(str(name)))
        first = "" if label == "about" else first  # the commits tell it
        first, last = (
            text if done.intersection(query_terms(text)) and not _COMMITTING & _words(text) else ""
            for text in (first, last if record.get("uncommitted") else "")
        )
    told = f"{label.capitalize()}: {quoted(first, ASKED)}" if first else ""
    if len(last.split()) <= 4 or last == record.get("first_request"):
        return told
    if not record.get("answered", True) and not is_open:
        return told
    open_ = "" if record.get("answered", True) or runs else ", not answered"
    return f"{told}, last {quoted(last, LAST)}{open_}" if told else f"Asked: {quoted(last, LAST)}{open_}"


def _request(record: Mapping[str, Any]) -> tuple[str, str]:
    """What the session was for: what was asked first, the title of a plan, or else the session's own title.

    Only what a person asked is called so.
    """
    first = str(record.get("first_request", "")).strip()
    if first.startswith("#"):
        return "plan", first.splitlines()[0].lstrip("# ")
    if len(query_terms(first)) >= TELLING_TERMS:
        return "asked", first
    title = str(record.get("title") or "")
    return ("about", title) if title and title != first else ("asked", first)


def _commits(one: SessionWork, most: int = COMMITS) -> str:
    """The branch's commits, newest last; those that say next to nothing only where there is nothing else."""
    found = [
        commit
        for commit in one.record.get("commits", ())
        if not str(commit["subject"]).startswith(_MINOR) and commit.get("branch") in (None, "", one.branch)
    ]
    found = [commit for commit in found if len(query_terms(str(commit["subject"]))) > 2] or found
    # After a rebase or an amendment the hashes that were printed before it name nothing any more.
    rewritten = _REWRITTEN.search(str(one.record.get("closing", "")))
    hashes = ["" if rewritten else named(str(commit["hash"])) for commit in found]
    told = [
        f"{hash_} {_subject(str(commit['subject']))}".strip()
        for hash_, commit in zip(hashes, found, strict=True)
    ]
    more = f" (and {len(told) - most} before)" if len(told) > most else ""
    return "; ".join(told[-most:]) + more


def _subject(text: str) -> str:
    return clipped(plain(inner(text)), SUBJECT)


def _edited(one: SessionWork, situation: Situation, ended: str) -> str:
    """Files of the session that are still uncommitted; where nothing was committed, those it worked on."""
    counts = dict(one.record.get("files", ()))
    if loose := _loose(one, situation):
        return f"Still uncommitted: {_listed(loose, counts)}"
    if one.branch != situation.branch or one.record.get("commits"):
        return ""  # of no use there, or the commits tell
    if all(name.rpartition("/")[2] in ended for name in counts):
        return ""  # the closing words name them
    return f"Files: {_listed(list(counts), counts)}"


def _loose(one: SessionWork, situation: Situation) -> list[str]:
    return [name for name in one.record.get("uncommitted", ()) if name in situation.changed_files]


def _listed(names: list[str], counts: Mapping[str, int]) -> str:
    names.sort(key=lambda name: -counts.get(name, 1))
    told = [f"{named(name)} ({counts[name]})" if counts.get(name, 1) > 1 else named(name) for name in names]
    return ", ".join(told[:FILES]) + (f" and {len(told) - FILES} more" if len(told) > FILES else "")


def _open(record: Mapping[str, Any]) -> Iterator[str]:
    """What nobody finished: tasks, and checks that failed after the last commit.

    Where the closing words know of no failure, a check failed as it always does, or as it should.
    """
    tasks = [quoted(str(task["title"]), SUBJECT) for task in record.get("open_tasks", ())]
    if tasks:
        yield f"Open tasks: {', '.join(tasks[:TASKS])}"
    last = max((commit.get("ordinal", 0) for commit in record.get("commits", ())), default=0)
    admitted = not record.get("answered", True) or _FAILURE.search(str(record.get("closing", "")))
    for command in record.get("failing", ())[-2:] if admitted else ():
        said = _COLOUR.sub("", str(command.get("error", "")))
        if command.get("ordinal", 0) > last and not _NOTHING_WRONG.search(said):
            error = quoted(said, SUBJECT * 2)
            yield f"Failing then: {quoted(str(command['command']), SUBJECT)}{f': {error}' if error else ''}"


def _ended(record: Mapping[str, Any]) -> str:
    """The closing words, without sentences that only name commits, ask, offer or say what waits: those
    were for that moment. None if work went on after them.
    """
    closing = str(record.get("closing", ""))
    if not record.get("answered", True) or closing.rstrip(" *_`)\n").endswith("?"):
        return ""  # it ended with a question, and what stands before that is what it asked about
    hashes = [str(one["hash"])[:7] for one in record.get("commits", ()) if one["hash"]]
    sentences = _SENTENCE.split(closing_words(closing))
    sentences = [one for one in sentences if not one.endswith("?") and not _PASSING.search(one)]
    if record.get("commits"):
        sentences = [one for one in sentences if not _REWRITTEN.search(one)]
    kept = [one for one in sentences if not any(hash_ in one for hash_ in hashes) or len(one) > ENDED // 2]
    told = " ".join(kept)
    return told if len(told.split()) > 7 else ""


# --- closing words

_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_FAILURE = re.compile(r"(?i)\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken|red)\b")
_NOTHING_WRONG = re.compile(r"\b0 (?:errors?|failures?|failed|problems?)\b")
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
        rest = said if told else _without_opening(said)
        if len(rest.split()) > 2 and not (rest.endswith(":") and len(rest) < 100):
            told.append(rest if rest[-1] in ".!?:;…" else rest + ";")
    return " ".join(told).rstrip(";")


def _without_opening(text: str) -> str:
    """Without clauses that say that it is done, and nothing of what."""
    clauses = _CLAUSE.split(text)
    while clauses and not telling_words(clauses[0]) and not clauses[0].startswith("No"):
        del clauses[0]
    return " ".join(clauses)


def _words(text: str) -> set[str]:
    return {word.strip(".,:;!?()'\"") for word in text.casefold().replace("’", "'").split()}
