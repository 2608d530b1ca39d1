"""The vector cache: whatever happens to its files, the answer is right or there is no cache."""

from __future__ import annotations

import numpy as np
import pytest

from claude_memory.store.sqlite import cosine
from claude_memory.store.sqlite.matrix import MatrixFile, MatrixManifest

WANTED = MatrixManifest("store", 0, 3, 1, 8)


def rows(count, seed=0):
    made = np.random.default_rng(seed).integers(-100, 100, (count, 8), dtype=np.int8)
    return cosine.rows_of([number + 1000 * seed for number in range(count)], made.tobytes(), 8)


@pytest.fixture
def file(tmp_path):
    tmp_path.chmod(0o700)
    return MatrixFile(tmp_path, "3-1")


@pytest.fixture
def manifest(file):
    return file.append(WANTED, rows(5000), last_seq=5000)


def data(file):
    [path] = file.folder.glob("*.rows")
    return path


def test_appends_add_up(file, manifest):
    more = rows(4000, seed=1)
    grown = file.append(manifest, more, last_seq=9000)
    assert file.manifest() == grown
    assert np.array_equal(file.load(grown), np.concatenate([rows(5000), more]))


def test_norms_are_those_of_the_vectors():
    made = rows(5000)
    assert np.allclose(made["norm"], np.linalg.norm(made["vector"].astype(float), axis=1))


def test_cosines_are_exact_and_zeros_are_near_to_nothing():
    made = cosine.rows_of([1, 2, 3], bytes([1, 0, 3, 4, 0, 0]), 2)
    near = cosine.cosines(made, made["norm"], np.array([3, 4], np.int8))
    assert near.tolist() == pytest.approx([0.6, 1.0, 0.0])


def test_what_a_crash_left_behind_is_cut_off(file, manifest):
    with data(file).open("ab") as handle:
        handle.write(b"torn" * 99)
    more = rows(10, seed=1)
    grown = file.append(manifest, more, last_seq=5010)
    assert np.array_equal(file.load(grown)[5000:], more)


def test_a_short_file_is_no_matrix(file, manifest):
    path = data(file)
    path.write_bytes(path.read_bytes()[:-1])
    assert file.manifest() is None


def test_a_damaged_manifest_is_no_matrix(file, manifest):
    good = file.manifest_path.read_bytes()
    bad = [b"", b"{", b"[]", b"null", b"1\n[]", good.replace(b"5000", b"4000", 1), good[:-1], b"\xff" * 40]
    for content in bad:
        file.manifest_path.write_bytes(content)
        assert file.manifest() is None


@pytest.mark.parametrize(
    "other",
    [
        MatrixManifest("other", 0, 3, 1, 8),
        MatrixManifest("store", 1, 3, 1, 8),
        MatrixManifest("store", 0, 4, 1, 8),
        MatrixManifest("store", 0, 3, 2, 8),
        MatrixManifest("store", 0, 3, 1, 9),
    ],
)
def test_another_store_epoch_space_or_model_is_not_ours(manifest, other):
    assert manifest.is_for(WANTED)
    assert not manifest.is_for(other)


def test_starting_anew_removes_the_old_files(file, manifest):
    old = data(file)
    file.append(WANTED, rows(10), last_seq=10)
    assert not old.exists()
    assert file.manifest().rows == 10


def test_discarding_leaves_nothing(file, manifest):
    file.discard()
    assert list(file.folder.iterdir()) == []
