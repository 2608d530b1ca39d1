"""What earlier sessions know is given where it helps: with a prompt, before an edit, before and after a command.

Sessions are told by transcripts, the moments by hooks that run as an agent runs them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from tests.integration.histories import ClaudeSession
from tests.integration.test_hook_answers import Agent, injections

from claude_memory.context.moments import COMMANDS, SUBAGENT_TOKENS
from claude_memory.memory import Memory
from claude_memory.text.quotation import tokens

UNKNOWN_FLAG = "Exit code 1\nunknown flag: --stat\nUsage: gh pr diff [<number>] [flags]"
UNCHECKED = "Exit code 1\nsrc/pay.go:60:3: Error return value of `os.Remove` is not checked (errcheck)"


class Shop:
    """A project, its memory, and the sessions that were held in it."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home, self.project, self.memory_home = home, project, home / ".claude" / "memory"

    def session(self, name: str) -> ClaudeSession:
        return ClaudeSession(name, str(self.project))

    def held(self, *sessions: ClaudeSession) -> None:
        """Let these be known."""
        for session in sessions:
            session.write(self.home)
        with Memory.open(self.memory_home, self.project, flags={"embedder": "none"}) as memory:
            memory.import_history()

    def agent(self, session: str = "now") -> Agent:
        return Agent(self.memory_home, self.project, session)

    def cli(self, *arguments: str, stdin: bytes = b"") -> str:
        command = [sys.executable, "-m", "claude_memory", *arguments]
        environment = self.agent().environment
        done = subprocess.run(command, cwd=self.project, env=environment, input=stdin, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()


@pytest.fixture
def shop(scratch_home: Path, tmp_path: Path) -> Shop:
    project = tmp_path / "shop"
    project.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
    return Shop(scratch_home, project)


def runs(agent: Agent, command: str) -> str:
    call = f"toolu_{time.time_ns()}"
    return agent.context("PreToolUse", tool_name="Bash", tool_use_id=call, tool_input={"command": command})


def fails(agent: Agent, command: str, error: str) -> str:
    call = {"tool_name": "Bash", "tool_use_id": f"toolu_{time.time_ns()}"}
    return agent.context("PostToolUseFailure", tool_input={"command": command}, error=error, **call)


def misused(shop: Shop, name: str = "misused") -> ClaudeSession:
    session = shop.session(name).prompt("Which files does pull request 88 change?")
    session.tool("Bash", {"command": "gh pr diff 88 --stat"}, UNKNOWN_FLAG, failed=True)
    session.tool("Bash", {"command": "gh pr diff 88 --name-only"}, "src/pay.go")
    return session.says("Only src/pay.go changes in pull request 88.")


def unchecked(shop: Shop, name: str) -> ClaudeSession:
    session = shop.session(name)
    session.moment += timedelta(days=len(name))  # at the same time it would be a copy
    session.prompt(f"Remove the receipt when a payment is cancelled, {name} try.")
    path = {"file_path": str(shop.project / "src" / "pay.go"), "old_string": "a", "new_string": "b"}
    session.tool("Edit", path, "done")
    session.tool("Bash", {"command": "mise run lint 2>&1"}, UNCHECKED, failed=True)
    session.tool("Edit", path, "done")
    session.tool("Bash", {"command": "mise run lint 2>&1"}, "0 issues")
    return session.says("The receipt goes when a payment is cancelled, and lint is clean.")


def test_a_call_that_failed_before_is_told_with_the_one_that_worked(shop: Shop) -> None:
    shop.held(misused(shop))
    told = runs(shop.agent(), "gh pr diff 104 --stat")
    assert "unknown flag: --stat" in told
    assert "“gh pr diff 88 --name-only” then worked" in told
    assert runs(shop.agent(), "gh pr diff 105 --stat") == "", "once in a session"
    assert runs(shop.agent("other"), "gh pr diff 104 --name-only") == "", "that one worked"
    assert runs(shop.agent("other"), "gh issue list") == ""
    assert runs(shop.agent("other"), "ls -la && cat src/pay.go") == ""


def test_a_session_is_not_told_of_its_own_failures(shop: Shop) -> None:
    own = misused(shop)
    shop.held(own)
    assert runs(shop.agent(own.id), "gh pr diff 104 --stat") == ""


def test_a_check_that_fails_again_and_again_says_why(shop: Shop) -> None:
    shop.held(unchecked(shop, "first"))
    told = runs(shop.agent("a"), "mise run lint")
    assert "6 Oct: “mise run lint” failed with “src/pay.go:60:3: Error return value" in told
    assert "it passed later in that exchange, which edited “pay.go”" in told
    shop.held(unchecked(shop, "second"))
    told = runs(shop.agent("b"), "mise run lint")
    assert (
        "`mise run lint` failed in 2 sessions since 6 Oct: for “errcheck” in 2, the last time on 7 Oct"
        in told
    )
    assert runs(shop.agent("c"), "mise run lint:docs") == "", "another check"


def test_a_check_pointed_elsewhere_is_another(shop: Shop) -> None:
    session = shop.session("pointed").prompt("Make the cart's tests pass.")
    session.tool("Bash", {"command": "go test ./cart/..."}, "--- FAIL: TestTotal (0.00s)", failed=True)
    session.tool(
        "Edit", {"file_path": str(shop.project / "cart.go"), "old_string": "a", "new_string": "b"}, "ok"
    )
    session.tool("Bash", {"command": "go test ./cart/..."}, "ok shop/cart 0.1s")
    shop.held(session.says("The total of an empty cart is zero now; the tests pass."))
    assert "--- FAIL: TestTotal" in runs(shop.agent("a"), "go test ./cart/...")
    assert runs(shop.agent("b"), "go test ./pay/...") == ""
    assert runs(shop.agent("c"), "go test ./cart/... -run TestEmpty") == "", "other tests"
    assert "--- FAIL: TestTotal" in runs(shop.agent("d"), "go test ./... -run TestTotal")


def test_a_command_in_the_wrong_folder_is_told_the_right_one(shop: Shop) -> None:
    session = shop.session("folder").prompt("Build it.")
    error = "Exit code 1\ngo: cannot find main module, but found .git/config in /shop"
    session.tool("Bash", {"command": "go build ./..."}, error, failed=True)
    session.tool("Bash", {"command": "cd src && go build ./..."}, "")
    shop.held(session.says("It builds when it is run in src, where the module is."))
    assert "“cd src && go build ./...” then worked" in runs(shop.agent("a"), "go build ./...")
    assert runs(shop.agent("b"), "cd src && go build ./...") == ""
    (shop.project / "src").mkdir()
    inside = Agent(shop.memory_home, shop.project / "src", "c")
    assert runs(inside, "go build ./...") == ""


def test_an_error_that_was_met_before_says_how_it_went_away(shop: Shop) -> None:
    shop.held(misused(shop))
    told = fails(shop.agent(), "gh pr diff 7 --stat", UNKNOWN_FLAG)
    assert "The same error on 1 Oct" in told
    assert "“gh pr diff 88 --name-only” then worked" in told
    assert fails(shop.agent(), "gh pr diff 7 --stat", UNKNOWN_FLAG) == "", "once in a session"
    assert fails(shop.agent("other"), "gh pr diff 7", "Exit code 1\nno pull request with this number") == ""


def test_before_an_edit_comes_what_went_wrong_with_the_file(shop: Shop) -> None:
    shop.held(unchecked(shop, "first"))
    told = shop.agent().touches("src/pay.go")
    assert "`mise run lint` failed on it with “src/pay.go:60:3: Error return value" in told
    assert "it passed later in that exchange" in told
    assert shop.agent("other").touches("src/cart.go") == ""


def explained(shop: Shop) -> ClaudeSession:
    session = shop.session("explained").prompt("Round prices half to even, in src/price.py")
    path = {"file_path": str(shop.project / "src" / "price.py"), "old_string": "a", "new_string": "b"}
    session.tool("Edit", path, "done")
    message = "[main 1a2b3c4] Prices are rounded half to even\n 1 file changed"
    session.tool("Bash", {"command": "git commit -am 'Prices are rounded half to even'"}, message)
    return session.says(
        "All done.\n\n- `round_price` rounds half to even, because `sum_of_cart` adds rounded prices.\n"
        "- The cart's page shows it.\n- `src/cart.py`: `round_price` and `sum_of_cart` and `add_to_cart` moved here.\n"
    )


def test_before_an_edit_comes_what_was_said_of_the_names_it_touches(shop: Shop) -> None:
    shop.held(explained(shop))
    price = str(shop.project / "src" / "price.py")
    edit = {"file_path": price, "old_string": "round_price(x)", "new_string": "sum_of_cart(x)"}
    told = shop.agent().context("PreToolUse", tool_name="Edit", tool_use_id="t1", tool_input=edit)
    assert "1 Oct" in told
    assert "commit 1a2b3c4: “round_price rounds half to even, because sum_of_cart adds rounded" in told
    other = {"file_path": price, "old_string": "vat_of(x)", "new_string": "vat_of(y)"}
    agent = shop.agent("other")
    assert agent.context("PreToolUse", tool_name="Edit", tool_use_id="t1", tool_input=other) == ""


def test_a_refusal_is_told_where_the_same_is_edited(shop: Shop) -> None:
    session = shop.session("refused").prompt("Log when a receipt cannot be written.")
    refusal = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to "
        "proceed, the user said:\nuse our own write_log with level WARN, never print to the console"
    )
    path = {"file_path": str(shop.project / "src" / "log.py"), "old_string": "a", "new_string": "print(x)"}
    session.tool("Edit", path, refusal, failed=True)
    shop.held(session.says("Then write_log it is, with the level WARN."))
    edit = {"file_path": path["file_path"], "old_string": "print(x)", "new_string": "write_log(x)"}
    told = shop.agent().context("PreToolUse", tool_name="Edit", tool_use_id="t1", tool_input=edit)
    assert "the person refused an edit of it with “use our own write_log" in told
    elsewhere = {
        "file_path": str(shop.project / "src" / "other.py"),
        "old_string": "write_log",
        "new_string": "",
    }
    assert (
        shop.agent("b").context("PreToolUse", tool_name="Edit", tool_use_id="t", tool_input=elsewhere) == ""
    )


def test_a_prompt_that_names_a_thing_gets_how_it_ended(shop: Shop) -> None:
    session = shop.session("issue").prompt("Is https://tracker.example/shop/issues/7572 feasible?")
    session.says("Issue 7572 asks for gift cards. It needs a ledger first: the cart has no credit side.")
    shop.held(session)
    agent = shop.agent()
    told = agent.context("UserPromptSubmit", prompt="implement https://tracker.example/shop/issues/7572")
    assert "needs a ledger first" in told
    assert "asked “Is https://tracker.example/shop/issues/7572 feasible?”" in told
    assert agent.context("UserPromptSubmit", prompt="and https://tracker.example/shop/issues/7572 ?") == ""


def test_two_rare_names_of_a_prompt_find_the_exchange_that_used_both(shop: Shop) -> None:
    session = shop.session("filter").prompt("Keep secrets out of what is stored, please.")
    session.says("Receipts are filtered.\n\n`copyMetadata` and `shouldFilter` do it; tests pass.")
    shop.held(session)
    prompt = "shouldFilter omits the summary, so copyMetadata writes it as it is. Why?"
    assert "Keep secrets out" in shop.agent().context("UserPromptSubmit", prompt=prompt)


def test_a_line_that_the_working_tree_contradicts_is_marked(shop: Shop) -> None:
    (shop.project / "client.py").write_text("retries = 7\n")
    shop.cli("remember", "Gateway calls set `retries = 5` in client.py", "--kind", "decision")
    assert "possibly out of date: “retries in client.py changed since, now 7”" in shop.cli(
        "context", "--start"
    )
    (shop.project / "client.py").write_text("retries = 5\n")
    assert "out of date" not in shop.cli("context", "--start")


@pytest.mark.parametrize(
    "prompt", ["yes", "commit", "run the tests", "continue", "fix the lint errors", "hello there", "push it"]
)
def test_a_step_of_running_work_gets_nothing(shop: Shop, prompt: str) -> None:
    shop.held(unchecked(shop, "first"), misused(shop))
    assert shop.agent().context("UserPromptSubmit", prompt=prompt) == ""


def test_the_refusal_is_told_and_not_what_was_refused(shop: Shop) -> None:
    session = shop.session("refused").prompt("Store the loyalty_points of a customer.")
    refusal = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to "
        "proceed, the user said:\nkeep loyalty_points in the ledger, never in the customer row"
    )
    path = {"file_path": str(shop.project / "src" / "customer.py"), "old_string": "a", "new_string": "b"}
    session.tool("Edit", path, refusal, failed=True)
    session.says("A column loyalty_points in the customer row would be the simplest.")
    shop.held(session)
    told = shop.agent().context("UserPromptSubmit", prompt="show loyalty_points on the account page")
    assert "the person refused: “keep loyalty_points in the ledger" in told
    assert "would be the simplest" not in told


def test_each_kind_of_context_can_be_switched_off(shop: Shop) -> None:
    shop.held(unchecked(shop, "first"), unchecked(shop, "second"))
    agent = shop.agent()
    assert agent.touches("src/pay.go")
    shop.cli("config", "set", "context_off", "file,start")
    assert agent.touches("src/other.go") == ""
    assert shop.agent("other").touches("src/pay.go") == ""
    assert shop.agent("other").context("SessionStart", source="startup") == ""
    assert runs(shop.agent("other"), "mise run lint")


def test_a_sub_agent_is_told_little(shop: Shop) -> None:
    shop.held(*(unchecked(shop, "n" * number) for number in range(1, 7)))
    agent = shop.agent()
    agent.calls_agent("Why did src/pay.go fail with errcheck on os.Remove? Look at the receipt of a payment.")
    told = agent.starts_agent()
    assert COMMANDS in told
    assert tokens(told) <= SUBAGENT_TOKENS + tokens(COMMANDS)


def test_the_preview_is_what_the_hook_gives(shop: Shop) -> None:
    shop.held(misused(shop), unchecked(shop, "first"), unchecked(shop, "second"))
    for option, value, give in (
        ("--start", "", lambda: shop.agent("a").context("SessionStart", source="startup")),
        ("--command", "gh pr diff 9 --stat", lambda: runs(shop.agent("b"), "gh pr diff 9 --stat")),
        ("--file", "src/pay.go", lambda: shop.agent("c").touches("src/pay.go")),
    ):
        shown = json.loads(shop.cli("context", option, *filter(None, [value]), "--json"))
        given = give()
        assert given == f"<claude-memory>\n{shown['text']}\n</claude-memory>"
        assert shown["tokens"] == tokens(given)
        assert all(line["reason"] for line in shown["lines"] if line["id"])
    nothing = json.loads(shop.cli("context", "--prompt", "how do I boil an egg", "--json"))
    assert (nothing["text"], nothing["tokens"], nothing["lines"]) == ("", 0, [])


def test_the_hook_command_does_what_the_installed_hook_does(shop: Shop) -> None:
    shop.held(misused(shop))
    payload = {
        "session_id": "now",
        "cwd": str(shop.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_use_id": "t1",
        "tool_input": {"command": "gh pr diff 104 --stat"},
    }
    raw = json.dumps(payload).encode()
    installed = shop.agent().run("PreToolUse", raw).stdout.decode()
    assert "gh pr diff 88 --name-only" in installed
    again = json.dumps({**payload, "session_id": "then"}).encode()
    assert shop.cli("hook", "PreToolUse", stdin=again) == installed
    assert shop.cli("hook", "PostToolUse", stdin=raw) == ""


def test_the_ledger_tells_what_was_used(shop: Shop) -> None:
    shop.held(misused(shop), unchecked(shop, "first"))
    agent = shop.agent()
    agent.touches("src/pay.go")
    runs(agent, "gh pr diff 104 --stat")
    [file_line] = injections(agent)[0]["lines"]
    for number, (tool, given) in enumerate(
        (
            ("Edit", {"file_path": str(shop.project / "src" / "pay.go")}),
            ("Bash", {"command": "gh pr diff 88 --name-only | head"}),
            ("Bash", {"command": f"claude-memory show {file_line['id']}"}),
        )
    ):
        agent.hook(
            "PostToolUse", tool_name=tool, tool_use_id=f"u{number}", tool_input=given, tool_response=""
        )
    told = json.loads(shop.cli("ledger", "--json"))
    used = [use for line in told if line["session"] == "now" for use in line["used"]]
    assert sorted(used) == [
        "edited src/pay.go",
        f"opened {file_line['id']}",
        "ran gh pr diff 88 --name-only",
    ]
    assert "used: edited src/pay.go" in shop.cli("ledger")
