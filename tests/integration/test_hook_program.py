"""The hook program, run as agents run it: exit 0, nothing printed, every byte spooled, whatever comes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from claude_memory.capture.drain import Spool
from claude_memory.hook import claude_memory_hook as hook

PROGRAM = Path(hook.__file__)
POSIX_ONLY = ("fdatasync", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC")


def run(
    home: Path, raw: bytes, *words: str, program: Path = PROGRAM, **more: object
) -> subprocess.CompletedProcess[bytes]:
    environment = {"CLAUDE_MEMORY_HOME": str(home), "HOME": str(home.parent), **more.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-I", "-S", str(program), *words]
    return subprocess.run(command, input=raw, env=environment, capture_output=True, timeout=60, **more)  # type: ignore[call-overload,no-any-return]


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def spooled(home: Path) -> list[bytes]:
    return [file.path.read_bytes() for file in Spool(home).pending()]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


INPUTS = {
    "empty": b"",
    "binary": bytes(range(256)) * 64,
    "broken": b'{"prompt": "half',
    "surrogates": b'{"prompt": "\\ud800"}',
    "deep": b"[" * 200_000,
    "huge integer": b'{"n": ' + b"9" * 100_000 + b"}",
    "newlines": b"\r\n\n\r\x1a\x00",
    "50 MB": os.urandom(1 << 20) * 50,
}


@pytest.mark.parametrize("name", INPUTS)
def test_any_input_is_spooled_byte_for_byte(home: Path, name: str) -> None:
    assert silent(run(home, INPUTS[name], "PostToolUse"))
    assert spooled(home) == [INPUTS[name]]
    assert list(Spool(home).temporary.iterdir()) == []


def test_the_name_tells_event_and_agent(home: Path) -> None:
    run(home, b"{}", "Stop", "--agent", "gemini-cli")
    run(home, b"{}", "--agent", "codex", "PreCompact")
    run(home, b"{}")
    found = {(file.event, file.agent) for file in Spool(home).pending()}
    assert found == {("Stop", "gemini-cli"), ("PreCompact", "codex"), ("unknown", "claude-code")}


def test_without_a_setting_the_home_is_in_the_users_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", str(PROGRAM), "Stop"]
    subprocess.run(command, input=b"{}", env={"HOME": str(tmp_path)}, check=True)
    assert spooled(tmp_path / ".claude" / "memory") == [b"{}"]


@pytest.mark.parametrize(("value", "count"), [("1", 0), ("yes", 0), ("0", 1), ("", 1)])
def test_the_recursion_guard_comes_before_everything(home: Path, value: str, count: int) -> None:
    assert silent(run(home, b"{}", "Stop", env={"CLAUDE_MEMORY_DISABLE": value}))
    assert len(spooled(home)) == count
    assert home.exists() == bool(count)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_modes_are_private_under_any_umask(home: Path, umask: int) -> None:
    assert silent(run(home, b"{}", "Stop", umask=umask))
    for folder, _, names in os.walk(home):
        assert Path(folder).stat().st_mode & 0o777 == 0o700
        assert all(Path(folder, name).stat().st_mode & 0o777 == 0o600 for name in names)
    assert spooled(home) == [b"{}"]


@pytest.mark.parametrize("hidden", [*((name,) for name in POSIX_ONLY), POSIX_ONLY])
def test_it_works_where_the_system_lacks_a_call(home: Path, tmp_path: Path, hidden: tuple[str, ...]) -> None:
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text(
        "import os, posix, runpy, sys\n"
        f"for name in {hidden!r}: delattr(os, name), delattr(posix, name)\n"
        f"sys.argv = [{str(PROGRAM)!r}, 'Stop']\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
    )
    assert silent(run(home, b"{}", program=wrapper))
    assert spooled(home) == [b"{}"]


def test_a_short_write_is_continued(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(hook.system, "write", lambda descriptor, data: write(descriptor, bytes(data)[:7]))
    path = Spool(home).put("Stop", b"0123456789" * 100)
    assert path.read_bytes() == b"0123456789" * 100


def test_a_closed_stdin_leaves_a_line_in_the_log(home: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -I -S "$1" Stop <&-', sys.executable, str(PROGRAM)],
        env={"CLAUDE_MEMORY_HOME": str(home)},
        capture_output=True,
    )
    assert silent(done)
    assert "Stop: not captured: OSError" in (home / "logs" / "hook.log").read_text()
    assert spooled(home) == []
    assert list(Spool(home).temporary.iterdir()) == []


def test_closed_outputs_are_no_fault(home: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'echo "{}" | "$0" -I -S "$1" Stop >&- 2>&-', sys.executable, str(PROGRAM)],
        env={"CLAUDE_MEMORY_HOME": str(home)},
    )
    assert done.returncode == 0
    assert spooled(home) == [b"{}\n"]


def test_a_deleted_working_folder_is_no_fault(home: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && echo "{{}}" | "$0" -I -S "$1" Stop'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, str(PROGRAM)],
        env={"CLAUDE_MEMORY_HOME": str(home)},
        capture_output=True,
    )
    assert silent(done)
    assert spooled(home) == [b"{}\n"]


def test_a_home_that_is_a_file_is_silent(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("not a folder")
    assert silent(run(tmp_path / "memory", b"{}", "Stop"))


def test_a_blocked_spool_leaves_a_line_without_content(home: Path) -> None:
    home.mkdir()
    (home / "spool").write_text("not a folder")
    assert silent(run(home, b'{"prompt": "hunter2"}', "UserPromptSubmit"))
    [line] = (home / "logs" / "hook.log").read_text().splitlines()
    assert "UserPromptSubmit: not captured" in line
    assert "hunter2" not in line


def test_the_hooks_log_does_not_grow_for_ever(home: Path) -> None:
    home.mkdir()
    (home / "spool").write_text("not a folder")
    (home / "logs").mkdir()
    (home / "logs" / "hook.log").write_bytes(b"x" * (1 << 20))
    run(home, b"{}", "Stop")
    assert not (home / "logs" / "hook.log").exists()
    run(home, b"{}", "Stop")
    assert (home / "logs" / "hook.log").stat().st_size < 1000


def test_a_link_planted_in_the_spool_is_not_followed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spool(home).put("Stop", b"{}")
    target = home / "target"
    monkeypatch.setattr(hook, "file_name", lambda *_: "planted")
    (Spool(home).temporary / "planted").symlink_to(target)
    with pytest.raises(FileExistsError):
        Spool(home).put("Stop", b"{}")
    assert not target.exists()


def test_an_interrupt_while_reading_ends_quietly(home: Path) -> None:
    command = [sys.executable, "-I", "-S", str(PROGRAM), "Stop"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"CLAUDE_MEMORY_HOME": str(home)},
        # What is started in the background ignores interrupts, and passes that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert process.stdin is not None
    process.stdin.write(b"x")
    process.stdin.flush()
    while not list(home.glob("spool/tmp/*")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, b"", b"")
    assert list(home.glob("spool/*/*")) == []
    assert "KeyboardInterrupt" in (home / "logs" / "hook.log").read_text()


def test_no_module_is_loaded_that_python_has_not_loaded_itself(home: Path) -> None:
    run(home, b"{}", "Stop")  # makes the folders
    code = (
        "import sys; before = set(sys.modules)\n"
        f"hook = {{'__name__': 'hook'}}; exec(compile(open({str(PROGRAM)!r}).read(), 'hook', 'exec'), hook)\n"
        f"hook['main'](['PostToolUse'], 0, {{'CLAUDE_MEMORY_HOME': {str(home)!r}}})\n"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_the_program_works_as_a_copy_without_the_package(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cache" / "hook-of-another-release.py"
    copy.parent.mkdir()
    shutil.copy(PROGRAM, copy)
    assert silent(run(home, b"{}", "Stop", program=copy))
    assert spooled(home) == [b"{}"]


def test_the_command_line_uses_the_same_code(home: Path) -> None:
    read, write = os.pipe()
    os.write(write, b'{"a": 1}')
    os.close(write)
    try:
        assert hook.main(["Stop", "--agent", "codex"], read, {"CLAUDE_MEMORY_HOME": str(home)}) == 0
    finally:
        os.close(read)
    assert spooled(home) == [b'{"a": 1}']
