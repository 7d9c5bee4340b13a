"""Which fabric is best, by how much, and whether the network played a part at all. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from artist.report.words.axes import Axis
from artist.report.words.setting import gpu_types, speeds
from artist.report.words.wording import duration, often, per_cent
from artist.results.compare import Comparison
from artist.results.measures import BY_NAME, LEVEL, change, comparable, difference, is_level
from artist.results.names import listed


def fabrics(axis: Axis, comparison: Comparison, gpus: Sequence[float]) -> str:
    """Return the fabric with the lowest mean JCT, policy by policy, and what else differs between fabrics.

    Fabrics within 1 % of the lowest are as good. A difference whose 95 % interval, seed by seed, includes 0
    is called chance.

    Parameters
    ----------
    gpus
        Of the clusters, by row, as far as they are known.
    """
    counts = dict.fromkeys(axis.at, 0)
    for means in axis.means.values():
        for at, mean in zip(axis.at, means, strict=True):
            counts[at] += is_level("time", mean, min(means))
    if min(counts.values()) == len(axis.means):
        text = f"It hardly matters: mean JCTs on {listed(axis.at)} are at most {per_cent(axis.effect)} apart"
    else:
        text = f"{often(counts, len(axis.means), 'cases')}. {_widest(axis, comparison)}"
    added = [_added(comparison, [rows[i] for rows in axis.rows.values()]) for i in range(len(axis.at))]
    text += f". To the computing of a job, communication adds {_each(added, axis.at)}"
    return " ".join([f"{text}.", *_besides(axis, comparison, gpus)])


def no_part(comparison: Comparison) -> str:
    """Return that the network played no part, and why; empty where it did.

    It played none if in every run communication adds less than 1 % to the computing of jobs: on average,
    and at the 95th percentile of jobs.
    """
    summaries = [run.summary for group in comparison.groups for run in group.runs]
    found = [summary["comm_overhead"] for summary in summaries]
    worst = max((each[key] or 0.0 for each in found for key in ("mean", "p95")), default=0.0)
    if worst >= LEVEL:
        return ""
    text = "The network played no part in these runs: "
    if not any(summary["placements"][tier] for summary in summaries for tier in ("rack", "network")):
        text += "every job ran inside one machine, and "
    if not worst:
        return f"{text}communication takes no time"
    return (
        f"{text}communication adds {_small(worst)} at most to the computing of 95 % of jobs, and on average"
    )


def _small(part: float) -> str:
    return per_cent(part) if part >= 0.001 else "less than 0.1 %"


def _widest(axis: Axis, comparison: Comparison) -> str:
    """Return the mean JCTs under the policy with the widest difference, and whether it may be chance."""
    name, (means, rows) = axis.widest, (axis.means[axis.widest], axis.rows[axis.widest])
    order = sorted(range(len(means)), key=lambda i: means[i])
    least = means[order[0]]
    level = [i for i in order if is_level("time", means[i], least)]
    said = [f"{duration(least)} on {listed([axis.at[i] for i in level])}"]
    for i in order[len(level) :]:
        more = per_cent(difference(means[i], least) or 0.0)
        said.append(f"{duration(means[i])} on {axis.at[i]} ({more} more)")
    apart = change(BY_NAME["jct_mean_s"], *(comparison.groups[rows[order[end]]] for end in (-1, 0)))
    chance = ", which may be chance (95 % interval)" * (apart.low is not None and apart.low <= 0)
    return f"They are furthest apart under {name}: {listed(said)}{chance}"


def _each(texts: Sequence[str], at: Sequence[str]) -> str:
    """Return what holds on which fabrics, the same said once."""
    places = {text: [name for name, own in zip(at, texts, strict=True) if own == text] for text in texts}
    return ", ".join(
        f"{text} everywhere" if len(places) == 1 else f"{text} on {listed(names)}"
        for text, names in places.items()
    )


def _added(comparison: Comparison, rows: Sequence[int]) -> str:
    found = [comparable(BY_NAME["comm_overhead_mean"], comparison.groups[row]).mean or 0.0 for row in rows]
    return _small(sum(found) / len(found))


def _besides(axis: Axis, comparison: Comparison, gpus: Sequence[float]) -> list[str]:
    """Return what else differs between the fabrics: GPUs, and how many there are."""
    rows = next(iter(axis.rows.values()))
    configs: list[Mapping[str, Any]] = [comparison.groups[row].runs[0].config for row in rows]
    said = []
    kinds = [gpu_types(config) for config in configs]
    if len(set(kinds)) > 1:
        compared = speeds(configs) or "part of the difference may be the speed of GPUs"
        said.append(f"GPUs differ, too ({_each(kinds, axis.at)}): {compared}.")
    counts = [int(gpus[row]) for row in rows if row < len(gpus)]
    if len(set(counts)) > 1:
        said.append(f"The clusters differ in size, too: {listed([str(count) for count in counts])} GPUs.")
    return said
