"""The files of a run folder, written from a result."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.core.memory import release
from artist.core.result import RunResult
from artist.recording.inputs import Inputs, input_columns
from artist.recording.kind_numbers import kind_columns
from artist.recording.kinds import Kinds
from artist.recording.names import (
    CORES_FILE,
    LINKS_FILE,
    ON_LOAN,
    POOLS_FILE,
    RESOURCES_FILE,
    SLOWDOWN,
    SUMMARY,
    TIERS_FILE,
)
from artist.recording.pools import Pools
from artist.recording.recorder import Recorder
from artist.recording.resources import Resources
from artist.recording.series import Series, write_series
from artist.recording.traffic import Traffic, slowdowns
from artist.units import NS_PER_S


def write_run(
    folder: Path,
    result: RunResult,
    recorder: Recorder | None,
    summary: dict[str, Any],
    series: Series = (),
    resources: Resources | None = None,
    inputs: Inputs | None = None,
    pools: Pools | None = None,
    kinds: Kinds | None = None,
    traffic: Traffic | None = None,
) -> None:
    """Write the tables and the summary of a run into an existing folder.

    Equal results give equal bytes. The summary comes last, so a folder that has one is complete. `series` is
    what the policy noted of itself; `resources` is what was in use, closed, if that was recorded; `inputs` is
    what jobs need to prepare their input, if anything; `pools` is the jobs' use of each pool, closed, if
    there are several; `kinds` is what GPU and CPU jobs held, closed, if there are both; `traffic` is the use
    of links, closed, if jobs on the same links affect each other.
    """
    from artist.recording import columns

    more: dict[str, npt.NDArray[Any]] = {**columns.elastic_columns(result.jobs)}
    if inputs is not None and recorder is not None:
        more.update(input_columns(result, recorder, inputs))
    if pools is not None:
        more[ON_LOAN] = np.array(pools.on_loan_ns) / NS_PER_S
    if kinds is not None:
        more.update(kind_columns(result, kinds))
    if traffic is not None:
        more[SLOWDOWN] = slowdowns(result)
    _write_table(folder / "jobs.parquet", columns.job_tables(result, more=more))
    if recorder is not None:
        _write_table(folder / "events.parquet", columns.event_tables(recorder))
        _write_table(folder / "timeline.parquet", columns.timeline_tables(recorder, result.end_ns))
    for name, rows in ((RESOURCES_FILE, resources), (TIERS_FILE, traffic)):
        if rows is not None:
            values = np.array(rows.row_values).reshape(len(rows.row_ns), len(rows.columns)).T
            named = dict(zip(rows.columns, values, strict=True))
            _write_table(folder / name, columns.step_tables(np.array(rows.row_ns), named))
    if traffic is not None:
        _write_table(folder / LINKS_FILE, columns.link_tables(traffic.totals()))
    for name, part in ((POOLS_FILE, pools), (CORES_FILE, kinds)):
        if part is not None:
            _write_table(folder / name, columns.step_tables(part.times_ns, part.columns))
    write_series(folder, series)
    text = json.dumps(summary, indent=2, allow_nan=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")


def _write_table(path: Path, pieces: Iterator[Any]) -> None:
    import pyarrow.parquet as pq

    first = next(pieces)
    with pq.ParquetWriter(path, first.schema, **_PARQUET) as writer:
        writer.write_table(first)
        del first  # not two pieces at a time
        for piece in pieces:
            writer.write_table(piece)
            del piece
    release()


_PARQUET: dict[str, Any] = {"version": "2.6", "compression": "zstd", "write_page_checksum": True}
