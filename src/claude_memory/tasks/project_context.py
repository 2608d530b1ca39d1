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
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.redact import redact_document
from claude_memory.tasks import documents
from claude_memory.tasks.storage import Storage

COMMANDS = ("test", "build", "lint", "run")
MAX_DEPTH, MAX_FOLDERS, MAX_PACKAGES, MAX_BYTES = 4, 1500, 200, 512 * 1024
_FILE = "project-context.json"
_FORMAT = 1
_HIDDEN_CI = (".github", ".circleci", ".buildkite", ".forgejo")
_TARGET = re.compile(r"(?m)^ {0,2}@?([A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?[ \t]*:(?!=)")
_SERVICES = re.compile(r"(?m)^services:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*#.*\n|\n)*)")
_GO_MODULE = re.compile(r"(?m)^module\s+(?:\S*/)?((?!v\d+$)[^\s/]+)(?:/v\d+)?$")


@dataclass(frozen=True, slots=True)
class Package:
    """A part of the project with a manifest of its own."""

    path: str
    name: str
    language: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found; every list is in the order of importance."""

    name: str
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    package_managers: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()
    ci: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    workspace: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Detected facts and custom entries."""

    facts: Facts
    custom: Mapping[str, Any] = field(default_factory=dict)
    root: str = ""
    detected_at: str = ""

    def as_json(self) -> dict[str, Any]:
        """As the file holds it."""
        about = {"format": _FORMAT, "root": self.root, "detected_at": self.detected_at}
        return {**about, **asdict(self.facts), "custom": dict(self.custom)}

    def lines(self) -> list[str]:
        """A few lines of facts, for people and agents alike."""
        facts = self.facts
        custom = {
            key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for key, value in self.custom.items()
        }
        rows = {
            "Project": facts.name,
            "Languages": ", ".join(facts.languages),
            "Frameworks": ", ".join(facts.frameworks),
            "Package managers": ", ".join(facts.package_managers),
            **{kind.capitalize(): "; ".join(commands) for kind, commands in facts.commands.items()},
            "Entry points": ", ".join(facts.entry_points[:8]),
            "Workspace": ", ".join(facts.workspace),
            "Packages": ", ".join(f"{package.path} ({package.language})" for package in facts.packages[:12]),
            "CI": ", ".join(facts.ci),
            "Services": ", ".join(facts.services),
            **custom,
        }
        return [f"{label}: {value}" for label, value in rows.items() if value]


class ContextKeeper:
    """The context of one project."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def get_context(self, *, refresh: bool = False) -> ProjectContext:
        """The facts as they are now; written down when they changed, or `refresh` asks for it."""
        facts, (before, custom) = detect(self.storage.root), self._document()
        root, at = str(self.storage.root), str(before.get("detected_at", ""))
        context = ProjectContext(facts, custom, root, at)
        same = json.loads(json.dumps(redact_document(context.as_json()))) == before
        return context if same and not refresh else self._written(facts, {})

    def add_custom_context(self, entries: Mapping[str, Any]) -> ProjectContext:
        """Add or replace entries of one's own; None removes one."""
        try:
            json.dumps(dict(entries))
        except (TypeError, ValueError) as fault:
            raise InvalidInput(f"custom context must be plain values: {fault}") from None
        return self._written(detect(self.storage.root), entries)

    def _written(self, facts: Facts, changes: Mapping[str, Any]) -> ProjectContext:
        with self.storage.lock("project-context.lock"):
            wanted = {**self._document()[1], **changes}
            custom = {str(key): value for key, value in wanted.items() if value is not None}
            now = documents.stamp(datetime.now(UTC))
            context = ProjectContext(facts, custom, str(self.storage.root), now)
            content = json.dumps(redact_document(context.as_json()), ensure_ascii=False, indent=2) + "\n"
            self.storage.write(self.storage.folder / _FILE, documents.encoded(content))
        return context

    def _document(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The file, and the entries of one's own in it."""
        document = documents.read_json(self.storage.folder / _FILE)
        custom = document.get("custom")
        return document, custom if isinstance(custom, dict) else {}


# --- what a folder holds


@cache
def described() -> Mapping[str, Any]:
    """The ecosystems and what to look for."""
    rules: Mapping[str, Any] = json.loads(Path(__file__).with_name("ecosystems.json").read_bytes())
    return rules


def detect(root: Path) -> Facts:
    """Look at a project's files."""
    rules, tree = described(), Tree(root)
    met = list(_ecosystems(tree))
    composed = [path for pattern in rules["compose"] for path in tree.glob(pattern)]
    images = [path for pattern in rules["containers"] for path in tree.glob(f"**/{pattern}")]
    marks = [name for pattern, name in rules["workspaces"].items() if tree.glob(pattern)]
    tops = [each for each in met if not each.folder]
    shared = [
        f"{each.manager} workspace" for each in tops if any(m.is_workspace for m in each.manifests.values())
    ]
    inner = {each.folder: each for each in reversed(met) if each.folder}
    return Facts(
        name=next((each.name for each in tops if each.name), root.name),
        languages=_unique([name for each in met for name in each.languages()] or tree.languages()),
        frameworks=_unique(
            label for each in met for name, label in each.rules["frameworks"].items() if each.needs(name)
        ),
        package_managers=_unique(each.manager for each in met),
        commands=_commands(tree, met),
        entry_points=_unique(entry for each in met for entry in each.entry_points())[:20],
        ci=_unique(name for pattern, name in rules["ci"].items() if tree.glob(pattern)),
        services=_unique(
            [name for path in composed for name in _services(tree.text(path))]
            + [f"container image ({path})" for path in images]
        ),
        workspace=_unique([*marks, *shared]),
        packages=tuple(
            Package(path, each.name or path.rpartition("/")[2], next(each.languages()))
            for path, each in sorted(inner.items())
        )[:MAX_PACKAGES],
    )


class Tree:
    """The files of a project, nearest to the root first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = dict(islice(self._walk(), MAX_FOLDERS))
        self.files = [_join(folder, name) for folder, names in self.folders.items() for name in names]

    def _walk(self) -> Iterator[tuple[str, list[str]]]:
        waiting, ignored = [""], described()["ignored_folders"]
        for path in waiting:
            try:
                entries = documents.listing(self.root / path)
            except OSError:
                continue
            yield path, [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            # JVM sources hide their entry points deep below: src/main/java/org/example/app
            depth = MAX_DEPTH + 5 if "/src/main/" in f"/{path}/" else MAX_DEPTH
            if len(PurePosixPath(path).parts) < depth:
                waiting += [
                    _join(path, name)
                    for name in inner
                    if (name in _HIDDEN_CI and not path)
                    or (not name.startswith(".") and name not in ignored)
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
        """Files by a pattern below a folder: `*` within one name, `**/` over any number of folders."""
        if "/" not in pattern:  # most are, and only one folder need be looked at
            return [_join(folder, name) for name in fnmatch.filter(self.folders.get(folder, ()), pattern)]
        spread = _join(folder, pattern.replace("**/", "*"))
        matching = fnmatch.filter(self.files, spread)
        is_deep, slashes = "**/" in pattern, spread.count("/")
        return [path for path in matching if is_deep or path.count("/") == slashes]

    def languages(self) -> list[str]:
        """What most files are written in, where no manifest says it."""
        known = described()["extensions"]
        counts = Counter(known.get(PurePosixPath(path).suffix.lower(), "") for path in self.files)
        return [name for name, _ in counts.most_common() if name][:3]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest: its text, and what TOML or JSON make of it."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, text: str) -> Manifest:
        """By the name of its file; a broken one says nothing."""
        parse = {".toml": tomllib.loads, ".json": json.loads}.get(PurePosixPath(name).suffix)
        try:
            data = parse(text) if parse else {}
        except (ValueError, RecursionError):
            return cls("")
        return cls(text, data if isinstance(data, dict) else {})

    def at(self, *paths: str) -> Iterator[Any]:
        """What stands at dotted paths."""
        for path in paths:
            value: Any = self.data
            for key in path.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            yield from [value] if value else []

    def needs(self, name: str) -> bool:
        """Whether it asks for a dependency: names it as a key of JSON, else anywhere."""
        is_json = self.text.lstrip().startswith("{")
        word = (
            rf'"{re.escape(name)}"\s*:'
            if is_json
            else rf"(?i)(?<![\w-]){re.escape(name)}(?!\w)(?!.*// indirect)"
        )
        return bool(re.search(word, self.text))

    @property
    def name(self) -> str:
        names = self.at("project.name", "tool.poetry.name", "package.name", "name")
        module = _GO_MODULE.search(self.text)
        return next((name for name in names if isinstance(name, str)), module[1] if module else "")

    @property
    def scripts(self) -> list[str]:
        return [name for table in self.at("scripts", "tasks") if isinstance(table, dict) for name in table]

    @property
    def is_workspace(self) -> bool:
        return any(True for _ in self.at("tool.uv.workspace", "workspaces", "workspace"))

    def entry_points(self) -> Iterator[str]:
        for table in self.at("project.scripts", "tool.poetry.scripts"):
            yield from (f"{name} ({target})" for name, target in table.items())
        for programs in self.at("main", "bin"):
            values = programs.values() if isinstance(programs, dict) else programs
            for value in [values] if isinstance(values, str) else values:
                path = value.get("path") if isinstance(value, dict) else value
                yield from [path] if isinstance(path, str) else []


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """One ecosystem met in one folder."""

    tree: Tree
    folder: str
    rules: Mapping[str, Any]
    manifests: Mapping[str, Manifest]
    manager: str

    @property
    def name(self) -> str:
        return next((manifest.name for manifest in self.manifests.values() if manifest.name), "")

    def needs(self, name: str) -> bool:
        return any(manifest.needs(name) for manifest in self.manifests.values())

    def languages(self) -> Iterator[str]:
        """TypeScript before the JavaScript it is made of."""
        for pattern, language in self.rules.get("languages_by_file", {}).items():
            yield from [language] if self.tree.glob(pattern, self.folder) else []
        for name, language in self.rules.get("languages_by_dependency", {}).items():
            yield from [language] if self.needs(name) else []
        yield self.rules["language"]

    def commands(self) -> Iterator[tuple[str, str]]:
        if template := self.rules.get("script_commands", {}).get(self.manager):
            scripts = [name for manifest in self.manifests.values() for name in manifest.scripts]
            yield from _by_words(scripts, template)
        runner = self.rules.get("runners", {}).get(self.manager, "")
        taken: set[str] = set()
        for rule in self.rules["commands"]:
            if (
                ("needs" in rule and self.needs(rule["needs"]))
                or ("manager" in rule and rule["manager"] == self.manager)
                or ("file" in rule and self.tree.glob(rule["file"], self.folder))
            ):
                for kind in COMMANDS:
                    if kind in rule and (kind == "lint" or kind not in taken):
                        taken.add(kind)
                        yield kind, rule[kind].format(runner=runner)

    def entry_points(self) -> Iterator[str]:
        prefix = f"{self.folder}: " if self.folder else ""
        yield from (prefix + entry for each in self.manifests.values() for entry in each.entry_points())
        for pattern in self.rules["entry_points"]:
            yield from self.tree.glob(pattern, self.folder)


def _ecosystems(tree: Tree) -> Iterator[Ecosystem]:
    at_top: dict[int, str] = {}
    for folder in tree.folders:
        for number, rules in enumerate(described()["ecosystems"]):
            paths = [path for pattern in rules["manifests"] for path in tree.glob(pattern, folder)]
            if paths:
                managers = (name for lock, name in rules["managers"].items() if tree.glob(lock, folder))
                # A member of a workspace uses the manager of the workspace, whose lock file is at the top.
                manager = at_top.get(number) or next(managers, "")
                if not folder:
                    at_top[number] = manager
                manifests = {path: Manifest.read(path, tree.text(path)) for path in paths}
                yield Ecosystem(tree, folder, rules, manifests, manager)


def _commands(tree: Tree, met: list[Ecosystem]) -> dict[str, tuple[str, ...]]:
    made: list[tuple[str, str]] = []
    for runner in described()["task_runners"]:
        for path in tree.glob(runner["file"]):
            made += _by_words(_TARGET.findall(tree.text(path)), runner["command"])
    top = min((each.folder.count("/") + bool(each.folder) for each in met), default=0)
    for each in met:
        if each.folder.count("/") + bool(each.folder) == top:  # of a monorepo the top's are the project's
            lead, end = (f"(cd {each.folder} && ", ")") if each.folder else ("", "")
            made += [(kind, f"{lead}{command}{end}") for kind, command in each.commands()]
    by_kind = {kind: _unique(command for own, command in made if own == kind) for kind in COMMANDS}
    return {kind: commands for kind, commands in by_kind.items() if commands}


def _by_words(scripts: Iterable[str], command: str) -> Iterator[tuple[str, str]]:
    present = set(scripts)
    for kind, words in described()["script_words"].items():
        if script := next((word for word in words if word in present), None):
            yield kind, command.format(script=script)


def _services(text: str) -> list[str]:
    """The keys right below `services` of a compose file."""
    block = _SERVICES.search(text + "\n")
    lines = [line for line in block[1].splitlines() if line.strip()] if block else []
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    direct = [line.strip() for line in lines if len(line) - len(line.lstrip()) == indent]
    return [key.partition(":")[0].strip("\"'") for key in direct if ":" in key]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
