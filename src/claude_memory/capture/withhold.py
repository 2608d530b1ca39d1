"""Capture by name only: what stands in private files never enters the memory, not even redacted.

Pure. Decides by the names in a tool's input; the content is dropped, the fact that the file was
touched stays. The same goes for what our own tools answered: it is in the memory already.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

WITHHELD = "[withheld]"

_PRIVATE = (
    *(".env", ".env.*", "*.env", ".envrc", "credentials", "credentials.*", ".credentials*", "secrets.*"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "service-account*.json", "*.tfvars", "*.tfstate"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd", ".dockercfg"),
    *("kubeconfig", "kubeconfig.*", "*.kubeconfig", "*.ovpn", "*.keytab", "*.p8", "*.agekey", "master.key"),
    *(".my.cnf", ".mylogin.cnf", ".vault-token", ".boto", ".s3cfg", ".databrickscfg", ".terraformrc"),
    *("application_default_credentials.json", "oauth_creds.json", "kaggle.json", "rclone.conf"),
    *(".yarnrc.yml", ".*_history", "local.settings.json", "wp-config.php"),
)
_PRIVATE_ENDINGS = (
    *(".claude/setup.md", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml", ".codex/auth.json"),
    *(".m2/settings.xml", ".composer/auth.json", ".config/composer/auth.json", ".vercel/auth.json"),
    *(".huggingface/token", ".cache/huggingface/token", ".netlify/config.json", ".fly/config.yml"),
    *(".config/doctl/config.yaml", ".snowsql/config", ".oci/config", ".gem/credentials", ".config/hub"),
    *("etc/shadow", "etc/gshadow", ".gradle/gradle.properties"),
)
_PRIVATE_FOLDERS = (
    *("/.ssh/", "/.gnupg/", "/.aws/", "/.azure/", "/.config/gcloud/", "/.password-store/", "/run/secrets/"),
    *("/var/run/secrets/", "/etc/wireguard/", "/.config/op/", "/keychains/", "/.terraform.d/"),
)
_ENVIRON = re.compile(r"/proc/[^/]+/environ$")
# What a pattern of the shell must not reach: names that stand for their kind.
_REACHED = (
    *(".env", ".env.local", ".env.production", "id_rsa", "id_ed25519", "x.pem", "x.key", ".netrc", ".npmrc"),
    *(".pgpass", ".git-credentials", "credentials", ".ssh", ".aws", ".gnupg", ".azure", ".kube"),
)
_PUBLIC = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")
# As one expression each: a history of years asks this of every word of every command.
_PRIVATE_NAME = re.compile("|".join(map(fnmatch.translate, _PRIVATE)))
_PUBLIC_NAME = re.compile("|".join(map(fnmatch.translate, _PUBLIC)))

# Every tool names its arguments in its own way: `file_path`, `target_file`, `absolutePath`, `paths`, `uri`.
_PATH_KEY = re.compile(r"(?i)path|file|uri|url|target|source|^src$|^dest|location|^document$|^args$|^argv$")
_NAME_KEYS = frozenset(
    "file_path filePath path notebook_path filename file uri description pattern glob offset limit".split()
)
_PATH_CHARACTERS = 1_000  # a longer text under such a name is no path
_DEEPEST = 4
_IDENTIFYING = frozenset(
    """session_id transcript_path cwd hook_event_name prompt_id permission_mode agent_id agent_type source
    trigger reason tool_name tool_use_id duration_ms is_interrupt""".split()
)
_COMMAND_KEYS = ("command", "cmd", "script", "code", "commands", "input", "shell_command", "chars")
_BRACES = re.compile(r"([^\s{}]*)\{([^\s{}]{0,200})\}([^\s{}]*)")
_MAX_SPELLINGS = 64
_QUOTED_INSIDE = re.compile(r"[\w.][\"'\\]+[\w.]")
_SHELL_WORDS = re.compile(r"[^\s;|&<>()'\"`=,]+")
_WRITES = re.compile(r"[>\n]|<<|\btee\b|\bsed\b|\becho\b|\bprintf\b")
_OWN_TOOL = re.compile(
    r"^mcp__(?:[\w-]*?claude[-_]memory[\w-]*?|plugin_lasting-memory_\w+?)__", re.IGNORECASE
)
_OWN_COMMAND = re.compile(r"(?:^|[\s;|&/])claude-memory\s+(?:search|show|timeline|recall|conversation|why)\b")


def withhold(payload: Mapping[str, Any], exclude: Sequence[str] = ()) -> dict[str, Any]:
    """The payload without the content of private or excluded files."""
    cwd = payload.get("cwd")
    if isinstance(cwd, str) and matches(cwd, exclude):
        return _identified(payload)
    kept: dict[str, Any] = _walk(payload, tuple(exclude))
    return kept


@lru_cache(maxsize=8192)
def is_private(name: str, exclude: tuple[str, ...] = ()) -> bool:
    """Whether a file of this name is captured by name only."""
    path = name.replace("\\", "/").rstrip("/")
    base = path.rsplit("/", 1)[-1].lower()
    if matches(path, exclude):
        return True
    if _PUBLIC_NAME.match(base):
        return False
    rooted = "/" + path.lower().removeprefix("~").lstrip("/") + "/"
    # A pattern of the shell that takes in a private name; one that takes in nearly all is not meant.
    patterns = (part for part in path.lower().split("/") if any(letter in part for letter in "*?["))
    meant = [part for part in patterns if len(part.strip("*?[]!-")) >= 2 and not part.startswith("**")]
    return (
        any(fnmatch.fnmatchcase(name, part) for part in meant for name in _REACHED)
        or _PRIVATE_NAME.match(base) is not None
        or any(rooted.endswith("/" + ending + "/") for ending in _PRIVATE_ENDINGS)
        or any(folder in rooted for folder in _PRIVATE_FOLDERS)
        or _ENVIRON.search(rooted.rstrip("/")) is not None
    )


def _walk(value: Any, exclude: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_walk(item, exclude) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "tool_input" in value:  # the event itself, and each call of a batch
        return _tool(value, exclude)
    return {key: _walk(item, exclude) for key, item in value.items()}


def _tool(call: Mapping[str, Any], exclude: tuple[str, ...]) -> dict[str, Any]:
    given = call["tool_input"] if isinstance(call["tool_input"], Mapping) else {}
    if _touches_private(given, exclude):
        short = {
            key for key, value in given.items() if isinstance(value, str) and len(value) <= _PATH_CHARACTERS
        }
        named = {key for key in short if _PATH_KEY.search(str(key))} | _NAME_KEYS
        kept = {key: value for key, value in given.items() if key in named}
        for key in _COMMAND_KEYS:
            if isinstance(command := given.get(key), str):
                # A command that writes may carry the content itself.
                kept[key] = WITHHELD if _WRITES.search(command) else command
        return {**_identified(call), "tool_input": kept, "withheld": True}
    is_own = _OWN_TOOL.match(str(call.get("tool_name", "")))
    if is_own or any(_OWN_COMMAND.search(str(given.get(key, ""))) for key in _COMMAND_KEYS):
        return {key: value for key, value in call.items() if key != "tool_response"} | {"withheld": True}
    return dict(call)


def _touches_private(given: Mapping[str, Any], exclude: tuple[str, ...]) -> bool:
    if any(is_private(path, exclude) for path in _paths(given, 0)):
        return True
    values = (given.get(key) for key in _COMMAND_KEYS)
    lists = (value if isinstance(value, list) else [value] for value in values)  # some come word by word
    commands = [" ".join(word for word in words if isinstance(word, str)) for words in lists]
    if exclude and any(len(command) > LONGEST_COMMAND for command in commands):
        return True  # it may name anything, and looking through all of it has no bound
    return any(is_private(word, exclude) for command in commands for word in _words(command))


def _paths(given: Any, depth: int, named: bool = False) -> Iterator[str]:
    """What stands under a name for paths, in lists and nested arguments too."""
    if isinstance(given, str):
        if named and len(given) <= _PATH_CHARACTERS:
            yield from _spelled(given.removeprefix("file://"))
    elif depth <= _DEEPEST and isinstance(given, Mapping):
        for key, value in given.items():
            yield from _paths(value, depth + 1, _PATH_KEY.search(str(key)) is not None)
    elif depth <= _DEEPEST and isinstance(given, Sequence):
        for value in given:
            yield from _paths(value, depth + 1, named)


def _words(command: str) -> Iterator[str]:
    """The words of a command as the shell reads them: braces spelled out, quotes inside a word left out."""
    yield from _SHELL_WORDS.findall(command)
    if "{" in command:
        for found in _BRACES.finditer(command):
            yield from _spelled(found[0])
    if _QUOTED_INSIDE.search(command):
        yield from _SHELL_WORDS.findall(re.sub(r"[\\'\"]", "", command))


def _spelled(word: str) -> Iterator[str]:
    waiting, count = [word], 0
    while waiting and count < _MAX_SPELLINGS:
        count += 1
        one = waiting.pop()
        found = _BRACES.fullmatch(one)
        if found is None:
            yield one
        else:
            waiting += [f"{found[1]}{part}{found[3]}" for part in found[2].split(",")]


def _identified(call: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if key in _IDENTIFYING}


# --- patterns of names that are excluded: globs, run by an engine that is linear in any text

LONGEST_COMMAND = 65_536  # characters that are looked through for names
LONGEST_PATH = 4_096  # what no system opens names no file
_GLOB = re.compile(r"(\*+)|(\?)|\[(!?+)(.[^\]]*)\]|(.)", re.DOTALL)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns means the path, a part at its end, or a folder it lies in."""
    plain = _plain(path)
    if len(plain) > LONGEST_PATH:
        return False
    return any(found.fullmatch(plain) is not None for found in map(_compiled, patterns) if found)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    """The pattern for the engine; None for what means nothing, such as a range that runs backwards."""
    import re2

    def translated(piece: re.Match[str]) -> str:
        if piece[1] or piece[2]:
            return ".*" if piece[1] else "."
        if piece[5]:
            return str(re2.escape(piece[5]))
        members = "".join(member if member == "-" else re2.escape(member) for member in piece[4])
        return f"[{'^' if piece[3] else ''}{members}]"

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    glob = _plain(pattern)
    inner, below = _GLOB.sub(translated, glob), _GLOB.sub(translated, glob.lstrip("/"))
    expression = f"(?:.*/)?(?:{inner})(?:/.*)?"
    if glob.startswith("/"):
        expression = f"(?:{inner})(?:/.*)?|.*/(?:{inner})|.*/(?:{below})/.*"
    try:
        return re2.compile("(?s)" + expression, options)
    except re2.error:
        return None


def _plain(text: str) -> str:
    """With the slashes of one system, and without halves of characters, which the engine cannot read."""
    return text.replace("\\", "/").rstrip("/").encode("utf-8", "replace").decode("utf-8")
