"""Readers of published traces keep the real start, and count the GPU-hours that they leave out."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from artist.workload.filters import Selection, select
from artist.workload.readers.acme import AcmeTrace
from artist.workload.readers.columns import ColumnsCsv
from artist.workload.readers.helios import HeliosTrace
from artist.workload.readers.openb import OpenbTrace
from artist.workload.readers.philly import PhillyTrace

Write = Callable[..., Any]
HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u,v,8,16,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 01:00:20,3600,10
8,u,v,4,16,1,CANCELLED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:30:00,1800,0
9,u,v,4,16,1,FAILED,2020-04-01 00:00:00,2020-03-31 00:00:00,2020-04-01 00:30:00,1800,0
"""
ACME = """\
job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
1,u,1,8,96,Pretrain,COMPLETED,2023-03-01 09:00:00+08:00,\
2023-03-01 09:01:00+08:00,2023-03-01 09:03:00+08:00,120,60,960
"""
SAMPLE = """\
source_trace_id,gpu_type,gpu_count,timestamp,e2e_latency_s,queue_wait_s
a,A100,64,2023-05-17 11:00:58+00:00,18.0,10.0
"""
OPENB = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
whole,12000,1024,1,1000,,LS,Running,5,500,12
"""


def attempt(start: str, end: str) -> dict[str, Any]:
    """Return an attempt on 2017-10-07 on one GPU."""
    times = {"start_time": f"2017-10-07 {start}", "end_time": f"2017-10-07 {end}"}
    return {**times, "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}


PHILLY = json.dumps(
    [{"jobid": "p", "vc": "v", "user": "u", "status": "Pass", "submitted_time": "2017-10-07 00:00:00",
      "attempts": [attempt("00:00:10", "00:01:10"), attempt("00:02:00", "00:02:30")]}]
)  # fmt: skip


@pytest.mark.parametrize(
    ("reader", "text", "waits_s"),
    [
        (
            HeliosTrace,
            HELIOS,
            {"7": 10, "8": 0, "9": None},
        ),  # 9 would start before it is submitted: not known
        (AcmeTrace, ACME, {"1": 60}),
        (AcmeTrace, SAMPLE, {"a": 10}),
        (OpenbTrace, OPENB, {"whole": 7}),
        (PhillyTrace, PHILLY, {"p": 10}),  # of the first attempt
    ],
)
def test_the_real_start_is_kept(
    write: Write, reader: Any, text: str, waits_s: dict[str, float | None]
) -> None:
    """Start less submission, as the file has them."""
    frame = reader(path=write(text)).table().frame()
    seen = dict(zip(frame["job_id"], frame["started_s"] - frame["submit_s"], strict=True))
    assert {name: wait if wait == wait else None for name, wait in seen.items()} == waits_s


def test_states_left_out_have_their_price(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """8 x 1 of 8 + 4 x 0.5 x 2 = 12 GPU-hours stay: 2 of a cancelled and 2 of a failed job are left out."""
    reader = HeliosTrace(path=write(HELIOS), states=["COMPLETED"])
    assert len(reader.table()) == 1
    words = "left out 2 of 3 jobs: state is not one of COMPLETED (4 of 12 GPU-hours; CANCELLED 1 with 2, "
    words += "FAILED 1 with 2)"
    assert words in caplog.text
    assert words in reader.describe()


def test_a_filter_of_columns_has_its_price(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """The same rows by `columns`, 9 with a start as it should be; by value of the filtered column."""
    columns = {"submit_s": "submit_time", "start_s": "start_time", "end_s": "end_time", "gpus": "gpu_num"}
    units = dict.fromkeys(("submit_s", "start_s", "end_s"), "timestamp")
    text = HELIOS.replace("2020-03-31", "2020-04-01")
    reader = ColumnsCsv(path=write(text), columns=columns, units=units, filters={"state": ["COMPLETED"]})
    assert len(reader.table()) == 1
    words = "left out 2 of 3 jobs: state is filtered (4 of 12 GPU-hours; CANCELLED 1 with 2, FAILED 1 with 2)"
    assert words in caplog.text
    assert words in reader.describe()


def test_a_selection_has_its_price(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Of 12 GPU-hours the job of 8 GPUs has 8."""
    caplog.set_level(logging.INFO)
    select(HeliosTrace(path=write(HELIOS)).table(), Selection(min_gpus=8))
    assert "took 1 of 3 jobs, 8 of 12 GPU-hours" in caplog.text
