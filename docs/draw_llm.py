"""Print the tables of docs/language_models.md, and draw their figures beside this file.

    python docs/draw_llm.py [runs/sweeps/llm_units ...]
    python docs/draw_llm.py runs/sweeps/llm_align ...

Steps of three jobs on placements, relative to packed ones, as `artist-network` prints them, after its
commands; then the mean JCT of the experiment `llm_units`, paired by seed, with 95 % intervals (Student's t).
From folders of `llm_align` the mean JCT with and without alignment instead, and its own figure.
"""

import contextlib
import csv
import io
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import pandas as pd

import artist
from artist.pricing.command import main
from artist.results.interval import interval_95
from artist.results.run import Run

PICTURE = Path(__file__).with_name("llm.svg")
ALIGNED = Path(__file__).with_name("llm_align.svg")
CLUSTER = 1024  # GPUs
JOBS = (
    ("Llama3-8B", "fsdp mb2 gb128 seq8192", 64),
    ("Llama3-70B", "tp8 pp4 gb256 seq8192 zero1", 256),
    ("Qwen3-235B-A22B", "tp2 pp8 ep32 vp4 zero1 gb4096", 512),
)
FABRICS = (  # name, topology, oversubscription of racks, machines per rack, GPUs per machine
    ("rails 1:1", "h100_rails", 1, 32, 8),
    ("rails 2:1", "h100_rails", 2, 32, 8),
    ("rails 4:1", "h100_rails", 4, 32, 8),
    ("NVL72", "gb200_nvl72", 1, 16, 4),
)
BAD = "round_robin"


def pieces(gpus: int, size: int, rack: int) -> str:
    """Return a placement on pieces of machines of `size` GPUs, `rack` machines in each rack."""
    machines = gpus // size
    return " | ".join(f"{min(rack, machines - first)}x{size}" for first in range(0, machines, rack))


def at_random(gpus: int, rack: int, size: int) -> str:
    """Return a placement on GPUs of a cluster of 1,024, drawn at random."""
    drawn = random.Random(0).sample(range(CLUSTER), gpus)
    machines = sorted(Counter(gpu // size for gpu in drawn).items())
    racks: dict[int, list[str]] = {}
    for machine, count in machines:
        racks.setdefault(machine // rack, []).append(str(count))
    return " | ".join("+".join(counts) for counts in racks.values())


def steps(settings: list[str], shapes: list[str], folder: str) -> list[float]:
    """Return the steps of a plan on placements, in s, as `artist-network` writes them."""
    command = [*settings, "shape=[" + ",".join(f"'{shape}'" for shape in shapes) + "]"]
    print("artist-network", *(f'"{word}"' for word in command))
    file = Path(folder) / "steps.csv"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if main([*command, f"csv={file}"]):
            raise SystemExit(1)
    with file.open(encoding="utf-8") as lines:
        return [int(row["exposed_ns"]) / 1e9 for row in csv.DictReader(lines) if row["role"] == "step"]


def placements() -> dict[tuple[str, str], dict[str, float]]:
    """Return the steps of each job and fabric by placement, in s."""
    answer = {}
    with TemporaryDirectory() as folder:
        for model, plan, gpus in JOBS:
            for name, topology, over, rack, size in FABRICS:
                settings = [f"model={model}", f"plan={plan}", f"topology={topology}"]
                settings.append(f"topology.oversubscription.rack={over}")
                cut = {f"pieces of {piece}": pieces(gpus, piece, rack) for piece in (4, 2, 1) if piece < size}
                shapes = {"packed": pieces(gpus, size, rack), "random": at_random(gpus, rack, size), **cut}
                good = steps(settings, list(shapes.values()), folder)
                bad = steps([*settings, f"mapping={BAD}"], list(shapes.values())[:2], folder)
                ours = dict(zip(shapes, good, strict=True))
                answer[model, name] = {**ours, "packed, bad mapping": bad[0], "random, bad mapping": bad[1]}
    return answer


COLUMNS = (
    "packed, bad mapping",
    "random",
    "random, bad mapping",
    "pieces of 4",
    "pieces of 2",
    "pieces of 1",
)


def print_placements(times: dict[tuple[str, str], dict[str, float]]) -> None:
    """Print the steps relative to packed placements."""
    print("\n| job | fabric | packed, s |", " | ".join(COLUMNS), "|\n|---|---|---|" + "---|" * len(COLUMNS))
    for (model, name), of in times.items():
        cells = [f"{of[column] / of['packed']:.2f}" if column in of else "" for column in COLUMNS]
        print(f"| {model} | {name} | {of['packed']:.2f} |", " | ".join(cells), "|")


def months(runs: list[Run]) -> pd.DataFrame:
    """Return the mean JCT in h and the share of exposed communication in %, by policy, seed and unit."""
    rows = []
    for run in runs:
        row = {"policy": run.summary["policy"], "seed": run.summary["seed"]}
        row["unit"] = "pieces" if run.config["workload"]["unit"] == 1 else "units"
        row["jct"] = run.summary["jct_s"]["mean"] / 3600
        rows.append({**row, "exposed": 100 * run.summary["comm_overhead"]["by_gpu_time"]})
    return pd.DataFrame(rows).set_index(["policy", "seed", "unit"]).unstack("unit")


def gains(frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the mean of the paired differences of pieces from units, in %, and half its interval."""
    return {
        str(policy): paired(of["jct", "pieces"] / of["jct", "units"])
        for policy, of in frame.groupby("policy", sort=False)
    }


def paired(ratios: pd.Series) -> tuple[float, float]:
    """Return the mean difference of ratios of seeds from 1, in %, and half its interval."""
    changes = (100 * (ratios - 1)).tolist()
    low, high = interval_95(changes) or (float("nan"), float("nan"))
    return sum(changes) / len(changes), (high - low) / 2


def aligned(runs: list[Run]) -> pd.DataFrame:
    """Return the mean JCT in h and the exposed communication in %, by fabric, policy and contention."""
    rows = []
    for run in runs:
        row = {"fabric": run.config["topology"]["name"], "policy": run.summary["policy"]}
        row |= {"contention": run.config["performance"]["contention"], "seed": run.summary["seed"]}
        row["align"] = "aligned" if str(run.config["variant"]).endswith("aligned") else "as placed"
        row["jct"] = run.summary["jct_s"]["mean"] / 3600
        rows.append({**row, "exposed": 100 * run.summary["comm_overhead"]["by_gpu_time"]})
    keys = ["fabric", "policy", "contention", "seed", "align"]
    return pd.DataFrame(rows).set_index(keys).unstack("align")


def print_aligned(frame: pd.DataFrame) -> None:
    """Print means over the seeds by fabric, policy and contention."""
    print("\n| fabric | policy | contention | JCT, h | aligned | change, % | exposed, % | aligned |")
    print("|---|---|---|---|---|---|---|---|")
    for (fabric, policy, contention), of in frame.groupby(["fabric", "policy", "contention"]):
        change = "{:+.1f} ± {:.1f}".format(*paired(of["jct", "aligned"] / of["jct", "as placed"]))
        jct, exposed = (
            [f"{of[value, align].mean():.1f}" for align in ("as placed", "aligned")]
            for value in ("jct", "exposed")
        )
        print(f"| {fabric} | `{policy}` | {contention} |", " | ".join([*jct, change, *exposed]), "|")
    print("\n| policy | longer with contention, % | aligned |\n|---|---|---|")
    for policy, of in frame["jct"].groupby("policy"):
        alone, together = (of.xs(contention, level="contention") for contention in ("none", "mean_field"))
        both = [paired((together / alone)[align].dropna()) for align in ("as placed", "aligned")]
        print(f"| `{policy}` |", " | ".join("{:+.1f} ± {:.1f}".format(*one) for one in both), "|")


def draw_aligned(frame: pd.DataFrame) -> None:
    """Draw the change of the mean JCT by alignment, by fabric, policy and contention."""
    plt.rcParams.update({"svg.hashsalt": "llm", "font.size": 9})
    fabrics = list(frame.index.unique("fabric"))
    figure, panels = plt.subplots(
        1,
        len(fabrics),
        figsize=(3 + 3.6 * len(fabrics), 2.4),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for axes, fabric in zip(panels[0], fabrics, strict=True):
        at = frame.loc[fabric]
        policies = list(at.index.unique("policy"))
        for shift, (contention, of_all) in enumerate(at.groupby("contention", sort=False)):
            of_policy = dict(iter(of_all.groupby("policy")))
            values = [paired(of["jct", "aligned"] / of["jct", "as placed"]) for of in of_policy.values()]
            mean, half = zip(*values, strict=True)
            y = [policies.index(policy) + 0.24 * shift - 0.12 for policy in of_policy]
            style = {"fmt": "os"[shift % 2], "ms": 4, "capsize": 2, "lw": 1, "color": f"C{shift}"}
            axes.errorbar(mean, y, xerr=half, label=f"contention: {contention}", **style)
        axes.set_yticks(range(len(policies)), policies)
        axes.axvline(0, color="0.6", lw=0.8)
        axes.set(title=fabric, xlabel="% by which alignment changes the mean JCT")
    panels[0][0].invert_yaxis()
    panels[0][-1].legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(ALIGNED, metadata={"Date": None})


def print_months(frame: pd.DataFrame) -> None:
    """Print means over the seeds by policy."""
    print("\n| policy | units: JCT, h | pieces: JCT, h | longer, % | exposed, %: units | pieces |")
    print("|---|---|---|---|---|---|")
    longer = gains(frame)
    for policy, of in frame.groupby("policy").mean().sort_values(("jct", "units")).iterrows():
        change = "{:+.1f} ± {:.1f}".format(*longer[str(policy)])
        jct, exposed = (
            [f"{of[value, unit]:.1f}" for unit in ("units", "pieces")] for value in ("jct", "exposed")
        )
        print(f"| `{policy}` |", " | ".join([*jct, change, *exposed]), "|")


def draw(times: dict[tuple[str, str], dict[str, float]], frame: pd.DataFrame) -> None:
    """Draw steps relative to packed ones, by placement, and what pieces add to the mean JCT, by policy."""
    plt.rcParams.update({"svg.hashsalt": "llm", "font.size": 9})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 3.4), layout="constrained", gridspec_kw={"width_ratios": [5, 4]}
    )
    for color, (model, _, _) in enumerate(JOBS):
        for marker, name in (("o", "rails 1:1"), ("^", "rails 4:1"), ("x", "NVL72")):
            of = times[model, name]
            points = [(of[one] / of["packed"], at) for at, one in enumerate(COLUMNS) if one in of]
            x, y = zip(*points, strict=True)
            y = tuple(at + 0.2 * (color - 1) for at in y)
            left.plot(x, y, marker, ms=5, mfc="none", color=f"C{color}", label=f"{model}, {name}")
    left.set_yticks(range(len(COLUMNS)), COLUMNS)
    left.invert_yaxis()
    left.axvline(1, color="0.6", lw=0.8)
    left.set_xlabel("step, relative to a packed placement")
    left.set_xlim(0.9, 5.1)  # room for the legend
    left.legend(frameon=False, fontsize=6.5, loc="lower right")
    for at, (policy, (mean, half)) in enumerate(gains(frame).items()):
        right.errorbar(mean, at, xerr=half, fmt="o", ms=4, capsize=2, lw=1, color="C0", label=policy)
    right.set_yticks(range(len(gains(frame))), gains(frame))
    right.invert_yaxis()
    right.axvline(0, color="0.6", lw=0.8)
    right.set_xlabel("% longer mean JCT on pieces")
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    runs = [run for folder in sys.argv[1:] for run in artist.read_sweep(Path(folder)).runs]
    if runs and runs[0].config["variant"]:
        gained = aligned(runs)
        print_aligned(gained)
        draw_aligned(gained)
    else:
        priced = placements()
        print_placements(priced)
        if runs:
            month = months(runs)
            print_months(month)
            draw(priced, month)
