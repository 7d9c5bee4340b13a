"""Demand series: three formats by hand, and the two serving traces."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from artist.describe.demand import read_demand
from artist.errors import InputError

INSTANCES = """\
instance_sn,role,app_name,gpu_request,creation_time,scheduled_time,deletion_time
i0,HN,app_0,1,,,
i1,CN,app_0,0,,,
i2,HN,app_1,1,3000,3600,9000
"""
REQUESTS = """\
gmt_create,predict_type,predict_status,exec_time_seconds
2024-11-15 16:30:00,TXT_2_IMG,SUCCEED,3600
2024-11-15 17:45:00,TXT_2_IMG,FAILED,1800
2024-11-15 17:00:00,TXT_2_IMG,PENDING,0
2024-11-15 19:00:00,TXT_2_IMG,SUCCEED,30
"""


def write(folder: Path, text: str) -> Path:
    """Return a file with this text."""
    path = folder / "demand.csv"
    path.write_text(text)
    return path


def test_instances(tmp_path: Path) -> None:
    """i0 is there for the whole day; i2 from 3600 to 9000 s: all of hour 1, half of hour 2; i1 has no GPU."""
    series = read_demand(write(tmp_path, INSTANCES), 3600)
    assert len(series.gpus) == 24
    assert series.gpus[:4].tolist() == [1.0, 2.0, 1.5, 1.0]
    assert series.date is None
    assert series.by_hour()[1] == 2.0


def test_requests(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """16:30 to 17:30 and 17:45 to 18:15: half of hour 17 and a quarter, a quarter of hour 18.

    The hour of the first arrival is not whole, nor is that after the last at 19:00: left out.
    """
    series = read_demand(write(tmp_path, REQUESTS), 3600)
    assert series.gpus.tolist() == [0.75, 0.25]
    assert (series.start_s, series.date) == (17 * 3600.0, pd.Timestamp("2024-11-15"))
    assert np.nanargmax(series.by_hour()) == 17
    assert "left out 1 of 4 requests: PENDING" in caplog.text


def test_levels(tmp_path: Path) -> None:
    """4 GPUs for 90 s, then 1 until 120 s: (4 x 30 + 1 x 30) / 60 in the second minute."""
    series = read_demand(write(tmp_path, "time_s,gpus\n0,4\n90,1\n120,0\n"), 60)
    assert series.gpus.tolist() == [4.0, 2.5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (INSTANCES.replace("3600,9000", "3600,90"), "line 4: deletion_time is before scheduled_time"),
        (INSTANCES.replace("app_1,1", "app_1,one"), "line 4: gpu_request is no such number"),
        (REQUESTS.replace("2024-11-15 16", "15 Nov 16"), "line 2: gmt_create is not a date"),
        ("time_s,gpus\n0,4\n0,1\n", "line 3: time_s is not after the row before"),
        ("time_s,gpus\n0,4\n10,1\n", "too short for a step"),
        ("time_s,gpus\n0,4\n1e12,1\n", "too many steps"),
        ("a,b\n1,2\n", "unknown header"),
        ("time_s,gpus\n", "no rows"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        read_demand(write(tmp_path, text), 60)


def test_the_serving_traces(shared: Path) -> None:
    """DLRM: 31 days, at most the 4,460 HN instances at a time. GenAI: never many GPUs, busiest at night."""
    dlrm = read_demand(shared / "traces/alibaba-dlrm-2025/disaggregated_DLRM_trace_even_apps.csv.gz", 3600)
    assert len(dlrm.gpus) == 31 * 24
    assert 0 < dlrm.gpus.min() <= dlrm.gpus.max() < 4_460
    genai = read_demand(shared / "traces/alibaba-genai-2026/lora_request_trace_2024-11.csv.gz", 3600)
    assert genai.date == pd.Timestamp("2024-11-15")
    raw = pd.read_csv(shared / "traces/alibaba-genai-2026/lora_request_trace_2024-11.csv.gz")
    assert genai.gpus.sum() * 3600 == pytest.approx(raw["exec_time_seconds"].sum(), rel=0.01)
