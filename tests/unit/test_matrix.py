"""The vector cache: whatever happens to its files, the answer is right or there is no cache."""

from __future__ import annotations

import numpy as np
import pytest

from claude_memory.store.sqlite import matrix
from claude_memory.store.sqlite.matrix import Manifest, MatrixFile

WANTED = Manifest("store", "model", 1, 8, 0)


def rows(count, seed=0):
    made = np.random.default_rng(seed).integers(-100, 100, (count, 8), dtype=np.int8)
    return made, matrix.rows_of(np.arange(count, dtype=np.int64) + 1000 * seed, made)


@pytest.fixture
def file(tmp_path):
    tmp_path.chmod(0o700)
    return MatrixFile(tmp_path, "app-0123")


@pytest.fixture
def manifest(file):
    return file.append(WANTED, *rows(5000), last_seq=5000)


def data(file, suffix=".i8"):
    [path] = file.folder.glob(f"*{suffix}")
    return path


def test_appends_add_up(file, manifest):
    more, beside = rows(4000, seed=1)
    grown = file.append(manifest, more, beside, last_seq=9000)
    assert file.read_manifest() == grown
    vectors, loaded = file.load(grown)
    assert np.array_equal(vectors, np.concatenate([rows(5000)[0], more]))
    assert np.array_equal(loaded["passage"][5000:], beside["passage"])
    assert file.damage() is None


def test_norms_are_those_of_the_vectors():
    vectors, beside = rows(100)
    assert np.allclose(beside["norm"], np.linalg.norm(vectors.astype(float), axis=1))


def test_what_a_crash_left_behind_is_cut_off(file, manifest):
    with data(file).open("ab") as handle:
        handle.write(b"torn" * 99)
    more, beside = rows(10, seed=1)
    grown = file.append(manifest, more, beside, last_seq=5010)
    assert np.array_equal(file.load(grown)[0][5000:], more)
    assert file.damage() is None


@pytest.mark.parametrize("suffix", [".i8", ".rows"])
def test_short_files_are_no_matrix(file, manifest, suffix):
    path = data(file, suffix)
    path.write_bytes(path.read_bytes()[:-1])
    assert file.read_manifest() is None
    assert "do not fit" in file.damage()


@pytest.mark.parametrize("suffix", [".i8", ".rows"])
def test_a_flipped_bit_is_found(file, manifest, suffix):
    path = data(file, suffix)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    assert "checksum" in file.damage()


def test_a_damaged_manifest_is_no_matrix(file, manifest):
    good = file.manifest_path.read_bytes()
    for bad in (b"", b"{", b"[]", b"null", good.replace(b"5000", b"4000", 1), good[:-1], b"\xff" * 40):
        file.manifest_path.write_bytes(bad)
        assert file.read_manifest() is None


@pytest.mark.parametrize(
    "other",
    [
        Manifest("other", "model", 1, 8, 0),
        Manifest("store", "other", 1, 8, 0),
        Manifest("store", "model", 2, 8, 0),
        Manifest("store", "model", 1, 9, 0),
        Manifest("store", "model", 1, 8, 1),
    ],
)
def test_another_stores_model_or_epoch_is_not_ours(manifest, other):
    assert manifest.is_for(WANTED)
    assert not manifest.is_for(other)


def test_starting_anew_removes_the_old_files(file, manifest):
    old = data(file)
    file.append(WANTED, *rows(10), last_seq=10)
    assert not old.exists()
    assert file.read_manifest().rows == 10


def test_discarding_leaves_nothing_but_the_lock(file, manifest):
    with file.lock() as taken:
        assert taken
        file.discard()
    assert [path.suffix for path in file.folder.iterdir()] == [".lock"]
    assert file.damage() is None


def test_only_one_writes(file, manifest):
    with file.lock() as first, file.lock() as second:
        assert (first, second) == (True, False)


def test_a_folder_that_cannot_be_made_gives_no_lock(tmp_path):
    (tmp_path / "file").write_text("")
    with MatrixFile(tmp_path / "file" / "deeper", "x").lock() as taken:
        assert not taken


def test_an_empty_matrix_is_empty(file):
    vectors, beside = file.load(WANTED)
    assert vectors.shape == (0, 8)
    assert len(beside) == 0
