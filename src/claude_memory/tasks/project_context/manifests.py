"""Readers of manifest formats: text in, names out. Tolerant, bounded, and nothing is ever executed.

A reader takes from a file the project's name, its dependencies, its scripts, its entry points and
its workspace members; what it cannot understand it leaves out.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one manifest says."""

    name: str = ""
    dependencies: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


def read(reader: str, text: str) -> Manifest:
    """Read a manifest by its reader's name; a broken one says nothing."""
    try:
        return READERS[reader](text)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return Manifest()


def _none(_text: str) -> Manifest:
    return Manifest()


def _pyproject(text: str) -> Manifest:
    data = tomllib.loads(text)
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry = _table(tool, "poetry")
    needs = [*_list(project, "dependencies"), *_flat(_table(project, "optional-dependencies"))]
    needs += _flat(_table(data, "dependency-groups"))
    groups = [poetry, *(_table(group) for group in _table(poetry, "group").values())]
    needs += [
        name
        for group in groups
        for key in ("dependencies", "dev-dependencies")
        for name in _table(group, key)
    ]
    needs += [name for name in ("pytest", "ruff", "mypy") if name in tool]
    scripts = {**_table(project, "scripts"), **_table(poetry, "scripts")}
    members = _list(_table(_table(tool, "uv"), "workspace"), "members")
    return Manifest(
        str(project.get("name") or poetry.get("name") or ""),
        _requirement_names(needs),
        entry_points=tuple(f"{name} ({target})" for name, target in scripts.items()),
        members=tuple(members),
    )


def _requirements(text: str) -> Manifest:
    return Manifest(dependencies=_requirement_names(text.splitlines()))


def _setup_py(text: str) -> Manifest:
    # The file is read as text, never run: only what stands there literally is seen.
    name = re.search(r"\bname\s*=\s*[\"']([^\"']+)", text)
    needs = re.search(r"install_requires\s*=\s*\[(.*?)\]", text, re.DOTALL)
    found = re.findall(r"[\"']([^\"']+)[\"']", needs.group(1)) if needs else []
    return Manifest(name.group(1) if name else "", _requirement_names(found))


def _pipfile(text: str) -> Manifest:
    data = tomllib.loads(text)
    needs = [*_table(data, "packages"), *_table(data, "dev-packages")]
    return Manifest(dependencies=_requirement_names(needs), scripts=tuple(_table(data, "scripts")))


def _package_json(text: str) -> Manifest:
    data = _table(json.loads(text))
    keys = ("dependencies", "devDependencies", "peerDependencies")
    needs = tuple(name for key in keys for name in _table(data, key))
    spaces = data.get("workspaces")
    members = spaces if isinstance(spaces, list) else _list(_table(data, "workspaces"), "packages")
    commands = data.get("bin")
    entry = [*([data["main"]] if isinstance(data.get("main"), str) else [])]
    entry += [commands] if isinstance(commands, str) else list(_table(data, "bin").values())
    scripts = tuple(_table(data, "scripts"))
    return Manifest(str(data.get("name") or ""), needs, scripts, _texts(entry), _texts(members))


def _deno_json(text: str) -> Manifest:
    data = _table(json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)))
    imports = _table(data, "imports")
    members = _list(data, "workspace")
    return Manifest(
        str(data.get("name") or ""), tuple(imports), tuple(_table(data, "tasks")), members=_texts(members)
    )


def _go_mod(text: str) -> Manifest:
    module = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
    needs = re.findall(
        r"^(?:require\s+|\s+)([\w.-]+\.[\w.-]+/\S+)\s+v\S+(?!.*// indirect)", text, re.MULTILINE
    )
    plain = tuple(re.sub(r"/v\d+$", "", name) for name in needs)
    name = re.sub(r"/v\d+$", "", module.group(1)) if module else ""
    return Manifest(name.rpartition("/")[2], plain)


def _go_work(text: str) -> Manifest:
    block = (
        " ".join(re.findall(r"use\s*\(([^)]*)\)", text))
        + " "
        + " ".join(re.findall(r"^use\s+(\S+)$", text, re.MULTILINE))
    )
    return Manifest(members=tuple(block.split()))


def _cargo(text: str) -> Manifest:
    data = tomllib.loads(text)
    space = _table(data, "workspace")
    keys = ("dependencies", "dev-dependencies", "build-dependencies")
    needs = [name for key in keys for name in _table(data, key)] + list(_table(space, "dependencies"))
    bins = data.get("bin")
    paths = [item.get("path") for item in bins if isinstance(item, dict)] if isinstance(bins, list) else []
    name = str(_table(data, "package").get("name") or "")
    return Manifest(name, tuple(needs), entry_points=_texts(paths), members=_texts(_list(space, "members")))


def _pom(text: str) -> Manifest:
    # Patterns instead of an XML parser: a hostile document cannot make them expand entities.
    own = re.sub(
        r"<(parent|dependencies|dependencyManagement|build|profiles)>.*?</\1>", "", text, flags=re.DOTALL
    )
    name = re.search(r"<artifactId>\s*([^<\s]+)", own)
    needs = re.findall(r"<artifactId>\s*([^<\s]+)", text)
    return Manifest(
        name.group(1) if name else "", tuple(needs), members=tuple(re.findall(r"<module>\s*([^<\s]+)", text))
    )


def _gradle(text: str) -> Manifest:
    plugins = re.findall(r"\bid\s*\(?\s*[\"']([\w.-]+)", text)
    plugins += [f"org.jetbrains.kotlin.{name}" for name in re.findall(r"\bkotlin\(\"(\w+)\"\)", text)]
    needs = re.findall(r"[\"']([\w.-]+:[\w.-]+)(?::[^\"']*)?[\"']", text)
    return Manifest(dependencies=(*plugins, *needs))


def _gradle_settings(text: str) -> Manifest:
    name = re.search(r"rootProject\.name\s*=\s*[\"']([^\"']+)", text)
    included = re.findall(r"^\s*include\b(.*)$", text, re.MULTILINE)
    members = [
        m.lstrip(":").replace(":", "/") for line in included for m in re.findall(r"[\"']([^\"']+)", line)
    ]
    return Manifest(
        name.group(1) if name else "", members=tuple(m for m in members if re.match(r"[\w./-]+$", m))
    )


def _composer(text: str) -> Manifest:
    data = _table(json.loads(text))
    needs = [*_table(data, "require"), *_table(data, "require-dev")]
    return Manifest(str(data.get("name") or ""), tuple(needs), tuple(_table(data, "scripts")))


def _gemfile(text: str) -> Manifest:
    return Manifest(dependencies=tuple(re.findall(r"^\s*gem\s+[\"']([\w.-]+)", text, re.MULTILINE)))


def _mix(text: str) -> Manifest:
    name = re.search(r"\bapp:\s*:(\w+)", text)
    members = re.search(r"apps_path:\s*\"([^\"]+)", text)
    needs = re.findall(r"\{\s*:(\w+)\s*,", text)
    return Manifest(
        name.group(1) if name else "", tuple(needs), members=(f"{members.group(1)}/*",) if members else ()
    )


def _csproj(text: str) -> Manifest:
    sdk = re.findall(r"<Project\s+Sdk=\"([^\"]+)", text)
    return Manifest(dependencies=(*sdk, *re.findall(r"<PackageReference\s+Include=\"([^\"]+)", text)))


def _sln(text: str) -> Manifest:
    paths = re.findall(r"^Project\([^)]*\)\s*=\s*\"[^\"]*\",\s*\"([^\"]+proj)\"", text, re.MULTILINE)
    folders = (path.replace("\\", "/").rpartition("/")[0] for path in paths)
    return Manifest(members=tuple(folder for folder in folders if folder))


def _swift(text: str) -> Manifest:
    name = re.search(r"\bname:\s*\"([^\"]+)", text)
    needs = re.findall(r"\.package\(.*?url:\s*\"[^\"]*/([\w.-]+?)(?:\.git)?\"", text)
    return Manifest(name.group(1) if name else "", tuple(needs))


def _pubspec(text: str) -> Manifest:
    name = re.search(r"^name:\s*(\S+)", text, re.MULTILINE)
    needs = [*block_keys(text, "dependencies"), *block_keys(text, "dev_dependencies")]
    return Manifest(name.group(1) if name else "", tuple(needs))


def _sbt(text: str) -> Manifest:
    name = re.search(r"\bname\s*:=\s*\"([^\"]+)", text)
    return Manifest(name.group(1) if name else "", tuple(re.findall(r"%%?\s*\"([\w.-]+)\"\s*%", text)))


def _cmake(text: str) -> Manifest:
    name = re.search(r"^\s*project\s*\(\s*([\w.-]+)", text, re.MULTILINE | re.IGNORECASE)
    needs = re.findall(r"find_package\s*\(\s*(\w+)", text, re.IGNORECASE)
    return Manifest(name.group(1) if name else "", tuple(needs))


def _cabal(text: str) -> Manifest:
    name = re.search(r"^name:\s*(\S+)", text, re.MULTILINE | re.IGNORECASE)
    needs = re.findall(r"^\s*(?:build-depends:|,)\s*([\w-]+)", text, re.MULTILINE | re.IGNORECASE)
    return Manifest(name.group(1) if name else "", tuple(needs))


def _makefile(text: str) -> Manifest:
    return Manifest(
        scripts=tuple(dict.fromkeys(re.findall(r"^([A-Za-z][\w-]*)\s*:(?!=)", text, re.MULTILINE)))
    )


def _justfile(text: str) -> Manifest:
    names = re.findall(r"^@?([A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?:(?!=)", text, re.MULTILINE)
    return Manifest(scripts=tuple(dict.fromkeys(names)))


def _taskfile(text: str) -> Manifest:
    return Manifest(scripts=tuple(block_keys(text, "tasks")))


READERS: dict[str, Callable[[str], Manifest]] = {
    "none": _none,
    "pyproject": _pyproject,
    "requirements": _requirements,
    "setup_py": _setup_py,
    "pipfile": _pipfile,
    "package_json": _package_json,
    "deno_json": _deno_json,
    "go_mod": _go_mod,
    "go_work": _go_work,
    "cargo": _cargo,
    "pom": _pom,
    "gradle": _gradle,
    "gradle_settings": _gradle_settings,
    "composer": _composer,
    "gemfile": _gemfile,
    "mix": _mix,
    "csproj": _csproj,
    "sln": _sln,
    "swift": _swift,
    "pubspec": _pubspec,
    "sbt": _sbt,
    "cmake": _cmake,
    "cabal": _cabal,
    "makefile": _makefile,
    "justfile": _justfile,
    "taskfile": _taskfile,
}


def block_keys(text: str, block: str) -> list[str]:
    """The keys right below a top-level key of a YAML text; enough for services and tasks."""
    found = re.search(
        rf"^{re.escape(block)}:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*#.*\n|\n)*)", text + "\n", re.MULTILINE
    )
    lines = (
        [line for line in found.group(1).splitlines() if line.strip() and not line.lstrip().startswith("#")]
        if found
        else []
    )
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    direct = (line.strip() for line in lines if len(line) - len(line.lstrip()) == indent)
    return [key.partition(":")[0].strip("\"'") for key in direct if ":" in key and not key.startswith("-")]


def block_items(text: str, block: str) -> list[str]:
    """The list below a top-level key of a YAML text."""
    found = re.search(rf"^{re.escape(block)}:[ \t]*\n((?:[ \t]*-.*\n|\n)*)", text + "\n", re.MULTILINE)
    return (
        [line.strip().lstrip("- ").strip("\"'") for line in found.group(1).splitlines() if line.strip()]
        if found
        else []
    )


def _requirement_names(lines: Iterable[object]) -> tuple[str, ...]:
    found = (re.match(r"\s*([A-Za-z0-9][\w.-]*)", line) for line in lines if isinstance(line, str))
    return tuple(re.sub(r"[_.]+", "-", match.group(1)).lower() for match in found if match)


def _table(value: Any, key: str | None = None) -> dict[str, Any]:
    inner = value.get(key) if key is not None and isinstance(value, dict) else value
    return inner if isinstance(inner, dict) else {}


def _list(table: dict[str, Any], key: str) -> list[Any]:
    found = table.get(key)
    return found if isinstance(found, list) else []


def _flat(groups: dict[str, Any]) -> list[Any]:
    return [item for group in groups.values() if isinstance(group, list) for item in group]


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))
