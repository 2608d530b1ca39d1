"""The plugin as an agent installs it: a marketplace folder with absolute paths, made in the home.

An installed plugin is a copy in the agent's cache, far from this package, so the interpreter and
the folders to import from are written into it. Made anew by every `install`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import claude_memory
from claude_memory.platform.files import FILE_MODE, FOLDER_MODE, HOOK_GONE, private_folder, write_atomically

# The client reserves names that begin with "claude-" for its maker.
MARKETPLACE = "lasting-memory-local"
MARKETPLACE_FOLDER = "plugin"  # where the generated one stands, in the home
PLUGIN = "lasting-memory"
SERVER = "memory"
HOOK_FILE = "claude_memory_hook.py"

_PACKAGE = Path(claude_memory.__file__).parent
_SHIPPED = _PACKAGE / "plugin"
_NEEDED = ("apsw", "Stemmer")
# A virtual environment may be removed, an interpreter upgraded away or left without its library. A hook
# would then fail for all to see, and Python without its program even exits 2, by which a client blocks. So
# the shell looks first and ends with 0 whatever happens. It leaves a mark, unless the hook was killed (>134).
_GUARD = (
    '[ -x "$0" ] && [ -r "$3" ] && "$0" "$@" 2> /dev/null && exit 0; [ $? -gt 134 ] || '
    '{{ echo "$0" > {mark}; }} 2> /dev/null; exit 0'
)


def hook_program() -> Path:
    """The hook program as shipped: one file, the same everywhere."""
    return _PACKAGE / "hook" / HOOK_FILE


def hook_arguments(
    program: str, event: str, agent: str = "claude-code", *, home: Path | None = None
) -> list[str]:
    """The arguments after the interpreter that run the hook program for an event; `home` pins it.

    Without site: the folders where the package and what its hooks need can be imported from are named.
    """
    places = [str(_PACKAGE.parent)]
    for spec in filter(None, map(find_spec, _NEEDED)):
        if spec.origin:
            folder = Path(spec.origin).parent
            places.append(str(folder.parent if spec.submodule_search_locations else folder))
    chosen = [] if agent == "claude-code" else ["--agent", agent]
    site = os.pathsep.join(dict.fromkeys(places))
    return ["-I", "-S", program, event, *chosen, *_pinned(home), "--site", site]


def hook_command(program: str, event: str, agent: str = "claude-code", *, home: Path) -> list[str]:
    """The command that runs the hook program, and ends with 0 where that or the interpreter is gone."""
    words = [sys.executable, *hook_arguments(program, event, agent, home=home)]
    if os.name == "nt":
        return words
    return ["/bin/sh", "-c", _GUARD.format(mark=shlex.quote(str(home.absolute() / HOOK_GONE))), *words]


def renew_hook_program(home: Path) -> None:
    """After an upgrade: put this release's hook program wherever hooks of this home run one."""
    shipped, own = hook_program().read_bytes(), home / "hooks" / HOOK_FILE
    quoted = json.dumps(str(home.absolute()))  # as the plugin's hooks say where they keep what they capture
    for target in (own, *plugin_installed(config_folder())):
        with contextlib.suppress(OSError):  # the old one goes on working
            serves = target == own or quoted in target.with_name("hooks.json").read_text("utf-8")
            if serves and target.read_bytes() != shipped:
                write_atomically(target, shipped)


def plugin_installed(client_folder: Path) -> list[Path]:
    """The plugin's hook programs in the client's cache, newest last."""
    return sorted(client_folder.glob(f"plugins/cache/{MARKETPLACE}/{PLUGIN}/*/hooks/{HOOK_FILE}"))


def config_folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def server_command(home: Path | None = None) -> list[str]:
    """The command that starts the MCP server, whatever the working directory holds; `home` pins it."""
    return [sys.executable, "-I", "-m", "claude_memory", "mcp", *_pinned(home)]


def _pinned(home: Path | None) -> list[str]:
    """The home as an argument, which no variable of a cloned repository's agent settings overrides."""
    return ["--home", str(home.absolute())] if home is not None else []


def hooks_with_paths(program: str, home: Path) -> dict[str, list[dict[str, Any]]]:
    """The hooks' table, event → groups, with this machine's interpreter and import folders."""
    shipped = json.loads((_SHIPPED / "hooks" / "hooks.json").read_bytes())
    table: dict[str, list[dict[str, Any]]] = shipped["hooks"]
    for event, groups in table.items():
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook["command"], *hook["args"] = hook_command(program, event, home=home)
    return table


def texts_for_agents() -> dict[str, bytes]:
    """Skills and commands where no plugin brings them, under names of ours: path below `.claude`, content."""
    found = {}
    for path in sorted(_SHIPPED.glob("skills/*/SKILL.md")):
        name = "claude-memory" if path.parent.name == "memory" else f"claude-memory-{path.parent.name}"
        text = path.read_text("utf-8").replace(f"\nname: {path.parent.name}\n", f"\nname: {name}\n", 1)
        found[f"skills/{name}/SKILL.md"] = text.encode()
    for path in sorted(_SHIPPED.glob("commands/*.md")):
        found[f"commands/claude-memory/{path.name}"] = path.read_bytes()
    return found


def write_marketplace(home: Path) -> Path:
    target = private_folder(home) / MARKETPLACE_FOLDER
    with tempfile.TemporaryDirectory(prefix=".plugin-", suffix=".tmp", dir=home) as work:
        fresh = Path(work, "new")
        plugin = fresh / PLUGIN
        unwanted = shutil.ignore_patterns("__pycache__", "*.py", "marketplace.json")
        shutil.copytree(_SHIPPED, plugin, ignore=unwanted)
        (fresh / ".claude-plugin").mkdir()
        shutil.copyfile(_SHIPPED / "marketplace.json", fresh / ".claude-plugin" / "marketplace.json")
        shutil.copyfile(hook_program(), plugin / "hooks" / HOOK_FILE)
        table = hooks_with_paths("${CLAUDE_PLUGIN_ROOT}/hooks/" + HOOK_FILE, home)
        _rewrite(plugin / "hooks" / "hooks.json", hooks=table)
        command, *arguments = server_command(home)
        _rewrite(plugin / ".mcp.json", mcpServers={SERVER: {"command": command, "args": arguments}})
        _rewrite(plugin / ".claude-plugin" / "plugin.json", version=claude_memory.__version__)
        for path in (fresh, *fresh.rglob("*")):  # copies keep the modes of the installed package
            path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)
        if target.exists():
            target.rename(Path(work, "old"))  # two renames apart: whoever reads in between reads again
        fresh.rename(target)
    return target


def _rewrite(path: Path, **members: Any) -> None:
    document = {**json.loads(path.read_text("utf-8")), **members}
    write_atomically(path, (json.dumps(document, indent=2) + "\n").encode())
