"""The files of a run folder, written from a result."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from artist.core.memory import release
from artist.core.result import RunResult
from artist.recording.names import SUMMARY
from artist.recording.recorder import Recorder
from artist.recording.series import Series, write_series
from artist.recording.topic import Topic


def write_run(
    folder: Path,
    result: RunResult,
    recorder: Recorder | None,
    summary: dict[str, Any],
    series: Series = (),
    topics: Sequence[Topic] = (),
) -> None:
    """Write the tables and the summary of a run into an existing folder.

    Equal results give equal bytes. The summary is written last, so a folder with one is complete.

    Parameters
    ----------
    series
        Notes of the policy on itself.
    topics
        Closed, in the order of their columns in jobs.parquet.
    """
    from artist.recording import columns

    more: dict[str, npt.NDArray[Any]] = {
        **columns.elastic_columns(result.jobs),
        **columns.end_columns(result),
    }
    for topic in topics:
        more.update(topic.job_columns(result))
    _write_table(folder / "jobs.parquet", columns.job_tables(result, more=more))
    if recorder is not None:
        _write_table(folder / "events.parquet", columns.event_tables(recorder))
        _write_table(folder / "timeline.parquet", columns.timeline_tables(recorder, result.end_ns))
    for topic in topics:
        for name, table in topic.tables().items():
            _write_table(folder / name, columns.topic_tables(table))
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
