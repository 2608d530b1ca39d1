"""Sample projects of many ecosystems, and what is found in each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_memory import MemoryAPI
from claude_memory.errors import InvalidInput
from claude_memory.tasks.project_context import ProjectContext, detect

TREES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "python with uv": (
        {
            "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["FastAPI>=0.110", "SQLAlchemy"]\n'
            '[project.scripts]\nshop = "shop.cli:main"\n[dependency-groups]\ndev = ["pytest", "ruff"]\n',
            "uv.lock": "",
            "src/shop/__main__.py": "",
            "tests/test_shop.py": "",
            ".github/workflows/ci.yml": "jobs: {}",
        },
        {
            "name": "shop",
            "languages": ("Python",),
            "frameworks": ("FastAPI", "SQLAlchemy"),
            "package_managers": ("uv",),
            "commands": {
                "test": ("uv run pytest",),
                "build": ("uv build",),
                "lint": ("uv run ruff check .",),
                "run": ("uv run uvicorn main:app",),
            },
            "entry_points": ("shop (shop.cli:main)", "src/shop/__main__.py"),
            "ci": ("GitHub Actions",),
        },
    ),
    "python with poetry and django": (
        {
            "pyproject.toml": '[tool.poetry]\nname = "blog"\n[tool.poetry.dependencies]\npython = "^3.12"\n'
            'Django = "^5"\n[tool.poetry.group.dev.dependencies]\npytest = "*"\n',
            "poetry.lock": "",
            "manage.py": "",
            ".gitlab-ci.yml": "",
        },
        {
            "name": "blog",
            "frameworks": ("Django",),
            "package_managers": ("Poetry",),
            "commands": {
                "test": ("poetry run pytest",),
                "build": ("poetry build",),
                "run": ("poetry run python manage.py runserver",),
            },
            "entry_points": ("manage.py",),
            "ci": ("GitLab CI",),
        },
    ),
    "python with requirements": (
        {
            "requirements.txt": "flask==3.0\n# a comment\n-r more.txt\npytest\n",
            "app.py": "",
            "Makefile": "test:\n\tpytest\n",
        },
        {
            "languages": ("Python",),
            "frameworks": ("Flask",),
            "package_managers": ("pip",),
            "commands": {"test": ("make test", "pytest"), "run": ("flask run",)},
            "entry_points": ("app.py",),
        },
    ),
    "next.js": (
        {
            "package.json": '{"name": "site", "scripts": {"dev": "next dev", "build": "next build", "lint": "eslint ."},'
            ' "dependencies": {"next": "15", "react": "19"}, "devDependencies": {"typescript": "5", "vitest": "3"}}',
            "package-lock.json": "{}",
            "tsconfig.json": "{}",
            "app/page.tsx": "",
            "node_modules/left-pad/package.json": '{"name": "left-pad"}',
        },
        {
            "name": "site",
            "languages": ("TypeScript",),
            "frameworks": ("React", "Next.js", "Vitest"),
            "package_managers": ("npm",),
            "commands": {"build": ("npm run build",), "lint": ("npm run lint",), "run": ("npm run dev",)},
            "entry_points": ("app/page.tsx",),
            "packages": (),
        },
    ),
    "pnpm monorepo": (
        {
            "package.json": '{"name": "mono", "scripts": {"test": "turbo test"}, "devDependencies": {"turbo": "2"}}',
            "pnpm-workspace.yaml": "packages:\n  - 'apps/*'\n  - packages/*\n",
            "pnpm-lock.yaml": "",
            "turbo.json": "{}",
            "apps/web/package.json": '{"name": "@mono/web", "dependencies": {"vue": "3"}}',
            "packages/ui/package.json": '{"name": "@mono/ui", "devDependencies": {"typescript": "5"}}',
        },
        {
            "name": "mono",
            "languages": ("JavaScript",),
            "frameworks": ("Turborepo", "Vue"),
            "package_managers": ("pnpm",),
            "commands": {"test": ("pnpm test",)},
            "workspace": ("pnpm workspace", "Turborepo"),
            "packages": [("apps/web", "@mono/web", "JavaScript"), ("packages/ui", "@mono/ui", "JavaScript")],
        },
    ),
    "go": (
        {
            "go.mod": "module example.org/team/api/v2\n\ngo 1.23\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.10.0\n"
            "\tgithub.com/labstack/echo/v4 v4.1.0 // indirect\n)\n",
            "main.go": "",
            "cmd/worker/main.go": "",
            ".golangci.yml": "",
            "Dockerfile": "FROM scratch\n",
        },
        {
            "name": "api",
            "languages": ("Go",),
            "frameworks": ("Gin",),
            "package_managers": ("Go modules",),
            "commands": {
                "test": ("go test ./...",),
                "build": ("go build ./...",),
                "lint": ("golangci-lint run", "go vet ./..."),
                "run": ("go run .",),
            },
            "entry_points": ("main.go", "cmd/worker/main.go"),
            "services": ("container image (Dockerfile)",),
        },
    ),
    "go workspace": (
        {
            "go.work": "go 1.23\n\nuse (\n\t./api\n\t./lib\n)\n",
            "api/go.mod": "module example.org/api\n",
            "lib/go.mod": "module example.org/lib\n",
        },
        {
            "languages": ("Go",),
            "workspace": ("Go workspace",),
            "packages": [("api", "api", "Go"), ("lib", "lib", "Go")],
        },
    ),
    "cargo workspace": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n[workspace.dependencies]\ntokio = "1"\n',
            "crates/core/Cargo.toml": '[package]\nname = "core"\n[dependencies]\naxum = "0.8"\n',
            "crates/core/src/lib.rs": "",
            "crates/cli/Cargo.toml": '[package]\nname = "cli"\n[dependencies]\nclap = "4"\n',
            "crates/cli/src/main.rs": "",
        },
        {
            "languages": ("Rust",),
            "frameworks": ("Tokio", "clap", "Axum"),
            "package_managers": ("Cargo",),
            "commands": {"test": ("cargo test",), "build": ("cargo build",), "lint": ("cargo clippy",)},
            "workspace": ("Cargo workspace",),
            "packages": [("crates/cli", "cli", "Rust"), ("crates/core", "core", "Rust")],
            "entry_points": ("crates/cli/src/main.rs", "crates/core/src/lib.rs"),
        },
    ),
    "maven modules": (
        {
            "pom.xml": "<project><parent><artifactId>spring-boot-starter-parent</artifactId></parent>"
            "<artifactId>bank</artifactId><modules><module>core</module><module>web</module></modules></project>",
            "mvnw": "",
            "core/pom.xml": "<project><artifactId>bank-core</artifactId></project>",
            "web/pom.xml": "<project><artifactId>bank-web</artifactId><dependencies><dependency>"
            "<artifactId>junit-jupiter</artifactId></dependency></dependencies></project>",
            "web/src/main/java/org/example/bank/web/BankApplication.java": "",
        },
        {
            "languages": ("Java",),
            "frameworks": ("Spring Boot", "JUnit"),
            "package_managers": ("Maven",),
            "commands": {
                "test": ("./mvnw test",),
                "build": ("./mvnw package",),
                "run": ("mvn spring-boot:run",),
            },
            "packages": [("core", "core", "Java"), ("web", "web", "Java")],
            "entry_points": ("web/src/main/java/org/example/bank/web/BankApplication.java",),
        },
    ),
    "gradle with kotlin": (
        {
            "settings.gradle.kts": 'rootProject.name = "chat"\ninclude(":server", ":client")\n',
            "build.gradle.kts": 'plugins {\n  kotlin("jvm") version "2.0"\n}\n',
            "gradlew": "",
            "server/build.gradle.kts": 'dependencies {\n  implementation("io.ktor:ktor-server-core:3.0")\n}\n',
            "server/src/main/kotlin/Main.kt": "",
        },
        {
            "languages": ("Kotlin",),
            "frameworks": ("Ktor",),
            "package_managers": ("Gradle",),
            "commands": {"test": ("./gradlew test",), "build": ("./gradlew build",)},
            "workspace": ("Gradle workspace",),
            "packages": [("server", "server", "Java")],
            "entry_points": ("server/src/main/kotlin/Main.kt",),
        },
    ),
    "laravel": (
        {
            "composer.json": '{"name": "acme/shop", "require": {"php": "^8.3", "laravel/framework": "^11"},'
            ' "require-dev": {"phpunit/phpunit": "^11", "laravel/pint": "^1"}, "scripts": {"dev": "vite"}}',
            "artisan": "",
            "public/index.php": "",
        },
        {
            "name": "acme/shop",
            "languages": ("PHP",),
            "frameworks": ("Laravel", "PHPUnit"),
            "package_managers": ("Composer",),
            "commands": {
                "test": ("php artisan test",),
                "lint": ("vendor/bin/pint",),
                "run": ("composer dev", "php artisan serve"),
            },
            "entry_points": ("artisan", "public/index.php"),
        },
    ),
    "rails": (
        {
            "Gemfile": "source 'https://example.org'\ngem 'rails', '~> 8'\ngroup :test do\n  gem \"rspec-rails\"\nend\ngem 'rubocop'\n",
            "config.ru": "",
            "bin/rails": "",
            "docker-compose.yml": "version: '3'\nservices:\n  db:\n    image: postgres:17\n  cache:\n    image: redis\nvolumes:\n  data:\n",
        },
        {
            "languages": ("Ruby",),
            "frameworks": ("Rails", "RSpec"),
            "package_managers": ("Bundler",),
            "commands": {
                "test": ("bundle exec rspec",),
                "lint": ("bundle exec rubocop",),
                "run": ("bin/rails server",),
            },
            "services": ("db", "cache"),
        },
    ),
    "phoenix": (
        {
            "mix.exs": "defmodule Chat.MixProject do\n  def project, do: [app: :chat]\n  defp deps do\n"
            '    [{:phoenix, "~> 1.8"}, {:ecto_sql, "~> 3"}, {:credo, "~> 1"}]\n  end\nend\n',
            "lib/chat/application.ex": "",
            "deps/phoenix/mix.exs": "app: :phoenix",
        },
        {
            "languages": ("Elixir",),
            "frameworks": ("Phoenix", "Ecto"),
            "package_managers": ("Mix",),
            "commands": {
                "test": ("mix test",),
                "build": ("mix compile",),
                "lint": ("mix credo",),
                "run": ("mix phx.server",),
            },
            "entry_points": ("lib/chat/application.ex",),
            "packages": (),
        },
    ),
    "dotnet solution": (
        {
            "Shop.sln": 'Project("{FAE0}") = "Api", "src\\Api\\Api.csproj", "{1}"\n',
            "src/Api/Api.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"><ItemGroup>'
            '<PackageReference Include="Microsoft.EntityFrameworkCore.Sqlite" Version="9" /></ItemGroup></Project>',
            "src/Api/Program.cs": "",
            "azure-pipelines.yml": "",
        },
        {
            "languages": ("C#",),
            "frameworks": ("ASP.NET Core", "Entity Framework Core"),
            "package_managers": ("NuGet",),
            "commands": {"test": ("dotnet test",), "build": ("dotnet build",), "lint": ("dotnet format",)},
            "ci": ("Azure Pipelines",),
            "packages": [("src/Api", "Api", "C#")],
            "entry_points": ("src/Api/Program.cs",),
        },
    ),
    "c with make": (
        {
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(engine C)\nfind_package(GTest)\n",
            "src/main.c": "",
            "justfile": "build:\n  cmake --build build\n\ntest filter='':\n  ctest\n\nset shell := ['bash']\n",
        },
        {
            "languages": ("C",),
            "frameworks": ("GoogleTest",),
            "package_managers": ("CMake",),
            "entry_points": ("src/main.c",),
            "commands": {
                "test": ("just test", "ctest --test-dir build"),
                "build": ("just build", "cmake -B build && cmake --build build"),
            },
        },
    ),
    "deno": (
        {
            "deno.json": '{"name": "@me/tool", "tasks": {"dev": "deno run main.ts"}, "imports": {"hono": "jsr:@hono/hono"}}',
            "main.ts": "",
        },
        {
            "name": "@me/tool",
            "languages": ("TypeScript",),
            "frameworks": ("Hono",),
            "package_managers": ("Deno",),
            "commands": {"test": ("deno test",), "lint": ("deno lint",), "run": ("deno task dev",)},
            "entry_points": ("main.ts",),
        },
    ),
    "flutter": (
        {
            "pubspec.yaml": "name: todo\ndependencies:\n  flutter:\n    sdk: flutter\n  http: ^1.0\ndev_dependencies:\n  test: any\n",
            "lib/main.dart": "",
        },
        {
            "languages": ("Dart",),
            "frameworks": ("Flutter",),
            "package_managers": ("pub",),
            "entry_points": ("lib/main.dart",),
        },
    ),
    "swift package": (
        {
            "Package.swift": 'let package = Package(name: "server", dependencies: [.package(url: "https://x.org/vapor/vapor.git", from: "4.0.0")])',
            "Sources/server/main.swift": "",
        },
        {
            "frameworks": ("Vapor",),
            "commands": {"test": ("swift test",), "build": ("swift build",), "run": ("swift run",)},
        },
    ),
    "two halves": (
        {
            "backend/pyproject.toml": '[project]\nname = "backend"\ndependencies = ["flask"]\n[tool.pytest.ini_options]\n',
            "frontend/package.json": '{"name": "frontend", "scripts": {"test": "vitest", "dev": "vite"}, "dependencies": {"svelte": "5"}}',
            "frontend/yarn.lock": "",
            "compose.yaml": "services:\n  web:\n    build: .\n",
            "Taskfile.yml": "version: '3'\ntasks:\n  up:\n    cmds: [docker compose up]\n",
        },
        {
            "languages": ("Python", "JavaScript"),
            "frameworks": ("Flask", "Svelte"),
            "package_managers": ("pip", "Yarn"),
            "commands": {
                "test": ("(cd backend && pytest)", "(cd frontend && yarn test)"),
                "build": ("(cd backend && python -m build)",),
                "run": ("task up", "(cd backend && flask run)", "(cd frontend && yarn dev)"),
            },
            "services": ("web",),
            "packages": [("backend", "backend", "Python"), ("frontend", "frontend", "JavaScript")],
        },
    ),
    "nothing known": (
        {"notes.txt": "hello", "drafts/one.txt": ""},
        {"languages": (), "frameworks": (), "commands": {}, "packages": ()},
    ),
}


def planted(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return root


def shown(facts: ProjectContext, key: str) -> Any:
    value = getattr(facts, key)
    return [(p["path"], p["name"], p["language"]) for p in value] if key == "packages" and value else value


@pytest.mark.parametrize("name", TREES)
def test_what_a_project_is(tmp_path: Path, name: str) -> None:
    files, expected = TREES[name]
    facts = detect(planted(tmp_path / "project", files))
    assert {key: shown(facts, key) for key in expected} == expected


def test_a_project_without_a_name_is_called_after_its_folder(tmp_path: Path) -> None:
    assert detect(planted(tmp_path / "my-folder", {"main.go": ""})).name == "my-folder"


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[[[", "\x00\xff", '{"dependencies": [1, {}], "scripts": 3, "workspaces": {"a": 1}}', "a: [b"],
)
@pytest.mark.parametrize("name", ["pyproject.toml", "package.json", "Cargo.toml", "go.mod", "pom.xml"])
def test_a_broken_manifest_says_nothing_and_breaks_nothing(tmp_path: Path, name: str, broken: str) -> None:
    facts = detect(planted(tmp_path / "project", {name: broken}))
    assert facts.name == "project"
    assert facts.frameworks == ()
    assert facts.entry_points == ()


def test_programs_that_a_manifest_names_in_any_form_are_entry_points(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[[bin]]\nname = "cli"\npath = "tools/cli.rs"\n[[bin]]\nname = "other"\n',
        "src/bin/third.rs": "",
        "package.json": '{"main": "lib/index.js", "bin": {"tool": "bin/tool.js", "odd": 3}}',
        "web/package.json": '{"bin": "serve.js", "main": 2.5}',
        "web/images/Containerfile": "",
    }
    facts = detect(planted(tmp_path, files))
    named = ("lib/index.js", "bin/tool.js", "tools/cli.rs", "src/bin/third.rs", "web: serve.js")
    assert facts.entry_points == named
    assert f"Entry points: {', '.join(named)}" in facts.lines()
    assert "Services: container image (web/images/Containerfile)" in facts.lines()


def test_where_no_manifest_is_the_files_tell_the_language(tmp_path: Path) -> None:
    files = {"run.lua": "", "lib/a.lua": "", "deploy.sh": "", "notes.txt": ""}
    assert detect(planted(tmp_path, files)).languages == ("Lua", "Shell")


def test_links_and_huge_files_are_not_read(tmp_path: Path) -> None:
    outside = planted(tmp_path / "outside", {"package.json": '{"name": "secret"}'})
    project = planted(tmp_path / "project", {"go.mod": "module x\n" + "// pad\n" * 100_000})
    (project / "linked").symlink_to(outside, target_is_directory=True)
    (project / "package.json").symlink_to(outside / "package.json")
    facts = detect(project)
    assert "secret" not in str(facts)
    assert facts.name == "project"


def test_facts_are_kept_and_found_again_when_a_manifest_changes(tmp_path: Path) -> None:
    project = planted(tmp_path / "project", {"package.json": '{"dependencies": {"vue": "3"}}'})
    keeper = MemoryAPI(tmp_path / "storage", project=project).context_manager
    first = keeper.get_context()
    assert keeper.get_context() == first
    kept = json.loads((tmp_path / "storage" / "project-context.json").read_text("utf-8"))
    assert kept["frameworks"] == ["Vue"]
    planted(project, {"package.json": '{"dependencies": {"svelte": "5"}}'})
    assert keeper.get_context().frameworks == ("Svelte",)
    planted(project, {"go.mod": "module x\n"})
    assert keeper.get_context().languages == ("JavaScript", "Go")
    planted(project, {"packages/a/package.json": "{}"})
    assert [package["path"] for package in keeper.get_context().packages] == ["packages/a"]
    planted(project, {"packages/b/package.json": "{}"})
    assert len(keeper.get_context().packages) == 2


def test_entries_of_one_s_own_survive_every_refresh(tmp_path: Path) -> None:
    keeper = MemoryAPI(tmp_path / "storage", project=tmp_path).context_manager
    keeper.add_custom_context(
        {"framework": "FastAPI", "database": "PostgreSQL", "deployment": "Docker + AWS"}
    )
    keeper.add_custom_context({"database": "SQLite", "deployment": None, "ports": [80, 443], 8080: "web"})
    keeper.add_custom_context({8080: None})  # JSON's names are texts
    context = keeper.get_context(refresh=True)
    assert context.custom == {"framework": "FastAPI", "database": "SQLite", "ports": [80, 443]}
    assert "database: SQLite" in context.lines()
    assert "ports: [80, 443]" in context.lines()


def test_a_context_file_edited_badly_loses_only_what_can_be_found_again(tmp_path: Path) -> None:
    keeper = MemoryAPI(
        tmp_path / "storage", project=planted(tmp_path / "p", {"go.mod": "module x\n"})
    ).context_manager
    keeper.add_custom_context({"team": "blue"})
    path = tmp_path / "storage" / "project-context.json"
    data = json.loads(path.read_text("utf-8"))
    del data["languages"]
    path.write_text(json.dumps(data), "utf-8")
    assert keeper.get_context().languages == ("Go",)
    assert keeper.get_context().custom == {"team": "blue"}
    path.write_text("{", "utf-8")
    assert keeper.get_context().languages == ("Go",)


def test_custom_entries_must_be_plain_values(tmp_path: Path) -> None:
    keeper = MemoryAPI(tmp_path / "storage", project=tmp_path).context_manager
    with pytest.raises(InvalidInput, match="plain values"):
        keeper.add_custom_context({"x": object()})
