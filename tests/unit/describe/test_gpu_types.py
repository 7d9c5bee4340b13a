"""Jobs and load by the GPU types that they name."""

import math

import pandas as pd
import pytest

from artist.describe.gpu_types import TypeLoad, type_loads


def test_load_by_type_by_hand(three: pd.DataFrame) -> None:
    """400 GPU-s of V100 in 40 s: 1 x 100 on any of 8 V100 and 8 T4 of half the speed, as 12 V100: 100 / 480.

    2 x 50 on T4, as 4 V100: 100 / 160. 8 x 25 on A10, of which there is none. No job names a type: no table.
    """
    cluster = {"V100": (8, 8.0), "T4": (8, 4.0)}
    assert type_loads(three, cluster, 40.0) == ()
    lacking, any_type, t4 = type_loads(three.assign(gpu_types=["", "T4", "A10"]), cluster, 40.0)
    assert (lacking.name, lacking.jobs, lacking.gpus) == ("A10", 1, 0)
    assert math.isnan(lacking.load)
    assert any_type == TypeLoad("(any)", 1, pytest.approx(100 / 3600), 16, pytest.approx(100 / 480))
    assert t4 == TypeLoad("T4", 1, pytest.approx(100 / 3600), 8, pytest.approx(100 / 160))
