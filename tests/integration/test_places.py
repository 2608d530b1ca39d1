"""Backups at a place: the same promises on a volume, on S3 and in git, whatever the place does."""

from __future__ import annotations

import http.client
import http.server
import random
import secrets
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backup_steps import restore
from tests.places import KINDS, Spot, s3_environment, spot

from claude_memory import Memory, NewMemory
from claude_memory.backup import chunks, home_state, locations
from claude_memory.backup.chunks import HEADS, INDEX, PACKS, Vault
from claude_memory.errors import ConfigFault, Conflict, InvalidInput, MemoryFault, NotFound, StoreCorrupt
from claude_memory.model import MemoryFilter, SearchScope

WORDS = Path(__file__).read_text().split()


@pytest.fixture(params=KINDS)
def here(request: pytest.FixtureRequest, tmp_path: Path, s3: str, monkeypatch: pytest.MonkeyPatch) -> Spot:
    made = spot(request.param, tmp_path, s3)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def volume(tmp_path: Path) -> Spot:
    return spot("volume", tmp_path, "")


def vault(memory: Memory, here: Spot, key: str = "") -> Vault:
    return Vault(locations.place_at(here.name, memory.home, sealed=bool(key)), key)


def remember(memory: Memory, *bodies: str) -> None:
    memory.remember_many([NewMemory(body=body, trust="user") for body in bodies])


def push(memory: Memory, here: Spot, key: str = "", **how: int) -> chunks.Pushed:
    return vault(memory, here, key).push(memory.home, memory.store, **{"keep": 5, **how})


def pull(memory: Memory, here: Spot, home: Path, key: str = "") -> None:
    restore(vault(memory, here, key).source(), home)


def bodies(home: Path, project: Path) -> set[str]:
    with Memory.open(home, project, flags={"embedder": "none"}) as memory:
        return {kept.body for kept in memory.store.memories.find(SearchScope(None), MemoryFilter())}


def talk(number: int) -> list[str]:
    chance = random.Random(number)
    return [" ".join(chance.choices(WORDS, k=40)) + f" {number}-{part}" for part in range(20)]


def test_what_is_pushed_comes_back(memory: Memory, here: Spot, tmp_path: Path) -> None:
    remember(memory, "we chose WAL")
    (memory.home / "MEMORY.md").write_text("# Who I am\n")
    pushed = push(memory, here)
    assert pushed.changed
    assert pushed.sent_bytes
    pull(memory, here, tmp_path / "sandbox")
    assert bodies(tmp_path / "sandbox", memory.project_root) == {"we chose WAL"}
    assert (tmp_path / "sandbox" / "MEMORY.md").read_text() == "# Who I am\n"
    assert home_state.home_id(tmp_path / "sandbox") == home_state.home_id(memory.home)


def test_nothing_is_sent_where_nothing_changed_and_the_newest_are_kept(memory: Memory, here: Spot) -> None:
    remember(memory, "first")
    first = push(memory, here)
    again = push(memory, here)
    assert (again.id, again.changed, again.sent_bytes) == (first.id, False, 0)
    for number in range(4):
        remember(memory, f"more {number}")
        last = push(memory, here, keep=2)
    ids = vault(memory, here).ids()
    assert len(ids) == 2
    assert ids[0] == last.id
    assert [item.id for item in vault(memory, here).listed()] == ids
    for id_ in ids:
        assert vault(memory, here).source(id_).manifest.files


def test_a_push_after_one_more_conversation_is_small(memory: Memory, here: Spot, tmp_path: Path) -> None:
    remember(memory, *(text for number in range(20) for text in talk(number)))
    full = push(memory, here)
    remember(memory, *talk(1000))
    more = push(memory, here)
    # The store here is small, so its indexes weigh; bench/backup_size.py has the figure for a gigabyte.
    assert more.sent_bytes < full.sent_bytes / 4
    pull(memory, here, tmp_path / "sandbox")
    assert len(bodies(tmp_path / "sandbox", memory.project_root)) == 21 * 20


def test_packs_of_which_little_is_wanted_go(
    memory: Memory, volume: Spot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations.BackupPlace, "orphan_seconds", -1.0)
    for number in range(12):
        remember(memory, f"note {number}")
        (memory.home / "MEMORY.md").write_text(secrets.token_hex(200_000))
        push(memory, volume, keep=2)
    assert volume.folder
    size = sum(path.stat().st_size for path in (volume.folder / PACKS).iterdir())
    assert size < 3_000_000, "twelve versions of 400 KB, of which two are kept"
    pull(memory, volume, tmp_path / "sandbox")


def test_a_place_with_the_backup_of_another_memory_is_not_written_to(
    memory: Memory, here: Spot, tmp_path: Path
) -> None:
    remember(memory, "mine")
    mine = push(memory, here)
    with Memory.open(tmp_path / "theirs", memory.project_root, flags={"embedder": "none"}) as other:
        remember(other, "theirs")
        with pytest.raises(Conflict, match="another memory"):
            push(other, here)
        assert vault(other, here).ids() == [mine.id]
        assert push(other, here, force=True).changed
    assert len(vault(memory, here).ids()) == 2


def test_an_empty_place_and_an_unknown_backup_say_so(memory: Memory, here: Spot, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no backup yet"):
        pull(memory, here, tmp_path / "sandbox")
    remember(memory, "x")
    push(memory, here)
    with pytest.raises(NotFound, match="no backup 2020"):
        vault(memory, here).source("20200101T000000Z-00000000")
    assert not (tmp_path / "sandbox").exists()


# --- a place that fails


def halved(here: Spot, key: str) -> None:
    place = locations.place_at(here.name, Path("/nowhere"), sealed=False)
    place.write(key, place.read(key)[:-20])
    place.commit("half")


@pytest.mark.parametrize("part", [HEADS, PACKS, INDEX])
def test_half_an_object_is_noticed_and_the_last_good_backup_is_there(
    memory: Memory, here: Spot, tmp_path: Path, part: str
) -> None:
    remember(memory, "good")
    good = push(memory, here)
    (memory.home / "MEMORY.md").write_text(secrets.token_hex(5000))
    before = {item.key for item in vault(memory, here).place.objects(part)}
    push(memory, here)
    for new in {item.key for item in vault(memory, here).place.objects(part)} - before:
        halved(here, new)
    with pytest.raises(StoreCorrupt) as told:
        pull(memory, here, tmp_path / "sandbox")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "sandbox").exists()
    restore(vault(memory, here).source(good.id), tmp_path / "older")
    assert bodies(tmp_path / "older", memory.project_root) == {"good"}
    # And the next push repairs it.
    remember(memory, "better")
    push(memory, here)
    pull(memory, here, tmp_path / "sandbox")
    assert bodies(tmp_path / "sandbox", memory.project_root) == {"good", "better"}


def test_any_damage_at_a_place_is_one_line_and_leaves_the_home_alone(
    memory: Memory, volume: Spot, tmp_path: Path
) -> None:
    remember(memory, "we chose WAL")
    push(memory, volume)
    assert volume.folder
    chance = random.Random(5)
    home, told = tmp_path / "sandbox", list[str]()
    objects = [path for path in volume.folder.rglob("*") if path.is_file()]
    for number in range(60):
        path = chance.choice(objects)
        whole = path.read_bytes()
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 5))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(damaged[: chance.randrange(len(damaged))]) if number % 4 == 0 else damaged)
        try:
            pull(memory, volume, home)
        except MemoryFault as fault:
            told.append(str(fault))
            assert not home.exists()
        else:
            assert bodies(home, memory.project_root) == {"we chose WAL"}
            shutil.rmtree(home)
        path.write_bytes(whole)
    assert told
    assert not [text for text in told if "\n" in text]
    assert not [path for path in tmp_path.iterdir() if ".restore-" in path.name]


class Between(http.server.BaseHTTPRequestHandler):
    """Stands before the S3 server, and lets it work until `fault` says what goes wrong."""

    fault, server_url = "", ""
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.fault == "slow":
            threading.Event().wait(3)
            self.close_connection = True
            return
        if self.fault.isdecimal() and (self.command == "PUT" or self.fault != "507"):
            self._tell(int(self.fault), b"<Error><Code>No</Code><Key>AKIATESTTESTTESTTEST</Key></Error>", {})
            return
        host = self.server_url.removeprefix("http://")
        connection = http.client.HTTPConnection(host)
        connection.request(self.command, self.path, content, dict(self.headers))
        response = connection.getresponse()
        body, headers = response.read(), dict(response.getheaders())
        connection.close()
        is_object = self.command == "GET" and "list-type" not in self.path
        if is_object and self.fault == "half":
            body = body[: len(body) // 2]
        self._tell(response.status, body, headers, cut=is_object and self.fault == "cut")

    def _tell(self, status: int, body: bytes, headers: dict[str, str], *, cut: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def between(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Spot, type[Between]]]:
    """A bucket behind a server that can go wrong."""
    handler = type("One", (Between,), {"server_url": s3})
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = spot("s3", tmp_path, s3)
    for name, value in s3_environment(f"http://127.0.0.1:{server.server_address[1]}").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(locations, "ANSWER_SECONDS", 1)
    monkeypatch.setattr(locations, "RETRIES", 1)
    yield made, handler
    server.shutdown()
    server.server_close()


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("fault", ["403", "401", "503", "507", "slow", "half", "cut"])
def test_a_place_that_goes_wrong_is_told_in_one_line_and_nothing_is_lost(
    memory: Memory, between: tuple[Spot, type[Between]], tmp_path: Path, fault: str
) -> None:
    there, handler = between
    remember(memory, "good")
    good = push(memory, there)
    with Memory.open(tmp_path / "theirs", memory.project_root, flags={"embedder": "none"}) as other:
        remember(other, "theirs")
    theirs = everything(tmp_path / "theirs")
    remember(memory, "more")
    handler.fault = fault

    def pull_over() -> None:
        restore(vault(memory, there).source(), tmp_path / "theirs", replace=True)

    attempts = [lambda: push(memory, there), pull_over]
    if fault == "507":  # full: what is there can be read
        attempts.remove(pull_over)
    if fault == "half":  # and what cannot be read is written anew
        attempts.pop(0)
    for attempt in attempts:
        with pytest.raises(MemoryFault) as told:
            attempt()
        assert "\n" not in str(told.value)
        assert "AKIA" not in str(told.value)
    assert everything(tmp_path / "theirs") == theirs
    assert not [path for path in tmp_path.iterdir() if ".restore-" in path.name]
    handler.fault = ""
    restore(vault(memory, there).source(good.id), tmp_path / "sandbox")
    assert bodies(tmp_path / "sandbox", memory.project_root) == {"good"}
    push(memory, there)
    pull(memory, there, tmp_path / "later")
    assert bodies(tmp_path / "later", memory.project_root) == {"good", "more"}


def test_a_repository_that_refuses_keeps_its_last_backup(memory: Memory, tmp_path: Path) -> None:
    there = spot("git", tmp_path, "")
    assert there.folder
    remember(memory, "good")
    push(memory, there)
    (there.folder / "hooks").mkdir(exist_ok=True)
    refusal = there.folder / "hooks" / "pre-receive"
    refusal.write_text("#!/bin/sh\necho 'not today' >&2\nexit 1\n")
    refusal.chmod(0o700)
    remember(memory, "more")
    with pytest.raises(MemoryFault) as told:
        push(memory, there)
    assert "\n" not in str(told.value)
    pull(memory, there, tmp_path / "sandbox")
    assert bodies(tmp_path / "sandbox", memory.project_root) == {"good"}


def test_a_bucket_that_is_not_there_and_a_server_that_is_down(
    memory: Memory, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(memory, "x")
    for url, told in ((s3, "no such bucket"), ("http://127.0.0.1:9", "cannot be reached")):
        for name, value in s3_environment(url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(locations, "RETRIES", 0)
        with pytest.raises(MemoryFault, match=told):
            push(memory, Spot("s3", "s3://not-there/memory"))


def test_a_full_volume_keeps_its_last_backup(
    memory: Memory, volume: Spot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(memory, "good")
    push(memory, volume)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    remember(memory, "more")
    with monkeypatch.context() as patched:
        patched.setattr(locations, "write_atomically", full)
        with pytest.raises(MemoryFault, match="No space left"):
            push(memory, volume)
    pull(memory, volume, tmp_path / "sandbox")
    assert bodies(tmp_path / "sandbox", memory.project_root) == {"good"}


def test_strange_files_at_a_place_are_left_alone(memory: Memory, volume: Spot, tmp_path: Path) -> None:
    assert volume.folder
    for name in ("heads/zzz", "packs/readme.txt", "notes.md"):
        (volume.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (volume.folder / name).write_bytes(b"mine")
    remember(memory, "x")
    for number in range(3):
        remember(memory, f"{number}")
        push(memory, volume, keep=1)
    pull(memory, volume, tmp_path / "sandbox")
    for name in ("heads/zzz", "packs/readme.txt", "notes.md"):
        assert (volume.folder / name).read_bytes() == b"mine"


def test_two_who_push_to_one_ref_at_once_do_not_overwrite_each_other(memory: Memory, tmp_path: Path) -> None:
    there = spot("git", tmp_path, "")
    remember(memory, "x")
    slow = vault(memory, there)
    quick = push(memory, there)
    with pytest.raises(Conflict, match="try again"):
        slow.push(memory.home, memory.store, keep=5)
    assert vault(memory, there).ids() == [quick.id]


def test_a_push_that_meets_another_looks_again(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain pushes by itself after a conversation, and a recipe by command at the same moment."""
    there = spot("git", tmp_path, "")
    remember(memory, "x")
    waiting = [vault(memory, there)]
    quick = push(memory, there)
    remember(memory, "y")
    look = chunks.vault_at
    monkeypatch.setattr(chunks, "vault_at", lambda *given: waiting.pop() if waiting else look(*given))
    done = memory.backups.push(memory.store, there.name)
    assert vault(memory, there).ids() == [done.id, quick.id]


# --- secrets


@pytest.mark.parametrize(
    "named",
    [
        "s3://KEY:SECRET@bucket/x",
        "git:https://token@example.org/r",
        "git:https://u:p@example.org/r",
        "az://c/x?sig=abc",
    ],
)
def test_an_address_with_credentials_is_refused_and_not_repeated(named: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as told:
        locations.place_at(named, tmp_path, sealed=False)
    assert "SECRET" not in str(told.value)
    assert "token" not in str(told.value)


@pytest.mark.parametrize(
    "named", ["", "ftp://x/y", "git:", "git:--upload-pack=x", "git:ext::sh", "git:/r#../x", "https://x/y"]
)
def test_a_place_that_nobody_knows_is_refused(named: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        locations.place_at(named, tmp_path, sealed=False)


def test_a_place_in_the_home_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        locations.place_at(str(tmp_path / "backups"), tmp_path, sealed=False)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A repository that anybody can read over HTTP."""
    bare = tmp_path / "served" / "repository.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "update-server-info"], check=True)

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: object) -> None:
            super().__init__(*given, directory=str(tmp_path / "served"))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/repository.git"
    server.shutdown()
    server.server_close()


def test_a_remote_that_anybody_can_read_needs_encryption(served: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="anybody can read"):
        locations.place_at(f"git:{served}", tmp_path / "home", sealed=False)
    locations.place_at(f"git:{served}", tmp_path / "home", sealed=True)


PLANTED = [secrets.token_hex(40) for _ in range(20)]


def at_place(here: Spot, s3: str) -> list[bytes]:
    """Every byte that lies at a place, objects and names."""
    if here.kind == "volume":
        assert here.folder
        return [path.read_bytes() + str(path).encode() for path in here.folder.rglob("*") if path.is_file()]
    if here.kind == "git":
        listed = subprocess.run(
            ["git", "-C", str(here.folder), "cat-file", "--batch-all-objects", "--batch", "--unordered"],
            capture_output=True, check=True,
        )  # fmt: skip
        return [listed.stdout]
    import obstore

    bucket = obstore.store.from_url(here.name, client_options={"allow_http": True})
    names = [item["path"] for group in obstore.list(bucket) for item in group]
    return [bytes(obstore.get(bucket, name).bytes()) + name.encode() for name in names]


def test_without_the_key_nothing_at_the_place_can_be_read(
    memory: Memory, here: Spot, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyrage

    secret, wrong = (str(pyrage.x25519.Identity.generate()) for _ in range(2))
    check_sealed(memory, here, s3, tmp_path, monkeypatch, secret, wrong)


def test_without_the_passphrase_nothing_at_the_place_can_be_read(
    memory: Memory, volume: Spot, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_sealed(memory, volume, s3, tmp_path, monkeypatch, "correct horse battery", "another phrase")


def check_sealed(
    memory: Memory,
    here: Spot,
    s3: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    secret: str,
    wrong: str,
) -> None:
    monkeypatch.setenv("BACKUP_KEY", secret)
    remember(memory, *(f"we planted {word} here" for word in PLANTED))
    (memory.home / "MEMORY.md").write_text("\n".join(PLANTED))
    push(memory, here, "env:BACKUP_KEY")
    remember(memory, "one more")
    push(memory, here, "env:BACKUP_KEY")
    lying = at_place(here, s3)
    assert len(b"".join(lying)) > 1000
    planted = {word[start : start + 16].encode() for word in PLANTED for start in range(len(word) - 15)}
    words = {b"we planted", b"MEMORY.md", b"memory.db", secret.encode(), b"SQLite format"}
    assert not [part for part in planted | words if any(part in content for content in lying)]

    pull(memory, here, tmp_path / "sandbox", "env:BACKUP_KEY")
    assert len(bodies(tmp_path / "sandbox", memory.project_root)) == 21
    with pytest.raises(ConfigFault, match="is encrypted"):
        pull(memory, here, tmp_path / "other")
    monkeypatch.setenv("BACKUP_KEY", wrong)
    for attempt in (
        lambda: pull(memory, here, tmp_path / "other", "env:BACKUP_KEY"),
        lambda: push(memory, here, "env:BACKUP_KEY"),
    ):
        with pytest.raises(ConfigFault, match=r"another (key|passphrase)"):
            attempt()
    assert not (tmp_path / "other").exists()
    assert len(vault(memory, here).ids()) == 2


@pytest.mark.parametrize("setting", ["hunter2", "env:", "env:NOT_SET", "file:/not/there"])
def test_a_key_that_is_not_there_or_stands_in_the_setting_is_refused(
    memory: Memory, volume: Spot, setting: str
) -> None:
    remember(memory, "x")
    with pytest.raises(ConfigFault):
        push(memory, volume, setting)
    assert volume.folder
    assert not volume.folder.exists() or not any(volume.folder.rglob("packs/*"))
