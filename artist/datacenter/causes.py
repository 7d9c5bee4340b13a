"""Causes of failures: their rates, scopes, repairs and effects; published ones by name."""

from math import exp, log
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from artist.bad_input.records import Strict

_Hours = Annotated[float, Field(ge=0, le=876_000)]  # 100 years
_NO_REPAIR = {"repair": "fixed", "repair_h": 0.0}  # the machine is free again at once

# Interruptions of Llama 3 on 2,048 machines of 8 H100 for 54 days (arXiv 2407.21783, table 5). Repair times
# are not published: the default is ours, and software needs none.
_LLAMA3_SOFTWARE = ("software_bug", "nccl_watchdog", "dependency")
_LLAMA3 = {
    "faulty_gpu": 148, "hbm3_memory": 72, "software_bug": 54, "switch_or_cable": 35, "host_maintenance": 32,
    "sram_memory": 19, "gpu_system_processor": 17, "nic": 7, "nccl_watchdog": 7, "silent_data_corruption": 6,
    "thermal_interface": 6, "ssd": 3, "power_supply": 3, "server_chassis": 2, "io_board": 2, "dependency": 2,
    "cpu": 2, "system_memory": 2,
}  # fmt: skip
PUBLISHED: dict[str, list[dict[str, Any]]] = {
    "llama3": [
        {"cause": cause, "per_1000_days": 1000 * n / (2048 * 54)}
        | (_NO_REPAIR if cause in _LLAMA3_SOFTWARE else {})
        for cause, n in _LLAMA3.items()
    ],
    # Meta's research clusters, 8 A100 per machine, 11 months (arXiv 2410.21680): all causes together.
    "rsc1": [{"cause": "any", "per_1000_days": 6.50}],
    "rsc2": [{"cause": "any", "per_1000_days": 2.34}],
}

_FORMS = (
    f"null for no failures, {', '.join(PUBLISHED)}, 10*rsc1 for ten times its rate, "
    "or a list of these and of causes such as {cause: gpu, per_1000_days: 24, repair_h: 12}"
)


class Lemons(Strict):
    """Units that fail more often than others.

    Attributes
    ----------
    share
        Part of the units; they are lemons in all causes of their scope with at least this share.
    times
        Their rate, in rates of the others.
    """

    share: float = Field(0.0, ge=0, le=1)
    times: float = Field(1.0, ge=1, le=1e6)

    @property
    def mean(self) -> float:
        """The mean rate of all units, in rates of those that are no lemons."""
        return 1 + self.share * (self.times - 1)


class Cause(Strict):
    """One cause of failures (`artist.datacenter.failures`).

    Attributes
    ----------
    cause
        Its name in results.
    per_1000_days
        Failures in 1000 days of one unit: a machine, a rack or the cluster.
    scope
        The unit that fails as a whole.
    repair, repair_h
        Distribution of the time until a unit works again, checks of its health included, and its mean in
        hours; of `empirical` a list of times, of which one is drawn.
    sigma
        Of the logarithm of `lognormal`.
    slow
        Factor of the iteration times of jobs on the unit until it is repaired; None if its machines are down.
    drain
        Whether its machines are drained instead: they take no new jobs, and their repair begins once those
        that run there have left.
    lemons
        Units that fail more often.
    """

    cause: str = Field(min_length=1)
    per_1000_days: float = Field(ge=1e-6, le=240_000)
    scope: Literal["machine", "rack", "cluster"] = "machine"
    repair: Literal["exponential", "lognormal", "fixed", "empirical"] = "exponential"
    repair_h: _Hours | Annotated[tuple[_Hours, ...], Field(min_length=1)] = 12.0
    sigma: float = Field(1.0, ge=0, le=5)
    slow: float | None = Field(None, ge=1, le=1000)
    drain: bool = Field(default=False, strict=True)
    lemons: Lemons = Field(default_factory=Lemons)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if isinstance(self.repair_h, tuple) != (self.repair == "empirical"):
            raise ValueError(
                "repair_h is a list of times under repair=empirical alone; a mean in hours under the others"
            )
        return self

    @property
    def per_s(self) -> float:
        """Failures per second of a unit that is no lemon."""
        return self.per_1000_days / (1000 * 86_400)

    @property
    def effect(self) -> Literal["fail", "leave", "slow"]:
        """The capacity event of a machine."""
        return "leave" if self.drain else "fail" if self.slow is None else "slow"

    def repair_s(self, rng: np.random.Generator) -> float:
        """Draw the time of a repair, seconds."""
        if isinstance(self.repair_h, tuple):
            return 3600 * self.repair_h[int(rng.integers(len(self.repair_h)))]
        mean_s = 3600 * self.repair_h
        if self.repair == "fixed" or not mean_s:
            return mean_s
        if self.repair == "lognormal":
            return exp(rng.normal(log(mean_s) - self.sigma**2 / 2, self.sigma))
        return float(rng.exponential(mean_s))


def _causes(value: Any) -> Any:
    """Return a list of causes, published ones in place of their names."""
    if isinstance(value, str):
        return _published(value)
    if not isinstance(value, list | tuple):
        raise ValueError(f"cluster.failures is a list of causes; {_FORMS}")
    mappings = [item for item in value if not isinstance(item, str | Cause)]
    if not all(isinstance(item, dict) and "cause" in item for item in mappings):
        raise ValueError(f"cluster.failures has an item that is no cause; {_FORMS}")
    return [cause for item in value for cause in (_published(item) if isinstance(item, str) else [item])]


def _published(text: str) -> list[dict[str, Any]]:
    """Return published causes, their rates times a factor: `rsc1`, `10*rsc1`."""
    times, _, name = text.rpartition("*")
    try:
        factor = float(times or 1)
        causes = PUBLISHED[name.strip()]
    except (KeyError, ValueError):
        raise ValueError(f"no such published causes; {_FORMS}") from None
    return [cause | {"per_1000_days": factor * cause["per_1000_days"]} for cause in causes]


Causes = Annotated[tuple[Cause, ...], BeforeValidator(_causes)]
