"""What capturing costs beside starting Python: the whole hook against `python -I -S -c pass`.

Runs the two alternately in one go, so that the machine's load falls on both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOOK = Path(__file__).resolve().parents[1] / "src/claude_memory/hook/claude_memory_hook.py"
TARGET = 1.6


def payload() -> bytes:
    """A tool use as agents report it: some thousand characters of output."""
    lines = "\n".join(f"tests/unit/test_orders.py::test_total_{n} PASSED" for n in range(80))
    event = {
        "session_id": "5c0f7c2e-0000-4000-8000-000000000001",
        "cwd": "/home/dev/shop",
        "prompt_id": "5c0f7c2e-0000-4000-8000-000000000002",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest tests/unit -v", "description": "Run the unit tests"},
        "tool_response": {"stdout": lines, "stderr": "", "interrupted": False},
        "tool_use_id": "toolu_bench",
        "duration_ms": 1234,
    }
    return json.dumps(event).encode()


def measure(command: list[str], content: bytes, environment: dict[str, str]) -> float:
    """Seconds from start to exit."""
    start = time.perf_counter()
    subprocess.run(command, input=content, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def run(count: int) -> dict[str, float]:
    """Medians of both, their ratio, and the load they were measured under."""
    bare, hook = [], []
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": home,
            "CLAUDE_MEMORY_HOME": f"{home}/memory",
        }
        content = payload()
        plain = [sys.executable, "-I", "-S", "-c", "pass"]
        capture = [sys.executable, "-I", "-S", str(HOOK), "PostToolUse"]
        measure(plain, content, environment)
        measure(capture, content, environment)
        for _ in range(count):
            bare.append(measure(plain, content, environment))
            hook.append(measure(capture, content, environment))
        spooled = len(list(Path(home, "memory/spool/new").iterdir()))
    if spooled != count + 1:
        raise SystemExit(f"{spooled} events spooled instead of {count + 1}")
    low, high = statistics.median(bare), statistics.median(hook)
    return {
        "n": count,
        "bare_ms": round(low * 1e3, 2),
        "hook_ms": round(high * 1e3, 2),
        "ratio": round(high / low, 3),
        "target": TARGET,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else -1.0,
    }


def main() -> None:
    """Print one table, or one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-n", type=int, default=50)
    options = parser.parse_args()
    result = run(options.n)
    if options.json:
        print(json.dumps(result))
        return
    print(f"bare interpreter  {result['bare_ms']:7.2f} ms   (median of {result['n']})")
    print(f"capture hook      {result['hook_ms']:7.2f} ms   ratio {result['ratio']:.2f}, target {TARGET}")
    print(f"load average      {result['load']:7.2f}")


if __name__ == "__main__":
    main()
