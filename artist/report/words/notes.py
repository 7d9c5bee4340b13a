"""Sentences around the tables of a report: the subject of the comparison, and notes on reading it. Pure."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from artist.report.words.gpus import machine_types
from artist.report.words.setting import joined
from artist.results.compare import CODE, Comparison, along_note, idle_seeds
from artist.results.coverage import OVERLOADED_NOTE, coverage_notes, window_sizes
from artist.results.names import spoken
from artist.results.scenarios import Contest
from artist.results.seen import have_seen
from artist.results.stand_ins import stand_in_notes

_TIMES = "Completion (JCT) and queueing times are over finished jobs. p95: 95 % of the jobs need no longer."
_USED = (
    "GPUs used: time that GPUs compute, over all GPUs and the whole run; a tail of a few long jobs "
    "therefore lowers it."
)
_OVERHEAD = (
    "Comm. overhead: communication that computing does not hide, divided by computing time; each job that "
    "ran counts once, short or long. By GPU time: the same, of sums over jobs of time x GPUs held."
)
_JCT = "JCT: the time from a job's submission to its finish."
MORE_COLUMNS = (
    "Mean > p95: the mean of the jobs that need longer than 95 % of all. GPUs held: the part of GPU time "
    "that jobs hold, computing or not."
)
_IN_USE = (
    "In use: the part of all GPUs' time in which a job on them uses storage, CPU, GPU, network. Blocking "
    "index: the mean, over time and the jobs that wait, of time waited / time that the rest takes alone."
)
_INPUTS = (
    "Throughput of compute: computing / (computing + waiting for input), an unweighted mean over jobs that "
    "ran; 1 if GPUs never wait. JCT short: of jobs that take less than four hours alone if they never wait; "
    "JCT long: of the others."
)
_SHARES = (
    "CPUs and memory held, and used: of all that the cluster has, over the whole run; used are the CPUs that "
    "prepare input at the speed at which jobs run, and the memory of processes and caches."
)
_CONTENTION = (
    "Slowed by contention: the time that a job runs, over the time that it would if no other used its links; "
    "an unweighted mean over jobs that ran."
)
LINKS = (
    "Links (ports of machines, uplinks of racks) that would be overloaded if all of their jobs sent their "
    "most at once: the part of the run in which they could be, and the part of their capacity in use over "
    "the whole run. Several seeds are averaged."
)
_KINDS = (
    "GPU jobs and CPU jobs: finished jobs with and without GPUs, by how long they waited in all. GPUs held "
    "in queues, and GPUs starved (idle because their machine lacks the CPUs for a GPU job that waits): of "
    "all GPUs while a GPU job waits. Held GPUs used: computing, of those held. CPUs and memory bandwidth: "
    "of what there is. All while jobs arrive."
)
_SORTING = (
    "A click on a heading sorts{diff}. The address of the page keeps sorting and filter: a link to it, or a "
    "bookmark, shows the same view."
)
_REPLICATES = (
    "Where a row has several runs, they are equal but for the seed: mean, and after \u00b1 half the width of "
    "its 95 % interval (Student's t; both ends: table.csv, each seed: seeds.csv). Fewer than 3 have none. "
    "Policies are compared by the ratios of their mean JCTs, seed by seed and on a log scale, so their own "
    "intervals may overlap."
)
_LETTERS = "Letters stand for the rows in the figures."
CODE_ALONE = (
    "Rows that differ in code alone: the program, a user's modules or an input file has changed between them."
)
SEEN_NOTE = (
    "Seen: from submission to the start on the site. Simulated: all waiting of the same jobs in the run; of "
    "waiting jobs of a group by hour, until the first start. Jobs that ran before the window are placed at "
    "once and not counted. Of replicates, the first: seeds vary only what is drawn, such as models of jobs "
    "that name none, and say nothing of how sure a comparison with the site is; so means have no intervals."
)
PROFILING = (
    "How many numbers of CPUs a policy tried until it settled on one, of jobs that ran for so long; "
    "replicates are pooled. Where a policy starts from what the owner's jobs of the kind kept before, as "
    "CODA does, a job may start far from the best number and take more steps than the 3 or 4 of the paper's "
    "Table II. CPUs per GPU: asked for, and held in the end; medians over finished jobs of the model, the "
    "shorter ones included."
)
CAUSES = (
    "Failures of machines while the run lasted, slow ones not counted, and the jobs that they stopped; means "
    "over replicates."
)
JOB_SIZES = (
    "By the GPUs that jobs ask for; all jobs first. JCT is over finished jobs. MTTF: time for which jobs "
    "hold GPUs, per failure that stopped one. Effective: the part of held GPU time that was useful work. An "
    "evicted large job may wait while small ones pass, so the mean over all jobs can fall as failures grow. "
    "Replicates are pooled; jobs and stops are means over them."
)
FAIRNESS_NOTE = (
    "Only finished GPU jobs count; several seeds are averaged. Slowdown: completion time / ideal time, "
    "which has no waiting, communication and interference; bounded: with an ideal time of at least 10 s, "
    "and at least 1. Jain's index of users' mean bounded slowdowns: 1 if all are equal, 1 / users if one "
    "has all. Finish-time fairness: completion time / (ideal time x contention), where contention is the "
    "GPUs that unfinished jobs ask for / all GPUs, a mean over the job's life and at least 1; a job above 1 "
    "got less than its share."
)
COST_NOTE = (
    "Of all GPUs that are there: the causes sum to the first line, users to what jobs hold. A GPU draws its "
    "busy power while a job holds it, else its idle power, also as a spare or in repair, and its part of the "
    "host's; all times the PUE. Means over replicates."
)
_MEMBER_REPLICATES = "Replicates are pooled; jobs and GPU-hours are means over them."
_MAX_VALUES, _MAX_CHARS = 8, 90
_MAX_COMMANDS = 3
_CLUSTER = ("topology", "machines", "GPUs")  # parts of its sentences
_MEMBERS = (
    "The {count} with most GPU time over all rows, in every row. JCT and queue are over their finished jobs."
)
_WITHOUT_CPUS = (
    "GPU jobs that held no CPUs at times, because CPU-only jobs had them, and then went on at a hundredth of "
    "their speed: {rows}; of several runs the most."
)


def lead(comparison: Comparison) -> str:
    """Return the subject of the comparison, in a sentence."""
    runs = sum(len(group.runs) for group in comparison.groups)
    jobs = sorted({int(run.summary["jobs"]) for group in comparison.groups for run in group.runs})
    of = f"{jobs[0]}" if len(jobs) == 1 else f"{jobs[0]} to {jobs[-1]}"
    sizes = window_sizes([run.summary for group in comparison.groups for run in group.runs])
    window = f", times over {sizes} of them" if sizes else ""
    machines = joined(machine_types(group.runs[0].config) for group in comparison.groups)
    many = "s" * (jobs[-1] != 1)
    text = f"{runs} run{'s' * (runs > 1)} of {of} job{many}{window}{_subject(comparison)}"
    return text + (f" Machines: {machines}." if machines else "")


def _subject(comparison: Comparison) -> str:
    """Return the settings that differ; of runs against a site, whose rows a table names, the trace."""
    if have_seen(comparison.groups):
        settings = [group.runs[0].summary.get("setting", {}) for group in comparison.groups]
        sources = joined(of.get("Workload", {}).get("source", "").partition(",")[0] for of in settings)
        return f"{' of ' * bool(sources)}{sources}."
    varied = []
    for key, column in zip(
        comparison.keys, zip(*(g.shown for g in comparison.groups), strict=True), strict=True
    ):
        values = list(dict.fromkeys(value or "none" for value in column))
        shown = values if len(values) <= _MAX_VALUES else [*values[:_MAX_VALUES], "..."]
        if sum(map(len, shown)) > _MAX_CHARS:
            shown = [f"({len(values)} values)"]
        if len(values) > 1 or len(comparison.keys) == 1:
            varied.append(spoken(key, shown))
    return f": {'; '.join(varied)}. {_JCT}"


FOOTER = "This page needs no network; keep its folder beside those of its runs."


def about(comparison: Comparison) -> list[tuple[str, str]]:
    """Return trace, cluster, command, date and version of the runs, each with its topic."""
    runs = [run for group in comparison.groups for run in group.runs]
    versions = sorted(
        {str(version) for run in runs if (version := run.summary.get("run", {}).get("version"))}
    )
    settings = [run.summary.get("setting", {}) for run in runs]
    trace = joined(of.get("Workload", {}).get("source", "") for of in settings)
    commands = list(dict.fromkeys(shlex.join(run.command) for run in runs if len(run.command) > 1))
    more = f" and {len(commands) - _MAX_COMMANDS} more" * (len(commands) > _MAX_COMMANDS)
    dates = sorted(
        {datetime.fromtimestamp(run.written_ns / 1e9, UTC).date() for run in runs if run.written_ns}
    )
    on_dates = " to ".join(dict.fromkeys(f"{date:%-d %B %Y}" for date in (*dates[:1], *dates[-1:])))
    program = f"artist-sim {', '.join(versions[:_MAX_COMMANDS])}" if versions else "artist-sim"
    topics = (
        ("Trace", trace),
        ("Cluster", _clusters([run.summary.get("setting", {}).get("Cluster", {}) for run in runs])),
        ("Made", f"by {program}" + f" on {on_dates}" * bool(on_dates)),
        ("Command", "; ".join(f"`{command}`" for command in commands[:_MAX_COMMANDS]) + more),
    )
    return [(topic, text) for topic, text in topics if text]


def _clusters(settings: Sequence[Mapping[str, str]]) -> str:
    """Return the clusters of runs, each as a whole where they differ in more than one part."""
    parts = [[of.get(part, "") for of in settings] for part in _CLUSTER]
    if sum(len(set(of)) > 1 for of in parts) > 1:
        return joined(", ".join(filter(None, of)) for of in zip(*parts, strict=True))
    return ", ".join(filter(None, map(joined, parts)))


def comparison_notes(comparison: Comparison, competing: Contest, growing: Collection[int] = ()) -> list[str]:
    """Return the sentences below the comparison."""
    groups = comparison.groups
    summaries = [run.summary for group in groups for run in group.runs]
    overheads = [summary["comm_overhead"]["mean"] for summary in summaries]
    several, without = len(groups) > 1, _without_cpus(comparison)
    along, idle = along_note(comparison), idle_seeds(comparison)
    wanted = (
        *((note, True) for note in coverage_notes(summaries)),
        *((f"{note[0].upper()}{note[1:]}.", True) for note in stand_in_notes(summaries)),
        (f"{OVERLOADED_NOTE}.", bool(growing)),
        (f"{along.capitalize()}.", bool(along)),
        (f"{idle[:1].upper()}{idle[1:]}.", bool(idle)),
        (_LETTERS, any(group.letter for group in groups)),
        (_baseline_note(comparison, competing), several),
        (CODE_ALONE, CODE in comparison.keys),
        (_REPLICATES, any(len(group.runs) > 1 for group in groups)),
        (_SORTING.format(diff=", one on diff. by the difference"), several),
        (_TIMES, True),
        (_USED, True),
        (_OVERHEAD, any(overheads)),
        (_IN_USE, any("resources" in summary for summary in summaries)),
        (_INPUTS, any("relative_throughput" in summary for summary in summaries)),
        (_SHARES, any("shares" in summary for summary in summaries)),
        (_CONTENTION, any("contention" in summary for summary in summaries)),
        (_KINDS, any("kinds" in summary for summary in summaries)),
        (without, bool(without)),
    )
    return [note for note, holds in wanted if holds]


def _without_cpus(comparison: Comparison) -> str:
    """Return in which rows GPU jobs that need CPUs held none; empty if in none."""
    rows = []
    for group in comparison.groups:
        runs = [run.summary for run in group.runs if "relative_throughput" in run.summary]
        worst = max((run.get("kinds", {}).get("without_cpus", 0) for run in runs), default=0)
        rows += [f"{group.name} ({worst})"] * bool(worst)
    return _WITHOUT_CPUS.format(rows=", ".join(rows)) if rows else ""


def _baseline_note(comparison: Comparison, competing: Contest) -> str:
    rows = list(dict.fromkeys(competing.baseline))
    if len(rows) == 1:
        against = f"to {comparison.groups[rows[0]].name}"
    else:
        names = list(dict.fromkeys(competing.contenders[row] for row in rows))
        against = f"to {', '.join(names)} in the same scenario (rows that differ in nothing but the policy)"
    return (
        f"In blue: difference {against}, relative even for percentages; = where it is less than 1 s or 0.1 "
        "percentage points. The option --baseline of artist-report chooses another. Marked: the lowest of "
        "its scenario and what is level with it (within 1 %, or 1 s, or 0.1 percentage points); nothing "
        "where all are level."
    )


def member_notes(comparison: Comparison, count: int) -> list[str]:
    """Return the sentences below a table of users or virtual clusters, of which `count` are shown."""
    replicated = any(len(group.runs) > 1 for group in comparison.groups)
    return [_MEMBERS.format(count=count), *[_MEMBER_REPLICATES] * replicated]
