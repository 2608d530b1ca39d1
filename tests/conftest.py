"""Shared by all tests: nobody's real home is ever seen, and the model is converted once for all of them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres_server import Server

from claude_memory.platform import agents as caller

# Whoever runs the tests inside an agent still tests what a person can do; a process can tell its
# ancestors, but not the interpreter's own start-up file.
NO_ANCESTOR = Path(__file__).parent / "no_ancestor"


def pytest_configure() -> None:
    """Let the commands that tests start look at their environment alone, if an agent runs the tests."""
    if caller.ancestor_agent():
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(NO_ANCESTOR), os.environ.get("PYTHONPATH")))
        )
        caller.ancestor_agent = lambda: ""  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def scratch_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new, empty home folder for every test, and no setting from outside."""
    folder = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("CLAUDE_MEMORY_")]:
        if name != "CLAUDE_MEMORY_COMMAND":  # which command to test, not a setting
            monkeypatch.delenv(name)
    for name in caller.MARKERS:
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    # What a test runs in its own process must not slow down all that come after it.
    monkeypatch.setattr(os, "nice", lambda by: by, raising=False)
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server on this machine, which keeps its buckets in memory."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled model already converted; shared by all workers, so only read it."""
    from claude_memory.embed import open_embedder
    from claude_memory.settings import Settings

    base = tmp_path_factory.getbasetemp()
    # Workers of one run have neighbouring folders; the conversion itself takes a lock.
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "model-cache"
    embedder = open_embedder(Settings(), folder)
    assert embedder is not None
    embedder.embed(["warm"])
    return folder


@pytest.fixture
def memory_home(scratch_home: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for memories that finds the model ready; the environment points to it."""
    home = scratch_home / ".claude" / "memory"
    (home / "cache").mkdir(parents=True, mode=0o700)
    for folder in (home.parent, home, home / "cache"):
        folder.chmod(0o700)
    (home / "cache" / "models").symlink_to(model_cache, target_is_directory=True)
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server on this machine, with pgvector; nothing of it outlives the tests."""
    server = Server()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def team_url(postgres: Server) -> Callable[[Path], str]:
    """The login of a new team's only member, one for each home of a test."""
    from claude_memory.store.postgres import team_store

    known: dict[Path, str] = {}

    def made(home: Path) -> str:
        if home not in known:
            team = f"team {secrets.token_hex(6)}"
            login = team_store.create_team(postgres.url(), team, "ann")
            assert login is not None
            known[home] = login
        return known[home]

    return made
