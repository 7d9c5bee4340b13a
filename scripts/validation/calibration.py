"""Compare both calibrations with measurements and Table 1 of the Dally paper; layers are in ../shared.

    python scripts/validation/calibration.py [--topology dally_code ...] [--workloads FOLDER]

Fits every model of Table 1 to the machine column and prints rack and network (8 GPUs as 4+4 and as 4 | 4)
beside the paper's, with the difference relative to it; `*` within 15 %. Then the same for public measurements
of ResNet-50 on 8, 16 and 32 GPUs. With --workloads (../shared/reference/astra_sim), the layers are those
that the authors of the paper gave ASTRA-sim, and their own scales are shown too.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from accuracy import V1_WORKLOADS, profiles_of

from artist.data import data_path
from artist.pricing.placements import parse_shape, tier_shapes
from netmodels.api import Profile, Shape, Topology, load_topology
from netmodels.calibration.fit import Fit, Method, calibrate, overhead
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile

GPUS = 8
TIERS = ("machine", "rack", "network")
METHODS: tuple[Method, ...] = get_args(Method)
CLOSE = 0.15
HIERARCHY: dict[str, Any] = {"across_machines": "hierarchical"}  # as in ASTRA-sim 1.0
# The Dally paper, Table 1: communication overhead as % of compute time, by tier.
TABLE_1 = {
    "VGG11": (1, 6, 7),
    "AlexNet": (2, 13, 100),
    "MobileNetV3": (42, 940, 19592),
    "ResNet18": (7, 116, 2749),
    "ResNet50": (12, 12, 38),
    "BERT-large": (8, 23, 715),
}
AUTHORS_NAMES = {"VGG11": "VGG", "BERT-large": "BERT"}
# Factors of compute times in the program of its authors.
AUTHORS_SCALES = {
    "VGG11": 0.01549,
    "AlexNet": 0.0199,
    "MobileNetV3": 0.00639,
    "ResNet18": 0.001223,
    "ResNet50": 0.03395,
    "BERT-large": 0.0001121,
}
# ResNet-50 v1.5 in fp32 on machines of 8 V100 with one 100 Gb/s InfiniBand port: batch per GPU, and images
# per second on 1, 8, 16 and 32 GPUs. Oneflow-Inc/DLPerf, August 2020:
# reports/dlperf_benchmark_test_report_v1.md.
DLPERF = {
    "OneFlow 0.1.9": (128, 384.85, 2969.45, 5906.55, 11711.18),
    "PyTorch 1.5": (128, 354.40, 2719.07, 5307.21, 10632.33),
    "TensorFlow 2.3": (128, 321.80, 2458.74, 4849.68, 9418.44),
    "MXNet 1.6": (96, 389.71, 2947.72, 5684.68, 10419.21),
    "TensorFlow 1.15": (128, 362.44, 2721.98, 5099.42, 9514.64),
    "PaddlePaddle 1.8": (128, 352.72, 2625.38, 4895.27, 9348.17),
}
DLPERF_SHAPES = ("8", "8+8", "4x8")
RESNET50_BATCH = 512  # of the profile


@dataclass(frozen=True, slots=True)
class Prediction:
    """Overheads on several placements, as fractions of compute: before, and by each method.

    Parameters
    ----------
    measured
        By placement; the first is fitted.
    before
        Overheads of the profile as it ships.
    fits
        Fit of each method, with the overheads that follow.
    """

    measured: tuple[float, ...]
    before: tuple[float, ...]
    fits: Mapping[Method, tuple[Fit, tuple[float, ...]]]


def predict(
    profile: Profile, shapes: Sequence[Shape], measured: Sequence[float], topology: Topology
) -> Prediction:
    """Fit a profile to the first placement and price all of them."""
    network, fabric = AnalyticalModel(), topology.fabric
    system = replace(topology.system("papers"), **HIERARCHY)
    profile = profile.scaled(1 / topology.machine_type().speed)

    def overheads(profile: Profile) -> tuple[float, ...]:
        return tuple(overhead(network, profile, shape, fabric, system) for shape in shapes)

    fits = {}
    for method in METHODS:
        fit = calibrate(method, measured[0], network, profile, shapes[0], fabric, system)
        fits[method] = (fit, overheads(fit.profile))
    return Prediction(tuple(measured), overheads(profile), fits)


def table_1(topology: Topology, profiles: Mapping[str, Profile]) -> dict[str, Prediction]:
    """Return the predictions of all models of Table 1."""
    shapes = list(tier_shapes(GPUS, topology).values())
    return {
        model: predict(profiles[model], shapes, [percent / 100 for percent in percents], topology)
        for model, percents in TABLE_1.items()
    }


def authors_lines(topology: Topology, profiles: Mapping[str, Profile]) -> list[str]:
    """Return Table 1 by the scales of the authors' program."""
    network, fabric, table = AnalyticalModel(), topology.fabric, []
    system = replace(topology.system("papers"), **HIERARCHY)
    for model, percents in TABLE_1.items():
        profile = profiles[model].scaled(AUTHORS_SCALES[model])
        for tier, shape in tier_shapes(GPUS, topology).items():
            percent = percents[TIERS.index(tier)]
            cell = _cell(overhead(network, profile, shape, fabric, system), percent / 100)
            table.append(f"{model if tier == 'machine' else '':18}{tier:>9}{percent:>11.2f}{'':11}{cell}")
    return table


def dlperf() -> dict[str, Prediction]:
    """Return the predictions for ResNet-50 on V100 machines: n GPUs at a rate r lose n r(1) / r(n) - 1."""
    topology = load_topology(data_path("topologies", "v100_100g.yaml"))
    shapes = [parse_shape(text, topology) for text in DLPERF_SHAPES]
    return {
        framework: predict(
            get_profile("ResNet50").scaled(batch / RESNET50_BATCH),
            shapes,
            [gpus * alone / rate - 1 for gpus, rate in zip((8, 16, 32), rates, strict=True)],
            topology,
        )
        for framework, (batch, alone, *rates) in DLPERF.items()
    }


def lines(predictions: Mapping[str, Prediction], placements: Sequence[str]) -> list[str]:
    """Return a table: a row for each name and placement; overheads in %, differences relative to measured."""
    table = [f"{'':18}{'':>9}{'measured':>11}{'before':>11}" + "".join(f"{method:>28}" for method in METHODS)]
    for name, prediction in predictions.items():
        for place, (placement, measured) in enumerate(zip(placements, prediction.measured, strict=True)):
            cells = "".join(_cell(overheads[place], measured) for _, overheads in prediction.fits.values())
            head = f"{'' if place else name:18}{placement:>9}"
            table.append(f"{head}{100 * measured:>11.2f}{100 * prediction.before[place]:>11.4f}{cells}")
        scale, launch = (prediction.fits[method][0] for method in METHODS)
        table.append(f"{'':49}{f'x {scale.compute_scale:.5g}':>28}{f'{launch.launch_ns / 1000:,.0f} us':>28}")
    return table


def close(predictions: Mapping[str, Prediction], method: Method) -> str:
    """Return a line: overheads beyond the fitted ones that are within 15 % of the measured ones."""
    pairs = [
        (overheads, measured)
        for prediction in predictions.values()
        for overheads, measured in zip(prediction.fits[method][1][1:], prediction.measured[1:], strict=True)
    ]
    return f"{method}: {sum(_is_close(*pair) for pair in pairs)} of {len(pairs)} within {CLOSE:.0%}"


def _is_close(ours: float, measured: float) -> bool:
    return abs(ours / measured - 1) <= CLOSE


def _cell(ours: float, measured: float) -> str:
    mark = "*" if _is_close(ours, measured) else " "
    return f"{100 * ours:>16.2f} {f'({ours / measured - 1:+.0%})':>10}{mark}"


def _profiles(folder: Path | None) -> dict[str, Profile]:
    if folder is None:
        return {model: get_profile(model) for model in TABLE_1}
    theirs = profiles_of(folder)
    return {model: theirs[V1_WORKLOADS[AUTHORS_NAMES.get(model, model)]] for model in TABLE_1}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--topology", nargs="*", default=["dally_code", "dgx_h100_3tier", "dally_paper"])
    parser.add_argument("--workloads", type=Path, help="the authors' own layers")
    arguments = parser.parse_args(argv)
    profiles = _profiles(arguments.workloads)
    for name in arguments.topology:
        predictions = table_1(load_topology(data_path("topologies", f"{name}.yaml")), profiles)
        print(f"Table 1 of the Dally paper, topology={name}", *lines(predictions, TIERS), sep="\n")
        print(*(close(predictions, method) for method in METHODS), "", sep="\n")
    if arguments.workloads is not None:
        topology = load_topology(data_path("topologies", "dally_code.yaml"))
        print(
            "By the authors' own scales, topology=dally_code",
            *authors_lines(topology, profiles),
            "",
            sep="\n",
        )
    public = dlperf()
    print("ResNet-50 on V100 machines (DLPerf), topology=v100_100g", *lines(public, DLPERF_SHAPES), sep="\n")
    print(*(close(public, method) for method in METHODS), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
