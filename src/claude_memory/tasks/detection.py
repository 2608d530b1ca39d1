"""What kind of project a folder holds: languages, frameworks, managers, commands, packages.

The common manifests are parsed; every other ecosystem is known by the names of its files, and needs what is
named in its manifest. What to look for is in `ecosystems.json`. The look is bounded: links are not followed,
big files not read.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

COMMANDS = ("test", "build", "lint", "run")
MAX_DEPTH, MAX_FOLDERS, MAX_PACKAGES, MAX_BYTES = 4, 1500, 200, 512 * 1024
_HIDDEN_CI = (".github", ".circleci", ".buildkite", ".forgejo")
_TARGET = re.compile(r"(?m)^ {0,2}@?([A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?[ \t]*:(?!=)")
_SERVICES = re.compile(r"(?m)^services:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*#.*\n|\n)*)")


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
    structure: Mapping[str, str] = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()
    ci: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    workspace: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    manifests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManifestFacts:
    """What one manifest declares; `text` of one that nobody parses here."""

    name: str = ""
    dependencies: frozenset[str] = frozenset()
    scripts: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    workspace: bool = False
    text: str = ""

    def needs(self, name: str) -> bool:
        """Whether it asks for a dependency."""
        word = rf"(?i)(?<![\w-]){re.escape(name)}(?!\w)"
        return name in self.dependencies or bool(self.text and re.search(word, self.text))


@cache
def described() -> Mapping[str, Any]:
    """The ecosystems and what to look for."""
    rules: Mapping[str, Any] = json.loads(Path(__file__).with_name("ecosystems.json").read_bytes())
    return rules


def detect(root: Path) -> Facts:
    """Look at a project's files."""
    rules, tree = described(), Tree(root)
    met = list(_ecosystems(tree))
    languages = [name for each in met for name in each.languages()]
    composed = [path for pattern in rules["compose"] for path in tree.glob(pattern)]
    images = [path for pattern in rules["containers"] for path in tree.glob(f"**/{pattern}")]
    marks = [name for pattern, name in rules["workspaces"].items() if tree.glob(pattern)]
    tops = [each for each in met if not each.folder]
    shared = [each for each in tops if any(manifest.workspace for manifest in each.manifests.values())]
    inner = {each.folder: each for each in reversed(met) if each.folder}
    return Facts(
        name=next((each.name for each in tops if each.name), root.name),
        languages=_unique(languages or tree.languages()),
        frameworks=_unique(
            label for each in met for name, label in each.rules["frameworks"].items() if each.needs(name)
        ),
        package_managers=_unique(each.manager for each in met),
        commands=_commands(tree, met),
        structure={name: rules["structure"].get(name, "") for name in tree.top_folders},
        entry_points=_unique(entry for each in met for entry in each.entry_points())[:20],
        ci=_unique(name for pattern, name in rules["ci"].items() if tree.glob(pattern)),
        services=_unique(
            [name for path in composed for name in _services(tree.text(path))]
            + [f"container image ({path})" for path in images]
        ),
        workspace=_unique([*marks, *(f"{each.manager} workspace" for each in shared)]),
        packages=tuple(
            Package(path, each.name or path.rpartition("/")[2], next(each.languages()))
            for path, each in sorted(inner.items())
        )[:MAX_PACKAGES],
        manifests=_unique(path for each in met for path in each.manifests),
    )


class Tree:
    """The files of a project, nearest to the root first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = dict(islice(self._walk(), MAX_FOLDERS))
        self.files = [_join(folder, name) for folder, (names, _) in self.folders.items() for name in names]
        self.top_folders = [name for name in self.folders.get("", ((), ()))[1] if not name.startswith(".")]

    def _walk(self) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
        waiting, ignored = [""], described()["ignored_folders"]
        for path in waiting:
            try:
                entries = sorted(os.scandir(self.root / path), key=lambda entry: entry.name)
            except OSError:
                continue
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            yield path, ([entry.name for entry in entries if entry.is_file(follow_symlinks=False)], inner)
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
            if target.is_symlink() or target.stat().st_size > MAX_BYTES:
                return ""
            return target.read_text("utf-8", "replace")
        except OSError:
            return ""

    def glob(self, pattern: str, folder: str = "") -> list[str]:
        """Files by a pattern below a folder: `*` within one name, `**/` over any number of folders."""
        prefix = f"{folder}/" if folder else ""
        deep, spread = "**/" in pattern, pattern.replace("**/", "*")
        if not deep and "/" not in pattern:
            names = fnmatch.filter(self.folders.get(folder, ((), ()))[0], pattern)
            return [prefix + name for name in names]
        below = (path.removeprefix(prefix) for path in self.files if path.startswith(prefix))
        return [
            prefix + path
            for path in below
            if (deep or path.count("/") == pattern.count("/")) and fnmatch.fnmatchcase(path, spread)
        ]

    def languages(self) -> list[str]:
        """What most files are written in, where no manifest says it."""
        known = described()["extensions"]
        counts = Counter(known.get(PurePosixPath(path).suffix.lower(), "") for path in self.files)
        return [name for name, _ in counts.most_common() if name][:3]


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """One ecosystem met in one folder."""

    tree: Tree
    folder: str
    rules: Mapping[str, Any]
    manifests: Mapping[str, ManifestFacts]
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
            yield from _by_words(
                [name for each in self.manifests.values() for name in each.scripts], template
            )
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
        yield from (prefix + entry for each in self.manifests.values() for entry in each.entry_points)
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
                manifests = {path: read(PurePosixPath(path).name, tree.text(path)) for path in paths}
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
        if named := next((word for word in words if word in present), None):
            yield kind, command.format(script=named)


def _services(text: str) -> list[str]:
    """The keys right below `services` of a compose file."""
    block = _SERVICES.search(text + "\n")
    lines = [line for line in block[1].splitlines() if line.strip()] if block else []
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    direct = [line.strip() for line in lines if len(line) - len(line.lstrip()) == indent]
    return [key.partition(":")[0].strip("\"'") for key in direct if ":" in key]


# --- the manifests that are parsed


def read(name: str, text: str) -> ManifestFacts:
    """A manifest by the name of its file; a broken one says nothing."""
    parser = {
        "pyproject.toml": _pyproject,
        "package.json": _package_json,
        "composer.json": _package_json,
        "deno.json": _package_json,
        "Cargo.toml": _cargo,
        "go.mod": _go_mod,
    }
    try:
        return parser[name](text) if name in parser else ManifestFacts(text=text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ManifestFacts()


def _pyproject(text: str) -> ManifestFacts:
    data = tomllib.loads(text)
    project, tool = data.get("project", {}), data.get("tool", {})
    poetry = tool.get("poetry", {})
    needs = [*project.get("dependencies", []), *(name for name in ("pytest", "ruff", "mypy") if name in tool)]
    for group in (
        *project.get("optional-dependencies", {}).values(),
        *data.get("dependency-groups", {}).values(),
    ):
        needs += group
    for table in (poetry, *poetry.get("group", {}).values()):
        needs += [*table.get("dependencies", {}), *table.get("dev-dependencies", {})]
    names = [re.match(r"\s*([A-Za-z0-9][\w.-]*)", need) for need in needs if isinstance(need, str)]
    scripts = {**project.get("scripts", {}), **poetry.get("scripts", {})}
    return ManifestFacts(
        str(project.get("name") or poetry.get("name") or ""),
        frozenset(re.sub(r"[_.]+", "-", name[1]).lower() for name in names if name),
        entry_points=tuple(f"{name} ({target})" for name, target in scripts.items()),
        workspace="workspace" in tool.get("uv", {}),
    )


def _package_json(text: str) -> ManifestFacts:
    data = json.loads(text)
    keys = ("dependencies", "devDependencies", "peerDependencies", "require", "require-dev", "imports")
    programs = data.get("bin", {})
    entry = [data.get("main"), *([programs] if isinstance(programs, str) else programs.values())]
    return ManifestFacts(
        str(data.get("name") or ""),
        frozenset(name for key in keys for name in data.get(key, {}) if isinstance(name, str)),
        tuple(data.get("scripts") or data.get("tasks") or ()),
        tuple(path for path in entry if isinstance(path, str)),
        workspace=bool(data.get("workspaces")),
    )


def _cargo(text: str) -> ManifestFacts:
    data = tomllib.loads(text)
    keys = ("dependencies", "dev-dependencies", "build-dependencies")
    tables = [data, data.get("workspace", {})]
    programs = [program.get("path") for program in data.get("bin", [])]
    return ManifestFacts(
        str(data.get("package", {}).get("name") or ""),
        frozenset(name for table in tables for key in keys for name in table.get(key, {})),
        entry_points=tuple(path for path in programs if isinstance(path, str)),
        workspace="workspace" in data,
    )


def _go_mod(text: str) -> ManifestFacts:
    module = re.search(r"(?m)^module\s+(\S+)", text)
    needs = re.findall(r"(?m)^(?:require\s+|\s+)([\w.-]+\.[\w.-]+/\S+)\s+v\S+(?!.*// indirect)", text)
    names = [re.sub(r"/v\d+$", "", name) for name in (module[1] if module else "", *needs)]
    return ManifestFacts(names[0].rpartition("/")[2], frozenset(names[1:]))


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
