"""Series that a policy notes of itself, such as timers: policy.parquet with time_s, name and value."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from artist.recording.names import SERIES
from artist.units import NS_PER_S

Series = Sequence[tuple[int, str, float]]
"""(time in ns, name, value), in order of time."""


def write_series(folder: Path, series: Series) -> None:
    """Write the file, if anything was noted."""
    if not series:
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    from artist.recording import arrow

    times, names, values = zip(*series, strict=True)
    columns = {
        "time_s": arrow.numbers(np.array(times, dtype=np.int64) / NS_PER_S),
        "name": arrow.texts(map(str, names)),
        "value": arrow.numbers(np.array(values, dtype=np.float64)),
    }
    pq.write_table(pa.table(columns), folder / SERIES)
