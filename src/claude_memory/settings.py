"""Settings: every key, its default and its documentation in one place, resolved once.

Order: flag > environment > user config.toml > allowed keys of the project's config.json > default.
A cloned repository is untrusted: only keys marked `project` may come from its config.json.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from claude_memory.errors import ConfigFault

ENVIRONMENT = {
    "CLAUDE_MEMORY_HOME": "the folder everything is kept in (default ~/.claude/memory)",
    "CLAUDE_MEMORY_STORE": "overrides the setting `store`",
    "CLAUDE_MEMORY_DEBUG": "1 shows tracebacks and logs at level debug",
    "CLAUDE_MEMORY_DISABLE": "1 makes every hook do nothing",
    "CLAUDE_MEMORY_READONLY": "1 lets the memory be read and given to agents, but never changed from here",
    "CLAUDE_MEMORY_SESSION": "the session that task commands in this shell work in",
    "CLAUDE_MEMORY_BY": "by whom task entries of this shell are, e.g. `subagent:ID`",
}

_LARGEST = 2**31 - 1
_TYPES = {str: "text", int: "whole number", float: "number", tuple: "list of texts"}
_PROJECT_FILE_BYTES = 65_536
# What a repository may exclude: every word of its sessions' commands is held against each pattern. Within
# these bounds the worst patterns we could think of take 60 ms for 64 KB of commands.
PROJECT_PATTERNS = 100
PROJECT_PATTERN_CHARACTERS = 128
PROJECT_PATTERN_WILDCARDS = 8
CONTEXT_MOMENTS = ("start", "prompt", "file", "command", "subagent")


def _setting(
    default: Any, doc: str, *, project: bool = False, choices: tuple[str, ...] = (), most: int = _LARGEST
) -> Any:
    metadata = {"doc": doc, "project": project, "choices": choices, "most": most}
    if isinstance(default, list):
        return field(default_factory=lambda: tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """One value per key; build with `load`, never by hand outside tests."""

    store: str = _setting(
        "",
        "where memories are kept: empty for memory.db in the home, `sqlite:///PATH`, or a team's server, "
        "`postgresql://…` (docs/team.md)",
    )
    hub: str = _setting("", "a team's server, `postgresql://…`, that an own store exchanges memories with")
    embedder: str = _setting(
        "bundled",
        "what makes vectors: `bundled`, `none` (text search only), `folder:PATH` (an ONNX model and its "
        "tokenizer.json), `package:NAME` (an installed model package), or `endpoint:URL` (OpenAI-compatible)",
    )
    embedder_model: str = _setting("", "model name to ask an endpoint for")
    embedder_key_variable: str = _setting(
        "", "name of the environment variable that holds an endpoint's key; the key itself is never stored"
    )
    embed_in_drain_ms: int = _setting(1500, "how long one drain may spend on embedding, in milliseconds")
    import_in_drain_seconds: int = _setting(
        10,
        "how long the drain after a session may read agents' histories, once `import` was run; 0 for never",
    )
    search_limit: int = _setting(10, "how many hits `search` gives by default")
    activation: float = _setting(
        0.0,
        "what a memory gains in `search` when it hangs on the files, topics and names of the question, "
        "though it may share no word with it: 0 (not at all) to 1",
        most=1,
    )
    min_relevance: float = _setting(
        0.0,
        "hits below this relevance (0 to 1) are left out of `search`; 0 leaves out only what has none",
        most=1,
    )
    context_tokens: int = _setting(
        2000, "token budget of the context given at the start of a session", project=True
    )
    context_off: tuple[str, ...] = _setting(
        [],
        "moments at which hooks give no context: any of `start`, `prompt`, `file`, `command`, `subagent`",
        choices=CONTEXT_MOMENTS,
    )
    exclude: tuple[str, ...] = _setting(
        [],
        "glob patterns of folders or files whose events are captured by name only; of a project's own list "
        "the first 100 count that have at most 128 characters and 8 wildcards",
        project=True,
    )
    spool_cap_mb: int = _setting(
        512, "`doctor` fails when undrained events take more than this; none is dropped"
    )
    event_max_kb: int = _setting(64, "a captured text longer than this keeps its head and tail")
    keep_events_days: int = _setting(
        365, "events older than this are dropped in slack; 0 keeps them for ever"
    )
    store_cap_mb: int = _setting(
        4096,
        "most that the store takes: beyond it the oldest tool output goes, then messages, then exchanges; "
        "typed memories and summaries never",
    )
    forget_undo_days: int = _setting(30, "how long `forget` can be undone")
    keep_backups: int = _setting(
        5, "backups that are kept of those made without asking: before a migration, and at a place"
    )
    backup_to: str = _setting(
        "",
        "the place that gets a backup after each conversation: a folder, `s3://BUCKET/PATH`, `gs://…`, "
        "`az://…` or `git:REPOSITORY#NAME`; credentials come from the environment",
    )
    backup_key: str = _setting(
        "",
        "encrypts what lies at a place: `env:NAME` or `file:PATH` of an age key or a passphrase; never the "
        "key itself",
    )
    log_level: str = _setting(
        "info",
        "debug, info, warning or error; memory content is logged at debug only",
        choices=("debug", "info", "warning", "error"),
    )
    log_max_mb: int = _setting(5, "size at which a log file is rotated; three old ones are kept")
    knowledge: tuple[str, ...] = _setting(
        ["~/knowledge"], "folders of markdown notes that are searched along with every project"
    )
    danger_zone_percent: int = _setting(
        60, "from this share of the model's window on, exchanges are condensed into the working buffer"
    )
    context_window: int = _setting(0, "the model's window in tokens; 0 goes by the model's name")
    summariser: str = _setting(
        "rules",
        "who sums up what is compacted away: `rules` (no model), `anthropic`, `claude` (your own "
        "`claude -p`), or `endpoint:URL` (OpenAI-compatible, such as Ollama); the summary by rules stands "
        "until a model answers",
    )
    summariser_model: str = _setting("", "model name to ask the summariser for")
    summariser_key_variable: str = _setting(
        "", "name of the environment variable that holds the summariser's key; default ANTHROPIC_API_KEY"
    )
    summariser_daily_tokens: int = _setting(
        200_000, "most tokens, read and written, that language models may take for summaries in a day"
    )
    layout: str = _setting(
        "private",
        "where `init` puts a project's files: `private` or `repo`",
        project=True,
        choices=("private", "repo"),
    )


KEYS: Mapping[str, Any] = {item.name: item for item in fields(Settings)}


def home() -> Path:
    """The folder everything is kept in; not created here."""
    named = os.environ.get("CLAUDE_MEMORY_HOME")
    try:
        # Absolute at once: a process that changes its folder must not change its memory.
        return Path(named).expanduser().absolute() if named else Path.home() / ".claude" / "memory"
    except RuntimeError:
        raise ConfigFault("cannot tell the home folder: set CLAUDE_MEMORY_HOME to a path") from None


def pin(root: str) -> None:
    """Let this home and its own store be used, here and in what we start, whatever the environment says.

    For what an installation starts inside an agent: a cloned repository's agent settings set variables, too.
    """
    os.environ["CLAUDE_MEMORY_HOME"] = root
    os.environ.pop("CLAUDE_MEMORY_STORE", None)


def debugging() -> bool:
    return os.environ.get("CLAUDE_MEMORY_DEBUG", "") not in ("", "0")


def config_path(root: Path) -> Path:
    return root / "config.toml"


def load(root: Path, *, project_root: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Resolve every key once. A broken project file is ignored; a broken user file is an error.

    Keys in the user's file that this version does not know are passed over, so that an older program
    works beside a newer one; `unknown_keys` names them.
    """
    values = {key: value for _, layer in _layers(root, project_root) for key, value in layer.items()}
    values.update({key: value for key, value in (flags or {}).items() if value is not None})
    return replace(Settings(), **{key: checked(key, value) for key, value in values.items()})


def origins(root: Path, *, project_root: Path | None = None) -> dict[str, str]:
    return {key: origin for origin, layer in _layers(root, project_root) for key in layer}


def _layers(root: Path, project_root: Path | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each place sets, by the place's name; a later one goes over an earlier one."""
    if project_root is not None:
        yield "project", of_project(project_root)
    path, own = config_path(root), {}
    for key, value in _document(path).items():
        if key in KEYS:
            try:
                own[key] = checked(key, value)
            except ConfigFault as fault:
                raise ConfigFault(f"{path}: {fault}") from None
    yield "config.toml", own
    store = os.environ.get("CLAUDE_MEMORY_STORE")
    yield "environment", ({"store": store} if store else {}) | ({"log_level": "debug"} if debugging() else {})


def unknown_keys(root: Path) -> list[str]:
    """Keys of the user's config.toml that mean nothing to this version, for `doctor`."""
    return sorted(_document(config_path(root)).keys() - KEYS.keys())


def of_project(root: Path) -> dict[str, Any]:
    """The allowed keys that a project's own config.json sets.

    A cloned repository brings it: anyone may have written it, so nothing in it can do harm.
    """
    path, document = root / ".claude-memories" / "config.json", None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        # A link could lead to a device or a pipe, and a read of it would never end; or to another project.
        if not path.parent.is_symlink() and stat.S_ISREG(path.lstat().st_mode):
            with path.open("rb") as handle:
                content = handle.read(_PROJECT_FILE_BYTES + 1)
            document = (
                json.loads(content.decode("utf-8-sig")) if len(content) <= _PROJECT_FILE_BYTES else None
            )
    allowed = {}
    for key, value in document.items() if isinstance(document, dict) else ():
        if key in KEYS and KEYS[key].metadata["project"]:
            with contextlib.suppress(ConfigFault):
                allowed[key] = checked(key, value)
                if isinstance(allowed[key], tuple):
                    allowed[key] = tuple(filter(_is_cheap, allowed[key]))[:PROJECT_PATTERNS]
    return allowed


def checked(key: str, value: Any) -> Any:
    """The value in its key's type, or a ConfigFault that says what is wrong."""
    if key not in KEYS:
        raise ConfigFault(f"unknown setting {key!r}; `claude-memory config list` shows all")
    default = getattr(Settings(), key)
    try:
        result = _coerced(default, value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigFault(f"setting {key} wants a {_TYPES[type(default)]}, not {value!r}") from None
    choices, most = KEYS[key].metadata["choices"], KEYS[key].metadata["most"]
    if choices and not set(result if isinstance(result, tuple) else (result,)) <= set(choices):
        raise ConfigFault(f"setting {key} wants one of {', '.join(choices)}, not {value!r}")
    if isinstance(result, int | float) and not 0 <= result <= most:  # also refuses what is no number at all
        raise ConfigFault(f"setting {key} wants a number from 0 to {most}, not {result}")
    return result


def _coerced(default: Any, value: Any) -> Any:
    if isinstance(default, tuple):
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise TypeError
        return tuple(part.strip() for part in parts if part.strip())
    if isinstance(default, str):
        if not isinstance(value, str):
            raise TypeError
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    number = type(default)(value)
    if isinstance(value, float) and isinstance(number, int) and number != value:
        raise ValueError
    return number


def _document(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")  # some editors put a mark before the text
        if not text.strip():
            return {}
        import tomllib  # most homes have no such file, and hooks are in a hurry

        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except OSError as fault:
        raise ConfigFault(f"cannot read {path}: {fault.strerror}") from None
    except ValueError as fault:
        raise ConfigFault(f"cannot read {path}: {fault}") from None
    except RecursionError:
        raise ConfigFault(f"cannot read {path}: nested too deeply") from None


def _is_cheap(pattern: str) -> bool:
    wildcards = sum(map(pattern.count, "*?["))
    return len(pattern) <= PROJECT_PATTERN_CHARACTERS and wildcards <= PROJECT_PATTERN_WILDCARDS
