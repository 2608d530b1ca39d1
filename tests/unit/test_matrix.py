"""The vector cache: whatever happens to its files, the answer is right or there is no cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claude_memory.store.sqlite.matrix import MatrixCopy, copy_at, cosines, rows_of

WANTED = MatrixCopy(3, 1, 0, 8, 0xABCDEF01)


def rows(count):
    made = np.random.default_rng(0).integers(-100, 100, (count, 8), dtype=np.int8)
    return rows_of(list(range(count)), made.tobytes(), 8)


def test_norms_are_those_of_the_vectors():
    made = rows(5000)
    assert np.allclose(made["norm"], np.linalg.norm(made["vector"].astype(float), axis=1))


def test_cosines_are_exact_and_zeros_are_near_to_nothing():
    made = rows_of([1, 2, 3], bytes([1, 0, 3, 4, 0, 0]), 2)
    near = cosines(made, made["norm"], np.array([3, 4], np.int8))
    assert near.tolist() == pytest.approx([0.6, 1.0, 0.0])


def test_a_files_name_tells_what_it_holds(tmp_path):
    copy = WANTED._replace(rows=50, last_seq=60, dead_seq=7)
    path = copy.path(tmp_path)
    assert copy_at(path) == copy
    path.write_bytes(rows(50).tobytes() + b"torn" * 99)
    assert np.array_equal(copy.load(tmp_path), rows(50))


def test_a_short_file_is_no_copy(tmp_path):
    copy = WANTED._replace(rows=50)
    copy.path(tmp_path).write_bytes(rows(50).tobytes()[:-1])
    assert copy.load(tmp_path) is None


@pytest.mark.parametrize(
    "name", ["3-1-0a1b2c3d.rows", "3-1.json", "3-1.lock", "x.rows", "1-2-3-4-5-6-7-8-9.rows"]
)
def test_other_names_tell_nothing(name):
    assert copy_at(Path(name)) is None


@pytest.mark.parametrize("field", ["store", "epoch", "space", "model", "dimension"])
def test_another_store_epoch_space_or_model_is_not_ours(field):
    copy = WANTED._replace(rows=50, last_seq=60, dead_seq=7)
    assert copy.is_for(WANTED)
    assert not copy.is_for(WANTED._replace(**{field: 9}))
