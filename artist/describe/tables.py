"""Descriptions as tables: aligned text, or CSV with one number per row."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from artist.describe.demand import DemandSeries
from artist.describe.statistics import UNNAMED, WEEKDAYS, Description, Share, Spread
from artist.tables.grid import Grid, clip, csv_text

_NAME_CHARS = 40
_MAX_MODELS = 12
_UNITS = ((172_800.0, 86_400.0, "d"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))
_NO_MODELS = "Models: none is named, so artist draws them by workload.models"
_COLUMNS = ("trace", "statistic", "of", "value")
_UNDATED = "* no dates: hours after the first arrival"
_OF = {"": "all", "vc": "virtual cluster", "gpus": "GPUs of a job"}
Row = tuple[str, str, str, object]


def description_text(descriptions: Sequence[Description]) -> str:
    """Return all tables of some workloads, one row each."""
    typed = [d for d in descriptions if d.types]
    asking = [d for d in descriptions if d.cpus is not None]
    parts = [
        _overview(descriptions),
        _titled("Jobs by GPUs, %", _sizes(descriptions, "of_jobs")),
        _titled("GPU time by GPUs, %", _sizes(descriptions, "of_gpu_time")),
        *([_titled("Jobs by GPU type", _types(typed))] if typed else []),
        *([_titled("CPUs asked", _cpus(asking))] if asking else []),
        _titled("Run time without waiting", _spreads(descriptions, [d.duration_s for d in descriptions])),
        _titled("Time between arrivals", _spreads(descriptions, [d.interarrival_s for d in descriptions])),
        _titled("Bursts, and likeness of a job to the next", _structures(descriptions)),
        _titled("Arrivals by hour of the day, % of the jobs", _hours(descriptions)),
    ]
    if any(d.first_date is not None for d in descriptions):
        parts.append(_titled("Arrivals by day of the week, % of the jobs", _weekdays(descriptions)))
    named = [d for d in descriptions if any(share.name != UNNAMED for share in d.models)]
    waited = [d for d in descriptions if d.waits is not None]
    parts += [_titled("Waits that users met", _waits(waited))] if waited else []
    parts.append(_titled("Models", _models(named)) if named else _NO_MODELS)
    return "\n\n".join(parts)


def _overview(descriptions: Sequence[Description]) -> str:
    cases = any(d.case for d in descriptions)
    heads = [
        *(("", "", head) for head in ("trace", *(["cluster"] if cases else []))),
        *(("", "", head) for head in ("jobs", "span", "users", "VCs")),
        *(("GPUs", "a job", head) for head in ("mean", "most")),
        ("", "", "GPU-hours"),
        ("", "cluster", "GPUs"),
        ("", "offered", "load"),
        ("", "machines", "needed"),
    ]
    rows = [
        (
            *[_name(d), *([d.case] if cases else [])],
            f"{d.jobs:,}",
            time_text(d.span_s),
            f"{d.users:,}" if d.users else "-",
            f"{d.vcs:,}" if d.vcs else "-",
            f"{d.mean_gpus:.2f}",
            f"{d.max_gpus:,}" + "!" * (d.max_gpus > d.cluster_gpus),
            f"{d.gpu_h:,.0f}" if d.gpu_h >= 100 else f"{d.gpu_h:.3g}",
            f"{d.cluster_gpus:,}",
            f"{d.load:.3f}" if math.isfinite(d.load) else "-",
            f"{d.machines_needed:,}" if d.machines_needed is not None else "-",
        )
        for d in descriptions
    ]
    targets = ", ".join(dict.fromkeys(f"{d.target_load:g}" for d in descriptions))
    notes = [f"machines needed: for a load of {targets}"]
    if any(d.sizes[0].jobs for d in descriptions):
        notes.append("GPUs per job: of the jobs that use GPUs")
    if any(d.max_gpus > d.cluster_gpus for d in descriptions):
        notes.append("! more than the cluster has: artist refuses such a job")
    if any(not d.span_s for d in descriptions):
        notes.append("- all jobs arrive at once: no span, no load")
    return Grid(tuple(heads), tuple(rows), 1 + cases, "\n".join(notes)).text().lstrip("\n")


def _sizes(descriptions: Sequence[Description], field: str) -> Grid:
    shown = [
        i for i, size in enumerate(descriptions[0].sizes) if i or any(d.sizes[0].jobs for d in descriptions)
    ]
    heads = ("trace", *(descriptions[0].sizes[i].name for i in shown))
    rows = [(_name(d), *(_percent(getattr(d.sizes[i], field)) for i in shown)) for d in descriptions]
    return _grid(heads, rows)


def _types(descriptions: Sequence[Description]) -> Grid:
    heads = (
        *(("", "", head) for head in ("trace", "GPU types", "jobs", "GPU-hours")),
        ("", "cluster", "GPUs"),
        ("", "offered", "load"),
    )
    rows = [
        (
            _name(d),
            clip(group.name, _NAME_CHARS),
            f"{group.jobs:,}",
            f"{group.gpu_h:,.0f}" if group.gpu_h >= 100 else f"{group.gpu_h:.3g}",
            f"{group.gpus:,}" + "!" * (not group.gpus),
            f"{group.load:.3f}" if math.isfinite(group.load) else "-",
        )
        for d in descriptions
        for group in d.types
    ]
    lacking = any(not group.gpus for d in descriptions for group in d.types)
    note = "! the cluster lacks these types: artist refuses such jobs (workload.gpu_types)" * lacking
    return Grid(heads, tuple(dict.fromkeys(rows)), 2, note)


def _cpus(descriptions: Sequence[Description]) -> Grid:
    heads = (
        ("", "", "trace"),
        ("", "CPU-only", "jobs"),
        ("GPU jobs", "that ask", "for none"),
        *(("CPUs", "of a", job_type) for job_type in ("GPU", "CPU-only job")),
        ("", "", "CPU-hours"),
        ("", "CPU", "load"),
    )
    rows = [
        (
            _name(d),
            *(f"{count:,}" for count in (asked.cpu_jobs, asked.silent_jobs)),
            *map(_figure, (asked.of_a_gpu, asked.of_a_cpu_job)),
            f"{asked.cpu_h:,.0f}" if asked.cpu_h >= 100 else f"{asked.cpu_h:.3g}",
            f"{asked.load:.3f}" if math.isfinite(asked.load) else "-",
        )
        for d in descriptions
        if (asked := d.cpus) is not None
    ]
    return Grid(heads, tuple(rows), 1)


def _spreads(descriptions: Sequence[Description], spreads: Sequence[Spread | None]) -> Grid:
    names = next((tuple(name for name, _ in spread.named()) for spread in spreads if spread), ())
    rows = [
        (_name(d), *([time_text(value) for _, value in spread.named()] if spread else ["-"] * len(names)))
        for d, spread in zip(descriptions, spreads, strict=True)
    ]
    return _grid(("trace", *names), rows)


def _waits(descriptions: Sequence[Description]) -> Grid:
    heads = (
        *(("", "", head) for head in ("trace", "of", "", "jobs", "mean", "median", "p90", "p99")),
        ("jobs, %", "waited", "> 10 min"),
        ("waiting", "jobs, %", "overtaken"),
        ("waiting", "time, %", "idle GPUs"),
    )
    rows = [
        (
            _name(d),
            _OF.get(group.by, group.by),
            clip(group.name, _NAME_CHARS),
            f"{group.jobs:,}",
            *(_time(group.waits_s[name]) for name in ("mean", "median", "p90", "p99")),
            _percent(group.waits_s["over_10min"] or 0.0),
            _percent(group.overtaken),
            _percent(group.idle_s[0] / group.idle_s[1]) if group.idle_s[1] else "-",
        )
        for d in descriptions
        if d.waits is not None
        for group in d.waits.groups
    ]
    named = _OF | {"": "the cluster"}
    pools = dict.fromkeys(named.get(d.waits.pool, d.waits.pool) for d in descriptions if d.waits is not None)
    note = (
        f"overtaken: a job submitted later to the same pool ({', '.join(pools)}) started before; none under "
        "strict FIFO\nidle GPUs: waiting while as many GPUs of the pool were idle as the job asks for (of "
        "those busy at once for 1 % of the time);\nlittle of it if jobs start wherever they fit, much if "
        "limits, priorities, reservations or whole machines held them"
    )
    return Grid(heads, tuple(dict.fromkeys(rows)), 3, note)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else time_text(seconds)


def _structures(descriptions: Sequence[Description]) -> Grid:
    heads = (
        ("", "", "trace"),
        *(("variance / mean", "of arrivals", period) for period in ("in an hour", "in a day")),
        ("", "correlation", "of hours"),
        *(("", "gaps:", statistic) for statistic in ("CV", "up to 1 s, %")),
        *(("correlation", "with the next", quantity) for quantity in ("in GPUs", "in run time")),
        ("correlation of", "busy hours", "and run time"),
        ("CV of", "GPU time", "in a day"),
    )
    rows = [
        (_name(d), *(_figure(value * (100 if name == "together" else 1)) for name, value in _named(d)))
        for d in descriptions
    ]
    return Grid(heads, tuple(dict.fromkeys(rows)), 1)


def _named(description: Description) -> list[tuple[str, float]]:
    return list(asdict(description.structure).items())


def _figure(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _hours(descriptions: Sequence[Description]) -> Grid:
    rows = [
        (_name(d) + " *" * (d.first_date is None), *(f"{100 * share:.1f}" for share in d.by_hour))
        for d in descriptions
    ]
    note = _UNDATED if any(d.first_date is None for d in descriptions) else ""
    return _grid(("trace", *(str(hour) for hour in range(24))), rows, note)


def _weekdays(descriptions: Sequence[Description]) -> Grid:
    rows = [
        (_name(d), *((_percent(share) for share in d.by_weekday) if d.by_weekday else ["-"] * 7))
        for d in descriptions
    ]
    return _grid(("trace", *WEEKDAYS), rows)


def _models(descriptions: Sequence[Description]) -> Grid:
    rows = []
    for d in descriptions:
        shown = [*d.models[:_MAX_MODELS], *_rest(d.models[_MAX_MODELS:])]
        rows += [
            (_name(d), share.name, f"{share.jobs:,}", _percent(share.of_jobs), _percent(share.of_gpu_time))
            for share in shown
        ]
    heads = (("", "", "trace"), ("", "", "model"), ("", "", "jobs"), ("", "jobs", "%"), ("GPU", "time", "%"))
    return Grid(heads, tuple(dict.fromkeys(rows)), 2)


def _rest(shares: Sequence[Share]) -> list[Share]:
    if not shares:
        return []
    of_jobs, of_time = sum(s.of_jobs for s in shares), sum(s.of_gpu_time for s in shares)
    return [Share(f"({len(shares)} more)", sum(s.jobs for s in shares), of_jobs, of_time)]


def description_csv(descriptions: Sequence[Description]) -> str:
    """Return every number as CSV with the columns trace, statistic, of, value."""
    return csv_text([_COLUMNS, *((_full(d), *row) for d in descriptions for row in _numbers(d))])


def _numbers(d: Description) -> Iterator[tuple[str, str, object]]:
    yield "jobs", "", d.jobs
    yield "span_s", "", d.span_s
    yield "users", "", d.users
    yield "vcs", "", d.vcs
    yield "gpus", "mean", d.mean_gpus
    yield "gpus", "max", d.max_gpus
    yield "gpu_hours", "", d.gpu_h
    for name, value in asdict(d.cpus).items() if d.cpus is not None else ():
        yield "cpus_asked", name, value if math.isfinite(value) else ""
    yield from _type_numbers(d)
    yield "cluster_gpus", "", d.cluster_gpus
    yield "cluster_machines", "", d.machines
    yield "offered_load", "", d.load if math.isfinite(d.load) else ""
    yield "machines_for_load", f"{d.target_load:g}", "" if d.machines_needed is None else d.machines_needed
    yield "first_date", "", "" if d.first_date is None else str(d.first_date)
    for group, shares in (("gpus", d.sizes), ("model", d.models)):
        for share in shares:
            yield f"jobs_by_{group}", share.name, share.jobs
            yield f"share_of_jobs_by_{group}", share.name, share.of_jobs
            yield f"share_of_gpu_time_by_{group}", share.name, share.of_gpu_time
    for field, spread in (("duration_s", d.duration_s), ("interarrival_s", d.interarrival_s)):
        for name, value in spread.named() if spread else ():
            yield field, name, value
    yield from _wait_numbers(d)
    for name, value in _named(d):
        yield "time_structure", name, value if math.isfinite(value) else ""
    for hour, fraction in enumerate(d.by_hour):
        yield (
            "arrivals_by_hour" if d.first_date is not None else "arrivals_by_hour_after_first",
            str(hour),
            fraction,
        )
    for hour, fraction in enumerate(d.by_hour_of_week):
        yield "arrivals_by_hour_of_week", f"{WEEKDAYS[hour // 24]} {hour % 24}", fraction
    if d.over_time is not None:
        series = d.over_time
        for start_s, arriving, in_use in zip(
            series.edges_s[:-1], series.arriving, series.in_use, strict=True
        ):
            yield "load_arriving_from_s", f"{start_s:g}", float(arriving)
            yield "load_in_use_from_s", f"{start_s:g}", float(in_use)


def _wait_numbers(d: Description) -> Iterator[tuple[str, str, object]]:
    for group in d.waits.groups if d.waits is not None else ():
        of = f"{group.by} {group.name}".strip() or "all"
        yield "wait_jobs", of, group.jobs
        for name, value in group.waits_s.items():
            yield f"wait_{name}", of, "" if value is None else value
        yield "wait_overtaken", of, group.overtaken
        yield "wait_with_idle_gpus_min", of, group.idle_s[0] / 60
        yield "wait_min", of, group.idle_s[1] / 60


def _type_numbers(d: Description) -> Iterator[tuple[str, str, object]]:
    for group in d.types:
        yield "jobs_by_gpu_types", group.name, group.jobs
        yield "gpu_hours_by_gpu_types", group.name, group.gpu_h
        yield "cluster_gpus_by_gpu_types", group.name, group.gpus
        yield "offered_load_by_gpu_types", group.name, group.load if math.isfinite(group.load) else ""


def demand_text(series: Sequence[DemandSeries]) -> str:
    """Return the tables of some demand series, one row each."""
    heads = (
        *(("", "", head) for head in ("series", "step", "span")),
        *(("", "GPUs", head) for head in ("mean", "peak", "trough")),
        ("", "peak /", "mean"),
        ("", "", "peak at"),
        ("", "busiest", "hour"),
        ("", "quietest", "hour"),
    )
    rows = []
    for demand in series:
        hours = demand.by_hour()
        rows.append(
            (
                clip(demand.name, _NAME_CHARS) + " *" * (demand.date is None),
                time_text(demand.step_s),
                time_text(demand.step_s * len(demand.gpus)),
                *(_gpus(value) for value in (demand.gpus.mean(), demand.gpus.max(), demand.gpus.min())),
                _ratio(demand),
                _moment(demand, int(np.argmax(demand.gpus))),
                str(int(np.nanargmax(hours))),
                str(int(np.nanargmin(hours))),
            )
        )
    note = "* no dates: hours from the start of the trace" if any(e.date is None for e in series) else ""
    hourly = [
        (clip(demand.name, _NAME_CHARS) + " *" * (demand.date is None), *map(_gpus, demand.by_hour()))
        for demand in series
    ]
    table = _grid(("series", *(str(hour) for hour in range(24))), hourly, note)
    return Grid(heads, tuple(rows), 1).text() + "\n\n" + _titled("Mean GPUs by hour of the day", table)


def demand_csv(series: Sequence[DemandSeries]) -> str:
    """Return the statistics and every step as CSV with the columns trace, statistic, of, value."""
    rows: list[Row] = []
    for demand in series:
        figures = {"mean": demand.gpus.mean(), "peak": demand.gpus.max(), "trough": demand.gpus.min()}
        rows += [(demand.name, "step_s", "", demand.step_s), (demand.name, "steps", "", len(demand.gpus))]
        rows += [(demand.name, "gpus", name, float(value)) for name, value in figures.items()]
        rows += [(demand.name, "gpus_by_hour", str(h), float(v)) for h, v in enumerate(demand.by_hour())]
        rows += [
            (demand.name, "gpus_from_s", f"{time_s:g}", float(gpus))
            for time_s, gpus in zip(demand.times_s, demand.gpus, strict=True)
        ]
    return csv_text([_COLUMNS, *rows])


def _ratio(series: DemandSeries) -> str:
    mean = float(series.gpus.mean())
    return f"{series.gpus.max() / mean:.2f}" if mean else "-"


def _moment(series: DemandSeries, step: int) -> str:
    time_s = float(series.times_s[step])
    if series.date is not None:
        return (series.date + pd.Timedelta(seconds=time_s)).strftime("%Y-%m-%d %H:%M")
    return f"day {int(time_s // 86_400)}, {int(time_s % 86_400 // 3600):02d}:{int(time_s % 3600 // 60):02d}"


def _gpus(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time_text(time_s: float) -> str:
    """Return a time in its usual unit."""
    scale, unit = next((scale, unit) for least, scale, unit in _UNITS if time_s >= least)
    value = time_s / scale
    digits = 0 if value >= 100 or value == round(value) else 1 if value >= 10 or unit != "s" else 2
    return f"{value:,.{digits}f} {unit}"


def _full(description: Description) -> str:
    return ", ".join(filter(None, (description.name, description.case)))


def _name(description: Description) -> str:
    return clip(description.name, _NAME_CHARS)


def _percent(fraction: float) -> str:
    percent = 100 * fraction
    return "0" if percent == 0 else "<0.1" if percent < 0.05 else f"{percent:.1f}"


def _grid(heads: Sequence[str], rows: Sequence[tuple[str, ...]], note: str = "") -> Grid:
    return Grid(tuple(("", "", head) for head in heads), tuple(dict.fromkeys(rows)), 1, note)


def _titled(title: str, grid: Grid) -> str:
    return f"{title}\n{grid.text().lstrip(chr(10))}"
