"""Machines of a configuration."""

from typing import Any

import numpy as np
import pytest

from artist.results.machines import pool_rows, replacement_ratios, with_gpus

TYPES = {"v": {"worth": 1.0, "speed": 4.0}, "t": {"worth": 0.5}, "s": {"speed": 0.3, "worth": None}}
MACHINES = [{"type": "v", "count": 1}, {"type": "t", "count": 1}, {"type": "s", "count": 1}]


def test_replacement_ratios_are_relative_to_the_clusters_own_gpus() -> None:
    """The default type's where it is there, else those of most machines; 1 without a list of types."""
    names = ["m0", "m1", "m2", "m3", "other"]
    topology = {"default_machine_type": "v", "machine_types": TYPES}
    config = {"topology": topology, "cluster": {"machines": MACHINES}}
    assert replacement_ratios(config, names).tolist() == pytest.approx([1, 0.5, 0.3, 1, 1])
    most = {
        "topology": topology,
        "cluster": {"machines": [{"type": "s", "count": 1}, {"type": "t", "count": 2}]},
    }
    assert replacement_ratios(most, names).tolist() == pytest.approx([0.6, 1, 1, 1, 1])
    named = [{"type": "v", "count": 1, "names": ["a"]}, {"type": "t", "count": 2, "names": ["other", "m0"]}]
    config = {"topology": topology, "cluster": {"machines": named}}
    assert replacement_ratios(config, names).tolist() == pytest.approx([0.5, 1, 1, 1, 0.5])
    assert replacement_ratios({"cluster": {"machines": 4}}, names).tolist() == [1] * 5
    assert np.array_equal(replacement_ratios({}, []), np.ones(0))


@pytest.mark.parametrize(
    ("machines", "rows"),
    [
        ([("a", 2), ("b", 3)], [("a", 0, 2), ("b", 2, 3)]),
        ([("a", 2), ("a", 1), ("b", 3), ("a", 1)], [("a", 0, 3), ("b", 3, 3), ("a", 6, 1)]),
        ([("a", 2), ("a", 1)], []),
        (None, []),
    ],
)
def test_pools_begin_at_their_first_machine(
    machines: list[tuple[str, int]] | None, rows: list[tuple[str, int, int]]
) -> None:
    """Neighbours of a pool are one entry; a cluster with one pool, or without a list, names none."""
    groups = machines and [{"type": "v", "count": count, "pool": pool} for pool, count in machines]
    config: dict[str, Any] = {"cluster": {"machines": groups}}
    assert pool_rows(config) == rows


def test_machines_without_gpus_are_in_no_pools_rows() -> None:
    """Two in front and one between: the pools of the other 2 and 1 begin at 0 and 2."""
    topology = {"machine_types": {"v": {"gpus": 4}, "c": {"gpus": 0}}}
    groups = [("c", 2, "a"), ("v", 2, "a"), ("c", 1, "a"), ("v", 1, "b")]
    machines = [{"type": kind, "count": count, "pool": pool} for kind, count, pool in groups]
    config = {"topology": topology, "cluster": {"machines": machines}}
    assert pool_rows(config) == [("a", 0, 2), ("b", 2, 1)]
    assert with_gpus(config) == [False, False, True, True, False, True]
    assert with_gpus(config | {"cluster": {"machines": 6}}) == []
