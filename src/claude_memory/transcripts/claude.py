"""Claude Code's transcripts: one JSON object a line, conversation among much bookkeeping.

Knows the format only. Lines that agents' hooks added (our own context among them) are no conversation.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from claude_memory.transcripts.model import (
    Reader,
    Role,
    SourceFile,
    Turn,
    blocks_of,
    chained,
    joined_text,
    list_of,
    mapping_of,
    moment_of,
    prompt_role,
    text_of,
)
from claude_memory.understand import speaker
from claude_memory.understand.speaker import Manner, Speaker, Verdict

# Bookkeeping repeats prompts and dominates the size. These lines begin with their type, so most of a
# file is passed over without being parsed.
_TYPE_FIRST = re.compile(
    rb'\{\s?"type"\s?:\s?"(?!user"|assistant"|system"|attachment"'
    rb'|queue-operation"|pr-link"|summary"|custom-title"|ai-title")'
)
_ATTACHMENT = re.compile(  # only plain members may stand before it: what is quoted never matches
    rb'\{(?:\s?"\w+"\s?:\s?(?:"[^"\\]*"|null|true|false)\s?,)*'
    rb'\s?"attachment"\s?:\s?\{\s?"type"\s?:\s?"(?!queued_command")'
)
_SPILLED = re.compile(r"[/\\]tool-results[/\\]([\w.-]{1,128})")
_SPILLED_CHARACTERS = 200_000
_SUMMARY_HEAD = re.compile(r"^This session is being continued from a previous conversation.*?\n\n", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_SUMMARY_TAIL = re.compile(
    r"\n+(?:If you need specific details|Please continue the conv|Continue the conversation from where).*$",
    re.DOTALL,
)
_REFUSED = ("The user doesn't want to proceed", "[Request interrupted", "The user doesn't want to take this")
_RESULT_FACTS = ("toolUseResult", "permissionDecision", "toolDenialKind", "userFeedback")
_OPEN_CALLS = 100
_LEAVES = 50  # of the last lines: a title names the line that was the last when it was made


def summary_text(text: str) -> str:
    """A compaction's summary without the sentences that the agent puts around it."""
    body = _REMINDER.sub("", _SUMMARY_HEAD.sub("", text, count=1))
    return _SUMMARY_TAIL.sub("", body).strip() or text.strip()


@dataclass(slots=True, eq=False)
class _Waiting:
    """One prompt in the queue, the line that put it there, and whether the agent worked meanwhile."""

    text: str
    line: Mapping[str, Any]
    worked: bool = False


class ClaudeReader(Reader):
    @staticmethod
    def is_bookkeeping(raw: bytes) -> bool:
        return _TYPE_FIRST.match(raw) is not None or _ATTACHMENT.match(raw) is not None

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._prompt, self._first = text_of(state, "prompt"), text_of(state, "first")
        self._tools = {str(call): str(tool) for call, tool in mapping_of(state, "tools").items()}
        self._leaves = dict.fromkeys(map(str, list_of(state, "leaves")))
        self._title = text_of(state, "title")
        self._waiting: list[_Waiting] = []  # prompts in the queue, oldest first
        self._told = {
            str(name) for name in list_of(state, "queued")
        }  # from it since a person spoke, by hashes
        self._going_on = False
        self._placeless: list[Turn] = []  # a prompt that waited stands before the first line with a folder

    @property
    def settled(self) -> bool:
        return self._held is None and not self._waiting and not self._placeless

    def state(self) -> dict[str, Any]:
        """With the prompt that is being answered and the calls whose results are to come."""
        asked = {"prompt": self._prompt, "first": self._first, "title": self._title, "tools": self._tools}
        return super().state() | asked | {"leaves": list(self._leaves), "queued": sorted(self._told)}

    def feed(self, document: Mapping[str, Any]) -> list[Turn]:
        """The turns of one line; those before the folder is known wait for it."""
        turns = [*self._placeless, *self.turns(document)]
        if not self.cwd:
            self._placeless = turns
            return []
        waited, self._placeless = len(self._placeless), []
        return [replace(turn, cwd=turn.cwd or self.cwd) for turn in turns[:waited]] + turns[waited:]

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one line; an assistant's text waits until it is known whether it is the last."""
        kind = str(document.get("type"))
        said = {"user": self._user, "assistant": self._assistant, "system": self._system}.get(kind)
        if said is None:
            beside = {"attachment": self._attachment, "queue-operation": self._queued}
            yield from beside.get(kind, self._named)(document)
            return
        if uuid := text_of(document, "uuid"):
            self._leaves[uuid] = None
            if len(self._leaves) > _LEAVES:
                del self._leaves[next(iter(self._leaves))]
        for new in said(document):
            yield from self._settle(new)

    def finish(self) -> list[Turn]:
        """At the end of the file the last text is the reply, unless the agent was about to use a tool."""
        last = self._released(closes=not self._going_on)
        return [*self._placeless, *last, *self._left(self._waiting)]

    def _user(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        if line.get("isMeta") is True:
            return
        prompt = text_of(line, "promptId")
        content = mapping_of(line, "message").get("content")
        if line.get("isCompactSummary") is True:
            self._prompt = prompt or self._prompt
            verdict = speaker.of_prompt(summary_text(joined_text(content)), line)
            yield self._turn(line, Role.SUMMARY, verdict, prompt)
            return
        texts, answered = [], False
        for block in blocks_of(content):
            if block.get("type") == "tool_result":
                answered = True
                yield self._result(line, block, prompt)
            elif text := joined_text([block]):
                texts.append(text)
        yield from self._spoken(line, texts, prompt, beside_result=answered)

    def _spoken(
        self, line: Mapping[str, Any], texts: list[str], prompt: str, *, beside_result: bool
    ) -> Iterator[Turn]:
        """What a line says beside tools' results, each of its texts judged by itself."""
        said = speaker.of_texts(texts, line)
        if said is None:
            return
        waited = self._arrived(said.words)
        if said.speaker is not Speaker.PERSON:
            self.stopped = self.stopped or said.manner is Manner.INTERRUPTION
            yield self._prompted(line, said, prompt)
            return
        if waited is None and not beside_result:
            if self._was_told(said.words):
                return
            yield from self._left(self._waiting)  # their own lines are not expected any more
            self._told.clear()  # no line will repeat what was told before
        if self.stopped:
            self.stopped = False
            said = said._replace(manner=Manner.AFTER_INTERRUPTION)
        elif beside_result or (waited is not None and waited.worked):
            # Beside a result stands what a person wrote when they allowed the tool; no tool can write there.
            said = said._replace(manner=Manner.QUEUED)
        yield self._prompted(line, said, prompt)

    def _prompted(self, line: Mapping[str, Any], verdict: Verdict, prompt: str) -> Turn:
        self._prompt = prompt
        if prompt_role(verdict) is Role.TASK:
            return self._turn(line, Role.TASK, verdict, prompt)
        # Several texts may stand under one prompt id; the first is what its hook reported.
        known = bool(prompt) and self._first == prompt
        self._first = prompt
        return self._turn(line, Role.USER, verdict, "" if known else prompt, f"prompt:{prompt}")

    def _result(self, line: Mapping[str, Any], block: Mapping[str, Any], prompt: str) -> Turn:
        call = text_of(block, "tool_use_id")
        tool = self._tools.pop(call, "")
        text, failed = joined_text(block.get("content")), block.get("is_error") is True
        facts = {name: line[name] for name in _RESULT_FACTS if name in line}
        verdict = speaker.of_result(tool, text, {**facts, "is_error": failed})
        if verdict.speaker is Speaker.TOOL:
            verdict = verdict._replace(words=self._unspilled(line, text))
        refused = failed and text.startswith(_REFUSED)
        more = {"call": call, "failed": failed, "interrupted": refused}
        return self._turn(line, Role.RESULT, verdict, prompt, f"result:{call}", **more)

    def _assistant(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        for waiting in self._waiting:
            waiting.worked = True
        message = mapping_of(line, "message")
        own = f"message:{text_of(message, 'id')}"
        broken = line.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
        self._going_on = message.get("stop_reason") == "tool_use"
        for block in blocks_of(message.get("content")):
            if block.get("type") == "tool_use":
                yield self._call(line, block)
            elif block.get("type") == "text" and (text := text_of(block, "text")).strip():
                said = Verdict(Speaker.AGENT, Manner.SAID, text)
                if broken:  # the program's word that something went wrong
                    said = Verdict(Speaker.HARNESS, Manner.NOTIFICATION, text)
                yield self._turn(line, Role.ASSISTANT, said, self._prompt, own, failed=broken)

    def _call(self, line: Mapping[str, Any], block: Mapping[str, Any]) -> Turn:
        call, tool = text_of(block, "id"), text_of(block, "name")
        if call:
            self._tools[call] = tool
            if len(self._tools) > _OPEN_CALLS:
                del self._tools[next(iter(self._tools))]
        more = {"tool": tool, "call": call, "given": mapping_of(block, "input")}
        said = Verdict(Speaker.AGENT, Manner.CALL, "")
        return self._turn(line, Role.CALL, said, self._prompt, f"call:{call}", **more)

    def _system(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        if line.get("subtype") == "compact_boundary":
            trigger = text_of(mapping_of(line, "compactMetadata"), "trigger")
            text = f"compacted ({trigger})" if trigger else "compacted"
            yield self._turn(line, Role.NOTE, Verdict(Speaker.HARNESS, Manner.BOUNDARY, text), "")

    def _attachment(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        """A prompt that a person typed while the agent worked; every other attachment is machinery."""
        attachment = mapping_of(line, "attachment")
        if attachment.get("type") != "queued_command":
            return
        text = joined_text(attachment.get("prompt"))
        verdict = speaker.of_prompt(text, {**line, **attachment})
        self._arrived(verdict.words)
        if verdict.speaker is Speaker.PERSON and text.strip() and not self._was_told(verdict.words):
            verdict = verdict._replace(manner=Manner.QUEUED)
            turn = self._prompted(line, verdict, text_of(line, "promptId"))
            yield from [*self._released(closes=False), turn]

    def _named(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        """The conversation's title, and the pull requests that came of it."""
        kind, session = line.get("type"), text_of(line, "sessionId") or self.session
        manner, text = Manner.TITLE, ""
        if kind == "pr-link":
            manner, text = Manner.PULL_REQUEST, f"pull request {text_of(line, 'prUrl')}".strip()
        elif kind != "summary" or text_of(line, "leafUuid") in self._leaves:  # else of another conversation
            title = text_of(line, "customTitle") or text_of(line, "aiTitle") or text_of(line, "summary")
            if title.strip() and (name := chained("", title)) != self._title:
                self._title, text = name, title
        if text:
            yield self._aside(session, Verdict(Speaker.HARNESS, manner, text), f"{manner}:{session}")

    def _aside(
        self, session: str, said: Verdict, anchor: str, at: datetime | None = None, role: Role = Role.NOTE
    ) -> Turn:
        """A turn that stands at no certain place in the conversation."""
        place, anchors = (self.cwd, self.branch), (anchor,)
        return Turn(session, role, said.words, at or self._at, said.speaker, said.manner, *place, anchors)

    def _turn(
        self, line: Mapping[str, Any], role: Role, said: Verdict, prompt: str, own: str = "", **more: Any
    ) -> Turn:
        """One turn of a line; `own` is the agent's id of it, behind its kind: `call:…`."""
        stamp, cwd, branch = text_of(line, "timestamp"), text_of(line, "cwd"), text_of(line, "gitBranch")
        self._at = moment_of(stamp) or self._at
        self.cwd, self.branch = cwd or self.cwd, branch or self.branch
        session = text_of(line, "sessionId") or self.session
        subagent = text_of(line, "agentId")
        # One line may hold several blocks: its uuid names the line, the text the block.
        ids = (f"uuid:{text_of(line, 'uuid')}", own)
        anchors = [id_ for id_ in ids if id_ and not id_.endswith(":")]
        self.chain = chained(self.chain, stamp, cwd, role, said.words)
        return Turn(
            session=f"agent-{subagent}" if subagent else session,
            role=role,
            text=said.words,
            at=self._at,
            speaker=said.speaker,
            manner=said.manner,
            cwd=cwd,
            branch=branch,
            anchors=(*anchors, f"after:{self.chain}"),
            prompt=prompt,
            subagent=subagent,
            parent=session if subagent else "",
            **more,
        )

    def _unspilled(self, line: Mapping[str, Any], text: str) -> str:
        """A large output lies in a file of its own; the line holds its beginning and the file's name."""
        found, here = _SPILLED.search(text[:8_000]), self.source.path.parent
        if found is None or len(text) > 8_000:
            return text
        for folder in (here / text_of(line, "sessionId"), here.parent, here):
            with suppress(OSError), (folder / "tool-results" / found[1]).open("rb") as handle:
                return handle.read(_SPILLED_CHARACTERS).decode("utf-8", "replace") or text
        return text

    # --- prompts that wait while the agent works: which of them stand nowhere else in the transcript

    def _queued(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        """A prompt is put into the queue; then it is submitted, handed to the agent at work, or taken back.

        When it is submitted, its own line follows; in older versions nothing follows when it is handed over.
        """
        operation, text = line.get("operation"), text_of(line, "content")
        if operation == "enqueue":
            self._waiting.append(_Waiting(text, line))
        elif operation == "popAll":
            self._waiting.clear()  # taken back before the agent saw them
        elif operation == "remove" and self._waiting:
            same = (prompt for prompt in self._waiting if text and prompt.text == text)
            if turns := self._left([next(same, self._waiting[0])]):
                yield from [*self._released(closes=False), *turns]  # what was said before is no last word

    def _left(self, prompts: list[_Waiting]) -> list[Turn]:
        """The person's words of these prompts, which wait no longer, and of which no line will tell."""
        self._waiting = [prompt for prompt in self._waiting if prompt not in prompts]
        turns = []
        for text, line in ((prompt.text, prompt.line) for prompt in prompts if prompt.text.strip()):
            said = speaker.of_prompt(text)
            if said.speaker is Speaker.PERSON:
                self._told.add(_name(said.words))
                manner = Manner.AFTER_INTERRUPTION if self.stopped else Manner.QUEUED
                self.stopped = False
                session, stamp = text_of(line, "sessionId") or self.session, text_of(line, "timestamp")
                place = f"queue:{stamp or session}"  # copies of a conversation keep its time
                said = said._replace(manner=manner)
                turns.append(self._aside(session, said, place, moment_of(stamp), Role.USER))
        return turns

    def _arrived(self, text: str) -> _Waiting | None:
        """The prompt that waited and now has its own line, alone or together with others."""
        said = f"\n{text.strip()}\n"
        found = [prompt for prompt in self._waiting if f"\n{prompt.text.strip()}\n" in said]
        self._waiting = [prompt for prompt in self._waiting if prompt not in found]
        return found[0] if found else None

    def _was_told(self, text: str) -> bool:
        """Whether these words were already told from the queue; each is asked for once."""
        known = (name := _name(text)) in self._told
        self._told.discard(name)
        return known


def _name(text: str) -> str:
    return hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()
