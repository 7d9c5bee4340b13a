"""Three jobs that a person can add up, and files in a temporary folder.

job  submit_s  gpus  duration_s  GPU-seconds
a           0     1         100          100
b          10     2          50          100
c          40     4          25          100
"""

import pandas as pd
import pytest

from artist.tables.rows import Table
from artist.workload.table import check


@pytest.fixture
def three() -> Table:
    """Return the three jobs as a checked table."""
    table = pd.DataFrame(
        {
            "job_id": ["a", "b", "c"],
            "submit_s": [0.0, 10.0, 40.0],
            "gpus": [1, 2, 4],
            "duration_s": [100.0, 50.0, 25.0],
            "vc": ["x", "y", "x"],
        }
    )
    return check(table, "three")
