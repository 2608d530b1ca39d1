"""The judge: reads two notes at once, comes with the bundled model, and is never waited for in haste."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from claude_memory import Memory, NewMemory
from claude_memory.embed import judge_of, open_embedder
from claude_memory.embed.bundled import JUDGE, container_path
from claude_memory.embed.container import Container
from claude_memory.embed.local import LocalEmbedder
from claude_memory.errors import EmbedderUnavailable
from claude_memory.lifecycle.gate import Action
from claude_memory.settings import Settings
from claude_memory.store.lifecycle_protocol import lifecycle_of
from claude_memory.surfaces.mcp.embedder_process import EmbedderProcess

YARN = "We use yarn as the package manager in the web client."
PNPM = "The web client switched its package manager, it is pnpm everywhere now and yarn is gone."


def fact(text: str) -> NewMemory:
    return NewMemory(text, kind="decision")


@pytest.fixture
def memory(memory_home: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(memory_home, tmp_path) as opened:
        yield opened


def waiting(memory: Memory) -> list[str]:
    return [item.body for item in lifecycle_of(memory.store).unjudged(100)]


def test_its_numbers_are_those_of_the_encoder_with_what_was_learnt(model_cache: Path) -> None:
    judge = judge_of(open_embedder(Settings(), model_cache))
    assert judge is not None
    [told] = judge.told([(YARN, PNPM)])
    assert len(told) == 4
    assert np.allclose(told, reference(YARN, PNPM, JUDGE), atol=2e-3)


def test_its_model_is_let_go_of(model_cache: Path) -> None:
    embedder = open_embedder(Settings(), model_cache)
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.judge is not None
    before = embedder.judge.told([(YARN, PNPM)])
    embedder.release()
    assert embedder.judge.told([(YARN, PNPM)]) == before


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("Deploys go out on Thursdays.", "Deploys need two approvals.", Action.ADDED),
        (
            "Nothing is merged without a review.",
            "Every change is reviewed before it lands.",
            Action.REINFORCED,
        ),
        (YARN, PNPM, Action.SUPERSEDED),
        ("Put unit tests next to the code.", "Unit tests live in a tree of their own.", Action.CONFLICT),
    ],
)
def test_it_tells_what_words_alone_cannot(memory: Memory, old: str, new: str, action: Action) -> None:
    memory.remember(fact(old))
    kept = memory.remember(fact(new))
    assert memory.verdicts[kept.id].action is action


def test_odd_texts_are_judged_all_the_same(model_cache: Path) -> None:
    judge = judge_of(open_embedder(Settings(), model_cache))
    assert judge is not None
    odd = ["", " ", "\ud800", "<s></s>", "🤷" * 300, "word " * 2000, "\0", "ключ 鍵"]
    told = judge.told([(one, other) for one in odd for other in odd])
    assert len(told) == 64
    assert np.isfinite(np.array(told)).all()


def test_what_is_remembered_in_haste_is_judged_when_there_is_time(memory: Memory) -> None:
    old = memory.remember(fact("Nothing is merged without a review."), embed=False)
    new = memory.remember(fact("Every change is reviewed before it lands."), embed=False)
    assert memory.verdicts[new.id].action is Action.ADDED
    assert waiting(memory) == [old.body, new.body]
    assert memory.judge_pending() == 1
    assert waiting(memory) == []
    [relation] = lifecycle_of(memory.store).relations([new.id])
    assert (relation.kind, relation.target) == ("repeats", old.id)
    assert memory.judge_pending() == 0


def test_consolidate_lets_the_waiting_meet_their_neighbours(memory_home: Path, tmp_path: Path) -> None:
    def said(*words: str) -> str:
        command = [sys.executable, "-m", "claude_memory", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    for text in ("Nothing is merged without a review.", "Every change is reviewed before it lands."):
        said("remember", text, "--kind", "decision")
    assert "settled" in said("consolidate", "--dry-run", "--json")
    assert said("consolidate").startswith("1 new link by the write gate")
    assert "new link" not in said("consolidate")


def test_what_is_plain_is_done_at_once(memory: Memory) -> None:
    old = memory.remember(fact(YARN), embed=False)
    new = memory.remember(fact(f" {YARN}"), embed=False)
    assert memory.verdicts[new.id].other == old.id
    assert waiting(memory) == [old.body]


def test_memories_with_a_model_at_hand_do_not_wait(memory: Memory) -> None:
    memory.remember(fact(YARN))
    memory.remember(fact(PNPM))
    assert waiting(memory) == []


def test_time_that_runs_out_leaves_the_rest_waiting(memory: Memory) -> None:
    memory.remember_many([fact(f"{YARN} {number}") for number in range(5)], embed=False)
    assert memory.judge_pending(budget_seconds=0.0) == 0
    assert len(waiting(memory)) >= 1


def test_what_comes_back_from_the_mirror_was_judged_before(memory: Memory) -> None:
    memory.remember(fact(YARN))
    memory.reindex(from_files=True)
    assert waiting(memory) == []


class Broken:
    def told(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, ...]]:
        raise EmbedderUnavailable("gone")


def test_a_judge_that_fails_loses_nothing_and_is_done_without(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember(fact(YARN))
    monkeypatch.setattr(memory.embedder, "judge", Broken())
    new = memory.remember(fact(PNPM))
    assert memory.show([new.id])[0].body == PNPM
    assert waiting(memory) == [PNPM]
    memory.judge_pending()
    assert waiting(memory) == []
    assert memory.search("package manager of the web client")


def test_the_servers_model_process_judges_as_well(memory_home: Path) -> None:
    named = open_embedder(Settings(), memory_home / "cache" / "models")
    assert named is not None
    process = EmbedderProcess(named, memory_home, "bundled")
    try:
        here, there = judge_of(named), judge_of(process)
        assert here is not None
        assert there is not None
        assert np.allclose(there.told([(YARN, PNPM)]), here.told([(YARN, PNPM)]), atol=1e-5)
        assert len(process.embed(["a text"])) == 1
    finally:
        process.release()


def test_an_embedder_of_another_kind_has_no_judge() -> None:
    assert judge_of(None) is None
    other = Settings(embedder="endpoint:http://127.0.0.1:9/v1", embedder_model="m")
    assert judge_of(open_embedder(other, Path())) is None


def reference(old: str, new: str, learnt_file: Path) -> np.ndarray:
    """The judge once more, written plainly in float64."""
    path = container_path()
    assert path is not None
    container = Container(path.read_bytes())
    shape = container.architecture
    learnt = {name: value.astype(np.float64) for name, value in np.load(learnt_file).items()}

    def tensor(name: str) -> np.ndarray:
        return container.floats(name).astype(np.float64)

    def matrix(name: str) -> np.ndarray:
        return tensor(f"{name}.w") + learnt[f"{name}.B"] @ learnt[f"{name}.A"]

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return x @ matrix(name).T + tensor(f"{name}.b")

    def normed(name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + shape.layer_norm_eps)
        return centred / spread * tensor(f"{name}.w") + tensor(f"{name}.b")

    from math import erf

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(container.tokenizer)
    first, second = (tokenizer.encode(text, add_special_tokens=False).ids for text in (old, new))
    ids = [0, *first, 2, 2, *second, 2]
    sides = np.array([0] * (len(first) + 2) + [1] * (len(second) + 2))
    places = tensor("pos_emb")[shape.position_offset :][: len(ids)]
    x = normed("emb_ln", tensor("word_emb")[ids] + places + tensor("type_emb")[0]) + learnt["side"][sides]
    width = shape.hidden // shape.heads
    for layer in range(shape.layers):
        q, k, v = np.split(linear(f"l{layer}.qkv", x), 3, -1)
        mixed = np.zeros_like(x)
        for head in range(shape.heads):
            part = slice(head * width, (head + 1) * width)
            scores = np.exp(q[:, part] @ k[:, part].T / np.sqrt(width))
            mixed[:, part] = scores / scores.sum(-1, keepdims=True) @ v[:, part]
        x = normed(f"l{layer}.aln", x + linear(f"l{layer}.ao", mixed))
        inner = linear(f"l{layer}.f1", x)
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        x = normed(f"l{layer}.fln", x + linear(f"l{layer}.f2", inner))
    seen = np.concatenate([x[0], x[sides == 0].mean(0), x[sides == 1].mean(0)])
    return np.tanh(seen @ learnt["h.w"] + learnt["h.b"]) @ learnt["o.w"] + learnt["o.b"]
