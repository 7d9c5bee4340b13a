"""Prices and power of GPUs by type: settings, shipped figures, and the rates of a cluster."""

import logging
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field

from artist.bad_input.records import Strict
from artist.core.cluster import Cluster
from artist.core.rates import Intensity, Rates, Watts
from artist.core.view import Signal
from artist.data import data_path
from artist.errors import InputError
from artist.units import ns_to_seconds
from netmodels.inputs.naming import allowed_names

_log = logging.getLogger(__name__)
_Amount = Annotated[float, Field(ge=0, le=1e9)]
ByType = _Amount | Annotated[dict[str, _Amount], Field(min_length=1)]  # for all GPU types, or by type
_SHIPPED, _EVER = "data_sheets", 2**62


class Power(Strict):
    """Power of machines; GPU types that are left out have the shipped figures.

    Attributes
    ----------
    idle_w, busy_w
        Watts of a GPU that no job holds, and of one that a job holds.
    host_w
        Watts of a machine without its GPUs, whether they are busy or not.
    pue
        Power of the site / power of its machines; None for the shipped figure.
    carbon
        Grams of CO2 per kWh, or the name of a signal with them; None where CO2 is not counted.
    """

    idle_w: ByType | None = None
    busy_w: ByType | None = None
    host_w: ByType | None = None
    pue: float | None = Field(None, ge=1, le=100)
    carbon: _Amount | Annotated[str, Field(min_length=1)] | None = None


def _power(value: Any) -> Any:
    if isinstance(value, str) and value != _SHIPPED:
        raise ValueError(f"no such figures; {_SHIPPED}, or some of idle_w, busy_w, host_w, pue and carbon")
    return {} if value == _SHIPPED else value


PowerOrName = Annotated[Power | None, BeforeValidator(_power)]


def rates_of(
    prices: ByType | None, power: Power | None, cluster: Cluster, signals: Mapping[str, Signal]
) -> Rates | None:
    """Return the rates of a cluster; None if neither money nor energy is counted.

    Raises
    ------
    InputError
        If a GPU type of the cluster has no figure, or the carbon intensity is no signal from 0 s on.
    """
    if prices is None and power is None:
        return None
    machines = {m.hardware: m for m in cluster.machines if m.gpus}
    types = list(dict.fromkeys(gpu_type for _, gpu_type in machines))
    by_type = None if prices is None else _figures(prices, types, "cluster.prices")
    money = None if by_type is None else {kind: by_type[kind[1]] for kind in machines}
    if power is None:
        return Rates(money, None, None)
    shipped = _shipped()
    pue = shipped["pue"] if power.pue is None else power.pue
    idle_w, busy_w = (
        _figures(getattr(power, name), types, f"cluster.power.{name}", name) for name in ("idle_w", "busy_w")
    )
    host_w = _figures(power.host_w, types, "cluster.power.host_w", "host_w_per_gpu")
    per_machine = types if isinstance(power.host_w, float) else list(power.host_w or ())
    watts = {}
    for kind, machine in machines.items():
        host = host_w[kind[1]] / (machine.gpus if kind[1] in per_machine else 1)
        watts[kind] = Watts(pue * (idle_w[kind[1]] + host), pue * (busy_w[kind[1]] + host))
    return Rates(money, watts, _intensity(power.carbon, signals))


@cache
def _shipped() -> dict[str, Any]:
    file: dict[str, Any] = yaml.safe_load(data_path("traces", "measured/gpu_power.yaml").read_text("utf-8"))
    return file


def _figures(figures: ByType | None, types: list[str], where: str, shipped: str = "") -> dict[str, float]:
    """Return a figure of each GPU type of the cluster, the shipped one if it is left out."""
    if isinstance(figures, float):
        return dict.fromkeys(types, figures)
    known = {name: gpu[shipped] for name, gpu in _shipped()["gpus"].items()} if shipped else {}
    lacking = [name for name in types if name not in (known | (figures or {}))]
    if lacking:
        allowed = f"a number for all GPU types, or one for each of {', '.join(types)}"
        raise InputError(f"no figure for GPU type {lacking[0]}", where=where, found=figures, allowed=allowed)
    unused = [name for name in figures or () if name not in types]
    if unused:
        note = "%s: the cluster has no GPUs of type %s"
        _log.warning(note, where, ", ".join(unused), extra={"note": True})
    return known | (figures or {})


def _intensity(carbon: float | str | None, signals: Mapping[str, Signal]) -> Intensity | None:
    if carbon is None:
        return None
    if not isinstance(carbon, str):
        return Intensity([0], [carbon])
    where = "cluster.power.carbon"
    if carbon not in signals:
        ways = "grams of CO2 per kWh, or a column of signals=file signals.path=FILE"
        allowed = f"{allowed_names(carbon, signals)}; {ways}" if signals else ways
        raise InputError("no such signal", where=where, found=carbon, allowed=allowed)
    times_ns, values = signals[carbon].up_to(_EVER)
    place = getattr(signals[carbon], "place", lambda number: "")
    if times_ns[0]:
        begins, allowed = (
            f"{ns_to_seconds(times_ns[0]):g} s",
            "a value from 0 s on, the start of the simulation",
        )
        raise InputError("the first value is later", where=place(0) or where, found=begins, allowed=allowed)
    if (values < 0).any():
        row = int((values < 0).argmax())
        allowed = "grams of CO2 per kWh, at least 0"
        raise InputError("less than 0", where=place(row) or where, found=float(values[row]), allowed=allowed)
    return Intensity(times_ns.tolist(), values.tolist())
