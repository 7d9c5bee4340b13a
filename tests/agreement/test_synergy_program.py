"""Our Synergy gives the answers of its authors' program, job by job (agreement_synergy.py)."""

from dataclasses import replace
from time import process_time

import agreement_synergy
import pytest

SLOW = {"proportional": pytest.mark.slow}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW.get(name, ())) for name in agreement_synergy.CASES]
)
def test_times_are_theirs(name, shared):
    """Mean and p99 to their digits; of the published run every finish time of jobs 4000 to 4999.

    5 s of processor time for what takes 110 and 125 s there, where counting to a million takes 0.025 s. Work
    beside it can only add to the time, so the least of up to three runs counts.
    """
    case, seconds = agreement_synergy.CASES[name], []
    while not seconds or (min(seconds) >= 5 and len(seconds) < 3):
        before_s = counting_s()
        ours = agreement_synergy.run(case, shared)
        seconds.append(ours.cpu_s / max(1.0, before_s / 0.025, counting_s() / 0.025))
        assert agreement_synergy.agrees(case, ours), ours
        assert (ours.equal == 1000) == (case.finish is not None)
    assert min(seconds) < 5


def counting_s():
    """Return the processor time in which this machine counts to a million: more, if its cores are shared."""
    times = []
    for _ in range(10):
        start, count = process_time(), 0
        while count < 1_000_000:
            count += 1
        times.append(process_time() - start)
    return max(times)


def test_each_difference_shifts_the_mean_jct_by_the_amount_of_the_table(shared):
    """Of 3.675 h whole iterations are 0.003, finishes noticed late 0.042, and all differences 0.168.

    That there are two speeds matters only where jobs get something between their share and their best case:
    where tune hands out the rest.
    """
    case = agreement_synergy.CASES["fifo-tune"]
    hours = {label: agreement_synergy.run(case, shared, values).mean_h for label, values in case.steps()}
    assert hours["as their program"] == pytest.approx(3.6751, abs=5e-5)
    assert hours["but speed by the curve"] == hours["as their program"]
    assert hours["but iterations need not fill a round"] == pytest.approx(3.6717, abs=5e-5)
    assert hours["but a finish is noticed at once"] == pytest.approx(3.6333, abs=5e-5)
    assert hours["but both of these"] < 3.56
    assert hours["the paper's rules"] == pytest.approx(3.5069, abs=5e-5)


def test_the_table_has_a_row_per_step(shared, capsys):
    """Title, header, theirs on, three things off, all off, theirs; proportional has no others."""
    assert agreement_synergy.main([str(shared), "fifo-proportional"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 8
    assert lines[-1].split() == ["theirs", "4.6226", "12.43"]


def test_a_case_that_is_off_is_named(shared, capsys, monkeypatch):
    """Another answer of theirs: exit code 1, and the name on stderr."""
    case = agreement_synergy.CASES["fifo-greedy"]
    monkeypatch.setitem(agreement_synergy.CASES, "fifo-greedy", replace(case, mean_h=3.8917))
    assert agreement_synergy.main([str(shared), "fifo-greedy"]) == 1
    assert "fifo-greedy" in capsys.readouterr().err
