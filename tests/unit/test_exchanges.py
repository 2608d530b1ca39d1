"""One request of a person, one exchange: where it begins, what was done in it, how it ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claude_memory.model import SessionId
from claude_memory.store.model import Message
from claude_memory.understand.calls import rendered
from claude_memory.understand.exchanges import exchanges, record, session_text
from claude_memory.understand.model import Exchange, Outcome
from claude_memory.understand.titles import SEARCH_CHARACTERS, TITLE_CHARACTERS, search_text, title

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SESSION = SessionId("s1")
CWD = "/home/ada/shop"


class Talk:
    """A conversation written down message by message, a few seconds apart."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._at = START

    def add(self, role: str, text: str, speaker: str, manner: str, **more: Any) -> Talk:
        self._at += timedelta(seconds=5)
        ordinal = len(self.messages) + 1
        self.messages.append(
            Message(ordinal, 1, ordinal, role, self._at, text, speaker=speaker, manner=manner, **more)
        )
        return self

    def later(self, **passed: float) -> Talk:
        self._at += timedelta(**passed)
        return self

    def asks(self, text: str, manner: str = "typed", **more: Any) -> Talk:
        return self.add("user", text, "person", manner, **more)

    def says(self, text: str, manner: str = "closing", **more: Any) -> Talk:
        return self.add("assistant", text, "agent", manner, **more)

    def handed(self, text: str, manner: str) -> Talk:
        return self.add("user", text, "agent" if manner == "plan" else "harness", manner)

    def interrupted(self) -> Talk:
        return self.handed("[Request interrupted by user]", "interruption")

    def uses(self, tool: str, given: dict[str, Any], output: str = "", *, failed: bool = False) -> Talk:
        self.call(tool, given)
        return self.add("result", output, "tool", "result", tool=tool, call=self._last_call, failed=failed)

    def call(self, tool: str, given: dict[str, Any]) -> Talk:
        self._last_call = f"c{len(self.messages)}"
        return self.add("call", rendered(given), "agent", "call", tool=tool, call=self._last_call)

    def runs(self, command: str, output: str = "", *, failed: bool = False) -> Talk:
        return self.uses("Bash", {"command": command, "description": "x"}, output, failed=failed)

    def edits(self, name: str, *, failed: bool = False) -> Talk:
        given = {"file_path": f"{CWD}/{name}", "old_string": "a", "new_string": "path: b"}
        return self.uses("Edit", given, "updated", failed=failed)

    def rejected(self, tool: str, given: dict[str, Any], reason: str = "") -> Talk:
        self.call(tool, given)
        return self.add(
            "result",
            reason or "The user doesn't want to proceed with this tool use.",
            "person" if reason else "harness",
            "rejection",
            tool=tool,
            call=self._last_call,
            failed=True,
        )

    @property
    def exchanges(self) -> list[Exchange]:
        return exchanges(SESSION, self.messages, CWD)

    @property
    def only(self) -> Exchange:
        [one] = self.exchanges
        return one


def asked(talk: Talk) -> list[list[str]]:
    return [[spoken.words for spoken in one.asked] for one in talk.exchanges]


# --- boundaries


def test_two_prompts_and_two_replies_about_one_choice_are_two_exchanges() -> None:
    talk = (
        Talk().asks("Which queue should orders use, Redis or RabbitMQ?").says("Redis: it is there already.")
    )
    talk.asks("Then use Redis for it").edits("orders/queue.py").says("Orders go through Redis now.")
    first, second = talk.exchanges
    assert (first.request, first.closing) == (
        "Which queue should orders use, Redis or RabbitMQ?",
        "Redis: it is there already.",
    )
    assert first.files_edited == ()
    assert (second.request, second.files_edited) == ("Then use Redis for it", (("orders/queue.py", 1),))
    assert second.closing == "Orders go through Redis now."


def test_messages_are_put_in_order_of_time() -> None:
    talk = Talk().asks("Rename the cart").says("Renamed.").asks("And the basket").says("Also renamed.")
    shuffled = [talk.messages[at] for at in (3, 1, 2, 0)]
    assert exchanges(SESSION, shuffled, CWD) == talk.exchanges


def test_the_title_of_a_conversation_is_no_part_of_an_exchange() -> None:
    talk = Talk().asks("Rename the cart").says("Renamed.").later(days=9)
    plain = talk.exchanges
    assert talk.add("note", "Cart work", "harness", "title").exchanges == plain


def test_an_exchange_is_named_by_its_first_message() -> None:
    talk = Talk().asks("Rename the cart", event="e7").says("Renamed.").asks("And the basket")
    assert [one.key for one in talk.exchanges] == ["e7", "s1:3"]
    assert [(one.first, one.last) for one in talk.exchanges] == [(1, 2), (3, 3)]


def test_what_is_typed_while_the_agent_works_belongs_to_its_request() -> None:
    talk = Talk().asks("Add a price filter").edits("filter.py").asks("in euros please", "queued")
    talk.edits("filter.py").says("The filter takes euros.")
    assert asked(talk) == [["Add a price filter", "in euros please"]]
    assert talk.only.asked[1].manner == "queued"


def test_what_is_typed_between_an_announcement_and_its_step_belongs_to_the_request_too() -> None:
    talk = Talk().asks("Answer the review").says("Now let me reply.", "said")
    talk.asks("commit first so that you have the hash", "queued").runs("git status").says("All answered.")
    assert asked(talk) == [["Answer the review", "commit first so that you have the hash"]]


def test_what_waited_until_the_agent_was_done_is_the_next_request() -> None:
    talk = (
        Talk()
        .asks("Add a price filter")
        .edits("filter.py")
        .says("Added.")
        .asks("now sort by price", "queued")
    )
    talk.edits("sort.py").says("Sorted.")
    assert asked(talk) == [["Add a price filter"], ["now sort by price"]]


def test_answers_and_refusals_belong_to_the_request() -> None:
    talk = Talk().asks("Store the invoices").call("AskUserQuestion", {"questions": []})
    talk.add("result", "Which bucket?\n→ eu-central\n\nEncrypt?\n→ yes", "person", "answer", call="c1")
    talk.rejected("Write", {"file_path": "a.py", "content": "x"}, "not in the root, in storage/")
    talk.edits("storage/a.py").says("Invoices are stored.")
    one = talk.only
    assert [(said.question, said.words) for said in one.asked[1:3]] == [
        ("Which bucket?", "eu-central"),
        ("Encrypt?", "yes"),
    ]
    assert one.asked[3].words == "not in the root, in storage/"
    assert one.files_edited == (("storage/a.py", 1),)


def test_answers_are_read_from_the_agents_own_wording_too() -> None:
    talk = Talk().asks("Store the invoices").call("AskUserQuestion", {"questions": []})
    text = 'User has answered your questions: "Which bucket?"="eu-central". You can now continue.'
    talk.add("result", text, "person", "answer", call="c1").says("Stored.")
    assert [(said.question, said.words) for said in talk.only.asked[1:]] == [("Which bucket?", "eu-central")]


def test_a_prompt_right_after_an_interruption_goes_on_with_the_same_request() -> None:
    talk = Talk().asks("Look at ticket MC-108").runs("gh issue view 108").interrupted()
    talk.asks("Look at ticket EN-108", "after_interruption").says("It asks for a filter.")
    assert asked(talk) == [["Look at ticket MC-108", "Look at ticket EN-108"]]
    assert talk.only.outcome is Outcome.ANSWERED


def test_an_interruption_may_be_told_by_the_next_prompt_alone() -> None:
    talk = Talk().asks("Show the icon").edits("icon.svg").asks("It must be a PNG", "after_interruption")
    talk.edits("icon.png").says("The icon is a PNG now.")
    assert asked(talk) == [["Show the icon", "It must be a PNG"]]
    without = Talk().asks("Show the icon").edits("icon.svg").asks("It must be a PNG").says("It is.")
    assert len(without.exchanges) == 2


def test_a_prompt_long_after_an_interruption_is_a_new_request() -> None:
    talk = Talk().asks("Look at ticket 108").runs("gh issue view 108").interrupted()
    talk.later(hours=3).asks("Update the readme", "after_interruption").says("Updated.")
    assert [one.outcome for one in talk.exchanges] == [Outcome.INTERRUPTED, Outcome.ANSWERED]


def test_a_limit_that_was_reached_is_no_word_of_the_agent() -> None:
    talk = Talk().asks("Review it with care").says("You've hit your limit", failed=True)
    talk.asks("Review it with care").says("It is fine.")
    assert asked(talk) == [["Review it with care", "Review it with care"]]
    idle = Talk().asks("Review it").says("Fine.").handed("<command-name>/exit</command-name>", "command")
    idle.add("assistant", "No response requested.", "harness", "notification", failed=True)
    assert len(idle.exchanges) == 1


def test_two_prompts_before_the_agent_said_a_word_are_one_request() -> None:
    talk = Talk().asks("The build is red").asks("see the log in ci.txt").says("A version was missing.")
    assert asked(talk) == [["The build is red", "see the log in ci.txt"]]


def test_a_short_reply_knows_the_question_it_answers() -> None:
    talk = Talk().asks("Is the cache safe?").says("Not with two writers.\n\n**Shall I add a lock?**")
    talk.asks("yes").edits("cache.py").says("Two writers wait for each other now.")
    assert talk.exchanges[1].asked[0].question == "Shall I add a lock?"
    talk.asks(
        "Now document the lock in docs/cache.md, with an example of two writers that wait for it, please"
    )
    assert talk.exchanges[2].asked[0].question == ""


# --- what is not a person's


def test_a_command_starts_an_exchange_that_nobody_asked_for_in_words() -> None:
    talk = Talk().asks("Fix the login").says("Fixed.")
    talk.handed(
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>12</command-args>",
        "command",
    )
    talk.handed("Review the pull request with care. Always be strict.", "command").says("It looks right.")
    command = talk.exchanges[1]
    assert (command.asked, command.handed, command.closing) == ((), "/review 12", "It looks right.")


def test_a_skill_that_the_agent_loads_belongs_to_the_running_exchange() -> None:
    talk = Talk().asks("Fix the login").uses("Skill", {"skill": "debugging"}, "Launching skill: debugging")
    talk.handed("Base directory for this skill: /x\n\n# Debugging", "command").says("The cookie had expired.")
    assert asked(talk) == [["Fix the login"]]


def test_commands_that_lead_to_nothing_are_no_exchange() -> None:
    talk = Talk().handed("<command-name>/clear</command-name>", "command").handed("(no content)", "shell")
    talk.asks("Fix the login").says("Fixed.")
    assert asked(talk) == [["Fix the login"]]


def test_a_plan_handed_on_starts_an_exchange_of_the_agents_words() -> None:
    talk = Talk().asks("Plan the filter").says("Here it is.")
    talk.handed("Implement the following plan:\n\n# Filter by price\n\n1. Parse", "plan")
    talk.edits("filter.py").says("Prices are parsed.")
    plan = talk.exchanges[1]
    assert (plan.asked, plan.handed, plan.plan) == ((), "", "# Filter by price\n\n1. Parse")


def test_an_approved_plan_is_the_plan_of_its_exchange_and_a_refused_one_is_not() -> None:
    given = {"plan": "# Filter by price\n\n1. Parse"}
    talk = Talk().asks("Add a filter").uses("ExitPlanMode", given, "User has approved your plan.")
    assert talk.edits("filter.py").says("Done.").only.plan == "# Filter by price\n\n1. Parse"
    refused = Talk().asks("Add a filter").rejected("ExitPlanMode", given, "by name instead")
    assert refused.only.plan == ""


def test_notices_hooks_and_summaries_belong_to_the_running_exchange() -> None:
    talk = Talk().asks("Fix the login").runs("make e2e").says("The tests run in the background.")
    talk.handed("<task-notification>make e2e: always use Oracle</task-notification>", "notification")
    talk.add("note", "compacted", "harness", "boundary")
    talk.add("summary", "The user wants the login fixed.", "agent", "continuation")
    talk.handed("Stop hook feedback: run the linter", "hook").runs("make lint").says("The login works again.")
    assert asked(talk) == [["Fix the login"]]
    assert talk.only.closing == "The login works again."
    assert talk.only.said == ("The tests run in the background.",)


def test_a_short_word_after_a_notice_keeps_the_words_before_it() -> None:
    report = "The login failed because the cookie had no domain; it is set from the host now. " * 3
    talk = Talk().asks("Fix the login").edits("login.py").says(report)
    talk.handed("<task-notification>done</task-notification>", "notification").says("Nothing else to do.")
    assert talk.only.closing == f"{report.strip()}\n\nNothing else to do."


def test_a_scheduled_prompt_and_a_sub_agents_order_start_exchanges_of_their_own() -> None:
    talk = Talk().asks("Fix the login").says("Fixed.")
    talk.handed("Check the build of pull request 12", "notification").says("It is green.")
    assert [(len(one.asked), one.handed) for one in talk.exchanges] == [
        (1, ""),
        (0, "Check the build of pull request 12"),
    ]
    order = Talk().add("task", "Search the code for cookies", "agent", "task").says("Found three.")
    assert (order.only.asked, order.only.handed) == ((), "Search the code for cookies")


def test_words_of_nobody_known_are_not_a_persons() -> None:
    talk = Talk().add("user", "always use Oracle", "", "").says("Fine.")
    assert talk.only.asked == ()


# --- how it ended


def test_outcomes() -> None:
    assert Talk().asks("Fix it").only.outcome is Outcome.OPEN
    assert Talk().asks("Fix it").runs("ls").only.outcome is Outcome.OPEN
    assert Talk().asks("Fix it").runs("ls").says("Fixed.").only.outcome is Outcome.ANSWERED
    assert (
        Talk().asks("Fix it").says("Let me look").runs("ls").interrupted().only.outcome is Outcome.INTERRUPTED
    )
    refused = Talk().asks("Fix it").rejected("Bash", {"command": "rm -r x"}, "no!")
    assert refused.only.outcome is Outcome.REJECTED
    assert refused.interrupted().only.outcome is Outcome.REJECTED
    assert refused.says("Then I leave it.").only.outcome is Outcome.ANSWERED


def test_what_was_announced_before_a_tool_is_no_closing_word() -> None:
    one = Talk().asks("Fix it").says("Let me look").runs("ls").interrupted().only
    assert (one.closing, one.said) == ("", ("Let me look",))


# --- the work


def test_files_read_and_edited_are_named_as_the_project_names_them() -> None:
    talk = Talk().asks("Fix it").uses("Read", {"file_path": f"{CWD}/a.py"}, "x")
    talk.edits("b.py").edits("c.py").edits("c.py").edits("d.py", failed=True)
    talk.uses("view", {"path": "/elsewhere/e.py"}, "x")
    one = talk.only
    assert one.files_read == ("a.py", "/elsewhere/e.py")
    assert one.files_edited == (("c.py", 2), ("b.py", 1))


def test_a_folder_of_windows_is_the_same_folder() -> None:
    talk = Talk().asks("Fix it").uses("Edit", {"file_path": "d:\\shop\\src\\a.go", "old_string": "x"}, "ok")
    [one] = exchanges(SESSION, talk.messages, "D:\\shop")
    assert one.files_edited == (("src/a.go", 1),)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"}),
        ("exec_command", {"command": "apply_patch <<'E'\n*** Begin Patch\n*** Add File: src/a.py\n+x\nE"}),
        ("bash", {"command": "cat > src/a.py <<'E'\nx: 1\nE"}),
        ("create", {"path": "src/a.py", "file_text": "path: other.py"}),
        ("edit", {"filePath": f"{CWD}/src/a.py", "newString": "x"}),
        ("replace", {"file_path": f"{CWD}/src/a.py", "new_string": "x"}),
    ],
)
def test_every_agents_way_to_change_a_file_counts(tool: str, given: dict[str, Any]) -> None:
    assert Talk().asks("Fix it").uses(tool, given, "ok").only.files_edited == (("src/a.py", 1),)


def test_files_that_a_shell_printed_were_read() -> None:
    talk = (
        Talk()
        .asks("Look")
        .uses("exec_command", {"command": "sed -n '1,20p' src/a.ts && cat 'b/c.md' | head -5"})
    )
    assert talk.only.files_read == ("src/a.ts", "b/c.md")


def test_commands_keep_their_outcome_and_the_lines_that_say_what_was_wrong() -> None:
    talk = Talk().asks("Fix it").runs("ls src", "a.py")
    talk.runs("python a.py", "Exit code 1\nloading\nKeyError: 'coupon' not found\n", failed=True)
    first, second = talk.only.commands
    assert (first.command, first.failed, first.error) == ("ls src", False, "")
    assert (second.failed, second.error) == (True, "KeyError: 'coupon' not found")


def test_a_command_that_was_refused_was_not_run() -> None:
    assert Talk().asks("Fix it").rejected("Bash", {"command": "rm -r x"}, "no!").only.commands == ()


def test_commits_that_went_through_and_what_was_edited_after_the_last() -> None:
    talk = Talk().asks("Fix and commit").edits("a.py")
    talk.runs("git commit -m 'Fix the cart'", "[fix/cart 1a2b3c4] Fix the cart\n 1 file changed")
    talk.edits("b.py").uses("Write", {"file_path": "/tmp/notes.md", "content": "x"}, "ok")
    one = talk.only
    assert [(commit.hash, commit.subject, commit.branch) for commit in one.commits] == [
        ("1a2b3c4", "Fix the cart", "fix/cart")
    ]
    assert one.uncommitted == ("b.py",)


def test_a_quiet_commit_is_known_by_its_message_and_the_log() -> None:
    command = (
        "git add -A && git commit -q -F - <<'EOF'\nfix(cart): keep coupons\n\nBody\nEOF\ngit log --oneline -2"
    )
    talk = Talk().asks("Commit it").runs(command, "9f8e7d6 fix(cart): keep coupons\n1a2b3c4 Older work")
    assert [commit.subject for commit in talk.only.commits] == ["fix(cart): keep coupons"]
    silent = Talk().asks("Commit it").runs('git add -A && git commit -q -m "fix(cart): keep coupons\n\nBody"')
    assert [(one.hash, one.subject) for one in silent.only.commits] == [("", "fix(cart): keep coupons")]
    failed = Talk().asks("Commit it").runs('git commit -q -m "fix(cart): keep coupons"', "fatal", failed=True)
    assert failed.only.commits == ()
    two = "git commit -q -m 'first'; git commit -q -m 'second'; git log --oneline -2"
    both = Talk().asks("Commit it").runs(two, "9f8e7d6 second\n1a2b3c4 first")
    assert [(one.hash, one.subject) for one in both.only.commits] == [
        ("1a2b3c4", "first"),
        ("9f8e7d6", "second"),
    ]
    loop = Talk().asks("Commit it").runs('for i in 1 2; do git commit -q -m "step $i"; done')
    assert loop.only.commits == ()
    log = Talk().asks("What was done?").runs("git log --oneline", "9f8e7d6 fix(cart): keep coupons")
    assert log.only.commits == ()


def test_a_commit_went_through_even_if_the_push_after_it_failed() -> None:
    talk = Talk().asks("Commit and push").edits("a.py")
    talk.runs(
        "git commit -m x && git push", "[main 1a2b3c4] Fix the cart\nrejected: fetch first", failed=True
    )
    assert [commit.subject for commit in talk.only.commits] == ["Fix the cart"]
    assert talk.only.uncommitted == ()


def test_an_amended_commit_counts_once() -> None:
    talk = Talk().asks("Commit").runs("git commit -m x", "[main 1a2b3c4] Fix the cart")
    talk.runs("git commit --amend --no-edit", "[main 9f8e7d6] Fix the cart")
    assert [commit.hash for commit in talk.only.commits] == ["9f8e7d6"]


def test_pull_requests_come_from_the_command_that_made_them_or_from_a_note() -> None:
    link = "https://github.com/ada/shop/pull/41"
    talk = Talk().asks("Open a PR").runs("gh pr create --draft", f"Creating…\n{link}")
    talk.runs("gh pr view 12", "https://github.com/ada/shop/pull/12")
    assert talk.only.pull_requests == (link,)
    noted = Talk().asks("Open a PR").says("Opened.").add("note", link, "harness", "pull_request")
    assert noted.only.pull_requests == (link,)


def test_a_check_fails_until_it_passes_again() -> None:
    talk = Talk().asks("Fix it").runs("make lint", "Exit code 2\nerror: unused", failed=True)
    talk.runs("go test ./cart", "--- FAIL: TestCoupon\nFAIL", failed=True)
    assert [one.command for one in talk.only.failing] == ["make lint", "go test ./cart"]
    talk.runs("go test ./other", "ok")
    assert [one.command for one in talk.only.failing] == ["make lint", "go test ./cart"]
    talk.runs("cd x && make lint 2>&1 | tail -5", "ok").runs("go test ./...", "ok")
    assert talk.only.failing == ()


def test_a_pipe_does_not_hide_that_a_check_failed() -> None:
    talk = Talk().asks("Fix it").runs("mise run test 2>&1 | tail -3", "--- FAIL: TestCoupon\nFAIL\n")
    talk.runs("grep -rn 'FAIL' src | head", "src/a.go: FAIL")
    assert [one.command for one in talk.only.failing] == ["mise run test 2>&1 | tail -3"]
    assert Talk().asks("x").runs("pytest | tail -1", "12 passed, 0 failed").only.failing == ()


def test_an_exit_code_that_is_known_is_believed() -> None:
    talk = Talk().asks("Test it").runs("cd shop && npm test", "Error: this error is expected\n12 passing")
    assert talk.only.failing == ()


def test_a_command_that_was_still_running_ends_in_a_later_call() -> None:
    talk = (
        Talk()
        .asks("Test")
        .uses(
            "exec_command",
            {"command": "npm test"},
            "Chunk ID: 1\nProcess running with session ID 77\nOutput:\n",
        )
    )
    output = "Process exited with code 1\nOutput:\n3 failed"
    talk.uses("write_stdin", {"session_id": 77, "chars": ""}, output, failed=True)
    assert [(one.command, one.failed) for one in talk.only.failing] == [("npm test", True)]


def test_tasks_stand_as_they_were_at_the_end() -> None:
    todos = [{"content": "Parse", "status": "completed"}, {"content": "Sort", "status": "in_progress"}]
    talk = Talk().asks("Do both").uses("TodoWrite", {"todos": [{"content": "Parse", "status": "pending"}]})
    talk.uses("TodoWrite", {"todos": todos})
    assert [(one.title, one.status) for one in talk.only.tasks] == [
        ("Parse", "completed"),
        ("Sort", "in_progress"),
    ]
    codex = Talk().asks("Do it").uses("update_plan", {"plan": [{"step": "Parse", "status": "in_progress"}]})
    assert [(one.title, one.status) for one in codex.only.tasks] == [("Parse", "in_progress")]


def test_tasks_outlive_their_exchange_until_they_are_done() -> None:
    talk = Talk().asks("Plan it")
    for number, subject in ((1, "Parse"), (2, "Sort")):
        talk.uses("TaskCreate", {"subject": subject}, f"Task #{number} created successfully: {subject}")
    talk.uses("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1").says("Planned.")
    talk.asks("What time is it?").says("Nine.")
    talk.asks("Go on").uses("TaskUpdate", {"taskId": "2", "status": "in_progress"}, "Updated task #2").says(
        "Sorting."
    )
    states = [[(one.title, one.status) for one in exchange.tasks] for exchange in talk.exchanges]
    assert states == [[("Parse", "completed"), ("Sort", "pending")], [], [("Sort", "in_progress")]]


@pytest.mark.parametrize(
    "hostile",
    [
        "ok " * 60_000,
        "please " * 30_000 + "x",
        "-" * 100_000,
        "\n" * 100_000,
        "[a](" * 40_000,
        "((((" * 30_000,
        "git commit -m '" * 8_000,
        '"content": "' * 9_000,
        "cat > " + "a" * 90_000,
        "a.b" * 50_000 + " <<",
        "1 " * 60_000 + "failed",
        "\ud800" * 1_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_no_text_makes_it_fail_or_hang(hostile: str) -> None:
    talk = Talk().asks(hostile).says(hostile, "said").runs(hostile[:6_000], hostile[:8_000])
    talk.uses("TodoWrite", {"todos": hostile[:6_000]}).uses("Edit", {"file_path": hostile[:6_000]})
    talk.runs(f"make lint | tail {hostile[:3_000]}", hostile[:8_000]).says(hostile)
    one = talk.only
    assert 0 < len(title(one)) <= TITLE_CHARACTERS
    assert len(search_text(one)) <= SEARCH_CHARACTERS
    assert session_text(record(SESSION, [one]))
