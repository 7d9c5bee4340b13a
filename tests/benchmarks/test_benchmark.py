"""The benchmark runner prints the table of each case, and its figures make sense."""

import subprocess
import sys
from pathlib import Path

import benchmark
import pytest
from cases import CASES

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmarks" / "benchmark.py"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    """Return the words of the lines that a case prints."""
    assert benchmark.main(list(arguments)) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_without_a_case_the_cases_are_listed(capsys):
    """A line per case, with the first line of its documentation."""
    assert [line[0] for line in printed(capsys)] == list(CASES)


def test_runs_are_a_row_per_combination(tmp_path):
    """Two policies: two rows of nine figures; 30 jobs make at least 3 events each."""
    command = [sys.executable, str(SCRIPT), "runs", "policy=fifo,srtf", "workload.jobs=30"]
    done = subprocess.run(
        [*command, "network.cache=null"], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    header, *rows = done.stdout.splitlines()
    assert header.split()[:2] == ["jobs", "events"]
    assert [row.split()[-1] for row in rows] == ["policy=fifo", "policy=srtf"]
    for row in rows:
        jobs, events = (int(cell) for cell in row.split()[:2])
        assert jobs == 30
        assert events >= 90


def test_contention_is_a_row_per_policy_fabric_and_way(tmp_path, capsys):
    """Two jobs of one GPU on 64 machines share no links: no hours are lost on any of 12 rows."""
    trace = tmp_path / "cluster_log.csv"
    head = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
    at = "2020-04-01 00:00:00"
    rows = [f"{number},u,vc,1,4,1,COMPLETED,{at},{at},{at},600,0" for number in (1, 2)]
    trace.write_text("\n".join([head, *rows]) + "\n")
    heading, *lines = printed(capsys, "contention", str(trace))
    assert heading == ["events", "cpu_s", "ratio", "lost_h", "way", "policy", "topology"]
    assert len(lines) == 12
    assert {float(line[3]) for line in lines} == {0}


def test_groupings_are_a_row_per_number_of_jobs_and_profiles(capsys):
    """40 jobs on 10 GPUs, alike and different: ten groups of four, or more where some are taken apart."""
    heading, *lines = printed(capsys, "grouping", "40")
    assert heading == ["jobs", "seconds", "groups", "profiles"]
    assert [(line[0], line[3]) for line in lines] == [("40", "alike"), ("40", "different")]
    assert all(10 <= int(line[2]) <= 20 for line in lines)


def test_network_answers_are_a_row_per_kind_of_question(capsys):
    """Six kinds: a cached answer costs least, a model more of a known shape less than a new shape."""
    _, *lines = printed(capsys, "network", "AlexNet")
    times = [float(line[0]) for line in lines]
    assert len(times) == 6
    assert times[0] < min(times[1:])
    assert times[1] < min(times[3:])


def test_decisions_are_a_row_per_mechanism_and_size(capsys):
    """Two servers under tune: a decision takes some time, and less if nothing changed."""
    heading, line = printed(capsys, "decisions", "tune", "16")
    assert heading == ["GPUs", "first_ms", "changed_ms", "max_ms", "idle_ms", "mechanism"]
    gpus, *costs, mechanism = line
    assert (mechanism, gpus) == ("tune", "16")
    first, changed, slowest, idle = map(float, costs)
    assert first >= changed > idle > 0
    assert slowest >= changed
