"""Findings on fabrics: the best one, by how much, and whether the network matters at all. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from artist.report.words.axes import Axis
from artist.report.words.gpus import gpu_types, speeds
from artist.report.words.setting import is_free
from artist.report.words.wording import at_most, longer, named, often
from artist.results.compare import Comparison
from artist.results.measures import LEVEL, is_level
from artist.results.names import listed
from artist.results.overhead import overhead_by_gpu_time


def fabrics(axis: Axis, comparison: Comparison, gpus: Sequence[float], shares: Sequence[float] = ()) -> str:
    """Return the fabric with the lowest mean JCT, policy by policy, and other differences between fabrics.

    Fabrics within 1 % of the lowest are as good.

    Parameters
    ----------
    gpus, shares
        GPUs of the clusters, and communication over computing, both summed over jobs; by row, as far as they
        are known.
    """
    counts = dict.fromkeys(axis.at, 0)
    for means in axis.means.values():
        for at, mean in zip(axis.at, means, strict=True):
            counts[at] += is_level("time", mean, min(means))
    if axis.idle:
        text = f"It hardly matters: mean JCTs on {listed(axis.at)} are at most {at_most(axis.effect)} apart"
    elif axis.chance:
        text = f"None is best for certain. {_widest(axis)}. This may be chance"
    else:
        text = f"{often(counts, len(axis.means))}. {_widest(axis)}"
    added = [_added(axis, i, shares) for i in range(len(axis.at))]
    if all(added):
        text += f". Over all jobs, communication adds to computing {_each(added, axis.at)}"
    return " ".join([f"{text}.", *_besides(axis, comparison, gpus)])


def no_part(comparison: Comparison, shares: Sequence[float] = ()) -> str:
    """Return that the network hardly matters, and why; empty where it does.

    It hardly does if in every run communication adds less than 1 % to computing: of a job on average, at the
    95th percentile of jobs, by GPU time, and summed over all jobs.

    Parameters
    ----------
    shares
        Communication over computing, both summed over jobs, by row as far as they are known.
    """
    summaries = [run.summary for group in comparison.groups for run in group.runs]
    overheads = [summary["comm_overhead"] for summary in summaries]
    mean, p95, by_gpu_time = (
        max((overhead.get(key) or 0.0 for overhead in overheads), default=0.0)
        for key in ("mean", "p95", "by_gpu_time")
    )
    summed = max(shares, default=0.0)
    if max(mean, p95, by_gpu_time, summed) >= LEVEL:
        return ""
    if all(is_free(run) for group in comparison.groups for run in group.runs):
        return "These runs say nothing about the network: communication was set to take no time"
    reasons = ["every job ran inside one machine"]
    if any(summary["placements"][tier] for summary in summaries for tier in ("rack", "network")):
        reasons = []
    if max(mean, p95, by_gpu_time, summed):
        together = f", and {at_most(summed)} to that of all together" if shares else ""
        reasons.append(
            f"communication adds at most {at_most(p95)} to the computing of 95 % of the jobs, "
            f"{at_most(mean)} to that of a job on average{together}"
        )
    else:
        reasons.append("computing hides all communication")
    return f"The network hardly matters: {listed(reasons, ', and ')}"


def waiting_for_network(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the overheads by GPU time and the jobs behind them; nothing if all are below 1 %."""
    rows = [(named(group.name), [run.summary for run in group.runs]) for group in comparison.groups]
    added = overhead_by_gpu_time(rows)
    return [("Who waits for the network", f"{added[0].upper()}{added[1:]}.")] if added else []


def _widest(axis: Axis) -> str:
    """Return the mean JCTs under the policy with the widest difference."""
    name, means = axis.widest, axis.means[axis.widest]
    order = sorted(range(len(means)), key=lambda i: means[i])
    least = means[order[0]]
    level = [i for i in order if is_level("time", means[i], least)]
    clauses = [f"{axis.said(name, order[0])} on {listed([axis.at[i] for i in level])}"]
    for i in order[len(level) :]:
        clauses.append(f"{axis.said(name, i)} on {axis.at[i]} ({longer([means[i] / max(least, 1e-9) - 1])})")
    return f"Mean JCTs are furthest apart under {name}: {listed(clauses)}"


def _each(texts: Sequence[str], at: Sequence[str]) -> str:
    """Return texts with the fabrics that they hold on, equal ones once."""
    places = {
        text: [name for name, of_name in zip(at, texts, strict=True) if of_name == text] for text in texts
    }
    return ", ".join(
        f"{text} everywhere" if len(places) == 1 else f"{text} on {listed(names)}"
        for text, names in places.items()
    )


def _added(axis: Axis, i: int, shares: Sequence[float]) -> str:
    """Return the most that communication adds to the computing of all jobs, and from 1 % on where."""
    added = {name: shares[rows[i]] for name, rows in axis.rows.items() if rows[i] < len(shares)}
    if not added:
        return ""
    most = max(added, key=lambda name: added[name])
    where = f" (under {most})" if added[most] >= LEVEL and len(added) > 1 else ""
    return f"at most {at_most(added[most])}{where}"


def _besides(axis: Axis, comparison: Comparison, gpus: Sequence[float]) -> list[str]:
    """Return further differences between the fabrics: GPU types, and numbers of GPUs."""
    rows = next(iter(axis.rows.values()))
    configs: list[Mapping[str, Any]] = [comparison.groups[row].runs[0].config for row in rows]
    sentences = []
    kinds = [gpu_types(config) for config in configs]
    if len(set(kinds)) > 1:
        compared = speeds(configs) or "part of the difference may be the speed of GPUs"
        sentences.append(f"GPUs differ, too ({_each(kinds, axis.at)}): {compared}.")
    counts = [int(gpus[row]) for row in rows if row < len(gpus)]
    if len(set(counts)) > 1:
        sentences.append(
            f"The clusters differ in size, too: {listed([str(count) for count in counts])} GPUs."
        )
    return sentences
