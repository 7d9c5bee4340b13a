"""GPU-hours, failures and jobs by size of a run whose machine fails, worked by hand.

Two machines of 2 GPUs. a (2 GPUs, 10 iterations of 1 s) runs on m0, b (1 GPU, 4 iterations) on m1. m0 fails
from 3.5 s to 5.5 s: a loses 0.5 s, waits for m1 until b ends at 4 s, recovers for 1 s, and does its other 7
iterations until 12 s. Of 4 x 12 = 48 GPU-s, 2 x 10 + 4 = 24 are useful, 2 x 0.5 lost, 2 x 1 recovery, 2 x 2
repair; 0.5 are the other GPU of m1 while a waits, and 48 - 24 - 1 - 2 - 4 - 0.5 = 16.5 idle.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from artist.core.cluster import CapacityEvent
from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.errors import InputError
from artist.policies.basic.ordered import Ordered
from artist.recording.failures import FailureAccounts
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.report.figures.catalogue import drawings
from artist.report.figures.failures import hours_by_cause, mttf_by_machines
from artist.report.page.datatable import DataTable
from artist.report.page.grouped_tables import causes_table, sizes_table
from artist.report.words.answers import answers
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.failures import by_machines, gpu_hours
from artist.results.folder import read_run
from artist.results.names import short_values
from artist.results.run import Run
from artist.results.scenarios import contest
from artist.testing.tiny import PlainPerformance, job, tiny_cluster
from artist.units import seconds_to_ns

Make = Callable[..., Run]
TITLES = {
    "useful work": 24, "recovery": 2, "lost by failures": 1, "waiting for a replacement": 0.5, "idle": 16.5,
    "in repair": 4,
}  # fmt: skip


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a maker of the run above, or of one without the failure."""

    def of(*, failing: bool, policy: str = "fifo") -> Run:
        cluster, jobs = tiny_cluster(2), [job("a", 2, 10), job("b", 1, 4)]
        kinds = ((3.5, "fail"), (5.5, "join"))
        events = [CapacityEvent(seconds_to_ns(at), kind, 0, cause="gpu") for at, kind in kinds if failing]
        recorder, topics = Recorder(jobs, cluster), [FailureAccounts(jobs, cluster, per_s=1 / 30)] * failing
        options = {"overheads": Overheads(recover_s=1), "failures": events, "observers": (recorder, *topics)}
        result = Engine(jobs, cluster, Ordered(order="fifo"), PlainPerformance(), **options).run()
        for topic in topics:
            topic.close(result.end_ns)
        summary = summarise(result, policy=policy, seed=1, network_distinct=0, topics=topics, run={})
        folder = tmp_path / f"{policy}-{failing}"
        folder.mkdir()
        write_run(folder, result, recorder, summary, topics=topics)
        failures = [{"cause": "gpu", "per_1000_days": 65.0}] if failing else None
        config = {"policy": {"name": policy}, "seed": 1, "cluster": {"failures": failures}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        return read_run(folder)

    return of


def values(table: DataTable | None) -> dict[tuple[str, str], list[object]]:
    """Return the numbers of a table by the two words of their row, the first one without the label's rest."""
    assert table is not None
    return {(row[0].text, row[1].text): [cell.value for cell in row[2:]] for row in table.rows}


def test_the_bar_is_all_gpu_hours_by_cause_and_ends_with_the_useful_part(make: Make) -> None:
    """GPU-hours = GPU-s / 3600 in the parts' order, side by side up to 48 / 3600; 24 of 48 are 50 %."""
    comparison = compare([make(failing=True), make(failing=False)])
    digests = [digest(group) for group in comparison.groups]
    for width_in in (WIDTH_IN, NARROW_IN):
        (axes,) = hours_by_cause(digests, contest(comparison), width_in).axes
        bars = [bar.patches for bar in axes.containers]
        first = next(row for row, group in enumerate(comparison.groups) if any(gpu_hours(group).values()))
        widths = {bar.get_label(): bar.patches[first].get_width() for bar in axes.containers}
        assert widths == pytest.approx({title: gpu_s / 3600 for title, gpu_s in TITLES.items()})
        assert bars[-1][first].get_x() + bars[-1][first].get_width() == pytest.approx(48 / 3600)
        assert sum(of_part[1 - first].get_width() for of_part in bars) == 0
        assert sorted(text.get_text() for text in axes.texts) == ["", "50 %"]


def test_mttf_by_machines_beside_the_rate_of_the_causes(make: Make) -> None:
    """Job a holds one machine for 11.5 s and b for 4 s, with one failure: 15.5 s; x e^+-1.96 their ends.

    At 120 failures per hour of a machine 1 / (N r) is 30 s.
    """
    comparison = compare([make(failing=True)])
    rows, rate = by_machines(comparison.groups[0])
    assert [(row.held_h, row.machines, row.failures) for row in rows] == [(pytest.approx(15.5 / 3600), 1, 1)]
    assert rate == 120
    digests = [digest(group) for group in comparison.groups]
    (axes,) = mttf_by_machines(digests, contest(comparison)).axes
    assert [line.get_ydata()[0] for line in axes.lines] == pytest.approx([30, 15.5])
    ((low, high),) = [path.vertices[:, 1] for path in axes.collections[0].get_paths()]
    assert (low, high) == (pytest.approx(15.5 * np.exp(-1.96)), pytest.approx(15.5 * np.exp(1.96)))


def test_the_table_by_cause_counts_failures_and_the_jobs_they_stopped(make: Make) -> None:
    """m0 failed once and stopped a."""
    groups = compare([make(failing=True)]).groups
    assert values(causes_table(groups)) == {("gpu", groups[0].name): [1, 1]}


def test_the_jct_of_each_size_is_beside_the_mean_in_rows_with_and_without_failures(make: Make) -> None:
    """a: 12 s, held 3.5 + 8 s, 20 of 23 GPU-s useful; b: 4 s. Together (12 + 4) / 2, 15.5 s, 24 of 27."""
    groups = compare([make(failing=True), make(failing=False)]).groups
    table = values(sizes_table(groups))
    fails, fine = sorted((group.name for group in groups), key=lambda name: "65" not in name)
    assert (fails, fine) == ("fifo, 65 gpu failures per 1,000 days", "fifo, no failures")
    assert list(table) == [(size, group.name) for size in ("all", "1 GPU", "2-4 GPUs") for group in groups]
    assert table["all", fails] == pytest.approx([2, 8, 1, 15.5, 24 / 27])
    assert table["2-4 GPUs", fails] == pytest.approx([1, 12, 1, 11.5, 20 / 23])
    assert table["1 GPU", fails] == [1, 4, 0, None, 1]
    assert table["all", fine] == [2, 7, None, None, None]
    assert table["2-4 GPUs", fine] == [1, 10, None, None, None]


def test_without_failures_there_is_neither_figure_nor_table(make: Make) -> None:
    """Runs whose machines do not fail keep their page."""
    comparison = compare([make(failing=False)])
    digests = [digest(group) for group in comparison.groups]
    names = {drawing.name for drawing in drawings(digests, comparison, contest(comparison))}
    assert not {"gpu_hours", "mttf"} & names
    assert [table(comparison.groups) for table in (causes_table, sizes_table)] == [None] * 2


def test_failures_are_scenarios_and_no_choice(make: Make) -> None:
    """Two rates of one policy are two scenarios, none of which is recommended; --choose refuses them."""
    runs = [make(failing=failing) for failing in (True, False)]
    comparison = compare(runs)
    competing = contest(comparison)
    assert [scenario.rows for scenario in competing.scenarios] == [(0,), (1,)]
    found = dict(answers(comparison, competing, [digest(group) for group in comparison.groups], []))
    assert found["Which policy"] == "Only fifo was run, so there is none to choose."
    assert "lowest" not in found["How sure"]
    with pytest.raises(InputError, match="failures, events and work are conditions"):
        compare(runs, ["cluster.failures"])
    others = compare([*runs, *(make(failing=failing, policy="srtf") for failing in (True, False))])
    assert len(contest(others).scenarios) == 2


def test_files_of_events_are_scenarios_and_no_choice(make: Make) -> None:
    """Machines fail, join and leave by a file or not: two scenarios of two policies each."""
    runs = []
    for policy, events in (("fifo", None), ("srtf", None), ("fifo", "a.csv"), ("srtf", "a.csv")):
        run = make(failing=False, policy=f"{policy}-{events}")
        config = run.config | {"policy": {"name": policy}, "cluster": {"events": events}}
        runs.append(replace(run, config=config, summary=run.summary | {"policy": policy}))
    assert sorted(scenario.rows for scenario in contest(compare(runs)).scenarios) == [(0, 2), (1, 3)]
    assert not compare([runs[0], runs[2]]).has_choice
    assert len(contest(compare([runs[0], runs[2]])).scenarios) == 2
    with pytest.raises(InputError, match="failures, events and work are conditions"):
        compare(runs, ["events"])


def test_variants_compete_among_equal_failures_alone(make: Make) -> None:
    """Rows by name: both and harsh with failures, more and today without; harsh beside today is no choice."""
    runs = []
    for name, failing in {"today": False, "more": False, "harsh": True, "both": True}.items():
        run = make(failing=failing, policy=name)
        config = run.config | {"variant": name, "policy": {"name": "fifo"}}
        runs.append(replace(run, config=config, summary=run.summary | {"policy": "fifo"}))
    scenarios = contest(compare(runs)).scenarios
    assert sorted(scenario.rows for scenario in scenarios) == [(0, 1), (2, 3)]
    assert compare(runs).has_choice
    harsh = compare([runs[0], runs[2]])
    assert len(contest(harsh).scenarios) == 2
    assert not harsh.has_choice


def test_causes_and_rates_name_a_list_of_failures() -> None:
    """In any order of the fields; lists that differ in another field keep their text."""
    texts = ["[{'cause': 'gpu', 'per_1000_days': 65.0}, {'per_1000_days': 0.5, 'cause': 'link'}]", "rsc1"]
    texts += ["10*rsc1", "['10*rsc1', {'cause': 'link', 'per_1000_days': 2}]"]
    shown = ["gpu 65, link 0.5", "rsc1", "10*rsc1", "10*rsc1, link 2"]
    assert short_values("cluster.failures", texts) == shown
    alike = [f"[{{'cause': 'gpu', 'per_1000_days': 65, 'repair_h': {hours}}}]" for hours in (1, 2)]
    assert len(set(short_values("cluster.failures", alike))) == 2
