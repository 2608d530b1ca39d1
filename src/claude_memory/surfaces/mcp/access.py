"""One project's memory for many requests: opened on first use, one request at a time, faults put into words.

A reading request writes nothing: what others left is brought in before it, and what it opened is noted after
it, by a thread of our own. That one also drains while nobody asks, gives the model's memory back after a
while, and answers the hooks of this home.

That is their shortcut to a process that has everything loaded: a local socket, in a folder that only its
owner can enter, of the one server per store that a lock elects, which dies with it. A hook that gets no
answer within its deadline finds its own, so nothing depends on this.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from claude_memory.errors import InvalidInput, MemoryFault, NotFound, StoreBusy
from claude_memory.model import MemoryId
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.surfaces.hooks import background
from claude_memory.surfaces.hooks.after import ANSWER_LIMIT, SERVER_SECONDS
from claude_memory.surfaces.hooks.answers import respond

if TYPE_CHECKING:
    from claude_memory.embed.local import EmbedderProcess
    from claude_memory.memory import Memory

RELEASE_SECONDS = 600.0
IDLE_SECONDS = 2.0
DRAIN_SECONDS = 0.4
EMBED_SECONDS = 0.3
BRING_IN_SECONDS = 2.0  # a question waits no longer for what others left; the store may be busy
GRAPH_BATCH = 200  # memories read for the graph in one quiet moment
ADDRESS_FILE = "hook-server"
HOOK_SECONDS = 2.0
LOCAL_EMBEDDERS = ("bundled", "folder", "package")


class Access:
    """The memory, and what is done with it beside the requests.

    Work that nobody asked for fails in silence: the next request meets the fault itself and says it.
    """

    def __init__(self, home: Path, folder: Path, *, release_seconds: float = RELEASE_SECONDS) -> None:
        self.home, self.folder = home, folder
        self.asked = ""  # the last question: what is opened afterwards is cut around it
        self.shown_elsewhere: set[MemoryId] = set()  # of other projects, found on explicit request
        self._memory: Memory | None = None
        self._lock = threading.RLock()
        self._last_request = time.monotonic()
        self._release_seconds = release_seconds
        self._embedders: list[EmbedderProcess] = []  # one, once it is needed, for as long as the server lives
        # As a hook itself would answer, without the time to load anything.
        self._socket = HookSocket(home, lambda event, raw, in_time: respond(event, raw, home, in_time))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beside, name="beside", daemon=True)
        # Questions that wait for what others left to be stored, and whether also for what it mentions.
        self._waiting: queue.SimpleQueue[tuple[threading.Event, bool]] = queue.SimpleQueue()
        self._uses: dict[MemoryId, datetime] = {}  # memories that were opened, to be noted
        self._graph_behind = self._gate_behind = False

    @contextlib.contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory for one request; whatever fails becomes one line that a model can act on."""
        with self._lock:
            self._last_request = time.monotonic()
            try:
                yield self._open()
            except MemoryFault as fault:
                again = "; nothing was changed, try again in a moment" if isinstance(fault, StoreBusy) else ""
                raise ToolError(f"{fault}{again}") from None
            except OSError as fault:
                where = f": {fault.filename}" if fault.filename else ""
                raise ToolError(f"{fault.strerror or fault}{where}") from None
            finally:
                self._last_request = time.monotonic()

    @contextlib.contextmanager
    def reading(self, *, fresh: bool = True, graph: bool = False) -> Iterator[Memory]:
        """The memory for a request that only reads.

        `fresh`: what hooks captured and people wrote just now is stored first, by somebody else than the
        question, which only waits; `graph`: also what it mentions.
        """
        if fresh and self._thread.is_alive():
            done = threading.Event()
            self._waiting.put((done, graph))
            done.wait(BRING_IN_SECONDS)
        with self.memory() as memory:
            yield memory

    def opened(self, ids: Iterable[MemoryId]) -> None:
        """Keep in mind that memories were opened: that counts as a use."""
        with self._lock:
            self._uses.update(dict.fromkeys(ids, datetime.now(UTC)))

    @property
    def is_warm(self) -> bool:
        """Whether a text can be embedded without loading a model first."""
        return all(embedder.is_warm for embedder in self._embedders)

    def begin(self) -> None:
        """Bring in, note and give back what is to be, in a thread of our own."""
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._waiting.put((threading.Event(), False))
        if self._thread.is_alive():
            self._thread.join(BRING_IN_SECONDS)
        self._socket.close()
        for embedder in self._embedders:
            embedder.release()
        self._put_away()

    def _open(self) -> Memory:
        if self._memory is None:
            from claude_memory.memory import Memory
            from claude_memory.platform import logs

            self._memory = memory = Memory.open(self.home, self.folder)
            memory.serves_agent = True  # over HTTP, too, where a person may have started the process
            logs.configure(self.home, memory.settings)
            if memory.settings.embedder.partition(":")[0] in LOCAL_EMBEDDERS:
                memory.lend_embedder(self._embedders)
                _ = memory.embedder  # names it, loads nothing
        return self._memory

    def _put_away(self) -> None:
        with self._lock:
            with contextlib.suppress(MemoryFault, OSError):
                if self._uses:
                    self._note_uses(self._open())
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    # --- beside the requests

    def _beside(self) -> None:
        with contextlib.suppress(OSError):  # no place for a socket: hooks find their own answers
            self._socket.start()
        while not self._over.is_set():
            asked = []
            with contextlib.suppress(queue.Empty):
                asked.append(self._waiting.get(timeout=IDLE_SECONDS))
                while True:
                    asked.append(self._waiting.get_nowait())
            try:
                if asked and not self._over.is_set():
                    self._catch_up(graph=any(graph for _, graph in asked))
                elif not asked:
                    self.idle(time.monotonic())
            except (MemoryFault, OSError):
                continue
            except Exception as fault:  # noqa: BLE001  whatever it is, the next round goes on
                from claude_memory.platform import logs

                logs.logger("mcp").error("work beside the requests failed: %s", type(fault).__name__)
            finally:
                for done, _ in asked:
                    done.set()

    def idle(self, now: float) -> None:
        is_quiet = now - self._last_request > self._release_seconds
        for embedder in self._embedders if is_quiet else ():
            if embedder.is_running:
                self._put_away()  # its matrices, too; waits for a request that runs
                embedder.release()
        for is_due, work in (
            (background.spooled_events(self.home), self._drain),
            (self._graph_behind, self._read_for_graph),
            (self._gate_behind and self.is_warm, self._judge),
            (self._uses, self._note_uses),
        ):
            if is_due and self._lock.acquire(blocking=False):
                try:
                    work(self._open())
                finally:
                    self._lock.release()

    def _catch_up(self, *, graph: bool) -> None:
        with self._lock:
            memory = self._open()
            memory.catch_up()
            background.go_on(memory)
            self._graph_behind = self._gate_behind = True
            self._note_uses(memory)
            if graph:
                self._read_for_graph(memory)

    def _drain(self, memory: Memory) -> None:
        memory.drain(budget_seconds=DRAIN_SECONDS)
        if self._embedders and self.is_warm:
            memory.embed_pending(budget_seconds=EMBED_SECONDS)
        self._gate_behind = True

    def _read_for_graph(self, memory: Memory) -> None:
        self._graph_behind = memory.upkeep.derive_pending(limit=GRAPH_BATCH) > 0

    def _judge(self, memory: Memory) -> None:
        # New memories meet their neighbours, a little at a time, while the model is there anyway.
        memory.upkeep.judge_pending(budget_seconds=EMBED_SECONDS)
        self._gate_behind = memory.upkeep.is_gate_behind

    def _note_uses(self, memory: Memory) -> None:
        """Write down what was opened; what cannot be written now waits."""
        for id_, at in list(self._uses.items()):
            with contextlib.suppress(NotFound, InvalidInput):  # erased meanwhile
                memory.lifecycle.review(memory.find([id_]), "opened", now=at)
            del self._uses[id_]


class HookSocket:
    """Serves hooks until closed; does nothing if another server of this store already does."""

    def __init__(self, home: Path, answer: Callable[[str, bytes, Callable[[], bool]], bytes]) -> None:
        self._home = home
        self._answer = answer
        self._held = contextlib.ExitStack()

    def start(self) -> bool:
        """Whether this process now serves the hooks."""
        folder = private_folder(self._home / "cache")
        if not hasattr(socket, "AF_UNIX") or not self._held.enter_context(
            try_lock(folder / f"{ADDRESS_FILE}.lock")
        ):
            return False
        path = socket_path(self._home)
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(16)
        write_atomically(folder / ADDRESS_FILE, f"unix {path}\n".encode())
        for place in (path, folder / ADDRESS_FILE):
            self._held.callback(place.unlink, missing_ok=True)
        self._held.callback(listener.close)
        threading.Thread(target=self._accept, args=(listener,), name="hook-socket", daemon=True).start()
        return True

    def close(self) -> None:
        self._held.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed: the server ends
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, MemoryFault):
            connection.settimeout(HOOK_SECONDS)
            deadline = time.monotonic() + SERVER_SECONDS
            with connection.makefile("rb") as question:
                event, raw = question.readline(100).decode("ascii").strip(), question.read(ANSWER_LIMIT)
            answer = self._answer(event, raw, lambda: time.monotonic() < deadline)
            # Too late is no answer: the hook has found its own by then.
            connection.sendall((answer or b"\n") if time.monotonic() < deadline else b"")


def socket_path(home: Path) -> Path:
    """A short path of our own: a Unix socket's name may have 100 characters, a home more."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(home)), digest_size=6).hexdigest()
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = base / f"claude-memory-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        # Somebody else made it first: a folder nobody could guess is safe.
        folder = Path(tempfile.mkdtemp(prefix="claude-memory-"))
    return folder / name
