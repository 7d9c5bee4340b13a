"""The analytical model against recorded runs of ASTRA-sim 2.x, congestion-unaware, to the nanosecond."""

import dataclasses
import json
from collections import Counter

import pytest
import yaml

from netmodels.analytical import iteration_on
from netmodels.api import Layer, Profile, SystemSettings
from netmodels.collectives import all_reduce_phases

OPTIMIZATION = {"localBWAware": "bandwidth_aware", "baseline": "baseline"}
WORKLOADS = {
    "alexnet_B512": "alexnet_B512_astra-sim.csv",
    "mobilenet_v3_B512": "mobilenet_v3_B512_astra-sim.csv",
    "resnet18_B512": "resnet18_B512_astra-sim.csv",
    "resnet50_B512": "resnet50_B512_astra-sim.csv",
    "vgg11_B256": "vgg11_B256_astra-sim.csv",
    "BERT-large_B256": "BERT-large_B256_astra-sim2.csv",
}
TOY = Profile(
    "toy of recorded/README.md",
    (
        Layer("embed", 20_000, 0, 30_000, 4_000_000),
        Layer("block", 50_000, 60_000, 45_000, 16_777_216),
        Layer("head", 10_000, 12_000, 11_000, 1_048_576),
    ),
)


def expressible(row):
    """Say whether the first form covers a row.

    Covered: this back end, rings, one chunk, a run that ended. Not: the congestion-aware back end and ns-3
    (contention), other algorithms than ring, collectives cut into chunks. Nothing is left out for its answer.
    """
    return (
        row["backend"] == "unaware"
        and row.get("simulator", "astra-sim-2.0") == "astra-sim-2.0"
        and row["implementation"] == "ring"
        and row["preferred_dataset_splits"] == "1"
        and row["rc"] == "0"
    )


def system_of(row):
    """Return the settings of a recorded run."""
    return SystemSettings(
        endpoint_delay_ns=int(row["endpoint_delay_ns"]),
        local_memory_gb_s=float(row["local_mem_bw_GBps"]),
        collective_optimization=OPTIMIZATION[row["collective_optimization"]],
    )


def dims_of_row(dims_of, row):
    """Return the dimensions of a recorded run."""
    return dims_of(row["topology_per_dim"], row["npus_per_dim"], row["bandwidth_GBps"], row["latency_ns"])


def test_every_expressible_single_all_reduce_is_equal(reference, dims_of):
    """One collective must cost what the real program says, on rings, switches and mixes."""
    rows = [row for row in reference.rows("collectives.csv") if expressible(row)]
    kinds = Counter((row["topology"], row["collective_optimization"]) for row in rows)
    wrong = []
    for row in rows:
        dims = [(dimension, members) for _, dimension, members in dims_of_row(dims_of, row)]
        phases = all_reduce_phases(dims, int(row["size_bytes"]), system_of(row))
        found_ns = sum(phase.ns for phase in phases)
        if found_ns != float(row["time_ns"]):
            wrong.append((row["topology"], row["size_bytes"], found_ns, row["time_ns"]))
    assert wrong == []
    assert len(rows) == 47  # of 780; counted in the file, so that a reader that skips rows cannot pass
    assert {topology for topology, _ in kinds} == {
        "Ring8",
        "FC8",
        "Switch8",
        "Ring8_Switch4",
        "Ring8_Switch8_Switch4",
    }
    assert {optimization for _, optimization in kinds} == {"localBWAware", "baseline"}


def test_every_expressible_iteration_is_equal(reference, dims_of):
    """A whole iteration: total, exposed, compute and busy communication, to the nanosecond."""
    rows = [row for row in reference.rows("results.csv") if expressible(row)]
    profiles = {model: without_updates(reference.profile(file)) for model, file in WORKLOADS.items()}
    wrong = []
    for row in rows:
        profile = profiles[row["model"]].scaled(float(row["compute_scale"] or 1))
        answer = iteration_on(profile, dims_of_row(dims_of, row), system_of(row))
        found = (answer.total_ns, answer.exposed_ns, answer.compute_ns, answer.comm_ns)
        columns = ("total_time_ns", "exposed_comm_ns", "compute_sum_ns", "comm_busy_ns")
        expected = tuple(int(float(row[column])) for column in columns)
        if found != expected:
            wrong.append((row["model"], row["npus_per_dim"], found, expected))
    assert wrong == []
    assert len(rows) == 203  # of 742: 477 unaware, the others of them halvingDoubling or several chunks
    assert Counter(row["collective_optimization"] for row in rows) == {"localBWAware": 174, "baseline": 29}
    assert {row["model"] for row in rows} == set(WORKLOADS)


def without_updates(profile):
    """Return the profile without update delays: ASTRA-sim 2.x has none."""
    return Profile(profile.name, tuple(dataclasses.replace(each, update_ns=0) for each in profile.layers))


@pytest.mark.parametrize(
    ("run", "total_ns", "exposed_ns"),
    [
        ("unaware_switch8", 269_755, 31_755),
        ("unaware_switch8_switch2", 373_802, 135_802),
        ("unaware_ring4_fc2_baseline", 671_601, 433_601),
    ],
)
def test_recorded_runs_with_their_own_input_files(reference, dims_of, run, total_ns, exposed_ns):
    """Runs with their input files, so that units and names are checked too; totals: README.md."""
    folder = reference.folder / "recorded" / run
    network = yaml.safe_load((folder / "in_net.yml").read_text())
    given = json.loads((folder / "in_sys.json").read_text())
    keys = ("topology", "npus_count", "bandwidth", "latency")
    dims = dims_of(*("|".join(map(str, network[key])) for key in keys))
    system = SystemSettings(
        endpoint_delay_ns=given["endpoint-delay"],
        local_memory_gb_s=given["local-mem-bw"],
        collective_optimization=OPTIMIZATION[given["collective-optimization"]],
    )
    answer = iteration_on(TOY, dims, system)
    assert (answer.total_ns, answer.exposed_ns) == (total_ns, exposed_ns)
    # forward 80,000 + weight gradients 86,000 + input gradients 72,000 (none for embed)
    assert answer.compute_ns == 238_000
