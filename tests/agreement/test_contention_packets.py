"""Jobs together, packet by packet, against ASTRA-sim's ns-3: ../shared/reference/contention."""

import contention
import contention_placed
import pytest

# Quick cases: aligned, shifted, beside a job in one rack, four jobs; slow uplinks, max-min, overlapped, ECMP,
# long, unequal, other collectives; 124 depends on the order within a ns. --slow takes all.
QUICK = (1, 35, 42, 44, 107, 124, 132, 139, 155, 164, 178, 191)
WITHOUT_WINDOWS, CONGESTION_CONTROL = "i_no_window", "k_dcqcn"


def slow_if(case, *slow):
    """Return a case, marked if it is one of those that take long."""
    return pytest.param(case, marks=pytest.mark.slow) if case in slow else case


def cases(shared):
    """Return the cases of both tables, whose numbers differ."""
    return contention.cases_of(shared / "reference" / "contention")


@pytest.mark.parametrize("case", [slow_if(case, 139, 164, 178) for case in QUICK])
def test_jobs_together_are_as_in_ns3_to_the_ns(case, shared):
    """The end of the last iteration of each job: the first case's 3,639,982 and 3,640,878 ns, and so on."""
    (result,) = (item for item in cases(shared) if item.number == case)
    assert contention.times_ns(result, alone=False) == [job.together_ns for job in result.jobs]


def test_four_cells_a_message_are_nearly_as_good(shared):
    """Without windows: error of together / alone in %: median 1.7, p90 4.2, worst 8.4; 1/25 of the cost."""
    errors = []
    for case in cases(shared):
        if case.kind == WITHOUT_WINDOWS:
            alone, beside = (contention.times_ns(case, alone=value, cells=4) for value in (True, False))
            errors += [
                abs(b / a / (job.together_ns / job.alone_ns) - 1) * 100
                for a, b, job in zip(alone, beside, case.jobs, strict=True)
            ]
    errors.sort()
    assert [contention.at(errors, share) for share in (0.5, 0.9, 1)] == pytest.approx(
        [1.7, 4.2, 8.4], abs=0.1
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, WITHOUT_WINDOWS, CONGESTION_CONTROL])
def test_all_cases(kind, shared):
    """With windows to the ns; else within 2 % (worst found 1.6).

    Without windows full buffers pause senders, and congestion control changes rates: neither is followed.
    """
    errors = [
        ours / (job.alone_ns if alone else job.together_ns) - 1
        for case in cases(shared)
        if (case.kind if case.kind in (WITHOUT_WINDOWS, CONGESTION_CONTROL) else None) == kind
        for alone in (True, False)
        for ours, job in zip(contention.times_ns(case, alone=alone), case.jobs, strict=True)
    ]
    assert max(map(abs, errors)) < {None: 1e-12, WITHOUT_WINDOWS: 0.02, CONGESTION_CONTROL: 0.02}[kind]


# All kinds with placements that the simulator has, but ECMP, whose hash knows the hosts of the whole cluster.
PLACED = (1, 44, 107, 124, 139, 174)


@pytest.mark.parametrize("case", [slow_if(case, 124, 139) for case in PLACED])
def test_placed_jobs_follow_the_recorded_packets(case, shared):
    """From profile and placement to links and rings: together / alone is ns-3's to the last digit."""
    (result,) = (item for item in cases(shared) if item.number == case)
    recorded = [job.together_ns / job.alone_ns for job in result.jobs]
    assert contention.placed(result, None) == pytest.approx(recorded, rel=1e-12)


@pytest.mark.slow
def test_all_placed_jobs_follow_the_recorded_packets(shared):
    """With windows and one uplink a rack, 2 to 9 s a case; jobs that do not meet are exactly alone."""
    for case in cases(shared):
        result = (
            contention.placed(case, None) if case.kind not in (WITHOUT_WINDOWS, CONGESTION_CONTROL) else None
        )
        if result is not None and case.fabric.uplinks == 1:
            recorded = [job.together_ns / job.alone_ns for job in case.jobs]
            for ours, theirs in zip(result, recorded, strict=True):
                assert ours == pytest.approx(theirs, rel=1e-9 if ours != 1 else 0.003)


def test_cases_without_a_placement_are_left_out(shared):
    """Nine cases: collectives that are no all-reduces, and rings in another order than machine by machine."""
    left_out = [
        case.number
        for case in cases(shared)
        if any(contention_placed.placement_of(job, case.fabric) is None for job in case.jobs)
    ]
    assert len(left_out) == 9
