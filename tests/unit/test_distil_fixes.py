"""A fix is a failing check, a change, and the same check passing; nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claude_memory.distil.runs import changes_something, reports_failure, run_of
from claude_memory.distil.session import distil
from claude_memory.distil.turns import AGENT, PERSON, TOOL, Origin, Turn
from claude_memory.model import Kind, ProjectId, SessionId, StoredMemory

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ORIGIN = Origin(SessionId("s1"), ProjectId("shop"), "/srv/shop")
ERROR = "Exit code 1\nFAILED tests/test_cart.py::test_sum - assert 3 == 4\n1 failed"
TEST = "pytest tests/test_cart.py -q"


def ran(command: str, output: str = "1 passed", *, failed: bool = False) -> dict[str, Any]:
    return {"role": TOOL, "tool": "Bash", "given": {"command": command}, "output": output, "failed": failed}


def broke(command: str = TEST, output: str = ERROR) -> dict[str, Any]:
    return ran(command, output, failed=True)


def edited(name: str = "src/cart.py", old: str = "return 3", new: str = "return 4") -> dict[str, Any]:
    given = {"file_path": f"/srv/shop/{name}", "old_string": old, "new_string": new}
    return {"role": TOOL, "tool": "Edit", "given": given, "output": "updated"}


def said(text: str) -> dict[str, Any]:
    return {"role": AGENT, "text": text}


def asked(text: str) -> dict[str, Any]:
    return {"role": PERSON, "text": text}


def fixes(*steps: dict[str, Any]) -> list[StoredMemory]:
    turns = [
        Turn(key=f"k{number}", at=START + timedelta(minutes=number), ref={"n": number}, **step)
        for number, step in enumerate(steps)
    ]
    return [memory for memory in distil(turns, ORIGIN).memories if memory.kind is Kind.FIX]


def test_a_fix_says_what_failed_why_and_what_was_changed() -> None:
    [fix] = fixes(broke(), said("The discount is counted twice."), edited(), ran(TEST))
    assert "test_sum" in fix.title
    assert "cart.py" in fix.title
    assert "assert 3 == 4" in fix.body
    assert "The discount is counted twice." in fix.body
    assert "return 3 → return 4" in fix.body
    assert fix.files == ("src/cart.py",)
    assert fix.provenance["evidence"] == [{"n": 0}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("mix test", "mix ecto.migrate && mix test"),
        ("cd api && go test ./...", "go test ./... 2>&1 | tail -3"),
        ("python -m pytest tests/test_cart.py", "pytest tests/test_cart.py -x -vv"),
        ("pytest", "pytest tests/test_cart.py"),
        ("pytest tests/test_cart.py", "pytest -q"),
        ("DEBUG=1 npm run build", "npm run build"),
        ("cargo test --release sum", "RUST_BACKTRACE=1 cargo test sum"),
        ("go test -run TestSum ./cart", "go test -race ./..."),
        ("pytest tests/unit/test_cart.py", "pytest tests"),
        ("terraform -chdir=infra plan | tail -4", "terraform -chdir=infra plan -no-color"),
        ("bash scripts/deploy.sh", "./scripts/deploy.sh"),
        ("python3 tools/gen.py", "python tools/gen.py"),
    ],
)
def test_the_same_check_is_recognised_in_other_clothes(failing: str, passing: str) -> None:
    assert len(fixes(broke(failing), edited(), ran(passing))) == 1


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("pytest tests/test_cart.py", "pytest tests/test_user.py"),
        ("npm run build", "npm run lint"),
        ("go test ./cart", "go vet ./cart"),
        ("cat missing.txt", "cat missing.txt"),
    ],
)
def test_another_check_proves_nothing(failing: str, passing: str) -> None:
    assert fixes(broke(failing), edited(), ran(passing)) == []


def test_a_failure_that_no_exit_code_tells_is_read_from_the_report() -> None:
    piped = ran(f"{TEST} | tail -2", "FAILED tests/test_cart.py::test_sum\n1 failed, 3 passed")
    assert len(fixes(piped, edited(), ran(f"{TEST} | tail -2", "4 passed"))) == 1


@pytest.mark.parametrize(
    "output",
    [
        "Error: Instance cannot be destroyed",
        "│ Error: Unsupported argument",
        "HTTP/1.1 502 Bad Gateway",
        "curl: (7) Failed to connect to localhost port 8080",
        "nginx: [emerg] unknown directive",
        "   Active: failed (Result: exit-code)",
        "./main.go:12:5: undefined: foo",
        "[INFO] BUILD FAILURE",
        "web-1 0/1 ImagePullBackOff 0 2m",
        "psql:a.sql:3: ERROR:  column does not exist",
        "npm error code E404",
        "LaTeX Warning: There were undefined references.",
        "Tests: 5, Assertions: 10, Failures: 1.",
        "mkdir: cannot create directory '/x': Permission denied",
        "CMake Error at CMakeLists.txt:3 (find_package):",
        "  2 failed\n    [chromium] › cart\n  3 passed (41s)",
    ],
)
def test_a_report_of_failure_is_understood(output: str) -> None:
    assert reports_failure(output)


@pytest.mark.parametrize(
    "output",
    [
        "--- PASS: TestError (0.00s)\nok shop 0.1s",
        "✖ 2 problems (0 errors, 2 warnings)",
        "100% tests passed, 0 tests failed out of 2",
        "attempt 1 failed, retrying... ok\n4 passed",
        "Done. PASS=4 WARN=0 ERROR=0 SKIP=0",
        "  ✓ shows an error when the card is declined\nTests: 2 passed, 2 total",
        "web1 : ok=3 changed=1 unreachable=0 failed=0",
        "cc -o x x.c -Werror",
    ],
)
def test_a_report_of_success_is_not_taken_for_failure(output: str) -> None:
    assert not reports_failure(output)


def test_a_log_that_was_read_is_read_again_after_the_run() -> None:
    log = {"role": TOOL, "tool": "Read", "given": {"file_path": "/var/log/sync.log"}, "output": "ERROR: died"}
    again = ran("sh sync.sh >> /var/log/sync.log; tail -2 /var/log/sync.log", "copied 120 files")
    assert len(fixes(log, edited("sync.sh"), again)) == 1


def test_the_state_of_a_service_is_a_check() -> None:
    failing = ran("systemctl status relay --no-pager", "Active: failed (Result: exit-code)")
    passing = ran("systemctl restart relay && systemctl status relay", "Active: active (running)")
    assert len(fixes(failing, edited("relay.service"), passing)) == 1


def test_what_was_missing_may_be_put_in_place_before_the_run() -> None:
    [fix] = fixes(broke("make images", "cannot load libheif"), ran("apt install libheif1 && make images", ""))
    assert "libheif1" in fix.body
    assert fixes(broke("make images", "cannot load libheif"), ran("make clean && make images", "")) == []


def test_a_command_may_be_the_change() -> None:
    [fix] = fixes(
        broke("./backup.sh", "repository is already locked"), ran("restic unlock", ""), ran("./backup.sh")
    )
    assert "restic unlock" in fix.body


def test_without_a_change_there_is_no_fix() -> None:
    assert fixes(broke(), ran("git status"), ran("cat src/cart.py"), ran(TEST)) == []
    assert fixes(broke(), ran(TEST)) == []


def test_going_to_another_branch_is_no_fix() -> None:
    assert fixes(broke(), ran("git switch main"), ran(TEST)) == []


def test_a_scratch_file_is_no_fix() -> None:
    scratch = {
        "role": TOOL,
        "tool": "Write",
        "given": {"file_path": "/tmp/demo.py", "content": "1"},
        "output": "ok",
    }
    assert fixes(broke("python /tmp/demo.py", "NameError: x"), scratch, ran("python /tmp/demo.py", "1")) == []


def test_what_did_not_help_is_no_fix_but_the_last_attempt_is() -> None:
    [fix] = fixes(broke(), edited(old="a", new="b"), broke(), edited(old="b", new="c"), ran(TEST))
    assert "b → c" in fix.body
    assert "a → b" not in fix.body


def test_different_errors_are_different_fixes() -> None:
    other = "Exit code 1\nTypeError: number_format() wants a float"
    first = "Exit code 1\nNameError: name 'total' is not defined"
    found = fixes(broke(TEST, first), edited(), broke(TEST, other), edited("src/price.py"), ran(TEST))
    assert [fix.files for fix in found] == [("src/cart.py",), ("src/price.py",)]


def test_what_fails_again_was_not_fixed() -> None:
    found = fixes(broke(), edited(), ran(TEST), broke(), edited("src/price.py"), ran(TEST))
    assert [fix.files for fix in found] == [("src/price.py",)]


def test_what_was_taken_back_is_no_fix() -> None:
    assert (
        fixes(broke(), edited(), ran(TEST), asked("no, revert that"), ran("git checkout -- src/cart.py"))
        == []
    )


def test_what_the_person_rejected_is_replaced_by_what_came_instead() -> None:
    [fix] = fixes(
        broke(), edited(new="sleep(2)"), ran(TEST), asked("that's a hack, wait for the event instead"),
        edited(old="sleep(2)", new="wait()"), ran(TEST),
    )  # fmt: skip
    assert "sleep(2) → wait()" in fix.body


def test_a_person_who_goes_on_has_accepted_it() -> None:
    later = (asked("good. now the readme"), edited("README.md"), ran("git checkout -- README.md"))
    assert len(fixes(broke(), edited(), ran(TEST), *later)) == 1


def test_an_edit_that_failed_changed_nothing() -> None:
    assert fixes(broke(), {**edited(), "failed": True, "output": "string not found"}, ran(TEST)) == []


def test_a_run_the_person_refused_is_no_failure() -> None:
    refused = broke(TEST, "The user doesn't want to proceed with this tool use.")
    assert fixes(refused, edited(), ran(TEST)) == []


@pytest.mark.parametrize(
    "command",
    ["ls -la", "git log --oneline", "grep -rn foo .", "docker logs web", "sed -n 1,5p x", "ssh h 'cat /x'"],
)
def test_looking_changes_nothing(command: str) -> None:
    assert not changes_something(command)


@pytest.mark.parametrize(
    "command", ["npm install", "sed -i s/a/b/ x", "chmod +x run.sh", "docker compose up -d"]
)
def test_doing_changes_something(command: str) -> None:
    assert changes_something(command)


@pytest.mark.parametrize(
    "command", ["", "'", '"unclosed', "a && b ||", "x | y | z", "cat <<EOF\nit's\nEOF", "((" * 500]
)
def test_any_command_is_read(command: str) -> None:
    run_of(0, Turn(TOOL, "k", START, tool="Bash", given={"command": command}, output="x" * 50_000))
