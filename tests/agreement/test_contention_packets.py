"""Jobs together, packet by packet, against ASTRA-sim's ns-3: ../shared/reference/contention."""

import csv
from collections import defaultdict

import pytest

from netmodels.sharing.packet_jobs import Layer, RingJob, together
from netmodels.sharing.tree import Tree, Wire

# Quick cases: aligned, shifted, beside a job in one rack, four jobs; slow uplinks, max-min, overlapped, ECMP,
# long, unequal, other collectives; 124 depends on the order within a ns. --slow takes all.
QUICK = (1, 35, 42, 44, 107, 124, 132, 139, 155, 164, 178, 191)
WITHOUT_WINDOWS, CONGESTION_CONTROL = "i_no_window", "k_dcqcn"


def wires(gbit_s, count, latency_ns):
    """Return equal links, or those of a list 25/100/.. (Gbps)."""
    each = [float(value.removesuffix("Gbps")) for value in gbit_s.split("/")]
    return [Wire(value, latency_ns) for value in (each * count if len(each) == 1 else each)]


def tree(fabric):
    """Return the network of a text such as 2x2x4 nic=100Gbps rack_uplink=50Gbps n_uplinks=1."""
    size, *settings = fabric.split()
    racks, machines, gpus = map(int, size.split("x"))
    told = dict(setting.split("=") for setting in settings if "=" in setting)
    machines *= racks
    return Tree(
        [gpu // gpus for gpu in range(machines * gpus)],
        [machine * racks // machines for machine in range(machines)],
        [Wire(3600, 500)] * (machines * gpus),
        wires(told["nic"], machines, 1000),
        wires(told["rack_uplink"], racks, 2000),
        int(told["n_uplinks"]),
    )


def layer(text):
    """Return a layer of a text such as 1000000:4194304:all_reduce."""
    compute_ns, count_bytes, kind = text.split(":")
    return Layer(int(compute_ns), 0) if kind == "none" else Layer(int(compute_ns), int(count_bytes), kind)


def job(row):
    """Return the job of a row."""
    layers = row.get("layers") or f"{row['compute_ns']}:{row['allreduce_bytes']}:all_reduce"
    gpus = tuple(map(int, row["npus"].split()))
    return RingJob(gpus, tuple(map(layer, layers.split(";"))), int(row["iterations"]), int(row["start_ns"]))


def cases(shared):
    """Return the rows of each case, those of the older table with a fabric."""
    found = defaultdict(list)
    for name in ("ns3_co_running_jobs.csv", "ns3_cases.csv"):
        with (shared / "reference" / "contention" / name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if "fabric" not in row:
                    row["fabric"] = f"2x2x4 nic={row['nic']} rack_uplink={row['rack_uplink']} n_uplinks=1"
                found[int(row["case"])].append(row)
    return found


def times(rows, which):
    """Return (ours, ns-3's) for each job of a case, ns from its start; `which` is alone or together."""
    network, jobs = tree(rows[0]["fabric"]), list(map(job, rows))
    windows = "HAS_WIN=0" not in rows[0]["fabric"]
    if which == "together":
        found = together(jobs, network, windows=windows)
    else:
        found = tuple(together([each], network, windows=windows)[0] for each in jobs)
    return [
        (ends[-1] - each.start_ns, int(row[f"{which}_ns"]))
        for each, row, ends in zip(jobs, rows, found, strict=True)
    ]


@pytest.mark.parametrize("case", QUICK)
def test_jobs_together_are_as_in_ns3_to_the_ns(case, shared):
    """The end of the last iteration of each job: the first case's 3,639,982 and 3,640,878 ns, and so on."""
    ours, theirs = zip(*times(cases(shared)[case], "together"), strict=True)
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, WITHOUT_WINDOWS, CONGESTION_CONTROL])
def test_all_cases(kind, shared):
    """With windows to the ns; else within 2 % (worst found 1.6).

    Without windows full buffers pause senders, and congestion control changes rates: neither is followed.
    """
    errors = [
        ours / theirs - 1
        for rows in cases(shared).values()
        if (rows[0]["kind"] if rows[0]["kind"] in (WITHOUT_WINDOWS, CONGESTION_CONTROL) else None) == kind
        for which in ("alone", "together")
        for ours, theirs in times(rows, which)
    ]
    assert max(map(abs, errors)) < {None: 1e-12, WITHOUT_WINDOWS: 0.02, CONGESTION_CONTROL: 0.02}[kind]
