"""Compare training steps of language models with published ones in ../shared; fit `netmodels/llm/gpus.yaml`.

    python scripts/validation/llm_training.py ../shared/reference/measured [--write] [--rows]

llm_training.csv has a row per run. Left out: hybrids, multi-token prediction, LoRA, TPUs, rows without a
plan, a batch (of pipelines a micro batch), or a time that the source implies. Sharding that is not stated is
of the optimizer, or of all state if it does not fit otherwise. Recomputation that is not stated is none.

Prints |ours / measured - 1|, median and 90th percentile, of rows that were not fitted (five folds of
configurations: rows that differ in release alone are in one fold): the model, the same fitted without a
network, and a constant fraction of the peak. Then, anchored by one row: other sizes of its plan, and other
plans of its model, GPU, precision and release (its setting); and how many pairs of those are in the measured
order. Neither row of a pair was fitted: there a fold has whole settings.
`--write` fits all rows and writes the constants; `--rows` lists every row.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import yaml
from scipy.optimize import least_squares

from artist.entry import script
from artist.errors import InputError
from netmodels.api import Fabric, Shape, load_topology
from netmodels.fabric.fabric import Dimension
from netmodels.fabric.nccl import NcclFabric
from netmodels.llm.architecture import Architecture, get_architecture, is_architecture
from netmodels.llm.communication import Priced, priced
from netmodels.llm.compute import gpu_in
from netmodels.llm.plan import Plan, Role
from netmodels.llm.step import total_ns
from netmodels.llm.work import state_bytes
from netmodels.nccl.parameters import derived, nccl_of

Floats = npt.NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[2]
GPUS = ROOT / "netmodels" / "llm" / "gpus.yaml"
FOLDS = 5
MODELS = {
    "GPT 175B": "GPT3-175B",
    "GPT 174.6B": "GPT3-175B",
    "GPT 529.6B": "MT-NLG-530B",
    "GPT 530B": "MT-NLG-530B",
    "MT-NLG 530B": "MT-NLG-530B",
    "Llama 3.1 8B": "Llama3-8B",
    "LLAMA3_8B": "Llama3-8B",
    "LLAMA3_70B": "Llama3-70B",
    "LLAMA3_70B SFT": "Llama3-70B",
    "LLAMA3.1_405B": "Llama3-405B",
    "Llama 3 405B": "Llama3-405B",
    "DeepSeekV3 (dropless)": "DeepSeek-V3",
    "DeepSeekV3 (tokendrop)": "DeepSeek-V3",
    "DeepSeekV3 (w/o MTP)": "DeepSeek-V3",
    "DeepSeekV3": "DeepSeek-V3",
    "Qwen3_235B_a22B (tokendrop)": "Qwen3-235B-A22B",
    "Qwen3_30B_a3B (tokendrop)": "Qwen3-30B-A3B",
    "OLMo 3 32B": "OLMo3-32B",
    "Nemotron-4 15B": "Nemotron4-15B",
}
PUBLISHED_GPT = {  # of arXiv 2104.04473, table 1, and LiBai's benchmarks: layers, hidden, heads
    "GPT 7.5B": (36, 4096, 32),
    "GPT 18.4B": (40, 6144, 48),
    "GPT 39.1B": (48, 8192, 64),
    "GPT 76.1B": (60, 10240, 80),
    "GPT 145.6B": (80, 12288, 96),
    "GPT 310.1B": (96, 16384, 128),
    "GPT 1008.0B": (128, 25600, 160),
    "GPT 1536x16": (16, 1536, 16),
    "GPT 2304x24": (24, 2304, 24),
    "GPT 3072x32": (32, 3072, 32),
}
GPU_TYPES = (  # how a source's name starts, GPU type, memory in GB
    ("DGX-GB200", "GB200", 186),
    ("DGX-GB300", "GB300", 279),
    ("DGX-B300", "B300", 279),
    ("DGX-B200", "B200", 180),
    ("a100_40gb", "A100", 40),
    ("a100", "A100", 80),
    ("A100", "A100", 80),
    ("H100 (96GB", "H100", 96),
    ("h100", "H100", 80),
    ("H100", "H100", 80),
    ("DGX-H100", "H100", 80),
    ("H200", "H200", 141),
    ("V100", "V100", 16),
)
VIRTUAL = {  # stages per GPU where a row has none: arXiv 2402.15627, section 6.1; a layer each: 2407.21783
    "MegaScale": 6,
    "Megatron-LM": 6,
    "Meta in-house": 8,
}
ONE_SEQUENCE = {"Megatron-LM 2021", *VIRTUAL}  # micro batch of a pipeline where a row has none


@dataclass(frozen=True, slots=True)
class Row:
    """A measured run; `release` is that of its framework, `configuration` all else that a row states."""

    number: int
    architecture: Architecture
    plan: Plan
    gpus: int
    gpu_type: str
    memory_bytes: float
    measured_s: float
    release: str
    software: str
    roles: dict[Role, Priced]

    @property
    def configuration(self) -> tuple[object, ...]:
        """All but the release."""
        return (self.architecture.name, self.plan, self.gpus, self.gpu_type)

    @property
    def setting(self) -> tuple[object, ...]:
        """Model, GPU, precision and release."""
        return (self.architecture.name, self.gpu_type, self.plan.precision, self.release)

    @property
    def tokens_per_gpu(self) -> float:
        """Tokens of a step per GPU."""
        return self.plan.batch * self.plan.sequence / self.gpus


def read_rows(folder: Path) -> list[Row]:
    """Return the rows that can be compared."""
    table = pd.read_csv(folder / "llm_training.csv")
    rows = []
    for number, entry in enumerate(table.to_dict("records")):
        row = _row(number, entry)
        if row is not None:
            rows.append(row)
    return rows


def _row(number: int, entry: dict[Any, Any]) -> Row | None:
    architecture = architecture_of(str(entry["model"]))
    kinds = [kind for kind in GPU_TYPES if str(entry["gpu"]).startswith(kind[0])]
    numbers = [entry[name] for name in ("gpus", "tp", "pp", "seq_len", "global_batch")]
    if architecture is None or not kinds or any(pd.isna(number) for number in numbers):
        return None
    if int(entry["pp"]) > 1 and pd.isna(entry["micro_batch"]) and entry["framework"] not in ONE_SEQUENCE:
        return None
    plan, gpus = plan_of(entry), int(entry["gpus"])
    try:
        plan.check(architecture, gpus)
    except InputError as error:
        print(f"row {number} is left out: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    _, gpu_type, memory = kinds[0]
    if plan.sharding == "optimizer" and state_bytes(architecture, plan, gpus) > 1e9 * memory:
        plan = replace(plan, sharding="full")
    seconds = seconds_of(entry, architecture, plan, gpus, gpu_type)
    if seconds is None:
        return None
    shape, nccl = place_of(gpu_type, str(entry["network"]), gpus)
    roles = priced(architecture, plan, "whole", shape, (nccl,))
    release = str(entry["framework"])
    if release == "torchtitan":  # whose notes name the software: compiled or not, asynchronous or not
        release = f"{release}, {entry['notes']}".partition(";")[0]
    software = software_of(release, architecture, plan, gpu_type)
    return Row(number, architecture, plan, gpus, gpu_type, 1e9 * memory, seconds, release, software, roles)


def software_of(release: str, architecture: Architecture, plan: Plan, gpu_type: str) -> str:
    """Return the software that has factors of its own in `gpus.yaml`; "megatron" has none.

    `early` runs, of 2021, send gradients after the backward pass. `fused` are recipes of Megatron-Bridge
    0.5 (container 26.06) with fused products of experts and a CUDA graph of the whole iteration, which its
    release notes and recipes (NVTE_CUTEDSL_FUSED_GROUPED_MLP) name: MXFP8 on Blackwell, but of Kimi K2.
    """
    if "2021" in release or release == "OneFlow":
        return "early"
    if any(word in release for word in ("FSDP", "torchtitan")):
        return "pytorch"
    version = release.removeprefix("Megatron-Bridge ").split()[0]
    fusible = architecture.experts and plan.precision == "mxfp8" and architecture.name != "Kimi-K2"
    return "fused" if fusible and release.startswith("Megatron-Bridge") and version >= "26.06" else "megatron"


def architecture_of(model: str) -> Architecture | None:
    """Return a row's architecture, None for those that are not compared."""
    if any(word in model for word in ("LoRA", "w/ MTP", "Nemotron_3", "V4", "PaLM", "~")):
        return None
    for name, (layers, hidden, heads) in PUBLISHED_GPT.items():
        if model.startswith(name):
            return Architecture(name, layers, hidden, heads, 4 * hidden, 51200, tied=True)
    name = MODELS.get(model, model.replace("_", " "))
    return get_architecture(name) if is_architecture(name) else None


def plan_of(entry: dict[Any, Any]) -> Plan:
    """Return a row's plan, with defaults of its framework."""

    def number(name: str) -> int:
        return 1 if pd.isna(entry[name]) else int(entry[name])

    framework, sharded = str(entry["framework"]), str(entry["fsdp"])
    virtual = number("vp")
    if pd.isna(entry["vp"]) and number("pp") > 1:
        virtual = VIRTUAL.get(framework, 1)
    sharding: Any = "optimizer"
    if sharded in ("FULL_SHARD", "ZeRO-3") or (sharded.isdigit() and int(sharded) > 0):
        sharding = "full"
    elif "2021" in framework or framework == "OneFlow":
        sharding = "none"
    precision = "bf16" if pd.isna(entry["precision"]) else str(entry["precision"]).lower()
    names = {"fp16": "fp16", "mxfp8": "mxfp8", "nvfp4": "nvfp4", "mx": "mxfp8", "fp8": "fp8"}
    chosen: Any = next((value for key, value in names.items() if key in precision), "bf16")
    recompute: Any = str(entry["recompute"]).split()[0] if not pd.isna(entry["recompute"]) else "none"
    gpus, tp, pp, cp = (number(name) for name in ("gpus", "tp", "pp", "cp"))
    batch = int(entry["global_batch"])
    micro = number("micro_batch")
    if pd.isna(entry["micro_batch"]) and pp == 1:
        micro = max(1, batch // (gpus // (tp * cp)))
    return Plan(
        tp,
        pp,
        cp,
        number("ep"),
        vp=virtual,
        micro_batch=micro,
        batch=batch,
        sequence=int(entry["seq_len"]),
        sharding=sharding,
        recompute=recompute,
        precision=chosen,
    )


def model_flops(architecture: Architecture, plan: Plan) -> float:
    """Return the FLOPs of a step without recomputation, attention in full, as MFU counts them."""
    attention = 12 * architecture.layers * plan.sequence * architecture.heads * architecture.head_size
    return plan.batch * plan.sequence * (6 * architecture.active_parameters + attention)


def seconds_of(
    entry: dict[Any, Any], architecture: Architecture, plan: Plan, gpus: int, gpu_type: str
) -> float | None:
    """Return the measured time of a step: stated, or implied by FLOP/s or the fraction of the peak."""
    if not pd.isna(entry["iter_time_s"]):
        return float(entry["iter_time_s"])
    flops = model_flops(architecture, plan)
    if not pd.isna(entry["tflops_gpu"]) and "NeMo" not in str(entry["framework"]):
        recomputed = 4 / 3 if "2021" in str(entry["framework"]) else 1.0
        return recomputed * flops / (1e12 * float(entry["tflops_gpu"]) * gpus)
    if not pd.isna(entry["mfu_pct"]):
        return flops / (10 * float(entry["mfu_pct"]) * 1e9 * peak(gpu_type, plan.precision) * gpus)
    return None


def peak(gpu_type: str, precision: str) -> float:
    """Return the peak of a GPU, TFLOP/s."""
    peaks: dict[str, float] = content()["gpus"][gpu_type]["peak"]
    return peaks.get(precision, peaks.get("fp16", 0.0))


@cache
def content() -> dict[str, Any]:
    """Return the file of constants."""
    loaded: dict[str, Any] = yaml.safe_load(GPUS.read_text(encoding="utf-8"))
    return loaded


def place_of(gpu_type: str, network: str, gpus: int) -> tuple[Shape, NcclFabric]:
    """Return the placement of a run on whole machines, and NCCL's parameters of its fabric."""
    if gpu_type in ("GB200", "GB300"):
        machines, per_rack = 4, 16  # recipes use 64 of the 72 GPUs of a domain
        port = 50 if gpu_type == "GB200" else 100
        nccl = derived((_tier(900, 300), _tier(900, 300), _tier(port, 1350)))
    else:
        machines, per_rack = 8, 10_000
        nccl = _fabric(gpu_type, network)
    sizes = [machines] * (gpus // machines) + ([gpus % machines] if gpus % machines else [])
    racks = [sizes[start : start + per_rack] for start in range(0, len(sizes), per_rack)]
    return tuple(tuple(("machine", size) for size in rack) for rack in racks), nccl


def _fabric(gpu_type: str, network: str) -> NcclFabric:
    if gpu_type in ("H100", "H200"):
        return nccl_of(_topology("hgx_h100_ib400"))
    if gpu_type == "B200":
        return nccl_of(_topology("hgx_b200_400"))
    if gpu_type == "B300":
        return derived((_tier(900, 300), _tier(100, 1350), _tier(100, 1350)))
    if gpu_type == "V100":
        shared = Dimension("switch", 1350, 12.5, machine_bytes_per_ns=12.5)
        return derived((_tier(150, 300), (shared,), (shared,)))
    return derived((_tier(300, 300), _tier(25, 1350), _tier(25, 1350)))


@cache
def _topology(name: str) -> Fabric:
    path = ROOT / "topologies" / f"{name}.yaml"
    return load_topology(yaml.safe_load(path.read_text(encoding="utf-8"))).fabric


def _tier(gb_s: float, latency_ns: float) -> tuple[Dimension]:
    return (Dimension("switch", latency_ns, gb_s),)


# --- the fit

NAMES = (
    "grouped",
    "layer_us",
    "passes",
    "straggling",
    "routed_passes",
    "weight_passes",
    "hidden_tp",
    "hidden_ep",
)
FRACTIONS = ("hidden_tp", "hidden_ep")


def parameters() -> list[tuple[str, ...]]:
    """Return the paths of the fitted constants; whether gradients overlap is known."""
    fitted = content()["fitted"]
    paths: list[tuple[str, ...]] = [
        ("products", name, precision) for name in fitted["products"] for precision in fitted["products"][name]
    ]
    paths += [("attention", name) for name in fitted["attention"]]
    return [
        *paths,
        *((name,) for name in NAMES),
        *(
            ("software", name, factor)
            for name, factors in fitted["software"].items()
            for factor in factors
            if factor != "hidden_dp"
        ),
    ]


def with_values(values: Sequence[float]) -> dict[str, Any]:
    """Return the content of the file with other constants."""
    fitted = yaml.safe_load(yaml.safe_dump(content()["fitted"]))
    for path, value in zip(parameters(), values, strict=True):
        place = fitted
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = float(value)
    return {**content(), "fitted": fitted}


def values_of(loaded: dict[str, Any]) -> list[float]:
    """Return the constants of a file's content."""
    values = []
    for path in parameters():
        place = loaded["fitted"]
        for name in path:
            place = place[name]
        values.append(float(place))
    return values


def predicted(rows: Sequence[Row], loaded: dict[str, Any], *, network: bool = True) -> Floats:
    """Return the times of steps in s."""
    times = []
    for row in rows:
        gpu = gpu_in(loaded, row.gpu_type, row.plan.precision, row.software)
        times.append(total_ns(row.architecture, row.plan, row.gpus, gpu, row.roles if network else {}) / 1e9)
    return np.array(times)


LIMITS = {
    "passes": (0.5, 100.0),
    "routed_passes": (0.5, 100.0),
    "weight_passes": (0.5, 100.0),
    "layer_us": (0.5, 1000.0),
    "straggling": (1e-4, 0.1),
    "software": (0.2, 2.0),
    **dict.fromkeys(FRACTIONS, (0.0, 1.0)),
}


def _limits(path: tuple[str, ...]) -> tuple[float, float]:
    return LIMITS.get(path[0], (0.05, 1.0))


def fit(rows: Sequence[Row], *, network: bool = True) -> dict[str, Any]:
    """Return the file's content with the constants that fit some rows."""
    start = np.array(values_of(content()))
    measured = np.log([row.measured_s for row in rows])
    limits = np.array([_limits(path) for path in parameters()])
    logged = np.array([path[0] not in FRACTIONS for path in parameters()])
    low, high, first = (np.where(logged, np.log(np.maximum(ends, 1e-9)), ends) for ends in (*limits.T, start))

    def loaded(point: Floats) -> dict[str, Any]:
        return with_values(np.where(logged, np.exp(point), point).tolist())

    def off(point: Floats) -> Floats:
        return np.log(predicted(rows, loaded(point), network=network)) - measured

    answer = least_squares(
        off,
        np.clip(first, low + 1e-3, high - 1e-3),
        bounds=(low, high),
        loss="soft_l1",
        f_scale=0.05,
        diff_step=1e-3,
        max_nfev=12,
    )
    return loaded(answer.x)


# --- the tables


def folded(
    rows: Sequence[Row],
    predict: Callable[[list[Row], list[Row]], Floats],
    together: Callable[[Row], object],
) -> Floats:
    """Return the predictions of rows by fits to other folds; rows with one value of `together` are in one."""
    names = {value: number for number, value in enumerate(dict.fromkeys(map(together, rows)))}
    order = np.random.default_rng(0).permutation(len(names))
    fold = np.array([order[names[together(row)]] % FOLDS for row in rows])
    answer = np.zeros(len(rows))
    for number in range(FOLDS):
        train = [row for row, its in zip(rows, fold, strict=True) if its != number]
        test = [row for row, its in zip(rows, fold, strict=True) if its == number]
        answer[fold == number] = predict(train, test)
    return answer


def constant(train: list[Row], test: list[Row]) -> Floats:
    """Return predictions by one fraction of the peak for all rows."""

    def ideal(rows: list[Row]) -> Floats:
        return np.array(
            [
                model_flops(row.architecture, row.plan)
                / (1e12 * peak(row.gpu_type, row.plan.precision) * row.gpus)
                for row in rows
            ]
        )

    measured = np.array([row.measured_s for row in train])
    return ideal(test) / float(np.median(ideal(train) / measured))


def spread(ratios: Sequence[float]) -> str:
    """Return median and 90th percentile of |ratio - 1| in %, and the number."""
    off = 100 * np.abs(np.array(ratios) - 1)
    if not len(off):
        return "-"
    return f"{np.median(off):5.1f} / {np.percentile(off, 90):5.1f} ({len(off)})"


def anchored(rows: Sequence[Row], times: Floats, *, same: bool) -> list[float]:
    """Return ours / measured of a dense row by another of its setting: of its plan, or of another plan."""
    ratios = []
    for (one, ours), (other, theirs) in _pairs(rows, times):
        alike = replace(one.plan, batch=0) == replace(other.plan, batch=0)
        if one.architecture.experts or alike != same or (same and one.gpus == other.gpus):
            continue
        ratios.append(ours / theirs * other.measured_s / one.measured_s)
    return ratios


def _pairs(rows: Sequence[Row], times: Floats) -> list[tuple[tuple[Row, float], tuple[Row, float]]]:
    by_setting: dict[tuple[object, ...], list[tuple[Row, float]]] = {}
    for row, time in zip(rows, times.tolist(), strict=True):
        by_setting.setdefault(row.setting, []).append((row, time))
    pairs = [pair for group in by_setting.values() for pair in combinations(group, 2)]
    return [(one, other) for one, other in pairs if one[0].configuration != other[0].configuration]


def ordered(rows: Sequence[Row], times: Floats, margin: float) -> str:
    """Return the fraction of pairs of a setting in the measured order of tokens per GPU and second."""
    right = total = 0
    for (one, ours), (other, theirs) in _pairs(rows, times):
        measured = np.log(one.tokens_per_gpu / one.measured_s / (other.tokens_per_gpu / other.measured_s))
        model = np.log(one.tokens_per_gpu / ours / (other.tokens_per_gpu / theirs))
        if abs(measured) > margin:
            total += 1
            right += bool(measured * model > 0)
    return f"{100 * right / max(total, 1):.1f} % of {total}"


def released(rows: Sequence[Row]) -> list[float]:
    """Return ratios of equal configurations measured with different releases."""
    return [
        one.measured_s / other.measured_s
        for one, other in combinations(rows, 2)
        if one.configuration == other.configuration and one.release != other.release
    ]


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rows", action="store_true")
    arguments = parser.parse_args(argv)
    rows = read_rows(arguments.folder)
    if arguments.write:
        loaded = fit(rows)
        _write(loaded)
    else:
        loaded = content()
    fitted = predicted(rows, loaded)
    if arguments.rows:
        for row, time in zip(rows, fitted.tolist(), strict=True):
            off, place = (
                f"{time / row.measured_s - 1:+7.1%} of {row.measured_s:8.3f} s",
                f"{row.gpus} {row.gpu_type}",
            )
            print(
                f"{row.number:4d} {row.architecture.name:16s} {place:12s} {off} {row.release[:24]:24s}",
                row.plan,
            )
    print(f"{len(rows)} rows, {len(parameters())} constants")
    for kind in ("dense", "MoE"):
        same = [row for row in rows if bool(row.architecture.experts) == (kind == "MoE")]
        print(f"releases of one configuration, {kind}: {spread(released(same))}")
    measured = np.array([row.measured_s for row in rows])
    dense = np.array([not row.architecture.experts for row in rows])
    predictors: dict[str, Callable[[list[Row], list[Row]], Floats]] = {
        "model": lambda train, test: predicted(test, fit(train)),
        "no network": lambda train, test: predicted(test, fit(train, network=False), network=False),
        "constant": constant,
    }
    for name, predict in predictors.items():
        times = folded(rows, predict, lambda row: row.configuration)
        pairs = folded(rows, predict, lambda row: row.setting)
        print(name)
        print(f"  step: dense {spread((times / measured)[dense])}, MoE {spread((times / measured)[~dense])}")
        size, plan = (anchored(rows, pairs, same=same) for same in (True, False))
        print(f"  anchored, dense: another size {spread(size)}, another plan {spread(plan)}")
        orders = (ordered(rows, pairs, margin) for margin in (0.0, 0.035))
        print("  order: all pairs {}, those 3.5 % apart {}".format(*orders))
    refused = [
        row.number for row in rows if state_bytes(row.architecture, row.plan, row.gpus) > row.memory_bytes
    ]
    print(f"rows whose state alone does not fit: {refused}")
    return 0


def _write(loaded: dict[str, Any]) -> None:
    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(entry) for name, entry in value.items()}
        return float(f"{round(value, 6):.3g}") if isinstance(value, float) else value

    head, _, _ = GPUS.read_text(encoding="utf-8").partition("fitted:\n")
    text = yaml.safe_dump({"fitted": rounded(loaded["fitted"])}, sort_keys=False, default_flow_style=None)
    GPUS.write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
