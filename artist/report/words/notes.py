"""Sentences around the tables of a report: the subject of the comparison, and notes on reading it. Pure."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from artist.report.words.gpus import machine_types
from artist.report.words.setting import joined
from artist.results.compare import CODE, POLICY, Comparison, along_note, idle_seeds
from artist.results.coverage import OVERLOADED_NOTE, coverage_notes, window_sizes
from artist.results.names import spoken
from artist.results.scenarios import Contest
from artist.results.seen import have_seen
from artist.results.stand_ins import stand_in_notes

_TIMES = (
    "Completion times (JCT) and waits are those of finished jobs. p95: 95 % of the jobs need at "
    "most this long."
)
_USED = (
    "GPUs used: the part of all GPU time, over the whole run, in which GPUs compute. A few long "
    "jobs at the end lower it."
)
_OVERHEAD = (
    "Comm. overhead: communication that computing does not hide, divided by computing time; the "
    "mean over jobs, short and long ones alike. By GPU time: the same ratio of sums in which each "
    "job counts by its GPUs, so wide and long jobs count most."
)
_JCT = "JCT: the time from a job's submission to its finish."
MORE_COLUMNS = (
    "Mean > p95: the mean JCT of the slowest 5 % of the jobs. GPUs held: the part of all GPU time "
    "in which a job holds the GPU, computing or not."
)
_IN_USE = (
    "In use: the part of all GPU time in which the job on the GPU uses storage, CPU, GPU or "
    "network. Blocking index: the time that a job has waited, divided by the time that the rest "
    "of it takes if it runs alone; the mean over waiting jobs and over time."
)
_INPUTS = (
    "Throughput of compute: computing / (computing + waiting for input), the mean over jobs that "
    "ran; 1 if GPUs never wait for input. JCT short: the mean over jobs that need less than four "
    "hours if they run alone and never wait. JCT long: the mean over all others."
)
_SHARES = (
    "CPUs and memory, held and used: parts of all that the cluster has, over the whole run. Used "
    "CPUs are those that prepare input at the speed at which the jobs run; used memory is that of "
    "processes and caches."
)
_CONTENTION = (
    "Slowed by contention: the time for which a job runs, divided by the time for which it would "
    "run if no other job used its links; the mean over jobs that ran."
)
LINKS = (
    "Links are the ports of machines and the uplinks of racks. A link is contended while its jobs "
    "would overload it if all of them sent at full speed at once; listed are the part of the run "
    "for which it is, and the part of its capacity that is in use over the whole run. Several "
    "seeds are averaged."
)
_KINDS = (
    "GPU jobs and CPU jobs: finished jobs with and without GPUs, by how long they waited in all. "
    "GPUs held in queues and GPUs starved: parts of all GPUs, while a GPU job waits; a starved "
    "GPU is idle because its machine lacks the CPUs that a waiting GPU job needs. Held GPUs used: "
    "the part of held GPUs that compute. CPUs and memory bandwidth: parts of what the cluster "
    "has. All of these cover the time in which jobs arrive."
)
_SORTING = (
    "Click a heading to sort by it{diff}. The address of the page keeps sorting and filter, so a "
    "link or a bookmark shows the same view."
)
_REPLICATES = (
    "A row with several runs, equal but for the seed, has their mean ± half the width of its 95 % "
    "interval (Student's t), if there are three runs or more; table.csv has both ends, seeds.csv "
    "the numbers of each seed. Policies are compared seed by seed, by the ratio of their mean "
    "JCTs, so one can be ahead for certain although the intervals of the two means overlap."
)
_LETTERS = "In the figures, rows are named by these letters."
CODE_ALONE = (
    "Some rows differ in nothing but code: the program, a module of yours or an input file "
    "changed between them."
)
SEEN_NOTE = (
    "Seen: the wait on the site, from submission to start. Simulated: all the time that the same "
    "jobs wait in the run; in the columns of waiting jobs by hour, only the time until their "
    "first start. Jobs that were running already when the trace begins are placed at once and not "
    "counted. Of several seeds, the first is shown. Seeds change only what is drawn, such as the "
    "model of a job that names none; they do not measure how sure the comparison with the site "
    "is, so means have no intervals."
)
PROFILING = (
    "How many numbers of CPUs a policy tried for a job until it kept one, of jobs that ran for "
    "long enough; seeds are pooled. CODA starts with the number that earlier jobs of the same "
    "owner and kind kept, so a job may start far from its best number and take more steps than "
    "the 3 or 4 of Table II in the paper. CPUs per GPU: asked for, and held in the end; medians "
    "over all finished jobs of the model."
)
CAUSES = (
    "Failures of machines during the run, and the jobs that they stopped; means over seeds. "
    "Machines that only became slow are not counted."
)
JOB_SIZES = (
    "By the GPUs that jobs ask for; all jobs first. JCT is over finished jobs. MTTF (mean time to "
    "failure): the time for which jobs hold GPUs, divided by the number of failures that stopped "
    "one. Effective: the part of this time that was useful work. More failures can lower the mean "
    "JCT of all jobs: while a large job that a failure stopped waits for machines, many small "
    "ones pass it. Seeds are pooled; jobs and stops are means over them."
)
FAIRNESS_NOTE = (
    "Of finished GPU jobs; several seeds are averaged. Slowdown: completion time / ideal time, "
    "which a job takes without waiting, communication and interference. Bounded slowdown: the "
    "same with at least 10 s of ideal time, so that very short jobs do not rule the mean, and at "
    "least 1. Jain's index: how equal the mean bounded slowdowns of users are, from 1 / (number "
    "of users) if one has all of it to 1 if all have the same. Finish-time fairness: completion "
    "time / (ideal time x contention), where contention is the number of GPUs that unfinished "
    "jobs ask for / all GPUs, the mean over the job's life and at least 1. A job above 1 got less "
    "than its share."
)
COST_NOTE = (
    "All GPUs of the cluster count: the causes add up to the first line, the users to the GPU "
    "time that jobs hold. A GPU draws its busy power while a job holds it, else its idle power "
    "(also as a spare or in repair), and its part of its host's; the sum is multiplied by the "
    "PUE. Means over seeds."
)
_MEMBER_REPLICATES = "Seeds are pooled; jobs and GPU-hours are means over them."
_MAX_VALUES, _MAX_CHARS = 8, 90
_MAX_COMMANDS = 3
_CLUSTER = ("topology", "machines", "GPUs")  # parts of its sentences
_MEMBERS = (
    "The {count} with the most GPU time, summed over all rows of the comparison. JCT and queueing "
    "are those of their finished jobs."
)
_WITHOUT_CPUS = (
    "GPU jobs that held no CPUs for a time, because CPU jobs had them all, and ran at a hundredth "
    "of their speed meanwhile: {rows}; of several runs, the largest number."
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
        if key == POLICY and len(values) > 1 and shown[0] != values[0]:
            varied.append(f"{len(values)} policies")
        elif len(values) > 1 or len(comparison.keys) == 1:
            varied.append(spoken(key, shown))
    return f": {'; '.join(varied)}. {_JCT}"


FOOTER = "This page works without a network, as long as its folder stays beside those of its runs."


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
        (_SORTING.format(diff=", or diff. to sort by the difference"), several),
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
        against = f"from the row \u201c{comparison.groups[rows[0]].name}\u201d"
    else:
        names = list(dict.fromkeys(competing.contenders[row] for row in rows))
        alike = "in the same scenario (rows that differ in nothing but the policy)"
        against = f"from \u201c{', '.join(names)}\u201d {alike}"
    return (
        f"In blue: the relative change {against}; of a column in %, it is a part of the percentage, too. The "
        "sign = stands for less than 1 s or 0.1 percentage points. `artist-report --baseline` names another "
        "row. Green and underlined: the lowest value of each scenario and those level with it (within 1 %, "
        "1 s or 0.1 percentage points); none where all are level."
    )


def member_notes(comparison: Comparison, count: int) -> list[str]:
    """Return the sentences below a table of users or virtual clusters, of which `count` are shown."""
    replicated = any(len(group.runs) > 1 for group in comparison.groups)
    return [_MEMBERS.format(count=count), *[_MEMBER_REPLICATES] * replicated]
