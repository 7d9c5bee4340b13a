"""Fit traces/generator_*.yaml, which synthetic workloads draw from, to the traces in ../shared.

    python scripts/evaluation/fit_generator.py --traces ../shared/traces --out traces

Reads the recovered Venus and Philly files, and job files of the programs of Dally and Muri, and writes, for
each, the probability of every GPU count, duration quantiles by size class, and relative rates of arrivals by
hour and weekday; and the series in which jobs arrive (fit_series.py). The periods of Venus and Philly are
those of the published fits (distributions.json), so that the two can be compared; series are fitted to a part
of them. Hours of the other files mean nothing, so all are alike.

Of the Dally files GPU-seconds are fitted by model, those of the small and of the large models together, since
the model says more of them than the GPUs do: computing only, n iterations of one GPU done by n GPUs at once,
as their program does it.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from fit_series import fit_series

from artist.tables.rows import Table
from artist.workload.api import JobSource
from artist.workload.readers.acme import AcmeTrace
from artist.workload.readers.artist_json import ArtistJson
from artist.workload.readers.helios import HeliosTrace
from artist.workload.readers.muri import MuriCsv
from artist.workload.readers.philly import PhillyTrace
from artist.workload.synthetic import GeneratorTable

QUANTILES = (
    *(0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6),
    *(0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 1.0),
)
MIN_SHARE = 0.0005  # rarer GPU counts are left out: a handful of jobs
SMALL_MODELS = ("AlexNet", "ResNet18", "VGG11")  # of the Dally files: jobs of 2 to 3 GPU-hours
FEW_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Fit:
    """One trace.

    Attributes
    ----------
    reader
        Of its files.
    since
        The first date that counts; None if it has no dates.
    about
        Description, licence and citation.
    by_model
        Whether GPU-seconds are fitted by model; else durations by size class.
    series_from
        The months to which series are fitted, or `whole`; empty for none: independent jobs.
    sizes
        Bounds of the size classes; the last that has jobs is written as null: any number.
    """

    name: str
    reader: Callable[..., JobSource]
    files: tuple[str, ...]
    since: str | None
    about: dict[str, str]
    by_model: bool = False
    series_from: tuple[str, ...] = ()
    sizes: tuple[int, ...] = (1, 4, 8, 16, 32, 1_000_000)


FITS = (
    Fit(
        "helios_venus",
        HeliosTrace,
        (
            "helios-venus/venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz",
            "helios-venus/venus_gpu_jobs_2020-09-01_2020-09-13.csv.gz",
        ),
        "2020-04-01",
        {
            "trace": "Helios, cluster Venus (SenseTime), GPU jobs, 2020-04-01 to 07-31 and 09-01 to 09-13",
            "licence": "CC-BY-4.0, S-Lab-System-Group/HeliosData",
            "cite": "Hu et al., Characterization and Prediction of Deep Learning Workloads in Large-Scale "
            "GPU Datacenters, SC'21, doi 10.1145/3458817.3476223",
            "note": "durations are clamped at 172800 s (48 h), 1.8 % of the jobs; hours are local time",
        },
        series_from=("2020-04", "2020-05"),
    ),
    Fit(
        "philly",
        PhillyTrace,
        ("philly/philly_pass_jobs.pollux-schema.csv.gz",),
        "2017-09-20",
        {
            "trace": "Philly (Microsoft), jobs that passed, 2017-09-20 to 2017-12-22",
            "licence": "CC-BY-4.0, msr-fiddle/philly-traces",
            "cite": "Jeon et al., Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training "
            "Workloads, ATC'19",
            "note": "duration is the sum of the attempts; the time zone of the hours is not known",
        },
        series_from=("2017-10",),
    ),
    *(
        Fit(
            f"dally_{name}",
            partial(ArtistJson, work="per_gpu"),
            (f"artist-sim/{file}.json.gz",),
            None,
            {
                "trace": f"{title}, {file}.json: jobs of Helios Venus",
                "licence": "distributions only; the jobs derive from Helios Venus, CC-BY-4.0",
                "cite": "the Dally paper, section 5.1.1",
                "note": "durations are computing only, n iterations of one GPU in one iteration of n GPUs",
            },
            by_model=True,
        )
        for name, title, file in (
            ("batch", "The batch of the Dally authors", "sense_500jobs_0start0arrival-withBert"),
            ("poisson", "The Poisson arrivals of the Dally authors", "sense_500jobs_poisson_1proc-week"),
        )
    ),
    Fit(
        "muri",
        MuriCsv,
        ("tiresias-muri/muri_trace3.csv",),
        None,
        {
            "trace": "Trace 3 of Muri: a virtual cluster of Philly",
            "licence": "Apache-2.0, Rivendile/Muri @4e69a78; CC-BY-4.0, msr-fiddle/philly-traces",
            "cite": "Zhao et al., Multi-Resource Interleaving for Deep Learning Training, "
            "SIGCOMM'22, section 6.1",
            "note": "models were drawn there, and are drawn here, from eight, whatever the GPUs",
        },
        series_from=("whole",),
    ),
    Fit(
        "acme_kalos",
        AcmeTrace,
        ("acme/kalos_gpu_jobs_first500.csv",),
        None,
        {
            "trace": "Acme, cluster Kalos (Shanghai AI Laboratory), 500 GPU jobs, 2023-05-17 to 06-04",
            "licence": "CC-BY-4.0, InternLM/AcmeTrace",
            "cite": "Hu et al., Characterization of Large Language Model Development in the Datacenter, "
            "NSDI'24",
            "note": "all final states; 28.9 GPUs per job (six months: 26.8); hours of so few jobs are alike",
        },
        sizes=(1, 4, 8, 32, 128, 1_000_000),
    ),
)


def main() -> None:
    """Fit all traces."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, required=True, help="folder of the traces, as named in FITS")
    parser.add_argument("--out", type=Path, default=Path("traces"), help="folder for generator_*.yaml")
    parser.add_argument("--only", help="the name of one trace, such as philly")
    arguments = parser.parse_args()
    for fit in (fit for fit in FITS if arguments.only in (None, fit.name)):
        jobs = read_jobs(arguments.traces, fit)
        path = arguments.out / f"generator_{fit.name}.yaml"
        path.write_text(as_yaml(fit, jobs), encoding="utf-8")
        print(f"{path}: {len(jobs)} jobs")


def read_jobs(folder: Path, fit: Fit) -> pd.DataFrame:
    """Return the jobs of a trace, all its files together, since the first date that counts."""
    jobs = pd.concat([Table.of(fit.reader(path=folder / file).table()).frame() for file in fit.files])
    if fit.since is None:
        work_s = jobs["iterations"].astype(float) * jobs["compute_s"].astype(float)
        return jobs.assign(duration_s=work_s.fillna(jobs["duration_s"].astype(float)))
    return jobs[jobs["submit_date"] >= fit.since]


def as_yaml(fit: Fit, jobs: pd.DataFrame) -> str:
    """Return the text of the generator's file."""
    if fit.since is None:
        days = max(float(jobs["submit_s"].max()) / 86_400, 1.0)
        hours, weekdays = [1.0] * 24, [1.0] * 7
    else:
        days = jobs["submit_date"].dt.normalize().nunique()
        hours = relative(jobs["submit_date"].dt.hour, pd.Series(range(24)))
        weekdays = weekday_rate(jobs)
    body: dict[str, object] = {
        "source": source_of(fit, jobs),
        "jobs_per_day": round(len(jobs) / days, 1),
        "gpu_probability": gpu_probability(jobs),
        **(by_model(jobs) if fit.by_model else by_size(jobs, fit.sizes)),
        "hour_rate": hours,
        "weekday_rate": weekdays,
    }
    if fit.series_from:
        body["series"] = series(GeneratorTable.model_validate(body), fit, jobs)
    source = yaml.safe_dump({"source": body.pop("source")}, sort_keys=False, width=105)
    return source + yaml.safe_dump(body, sort_keys=False, width=105, default_flow_style=None)


def source_of(fit: Fit, jobs: pd.DataFrame) -> dict[str, str | int]:
    """Return the source of a table: description, licence, citation, jobs."""
    series = {"series_from": ", ".join(fit.series_from)} if fit.series_from else {}
    return {**fit.about, **series, "jobs": len(jobs), "made_by": "scripts/evaluation/fit_generator.py"}


def series(known: GeneratorTable, fit: Fit, jobs: pd.DataFrame) -> dict[str, float]:
    """Return the parameters of the series in which jobs arrive."""
    windows = [jobs] if fit.since is None else [month(jobs, name) for name in fit.series_from]
    days = sum(float(window["submit_s"].max()) for window in windows) / len(windows) / 86_400
    return fit_series(known, windows, days)


def month(jobs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the jobs of a month such as 2020-04, the first at 0 s."""
    part: pd.DataFrame = jobs[jobs["submit_date"].dt.strftime("%Y-%m") == name]
    return part.assign(submit_s=(part["submit_date"] - part["submit_date"].min()).dt.total_seconds())


def gpu_probability(jobs: pd.DataFrame) -> dict[int, float]:
    """Return the share of each GPU count that is not too rare."""
    share = jobs["gpus"].value_counts(normalize=True).sort_index()
    return {int(g): round(float(p), 6) for g, p in share.items() if p >= MIN_SHARE}  # type: ignore[call-overload]


def by_model(jobs: pd.DataFrame) -> dict[str, object]:
    """Return quantiles of GPU-seconds by model, and the number of jobs of each model by GPUs."""
    gpu_s, small = jobs["duration_s"] * jobs["gpus"], jobs["model"].isin(SMALL_MODELS)
    models: list[dict[str, object]] = []
    for name, group in jobs.groupby("model")["gpus"]:
        alike = gpu_s[small == (name in SMALL_MODELS)]
        share = {int(g): int(n) for g, n in group.value_counts().sort_index().items()}  # type: ignore[call-overload]
        seconds = np.quantile(alike, FEW_QUANTILES).round(-2).tolist()
        models.append({"model": str(name), "share": share, "gpu_seconds": seconds})
    return {"quantiles": list(FEW_QUANTILES), "models": models}


def by_size(jobs: pd.DataFrame, sizes: tuple[int, ...]) -> dict[str, object]:
    """Return quantiles of the duration by size class."""
    return {"quantiles": list(QUANTILES), "size_classes": size_classes(jobs, sizes)}


def size_classes(jobs: pd.DataFrame, sizes: tuple[int, ...]) -> list[dict[str, object]]:
    """Return the duration quantiles of each size class."""
    classes: list[dict[str, object]] = []
    above = 0
    for most in sizes:
        inside = jobs[(jobs["gpus"] > above) & (jobs["gpus"] <= most)]
        if len(inside):
            seconds = np.quantile(inside["duration_s"], QUANTILES).round(1).tolist()
            classes.append({"max_gpus": most, "jobs": len(inside), "duration_s": seconds})
        above = most
    return [*classes[:-1], {**classes[-1], "max_gpus": None}]


def relative(labels: pd.Series, possible: pd.Series) -> list[float]:
    """Return the frequency of each possible label, relative to the mean."""
    counts = labels.value_counts().reindex(possible, fill_value=0)
    return [round(float(c), 3) for c in counts / counts.mean()]


def weekday_rate(jobs: pd.DataFrame) -> list[float]:
    """Return jobs per day on each day of the week from Monday, relative to the mean."""
    per_day = jobs.groupby(jobs["submit_date"].dt.normalize()).size()
    by_weekday = per_day.groupby(pd.DatetimeIndex(per_day.index).day_of_week).mean()
    return [round(float(r), 3) for r in by_weekday / by_weekday.mean()]


if __name__ == "__main__":
    main()
