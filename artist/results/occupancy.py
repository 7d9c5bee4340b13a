"""GPUs held by job and machine over time, read back from the events of a run."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from artist.results.jobcolumns import Codes
from artist.results.names import natural
from artist.results.run import Run
from artist.results.steps import Floats

_PLACING = ("start", "resume", "restart", "retune", "resize", "migrate")
_ENDING = ("stop", "finish")


@dataclass(frozen=True, slots=True)
class Stays:
    """Stretches of time in which a job held the same GPUs, one per job and machine, in order of start.

    Attributes
    ----------
    jobs, machines
        Names; machines in natural order.
    job, machine : ndarray, shape (n,)
        Indices into the names.
    gpus, start_s, end_s : ndarray, shape (n,)
    how, ended
        Type of the event that began the stretch, and of that which ended it; "" if it lasts to the end.
    """

    jobs: tuple[str, ...]
    machines: tuple[str, ...]
    job: Codes
    machine: Codes
    gpus: Codes
    start_s: Floats
    end_s: Floats
    how: tuple[str, ...]
    ended: tuple[str, ...]


def read_stays(run: Run) -> Stays:
    """Read which jobs ran where; raise InputError if the events are damaged."""
    (time_s,) = run.numbers("events", ["time_s"])
    last_s = time_s[-1] if len(time_s) else 0.0
    jobs, types, places = run.words("events", ["job_id", "kind", "allocation"])
    telling = np.array([name in _PLACING + _ENDING for name in types.names], dtype=bool)
    kept = np.flatnonzero(telling[types.codes])
    begins = np.zeros(len(jobs.names), dtype=np.int64)
    begins[jobs.codes[kept[::-1]]] = kept[::-1]
    kept = kept[np.argsort(begins[jobs.codes[kept]], kind="stable")]  # job by job, its events in order
    job, place, event_type = (words.codes[kept] for words in (jobs, places, types))
    time_s = time_s[kept]
    last = job != np.roll(job, -1)
    last[-1:] = True
    end_s = np.where(last, last_s, np.roll(time_s, -1))
    ended = np.where(last, -1, np.roll(event_type, -1))
    slices = [parse_allocation(text) for text in places.names]  # one for each machine of a stretch
    seen = {name for parts in slices for name, _ in parts}
    names = sorted(seen, key=natural)
    number = {name: i for i, name in enumerate(names)}
    counts = np.array([len(parts) for parts in slices], dtype=np.int64)
    first = np.cumsum(counts) - counts
    machine = np.array([number[name] for parts in slices for name, _ in parts], dtype=np.int64)
    gpus = np.array([count for parts in slices for _, count in parts], dtype=np.int64)
    repeats = counts[place]
    stay = np.repeat(np.arange(len(place)), repeats)
    within = np.arange(len(stay)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    at = first[place][stay] + within
    keep = (gpus[at] > 0) & (end_s > time_s)[stay]
    stay, at = stay[keep], at[keep]
    order = np.argsort(time_s[stay], kind="stable")
    stay, at = stay[order], at[order]
    words = np.array([*types.names, ""], dtype=object)
    return Stays(
        jobs=jobs.names,
        machines=tuple(names),
        job=job[stay],
        machine=machine[at],
        gpus=gpus[at],
        start_s=time_s[stay],
        end_s=end_s[stay],
        how=tuple(words[event_type[stay]]),
        ended=tuple(words[ended[stay]]),
    )


def parse_allocation(text: str) -> list[tuple[str, int]]:
    """Return machine and GPUs of each part of `m3:8+m4:8 g=NAME cap=0.5`."""
    parts = text.partition(" ")[0].split("+")
    return [(name, int(gpus)) for name, _, gpus in (part.rpartition(":") for part in parts) if name]


def used_gpus(
    stays: Stays, classes: Codes, n_classes: int, n_rows: int, rows: Codes, edges: Floats
) -> npt.NDArray[np.float64]:
    """Return mean GPUs in use, shape (n_rows, n_classes, n_bins), exact over each bin of time.

    Parameters
    ----------
    classes, rows
        Of each stay: its colour class, and its row of the picture.
    edges
        Ascending bounds of equally wide bins.
    """
    n_bins, width = len(edges) - 1, edges[1] - edges[0]
    partial = np.zeros((n_rows, n_classes, n_bins))
    steps = np.zeros((n_rows, n_classes, n_bins + 1))
    for times, sign in ((stays.start_s, 1.0), (stays.end_s, -1.0)):
        at = np.clip(((times - edges[0]) / width).astype(np.int64), 0, n_bins - 1)
        left = np.clip(edges[at + 1] - times, 0.0, width) / width  # the part of the bin after the step
        np.add.at(partial, (rows, classes, at), sign * stays.gpus * left)
        np.add.at(steps, (rows, classes, at + 1), sign * stays.gpus)
    return np.maximum(partial + np.cumsum(steps, axis=2)[:, :, :n_bins], 0.0)
