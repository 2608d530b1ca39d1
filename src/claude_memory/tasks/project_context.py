"""What kind of project a folder holds, and a person's own entries about it, kept in `project-context.json`.

Published as `MemoryAPI.context_manager`. Facts are looked up each time: manifests in TOML and JSON are parsed
for what they declare, and what a project needs is what its manifests name. What to look for is in
`ecosystems.json`. The look is bounded: links are not followed, big files not read.
"""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.redact import redact_document
from claude_memory.tasks import documents
from claude_memory.tasks.documents import Storage

COMMANDS = ("test", "build", "lint", "run")
MAX_DEPTH, MAX_FOLDERS, MAX_PACKAGES, MAX_BYTES = 4, 1500, 200, 512 * 1024
_FILE = "project-context.json"
_HIDDEN_CI = (".github", ".circleci", ".buildkite", ".forgejo")
_TARGET = re.compile(r"(?m)^ {0,2}@?([A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?[ \t]*:(?!=)")
_SERVICES = re.compile(r"(?ms)^services:[^\n]*\n(.*?)(?=^\w|\Z)")
_SERVICE = re.compile(r"(?m)^([ \t]+)[\"']?([\w.-]+)[\"']?:")
_GO_MODULE = re.compile(r"(?m)^module\s+(?:\S*/)?((?!v\d+$)[^\s/]+)(?:/v\d+)?$")


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """What was found, every list in the order of importance; and custom entries."""

    name: str
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    package_managers: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()
    ci: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    workspace: tuple[str, ...] = ()
    packages: tuple[Mapping[str, str], ...] = ()  # path, name and language of parts with their own manifest
    custom: Mapping[str, Any] = field(default_factory=dict)
    root: str = ""
    detected_at: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"format": 1, **asdict(self)}

    def lines(self) -> list[str]:
        """A few lines of facts, for people and agents alike."""
        rows: dict[str, Any] = {
            "Project": self.name,
            "Languages": self.languages,
            "Frameworks": self.frameworks,
            "Package managers": self.package_managers,
            **{kind.capitalize(): "; ".join(commands) for kind, commands in self.commands.items()},
            "Entry points": self.entry_points[:8],
            "Workspace": self.workspace,
            "Packages": tuple(f"{each['path']} ({each['language']})" for each in self.packages[:12]),
            "CI": self.ci,
            "Services": self.services,
            **self.custom,
        }
        shown = {
            label: ", ".join(value) if isinstance(value, tuple) else value for label, value in rows.items()
        }
        return [
            f"{label}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for label, value in shown.items()
            if value
        ]


class ContextKeeper:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def get_context(self, *, refresh: bool = False) -> ProjectContext:
        """The facts as they are now; written down when they changed, or `refresh` asks for it."""
        before, context = self._found()
        context = replace(context, detected_at=str(before.get("detected_at", "")))
        same = json.loads(json.dumps(redact_document(context.as_json()))) == before
        return context if same and not refresh else self.add_custom_context({})

    def add_custom_context(self, entries: Mapping[str, Any]) -> ProjectContext:
        """Add or replace entries of one's own; None removes one."""
        try:
            json.dumps(dict(entries))
        except (TypeError, ValueError) as fault:
            raise InvalidInput(f"custom context must be plain values: {fault}") from None
        with self.storage.lock("project-context.lock"):
            _, context = self._found()
            wanted = {**context.custom, **{str(key): value for key, value in entries.items()}}
            custom = {key: value for key, value in wanted.items() if value is not None}
            context = replace(context, custom=custom, detected_at=documents.stamp(datetime.now(UTC)))
            content = json.dumps(redact_document(context.as_json()), ensure_ascii=False, indent=2) + "\n"
            self.storage.write(self.storage.folder / _FILE, documents.encoded(content))
        return context

    def _found(self) -> tuple[dict[str, Any], ProjectContext]:
        """What the file says, and the facts as they are, with the entries of one's own that it has."""
        before = documents.read_json(self.storage.folder / _FILE)
        custom = before.get("custom")
        own = custom if isinstance(custom, dict) else {}
        return before, replace(detect(self.storage.root), custom=own, root=str(self.storage.root))


@cache
def described() -> Mapping[str, Any]:
    rules: Mapping[str, Any] = json.loads(Path(__file__).with_name("ecosystems.json").read_bytes())
    return rules


def detect(root: Path) -> ProjectContext:
    rules, tree = described(), Tree(root)
    met = list(_ecosystems(tree))
    tops = [each for each in met if not each.folder]
    inner = {each.folder: each for each in reversed(met) if each.folder}
    composed = [path for pattern in rules["compose"] for path in tree.glob(pattern)]
    images = [path for pattern in rules["containers"] for path in tree.glob(pattern)]
    marks = [name for pattern, name in rules["workspaces"].items() if tree.glob(pattern)]
    shared = [each for each in tops if any(each.at("tool.uv.workspace", "workspaces", "workspace"))]
    return ProjectContext(
        name=next((each.name for each in tops if each.name), root.name),
        languages=_unique(tree.languages() or [each.rules["language"] for each in met]),
        frameworks=_unique(
            label for each in met for name, label in each.rules["frameworks"].items() if each.needs(name)
        ),
        package_managers=_unique(each.manager for each in met),
        commands=_commands(tree, met),
        entry_points=_unique(entry for each in met for entry in each.entry_points())[:20],
        ci=_unique(name for pattern, name in rules["ci"].items() if tree.glob(pattern)),
        services=_unique(
            [*_services(map(tree.text, composed)), *(f"container image ({path})" for path in images)]
        ),
        workspace=_unique([*marks, *(f"{each.manager} workspace" for each in shared)]),
        packages=tuple(
            {"path": path, "name": each.name or path.rpartition("/")[2], "language": each.rules["language"]}
            for path, each in sorted(inner.items())
        )[:MAX_PACKAGES],
    )


class Tree:
    """The files of a project by folder, nearest to the root first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = dict(islice(self._walk(), MAX_FOLDERS))

    def _walk(self) -> Iterator[tuple[str, list[str]]]:
        waiting, ignored = [""], described()["ignored_folders"]
        for path in waiting:
            try:
                entries = documents.listing(self.root / path)
            except OSError:
                continue
            yield path, [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
            # JVM sources hide their entry points deep below: src/main/java/org/example/app
            depth = MAX_DEPTH + 5 if "/src/main/" in f"/{path}/" else MAX_DEPTH
            if path.count("/") + bool(path) < depth:
                inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
                waiting += [
                    _join(path, name)
                    for name in inner
                    if (name in _HIDDEN_CI and not path)
                    or (name[0] != "." and name not in ignored)
                    or (name == "bin" and path.endswith("src"))
                ]

    def text(self, path: str) -> str:
        """A file's text; empty when it cannot be had or is too long to be a manifest."""
        target = self.root / path
        try:
            return target.read_text("utf-8", "replace") if target.stat().st_size <= MAX_BYTES else ""
        except OSError:
            return ""

    def glob(self, pattern: str, folder: str = "") -> list[str]:
        """Files by a pattern below a folder: `*` is a part of one name, `**` any number of folders."""
        above, _, last = _join(folder, pattern).rpartition("/")
        folders, slashes = [above], above.count("/")
        if "*" in above:
            matching = fnmatch.filter(self.folders, above.replace("/**", "*"))
            folders = [path for path in matching if "**" in above or path.count("/") == slashes]
        return [
            _join(path, name) for path in folders for name in fnmatch.filter(self.folders.get(path, ()), last)
        ]

    def languages(self) -> list[str]:
        """What most files are written in; not what a tenth of that is."""
        known = described()["extensions"]
        files = (name for names in self.folders.values() for name in names)
        counts = Counter(known.get(Path(name).suffix.lower(), "") for name in files)
        del counts[""]
        return [name for name, count in counts.most_common(3) if count * 10 > max(counts.values())]


class Ecosystem:
    """One ecosystem met in one folder: its manifests' texts, and what TOML or JSON make of them."""

    def __init__(self, tree: Tree, folder: str, rules: Mapping[str, Any], texts: Mapping[str, str]) -> None:
        self.tree, self.folder, self.rules = tree, folder, rules
        self.manager = next((name for lock, name in rules["managers"].items() if tree.glob(lock, folder)), "")
        self.documents = [
            (text, data) for path, text in texts.items() if (data := _parsed(path, text)) is not None
        ]

    def at(self, *paths: str) -> Iterator[Any]:
        """What the manifests say at dotted paths."""
        for _, data in self.documents:
            for path in paths:
                value: Any = data
                for key in path.split("."):
                    value = value.get(key) if isinstance(value, dict) else None
                yield from [value] if value else []

    def needs(self, name: str) -> bool:
        """Whether a manifest asks for a dependency: names it as a key of JSON, else anywhere."""
        word = re.escape(name)
        plain, key = rf"(?i)(?<![\w-]){word}(?!\w)(?!.*// indirect)", rf'"{word}"\s*:'
        return any(re.search(key if text.lstrip()[:1] == "{" else plain, text) for text, _ in self.documents)

    @property
    def name(self) -> str:
        names = self.at("project.name", "tool.poetry.name", "package.name", "name")
        modules = (module[1] for text, _ in self.documents if (module := _GO_MODULE.search(text)))
        return next((name for name in (*names, *modules) if isinstance(name, str)), "")

    def commands(self) -> Iterator[tuple[str, str]]:
        if template := self.rules.get("script_commands", {}).get(self.manager):
            tables = (table for table in self.at("scripts", "tasks") if isinstance(table, dict))
            yield from _by_words({name for table in tables for name in table}, template)
        runner = self.rules.get("runners", {}).get(self.manager, "")
        taken: set[str] = set()
        for rule in self.rules["commands"]:
            sign = rule["if"]  # a manager, a file or a dependency
            if sign == self.manager or self.tree.glob(sign, self.folder) or self.needs(sign):
                for kind in COMMANDS:
                    if kind in rule and (kind == "lint" or kind not in taken):
                        taken.add(kind)
                        yield kind, rule[kind].format(runner=runner)

    def entry_points(self) -> Iterator[str]:
        """Programs that manifests name, then files that usually are some."""
        prefix = f"{self.folder}: " if self.folder else ""
        for table in self.at("project.scripts", "tool.poetry.scripts"):
            if isinstance(table, dict):
                yield from (f"{prefix}{name} ({target})" for name, target in table.items())
        for value in self.at("main", "bin"):
            programs = [*value.values()] if isinstance(value, dict) else value
            for program in programs if isinstance(programs, list) else [programs]:
                path = program.get("path") if isinstance(program, dict) else program
                yield from [prefix + path] if isinstance(path, str) else []
        for pattern in self.rules["entry_points"]:
            yield from self.tree.glob(pattern, self.folder)


def _parsed(path: str, text: str) -> Mapping[str, Any] | None:
    parse = {".toml": tomllib.loads, ".json": json.loads}.get(Path(path).suffix)
    try:
        data = parse(text) if parse else {}
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else {}


def _ecosystems(tree: Tree) -> Iterator[Ecosystem]:
    at_top: dict[str, str] = {}
    for folder in tree.folders:
        for rules in described()["ecosystems"]:
            paths = [path for pattern in rules["manifests"] for path in tree.glob(pattern, folder)]
            if paths:
                each = Ecosystem(tree, folder, rules, {path: tree.text(path) for path in paths})
                # A member of a workspace uses the manager of the workspace, whose lock file is at the top.
                each.manager = at_top.get(rules["manifests"][0]) or each.manager
                if not folder:
                    at_top[rules["manifests"][0]] = each.manager
                yield each


def _commands(tree: Tree, met: list[Ecosystem]) -> dict[str, tuple[str, ...]]:
    made: list[tuple[str, str]] = []
    for pattern, command in described()["task_runners"].items():
        for path in tree.glob(pattern):
            made += _by_words(set(_TARGET.findall(tree.text(path))), command)
    top = min((len(Path(each.folder).parts) for each in met), default=0)
    for each in met:
        if len(Path(each.folder).parts) == top:  # of a monorepo the top's are the project's
            lead, end = (f"(cd {each.folder} && ", ")") if each.folder else ("", "")
            made += [(kind, f"{lead}{command}{end}") for kind, command in each.commands()]
    by_kind = {kind: _unique(command for own, command in made if own == kind) for kind in COMMANDS}
    return {kind: commands for kind, commands in by_kind.items() if commands}


def _by_words(scripts: set[str], command: str) -> Iterator[tuple[str, str]]:
    for kind, words in described()["script_words"].items():
        if script := next((word for word in words if word in scripts), None):
            yield kind, command.format(script=script)


def _services(texts: Iterable[str]) -> Iterator[str]:
    """The keys right below `services` of compose files."""
    for block in filter(None, map(_SERVICES.search, texts)):
        keys = _SERVICE.findall(block[1])
        yield from (key for indent, key in keys if len(indent) == min(len(indent) for indent, _ in keys))


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
