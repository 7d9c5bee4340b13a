"""The figures of a report, in the order of the page."""

from collections.abc import Sequence

from artist.recording.names import BLOCKING
from artist.report.figures import (
    comm_overhead,
    contention,
    distributions,
    elastic,
    failures,
    jct_by_demand,
    jct_parts,
    job_by_job,
    job_types,
    metrics_along,
    occupancy,
    over_time,
    placements,
    policy_series,
    pools,
    resources,
    seen,
)
from artist.report.figures.drawing import Drawing
from artist.results.compare import Comparison
from artist.results.digest import Digest
from artist.results.scenarios import Contest
from artist.results.seen import have_seen


def drawings(digests: Sequence[Digest], comparison: Comparison, contest: Contest) -> list[Drawing]:
    """Return the figures of a comparison; reads the events of a few runs, and single jobs.

    Parameters
    ----------
    digests
        Of the first rows of the comparison, those that are drawn.

    Raises
    ------
    InputError
        If the events or the jobs of a run are damaged.
    """
    recorded = any(BLOCKING in digest.gauges for digest in digests)
    held = len(have_seen([digest.group for digest in digests])) == len(digests)  # drawn beside the site's
    return [
        *seen.drawings(digests),
        *metrics_along.drawings(digests, comparison, contest),
        jct_parts.drawing(digests, contest),
        distributions.jct_drawing(digests, contest),
        distributions.histogram_drawing(digests, contest),
        distributions.queueing_drawing(digests, contest),
        jct_by_demand.drawing(digests, contest),
        *failures.drawings(digests, contest),
        *job_by_job.drawings(digests, contest),
        *job_types.drawings(digests, contest),
        *([] if held else [over_time.drawing(digests, "queue_length", contest)]),
        *([over_time.drawing(digests, BLOCKING, contest)] if recorded else []),
        *([] if held else [over_time.drawing(digests, "busy_gpus", contest)]),
        *pools.drawings(digests, contest),
        *resources.drawings(digests, contest),
        over_time.drawing(digests, "unfinished_jobs", contest),
        *elastic.drawings(digests, contest),
        placements.drawing(digests, contest),
        *comm_overhead.drawings(digests, contest),
        *contention.drawings(digests, contest),
        occupancy.drawing(digests, contest),
        *policy_series.drawings(digests),
    ]
