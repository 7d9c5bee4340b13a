"""The analytical model against recorded runs of ASTRA-sim 2.x: to the nanosecond, or as far as explained."""

import json
import statistics

import pytest
import yaml

from netmodels.api import IterationTime, Layer, Profile, SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import iteration_on
from netmodels.profiles.workload_text import layers_of

TOY = Profile(
    "toy of recorded/README.md",
    (
        Layer("embed", 20_000, 0, 30_000, 4_000_000),
        Layer("block", 50_000, 60_000, 45_000, 16_777_216),
        Layer("head", 10_000, 12_000, 11_000, 1_048_576),
    ),
)

# Classes of single collectives (of 780 rows) and of iterations (of 714): how many answers, all of them equal.
# Counted in the files, so that a reader that skips rows cannot pass.
UNAWARE = {
    "ring": (47, 41, 44),  # one chunk, several, several at once
    "halving_doubling": (42, 50, 51),
    "direct": (25, 24, 26),
    "double_binary_tree": (21, None, 17),
    "double_binary_tree, baseline": (14, None, 10),
}
EQUAL = {
    f"collective, congestion-unaware: {name}{chunks}": count
    for name, counts in UNAWARE.items()
    for chunks, count in zip(("", ", several chunks", ", chunks in flight"), counts, strict=True)
    if count is not None
} | {
    "iteration, congestion-unaware: ring": 203,
    "iteration, congestion-unaware: ring, several chunks": 95,
    "iteration, congestion-unaware: halving_doubling": 87,
    "iteration, congestion-unaware: halving_doubling, several chunks": 90,
    # where no two messages meet on a link, congestion changes nothing
    "collective, congestion-aware: ring, a step is a link": 12,
    "collective, congestion-aware: ring, a step is a link, several chunks": 15,
    "collective, congestion-aware: halving_doubling, a step is a link": 8,
    "collective, congestion-aware: halving_doubling, a step is a link, several chunks": 8,
    "collective, congestion-aware: direct, a step is a link": 6,
    "collective, congestion-aware: direct, a step is a link, several chunks": 8,
    "collective, congestion-aware: double_binary_tree, a step is a link": 6,
    "iteration, congestion-aware: ring, a step is a link": 9,
    "iteration, congestion-aware: ring, a step is a link, several chunks": 3,
}

# Classes that differ: answers, and bounds of the median and the worst relative error of the time.
DIFFERENT = {
    # Members near by have their parts sooner and begin the second half; we wait for the farthest.
    "collective, congestion-unaware: direct all-reduce on a ring": (22, 0.0001, 0.064),
    "collective, congestion-unaware: direct all-reduce on a ring, several chunks": (21, 0.0001, 0.019),
    "collective, congestion-unaware: direct all-reduce on a ring, chunks in flight": (16, 0.0002, 0.021),
    # Members of a tree end a chunk one after the other and begin the next; we wait for the last.
    "collective, congestion-unaware: double_binary_tree, several chunks": (19, 0.12, 0.14),
    "collective, congestion-unaware: double_binary_tree, baseline, several chunks": (14, 0.18, 0.22),
    # Asked to reduce-scatter or gather, its trees all-reduce the whole message; ours leave that to rings.
    "collective, congestion-unaware: double_binary_tree, bandwidth_aware": (12, 0.93, 0.98),
    "collective, congestion-unaware: double_binary_tree, bandwidth_aware, several chunks": (12, 0.85, 0.98),
    "collective, congestion-unaware: double_binary_tree, bandwidth_aware, chunks in flight": (15, 0.86, 0.98),
    # Packets have headers, and a step ends when its last acknowledgement is back: a round trip more a step.
    "collective, ns-3: ring": (18, 0.11, 0.40),
    "collective, ns-3: halving_doubling": (1, 0.09, 0.09),
    "iteration, ns-3: ring": (21, 0.002, 0.11),
    # Printed to 0.01 us; collectives of several layers meet in its queues.
    "iteration, ASTRA-sim 1.0": (200, 0.0001, 0.0031),
    "iteration, ASTRA-sim 1.0, bandwidth_aware": (28, 0.0001, 0.001),
    # A switch stores a whole message before it forwards it: up to half of the time is missing.
    "iteration, congestion-aware: ring, steps share links": (72, 0.04, 0.49),
    "iteration, congestion-aware: ring, steps share links, several chunks": (25, 0.0001, 0.18),
    "iteration, congestion-aware: ring, steps share links, chunks in flight": (45, 0.0001, 0.13),
    "iteration, congestion-aware: halving_doubling, steps share links": (27, 0.0001, 0.40),
}


@pytest.fixture(scope="module")
def comparisons(reference, accuracy):
    """Return the comparisons by class."""
    classes = {}
    for comparison in accuracy.comparisons(reference):
        classes.setdefault(comparison.kind, []).append(comparison)
    return classes


@pytest.mark.parametrize("kind", EQUAL)
def test_expressible_questions_give_equal_nanoseconds(comparisons, kind):
    """Whatever the back end does that the model knows, it must give the same nanosecond."""
    wrong = [(item.ours_ns, item.row) for item in comparisons[kind] if item.ours_ns != item.theirs_ns]
    assert wrong == []
    assert len(comparisons[kind]) == EQUAL[kind]


@pytest.mark.parametrize("kind", DIFFERENT)
def test_differences_stay_within_bounds_of_known_reasons(comparisons, kind):
    """A difference beyond these bounds would have a reason that we do not know."""
    count, median, worst = DIFFERENT[kind]
    errors = [abs(item.error) for item in comparisons[kind]]
    assert len(errors) == count
    assert statistics.median(errors) <= median
    assert max(errors) <= worst


def test_nothing_is_left_out(comparisons, reference, accuracy):
    """Every run that ended is in a class, but for a flat ring over two machines: no regular placement."""
    ended = {
        "collectives.csv": sum(
            bool(row["time_ns"]) for row in accuracy.rows_of(reference / "collectives.csv")
        ),
        "results.csv": sum(row["rc"] == "0" for row in accuracy.rows_of(reference / "results.csv")),
        "ns3_allreduce.csv": len(accuracy.rows_of(reference / "ns3_allreduce.csv")) - 1,
        "v1_answers.csv": len(accuracy.rows_of(reference / "v1_answers.csv")),
    }
    assert ended == {
        "collectives.csv": 776,
        "results.csv": 739,
        "ns3_allreduce.csv": 22,
        "v1_answers.csv": 200,
    }
    assert sum(map(len, comparisons.values())) == sum(ended.values())


def test_exposed_compute_and_busy_times_are_equal_too(reference, accuracy):
    """Of every iteration of the congestion-unaware back end: not only its end, but where the time went."""
    profiles = accuracy.profiles_of(reference)
    wrong, compared = [], 0
    for iteration in accuracy.iterations(reference):
        row = iteration.row
        if row["backend"] != "unaware":
            continue
        answer = accuracy.price_iteration(row, profiles, accuracy.dims_of_row(row))
        ours = (answer.exposed_ns, answer.compute_ns, answer.comm_ns)
        columns = ("exposed_comm_ns", "compute_sum_ns", "comm_busy_ns")
        theirs = tuple(int(float(row[column])) for column in columns)
        compared += 1
        if ours != theirs:
            wrong.append((row["model"], row["npus_per_dim"], ours, theirs))
    assert wrong == []
    assert compared == 475


@pytest.mark.parametrize(
    ("run", "total_ns", "exposed_ns"),
    [
        ("unaware_switch8", 269_755, 31_755),
        ("unaware_switch8_switch2", 373_802, 135_802),
        ("unaware_ring4_fc2_baseline", 671_601, 433_601),
        ("unaware_halving_doubling_8", None, None),
    ],
)
def test_recorded_runs_with_their_own_input_files(reference, accuracy, run, total_ns, exposed_ns):
    """Runs with their input files, so that units and names are checked too; totals: README.md."""
    folder = reference / "recorded" / run
    network = yaml.safe_load((folder / "in_net.yml").read_text())
    given = json.loads((folder / "in_sys.json").read_text())
    keys = ("topology", "npus_count", "bandwidth", "latency")
    dims = accuracy.dims_of(*("|".join(map(str, network[key])) for key in keys))
    system = SystemSettings(
        endpoint_delay_ns=given["endpoint-delay"],
        local_memory_gb_s=given["local-mem-bw"],
        collective_optimization=accuracy.OPTIMIZATIONS[given["collective-optimization"]],
        collective_algorithm=accuracy.ALGORITHMS[given["all-reduce-implementation"][0]],
    )
    answer = iteration_on(TOY, dims, system)
    finished = (folder / "stdout.txt").read_text().split("finished, ")[1:]
    totals = {int(line.split()[0]) for line in finished}
    assert max(totals) == answer.total_ns
    # forward 80,000 + weight gradients 86,000 + input gradients 72,000 (none for embed)
    assert answer.compute_ns == 238_000
    if total_ns is not None:
        assert (answer.total_ns, answer.exposed_ns) == (total_ns, exposed_ns)


def test_exposed_communication_has_a_column_beside_the_total(accuracy):
    """99 ns of compute; 2 exposed, we say 1: -0.990 % of 101, and -50 %; nothing exposed: a dash."""
    answer = IterationTime(99, 1, 1)
    line = accuracy.table([accuracy.of_iteration("toy", answer, {}, 101, 2)]).splitlines()[-1]
    assert line.split() == ["1", "0", *["-0.990%"] * 4, *["-50.000%"] * 4, "iteration,", "toy"]
    hidden = accuracy.of_iteration("toy", IterationTime(99, 1, 0), {}, 99, 0)
    line = accuracy.table([hidden]).splitlines()[-1]
    assert line.split()[2:10] == ["+0.000%"] * 4 + ["-"] * 4


@pytest.mark.parametrize(
    ("file", "stated"),
    [
        ("resnet18_B512", 21),
        ("resnet50_B512", 54),
        ("alexnet_B512", 8),
        ("vgg11_B256", 11),
        ("BERT-large_B256", 145),
    ],
)
def test_text_workloads_give_the_recorded_nanoseconds(accuracy, reference, file, stated):
    """Rings without chunks of the congestion-unaware back end; BERT's file states 145 layers and has 66."""
    (path,) = (reference / "workloads").glob(f"{file}_*")
    text = path.read_text()
    if file.startswith("BERT"):
        with pytest.raises(InputError, match="not as many layers") as caught:
            layers_of(text, "BERT.csv")
        assert (caught.value.found, caught.value.allowed) == (66, "145 lines of 12 cells")
        return
    profile = Profile(file, layers_of(text, file)).with_update(0)
    assert len(profile.layers) == stated
    rows = [
        row
        for row in accuracy.rows_of(reference / "results.csv")
        if (row["model"], row["backend"], row["rc"], row["implementation"]) == (file, "unaware", "0", "ring")
        and row["preferred_dataset_splits"] == "1"
    ]
    assert rows
    for row in rows[:5]:
        scaled = profile.scaled(float(row["compute_scale"]))
        answer = iteration_on(scaled, accuracy.dims_of_row(row), accuracy.system_of(row))
        assert answer.total_ns == int(row["total_time_ns"])
