"""From a tree of files to facts about the project. Pure over the tree; what it knows is in data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from claude_memory.tasks.project_context import manifests
from claude_memory.tasks.project_context.manifests import Manifest
from claude_memory.tasks.project_context.tree import Folder, Tree

COMMANDS = ("test", "build", "lint", "run")
_MAX_PACKAGES = 200


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
class _Found:
    """One ecosystem met in one folder."""

    folder: Folder
    ecosystem: Mapping[str, Any]
    manifest: Manifest
    paths: tuple[str, ...]
    managers: tuple[str, ...]


@cache
def described() -> Mapping[str, Any]:
    """The ecosystems and what to look for."""
    text = resources.files(__package__).joinpath("ecosystems.json").read_text("utf-8")
    known: Mapping[str, Any] = json.loads(text)
    return known


def detect(root: Path) -> Facts:
    """Look at a project's manifests."""
    known = described()
    tree = Tree(root, known["ignored_folders"])
    found = list(_ecosystems(tree, known))
    services, containers = _services(tree, known)
    return Facts(
        name=_first(item.manifest.name for item in found if not item.folder.path) or root.name,
        languages=_unique(_language for item in found for _language in _languages(item)),
        frameworks=_unique(framework for item in found for framework in _frameworks(item)),
        package_managers=_unique(manager for item in found for manager in item.managers),
        commands=_commands(tree, known, found),
        structure=_structure(tree, known),
        entry_points=_unique(entry for item in found for entry in _entry_points(tree, item))[:20],
        ci=_unique(name for pattern, name in known["ci"].items() if tree.glob(pattern)),
        services=services,
        workspace=_workspace(tree, known, found),
        packages=_packages(found),
        manifests=_unique(
            [path for item in found for path in item.paths] + _other_manifests(tree, known) + containers
        ),
    )


def _ecosystems(tree: Tree, known: Mapping[str, Any]) -> Iterator[_Found]:
    inherited: dict[str, tuple[str, ...]] = {}
    for folder in tree.folders:
        for number, ecosystem in enumerate(known["ecosystems"]):
            matched = [(n, r) for p, r in ecosystem["manifests"].items() for n in folder.matching(p)]
            if not matched:
                continue
            paths = [f"{folder.path}/{name}" if folder.path else name for name, _ in matched]
            read = [manifests.read(r, tree.text(path)) for path, (_, r) in zip(paths, matched, strict=True)]
            # A member of a workspace uses the manager of the workspace, whose lock file is at the top.
            managers = inherited.get(str(number)) or _managers(folder, ecosystem)
            if not folder.path:
                inherited[str(number)] = managers
            yield _Found(folder, ecosystem, _merged(read), tuple(paths), managers)


def _managers(folder: Folder, ecosystem: Mapping[str, Any]) -> tuple[str, ...]:
    found = _unique(name for pattern, name in ecosystem["managers"].items() if folder.matching(pattern))
    return found[:1]  # strongest evidence first: a lock file says more than a manifest


def _merged(read: Iterable[Manifest]) -> Manifest:
    read = list(read)
    return Manifest(
        _first(item.name for item in read),
        _unique(name for item in read for name in item.dependencies),
        _unique(name for item in read for name in item.scripts),
        _unique(name for item in read for name in item.entry_points),
        _unique(name for item in read for name in item.members),
    )


def _languages(found: _Found) -> Iterator[str]:
    more = [
        language
        for pattern, language in found.ecosystem.get("languages_by_file", {}).items()
        if found.folder.matching(pattern)
    ]
    by_need = found.ecosystem.get("languages_by_dependency", {})
    more += [language for name, language in by_need.items() if _needs(found, name)]
    yield from more  # TypeScript before the JavaScript it is made of
    yield found.ecosystem["language"]


def _frameworks(found: _Found) -> Iterator[str]:
    for name, framework in found.ecosystem["frameworks"].items():
        if _needs(found, name):
            yield framework


def _needs(found: _Found, name: str) -> bool:
    if not found.ecosystem.get("prefix_frameworks"):
        return name in found.manifest.dependencies
    return any(
        need == name or re.match(re.escape(name) + r"[-.:_]", need) for need in found.manifest.dependencies
    )


def _commands(tree: Tree, known: Mapping[str, Any], found: list[_Found]) -> dict[str, tuple[str, ...]]:
    result: dict[str, list[str]] = {kind: [] for kind in COMMANDS}
    for kind, command in _runner_commands(tree, known):
        result[kind].append(command)
    top = min((item.folder.path.count("/") + bool(item.folder.path) for item in found), default=0)
    for item in found:
        level = item.folder.path.count("/") + bool(item.folder.path)
        if level == top:  # a monorepo's members have their own; the top's are the project's
            for kind, command in _ecosystem_commands(tree, known, item):
                result[kind].append(_placed(item.folder.path, command))
    return {kind: _unique(commands) for kind, commands in result.items() if commands}


def _placed(folder: str, command: str) -> str:
    return f"(cd {folder} && {command})" if folder else command


def _runner_commands(tree: Tree, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for runner in known["task_runners"]:
        for name in tree.folders[0].matching(runner["file"]) if tree.folders else ():
            scripts = manifests.read(runner["reader"], tree.text(name)).scripts
            yield from _by_words(known, scripts, runner["command"])


def _by_words(known: Mapping[str, Any], scripts: Iterable[str], command: str) -> Iterator[tuple[str, str]]:
    present = list(scripts)
    for kind, words in known["script_words"].items():
        named = next((word for word in words if word in present), None)
        if named:
            yield kind, command.format(script=named)


def _ecosystem_commands(tree: Tree, known: Mapping[str, Any], item: _Found) -> Iterator[tuple[str, str]]:
    manager = item.managers[0] if item.managers else ""
    template = item.ecosystem.get("script_commands", {}).get(manager)
    if template:
        yield from _by_words(known, item.manifest.scripts, template)
    runner = item.ecosystem.get("runners", {}).get(manager, "")
    taken: set[str] = set()
    for rule in item.ecosystem["commands"]:
        if _applies(tree, item, rule, manager):
            for kind in COMMANDS:
                if kind in rule and (kind == "lint" or kind not in taken):
                    taken.add(kind)
                    yield kind, rule[kind].format(runner=runner)


def _applies(tree: Tree, item: _Found, rule: Mapping[str, str], manager: str) -> bool:
    if "needs" in rule:
        return _needs(item, rule["needs"])
    if "manager" in rule:
        return rule["manager"] == manager
    return bool(tree.glob(rule["file"], item.folder.path))


def _entry_points(tree: Tree, found: _Found) -> Iterator[str]:
    prefix = f"{found.folder.path}: " if found.folder.path else ""
    yield from (prefix + entry for entry in found.manifest.entry_points)
    for pattern in found.ecosystem["entry_points"]:
        yield from tree.glob(pattern, found.folder.path)


def _services(tree: Tree, known: Mapping[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    composed = [path for pattern in known["compose"] for path in tree.glob(pattern)]
    names = [name for path in composed for name in manifests.block_keys(tree.text(path), "services")]
    images = [path for pattern in known["containers"] for path in tree.glob(f"**/{pattern}")]
    names += [f"container image ({path})" for path in images]
    return _unique(names), [*composed, *images]


def _workspace(tree: Tree, known: Mapping[str, Any], found: list[_Found]) -> tuple[str, ...]:
    top = tree.folders[0] if tree.folders else Folder("", (), ())
    names = [name for pattern, name in known["workspaces"].items() if top.matching(pattern)]
    spaces = (item for item in found if not item.folder.path and item.manifest.members)
    names += [f"{item.managers[0]} workspace" for item in spaces if item.managers]
    return _unique(names)


def _packages(found: list[_Found]) -> tuple[Package, ...]:
    inner = [item for item in found if item.folder.path]
    seen = {item.folder.path: item for item in reversed(inner)}
    return tuple(
        Package(path, item.manifest.name or path.rpartition("/")[2], next(_languages(item)))
        for path, item in sorted(seen.items())
    )[:_MAX_PACKAGES]


def _other_manifests(tree: Tree, known: Mapping[str, Any]) -> list[str]:
    patterns = [*(runner["file"] for runner in known["task_runners"]), *known["workspaces"], *known["ci"]]
    locks = [pattern for ecosystem in known["ecosystems"] for pattern in ecosystem["managers"]]
    return [path for pattern in [*patterns, *locks] for path in tree.glob(pattern)]


def _structure(tree: Tree, known: Mapping[str, Any]) -> dict[str, str]:
    folders = tree.folders[0].folders if tree.folders else ()
    return {name: known["structure"].get(name, "") for name in folders}


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")
