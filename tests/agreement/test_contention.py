"""Jobs that share links, held against packet level: the figures of `scripts/validation/contention.py`."""

import contention
import pytest

from netmodels.fabric.links import Link

FLOW_LEVEL = {  # median, p90, worst error in %, of rows that slow down by more than 2 %; nothing is fitted
    "first table": (2.1, 5.7, 8.2),
    "a_slow_uplink": (2.9, 7.5, 8.7),
    "b_max_min": (5.0, 14.4, 18.2),
    "c_overlapped": (0.7, 3.4, 4.9),
    "d_parallel_uplinks": (6.1, 10.6, 25.1),
    "e_long": (2.3, 7.8, 8.9),
    "f_unequal": (1.6, 9.4, 18.6),
    "g_other_collectives": (2.1, 9.4, 23.9),
    "i_no_window": (2.6, 11.5, 13.1),
    "k_dcqcn": (4.9, 11.5, 18.9),
}
MEAN_FIELD = {
    "first table": 8.9,
    "a_slow_uplink": 11.1,
    "b_max_min": 8.1,
    "c_overlapped": 7.9,
    "d_parallel_uplinks": 10.2,
    "e_long": 7.5,
    "f_unequal": 11.1,
    "g_other_collectives": 4.1,
    "i_no_window": 3.6,
    "k_dcqcn": 7.3,
}
"""Median error in %."""


@pytest.fixture(scope="module")
def rows(shared):
    """Return all cases by kind, ours beside ns-3's."""
    folder = shared / "reference" / "contention"
    if not folder.is_dir():
        pytest.skip(f"no cases of contention at {folder}")
    cases = contention.cases_of(folder)
    return contention.kinds_of([row for case in cases for row in contention.compare(case)])


@pytest.mark.parametrize("kind", FLOW_LEVEL)
def test_flow_level_is_as_near_to_packets_as_stated(kind, rows):
    """Time alone is input; a change that makes a kind worse is noticed."""
    result = contention.errors(rows[kind], "flow_level", slowed=True)
    for share, most in zip((0.5, 0.9, 1.0), FLOW_LEVEL[kind], strict=True):
        assert contention.at(result, share) <= most


@pytest.mark.parametrize("kind", MEAN_FIELD)
def test_mean_field_is_as_near_to_packets_as_stated(kind, rows):
    """The mean field knows no phases: three to ten times as far off."""
    assert contention.at(contention.errors(rows[kind], "mean_field", slowed=True), 0.5) <= MEAN_FIELD[kind]


def test_jobs_that_do_not_meet_are_left_alone(rows):
    """Rows that change by at most 0.5 % in ns-3 are predicted within 0.5 %."""
    for those in rows.values():
        assert max(contention.errors(those, "flow_level", slowed=False), default=0.0) <= 0.5


def test_bytes_of_an_all_to_all():
    """2 + 2 GPUs of 8,000 byte: 2 x 2 messages of 2,000, with headers 2,036, out of each machine."""
    fabric = contention.Machines(2, 2, {}, 1)
    sent = contention.carried([0, 1, 2, 3], 8000, "all_to_all", fabric)
    assert sent == {Link("machine", m, way): 4 * 2036 for m in (0, 1) for way in ("out", "in")}


def test_bytes_of_a_ring():
    """2 + 2 GPUs of 8,000 byte: 6 messages of 2,000 pass each port; a gather's 3 have 8,000."""
    fabric = contention.Machines(2, 2, {}, 1)
    assert set(contention.carried([0, 1, 2, 3], 8000, "all_reduce", fabric).values()) == {6 * 2036}
    assert set(contention.carried([0, 1, 2, 3], 8000, "all_gather", fabric).values()) == {3 * 8036}
