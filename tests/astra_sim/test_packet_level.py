"""The analytical model with packets against ns-3, on placements that were not looked at when it was made."""

from collections import defaultdict
from pathlib import Path
from statistics import median

import packet_level
import pytest
from accuracy import rows_of

RECORDED = Path(__file__).parent / "recorded" / "ns3_placements.csv"


@pytest.fixture(scope="module")
def errors():
    """Return the relative errors of ns3_placements.csv by (question, way, placement)."""
    result = defaultdict(list)
    for row in rows_of(RECORDED):
        for case in packet_level.compared(row):
            result[case.kind].append(case.ours_ns / case.theirs_ns - 1)
    return result


def test_all_that_was_recorded_is_held(errors):
    """261 questions: 177 all-reduces, one comparison each, and 84 iterations, total and exposed."""
    assert sum(map(len, errors.values())) == 177 + 2 * 84


def test_every_class_of_placement_is_near_packet_level(errors):
    """Even and uneven alike: medians reached are 0.5 to 7.6 %, the worst single answer is 22 %.

    But for one of 0.062 ms exposed in an iteration of 2.5, here 0.082: a 0.8 % longer iteration.
    """
    assert {kind for kind, error in errors.items() if median(map(abs, error)) > 0.1} == set()
    beyond = [item for kind in errors.values() for item in kind if abs(item) > 0.25]
    assert beyond == [pytest.approx(82 / 62 - 1, abs=0.01)]
