"""The analytical model against answers that this project recorded (recorded/README.md); runs anywhere."""

import json
from collections import Counter
from pathlib import Path

import pytest

from netmodels.api import Layer, Profile
from netmodels.models.analytical import iteration_on

FOLDER = Path(__file__).parent / "recorded"
COUNTS = {"ALL_REDUCE": 72, "REDUCE_SCATTER": 57, "ALL_GATHER": 64, "ALL_TO_ALL": 33}


def as_row(record):
    """Return a record under the column names of the reference files."""
    return {
        **{name: str(value) for name, value in record.items()},
        "backend": "unaware",
        "collective_optimization": record["optimization"],
        "preferred_dataset_splits": str(record["splits"]),
        "active_chunks_per_dimension": str(record["active"]),
    }


def is_direct_all_reduce_on_a_ring(row):
    """Tell the one class that differs: see test_closed_forms."""
    names = row["implementation"].split("|") * 3
    kinds = row["topology_per_dim"].split("|")
    return row["collective"] == "ALL_REDUCE" and ("direct", "Ring") in zip(names, kinds, strict=False)


def test_all_collectives_are_equal(accuracy):
    """Reduce-scatter, all-gather, all-to-all, all-reduce; every algorithm, mixes, chunks: to the ns."""
    rows = [as_row(row) for row in accuracy.rows_of(FOLDER / "collectives.csv")]
    wrong, near = [], 0
    for row in rows:
        ours_ns, theirs_ns = accuracy.price_collective(row), int(row["time_ns"])
        if is_direct_all_reduce_on_a_ring(row):
            near += 1
            assert ours_ns == pytest.approx(theirs_ns, rel=0.065)
        elif ours_ns != theirs_ns:
            wrong.append((row, ours_ns))
    assert wrong == []
    assert Counter(row["collective"] for row in rows) == COUNTS
    assert near == 13
    assert {name for row in rows for name in row["implementation"].split("|")} == set(accuracy.ALGORITHMS)


def test_all_iterations_are_equal(accuracy):
    """Random layers on one to three dimensions, mixed algorithms, chunks: total and exposed."""
    records = [json.loads(line) for line in (FOLDER / "iterations.jsonl").read_text().splitlines()]
    wrong = []
    for record in records:
        row = as_row(record)
        profile = Profile("drawn", tuple(Layer("layer", *layer) for layer in record["layers"]))
        answer = iteration_on(profile, accuracy.dims_of_row(row), accuracy.system_of(row))
        if (answer.total_ns, answer.exposed_ns) != (record["total_ns"], record["exposed_ns"]):
            wrong.append((record, answer.total_ns, answer.exposed_ns))
    assert wrong == []
    assert len(records) == 60
