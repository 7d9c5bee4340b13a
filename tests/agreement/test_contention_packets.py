"""Jobs together, packet by packet, against ASTRA-sim's ns-3: ../shared/reference/contention."""

import contention
import pytest

from netmodels.sharing.packet_jobs import Layer, RingJob, together
from netmodels.sharing.tree import Tree, Wire

# Quick cases: aligned, shifted, beside a job in one rack, four jobs; slow uplinks, max-min, overlapped, ECMP,
# long, unequal, other collectives; 124 depends on the order within a ns. --slow takes all.
QUICK = (1, 35, 42, 44, 107, 124, 132, 139, 155, 164, 178, 191)
WITHOUT_WINDOWS, CONGESTION_CONTROL = "i_no_window", "k_dcqcn"


def cases(shared):
    """Return the cases of both tables, whose numbers differ."""
    return contention.cases_of(shared / "reference" / "contention")


def tree(fabric):
    """Return the network of a case: latencies are those of ../shared/reference/contention/README.md."""
    wires = {
        tier: [
            Wire(fabric.capacity[link] * 8, latency_ns)
            for link in sorted(fabric.capacity)
            if (link.tier, link.way) == (tier, "out")
        ]
        for tier, latency_ns in (("machine", 1000), ("rack", 2000))
    }
    machines = len(wires["machine"])
    return Tree(
        [gpu // fabric.gpus for gpu in range(machines * fabric.gpus)],
        [machine // fabric.per_rack for machine in range(machines)],
        [Wire(3600, 500)] * (machines * fabric.gpus),
        *(wires["machine"], wires["rack"], fabric.uplinks),
    )


def ring(job):
    """Return a job as its packets have it; layers of kind none send nothing."""
    layers = (
        Layer(compute_ns, 0) if kind == "none" else Layer(compute_ns, size, kind)
        for compute_ns, size, kind in job.layers
    )
    return RingJob(tuple(job.npus), tuple(layers), job.iterations, job.start_ns)


def times(case, which):
    """Return (ours, ns-3's) for each job of a case, ns from its start; `which` is alone or together."""
    network, jobs, windows = tree(case.fabric), list(map(ring, case.jobs)), case.fabric.windows
    if which == "together":
        found = together(jobs, network, windows=windows)
    else:
        found = tuple(together([each], network, windows=windows)[0] for each in jobs)
    return [
        (ends[-1] - each.start_ns, getattr(each, f"{which}_ns"))
        for each, ends in zip(case.jobs, found, strict=True)
    ]


@pytest.mark.parametrize("case", QUICK)
def test_jobs_together_are_as_in_ns3_to_the_ns(case, shared):
    """The end of the last iteration of each job: the first case's 3,639,982 and 3,640,878 ns, and so on."""
    (found,) = (each for each in cases(shared) if each.number == case)
    ours, theirs = zip(*times(found, "together"), strict=True)
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, WITHOUT_WINDOWS, CONGESTION_CONTROL])
def test_all_cases(kind, shared):
    """With windows to the ns; else within 2 % (worst found 1.6).

    Without windows full buffers pause senders, and congestion control changes rates: neither is followed.
    """
    errors = [
        ours / theirs - 1
        for case in cases(shared)
        if (case.kind if case.kind in (WITHOUT_WINDOWS, CONGESTION_CONTROL) else None) == kind
        for which in ("alone", "together")
        for ours, theirs in times(case, which)
    ]
    assert max(map(abs, errors)) < {None: 1e-12, WITHOUT_WINDOWS: 0.02, CONGESTION_CONTROL: 0.02}[kind]
