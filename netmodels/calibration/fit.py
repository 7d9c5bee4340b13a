"""Fit a profile to an overhead that was measured: exposed communication / compute on one placement.

`scale_compute`    multiply the compute times until the model gives that overhead (Dally paper, section 4.2.2:
                   "we scale the workload configuration file ... for each model"). Bytes are unchanged, so
                   their time on the fabric weighs more on every placement.
`launch_overhead`  leave compute as it was measured, and add to every collective a start-up time, which
                   a collective library spends before it sends, equal on every placement.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Literal, get_args

from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.models.network_model import NetworkModel
from netmodels.profiles.layers import Profile

Method = Literal["scale_compute", "launch_overhead"]

MIN_SCALE, MAX_SCALE = 1e-6, 1e3
MAX_LAUNCH_NS = 10**10
TOLERANCE = 0.01  # of the measured overhead; whole ns, and update delays, may leave gaps

Ask = Callable[[Profile], float]


@dataclass(frozen=True, slots=True)
class Fit:
    """A calibrated profile.

    Parameters
    ----------
    profile
        The profile to use from now on.
    compute_scale
        Factor on its compute times, relative to the original profile.
    launch_ns
        Start-up time of each of its collectives.
    before, achieved
        Exposed communication / compute of the original profile, and of the calibrated one.
    """

    profile: Profile
    compute_scale: float
    launch_ns: int
    before: float
    achieved: float


def overhead(
    network: NetworkModel, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
) -> float:
    """Return exposed communication / compute; infinite for a model that waits without computing."""
    answer = network.iteration(profile, shape, fabric, system)
    if not answer.compute_ns:
        return inf if answer.exposed_ns else 0.0
    return answer.exposed_ns / answer.compute_ns


def calibrate(
    method: Method,
    measured: float,
    network: NetworkModel,
    profile: Profile,
    shape: Shape,
    fabric: Fabric,
    system: SystemSettings,
) -> Fit:
    """Return the profile that has the measured overhead on the placement where it was measured.

    Parameters
    ----------
    method
        The quantity to fit.
    measured
        Exposed communication / compute, as a fraction.
    network, shape, fabric, system
        The network model, and the question.
    profile
        Scaled to the speed of the GPUs that were measured.

    Raises
    ------
    InputError
        If no scale, or launch, gives that overhead; with the overheads at the extremes.
    """
    if not (isfinite(measured) and measured >= 0):
        raise InputError("wrong overhead", where=profile.name, found=measured, allowed="a fraction >= 0")
    if method not in get_args(Method):
        allowed = allowed_names(method, get_args(Method))
        raise InputError("unknown choice", where="method", found=method, allowed=allowed)

    def ask(profile: Profile) -> float:
        return overhead(network, profile, shape, fabric, system)

    before = ask(profile)
    if before == measured:
        return Fit(profile, 1.0, profile.launch_ns, before, before)
    if method == "scale_compute":
        scale = _scale(measured, profile, ask)
        fitted = profile.scaled(scale)
    else:
        scale = 1.0
        fitted = profile.with_launch(_launch_ns(measured, profile, ask))
    fit = Fit(fitted, scale, fitted.launch_ns, before, ask(fitted))
    if abs(fit.achieved - measured) > TOLERANCE * measured:
        problem = f"no {method} gives this overhead; the nearest gives {fit.achieved:.4g}"
        raise InputError(problem, where=profile.name, found=measured, allowed="another method, or overhead")
    return fit


def _scale(measured: float, profile: Profile, ask: Ask) -> float:
    """Return the scale of the nearest overhead, which falls as the scale rises."""
    low, high = MIN_SCALE, MAX_SCALE
    most, least = ask(profile.scaled(low)), ask(profile.scaled(high))
    if not least <= measured <= most:
        problem = "no scale of compute gives this overhead"
        allowed = f"{least:.4g} (scale {high:g}) to {most:.4g} (scale {low:g})"
        raise InputError(problem, where=profile.name, found=measured, allowed=allowed)
    while low < (middle := sqrt(low * high)) < high:
        if ask(profile.scaled(middle)) > measured:
            low = middle
        else:
            high = middle
    return min((high, low), key=lambda scale: abs(ask(profile.scaled(scale)) - measured))


def _launch_ns(measured: float, profile: Profile, ask: Ask) -> int:
    """Return the launch of the nearest overhead, which rises with it."""
    low, high = 0, MAX_LAUNCH_NS
    least, most = ask(profile.with_launch(low)), ask(profile.with_launch(high))
    if not least <= measured <= most:
        problem = "no launch gives this overhead"
        allowed = f"{least:.4g} (launch 0) to {most:.4g} (launch {high / 1e9:g} s)"
        raise InputError(problem, where=profile.name, found=measured, allowed=allowed)
    while high - low > 1:
        middle = (low + high) // 2
        if ask(profile.with_launch(middle)) < measured:
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda launch_ns: abs(ask(profile.with_launch(launch_ns)) - measured))
