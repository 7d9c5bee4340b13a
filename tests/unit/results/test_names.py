"""Short texts for people: never the same text for two different values."""

import pytest

from artist.results.names import labels, letter, listed, short_key, short_values, spoken
from artist.tables.grid import clip


@pytest.mark.parametrize(
    ("key", "values", "short"),
    [
        ("workload.path", ["/data/a/venus.csv", "philly.csv", ""], ["venus.csv", "philly.csv", ""]),
        ("workload.path", ["/a/x/t.csv", "/b/x/t.csv"], ["a/x/t.csv", "b/x/t.csv"]),
        ("arrivals._target_", ["artist.workload.arrivals.TraceArrivals"], ["trace"]),
        ("network.model._target_", ["m.AnalyticalModel", "m.ZeroModel"], ["analytical", "zero"]),
        ("network.model._target_", ["a.Model", "b.Model"], ["a.Model", "b.Model"]),
        ("workload._target_", ["artist.workload.SyntheticTrace"], ["synthetic_trace"]),
        ("stop.time_s", ["1000.0", "400", "1e-09"], ["1000", "400", "1e-09"]),
        ("stop.time_s", ["1.0", "1"], ["1.0", "1"]),
        ("stop.jobs", ["[0, 1/2]", "/"], ["[0, 1/2]", "/"]),
    ],
)
def test_values_are_short_and_still_differ(key: str, values: list[str], short: list[str]) -> None:
    """File name, class word, whole number; the full value where two would look the same."""
    assert short_values(key, values) == short


def test_names_that_differ_in_the_middle_are_not_clipped() -> None:
    """Two names of 41 characters that differ in the 21st: clipped to 32 they would be one."""
    names = ["x" * 20 + middle + "y" * 20 for middle in "ab"]
    assert short_values("policy", names) == names
    assert clip(names[0], 11) == "xxxx...yyyy"


def test_labels_leave_out_empty_values() -> None:
    """Values that speak for themselves need no key, nor do those that are not there."""
    keys = ("policy", "cluster.racks", "workload.path")
    rows = [("fifo", "none", "a.csv"), ("fifo", "4", "a.csv"), ("fifo", "", "b.csv")]
    assert labels(keys, rows) == ["fifo, a.csv", "fifo, 4 racks, a.csv", "fifo, b.csv"]
    assert labels(keys[:2], [("fifo", "none"), ("fifo", "")]) == [
        "fifo, number of racks none",
        "fifo, number of racks ",
    ]


def test_labels_say_what_a_row_changes() -> None:
    """In words, and nothing of machines as they are."""
    keys = ("policy", "cluster.more", "policy.backfill")
    rows = [("fifo", "0", "none"), ("fifo", "10", "easy")]
    assert labels(keys, rows) == ["fifo, no backfill", "fifo, 10 more machines, EASY backfill"]


def test_rows_that_come_again_have_the_same_brief_label() -> None:
    """Two equal rows are no reason to spell out what a third has not."""
    rows = [("fifo", "random"), ("las", ""), ("las", "")]
    assert labels(("policy", "policy.placement"), rows) == ["fifo, placement random", "las", "las"]


def test_heads_and_letters() -> None:
    """A class is the choice of its section; after Z comes AA."""
    assert short_key("network.model._target_") == "network.model"
    assert [letter(i) for i in (0, 25, 26, 52)] == ["A", "Z", "AA", "BA"]


def test_listed_machines_are_counted_by_type() -> None:
    """Their commas would part a label in two; a pool stands in brackets."""
    machines = [
        "[{'type': 'gpus', 'count': 20}, {'type': 'cpus', 'count': 4}]",
        "[{'type': 'gpus', 'count': 20, 'pool': 'training'}]",
    ]
    short = short_values("cluster.machines", machines)
    assert short == ["20 gpus + 4 cpus", "20 gpus (training)"]
    assert spoken("cluster.machines", short[:1]) == "20 gpus + 4 cpus machines"


@pytest.mark.parametrize(
    ("key", "values", "words"),
    [
        ("cluster.machines", ["96", "133"], "96 and 133 machines"),
        ("cluster.racks", ["1"], "1 rack"),
        ("cluster.racks", ["1", "2", "8"], "1, 2 and 8 racks"),
        ("cluster.machines", ["none"], "number of machines none"),
        ("workload.load", ["0.5", "1"], "load 0.5 and 1"),
        ("arrivals.first_s", ["none", "0"], "first arrival at 0 s and first arrival as in the source"),
        ("stop.jobs", ["none", "[248, 1240]"], "all jobs measured and jobs 248 up to 1240 measured"),
        ("policy.skew_threshold", ["none", "0.3"], "skew threshold unset and 0.3"),
        ("network.model._target_", ["zero"], "no communication time"),
        ("cluster.one_pool", ["True", "False"], "one pool and partitions"),
        (
            "cluster.scale",
            ["0.85", "1", "1.1"],
            "15 % fewer machines, as many machines as now and 10 % more machines",
        ),
        ("cluster.more", ["-1", "10"], "1 fewer machine and 10 more machines"),
        ("cluster.more.vision", ["10"], "10 more machines of vision"),
        ("policy.backfill", ["none", "easy"], "no backfill and EASY backfill"),
        ("topology.oversubscription.rack", ["1", "4"], "1:1 and 4:1 oversubscription"),
        ("performance.contention", ["none", "mean_field"], "contention off and contention on"),
        ("cluster.failures", ["any 65"], "65 failures per 1,000 days"),
        ("cluster.failures", ["10*rsc1", "none"], "10 times the failures of RSC-1 and no failures"),
        ("overheads.restart_s", ["60"], "60 s per restart on other machines"),
        ("policy.skew_threshold", ["0.3"], "skew threshold 0.3"),
        ("policy.auto_tune", ["False"], "without auto tune"),
        ("policy.machine_timer_h", ["12"], "machine timer 12 h"),
        ("workload.limits.factor", ["2"], "factor of limits 2"),
    ],
)
def test_settings_are_written_in_words(key: str, values: list[str], words: str) -> None:
    """A newcomer need not know the key: words of labels.yaml, else those of the key and its unit."""
    assert spoken(key, values) == words


def test_lists_end_with_and() -> None:
    """None, one, several."""
    assert [listed(texts) for texts in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]
