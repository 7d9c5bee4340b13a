"""Settings of the network that somebody said, and that mean nothing."""

import logging
from collections.abc import Sequence

from netmodels.analytical import AnalyticalModel
from netmodels.measured import MeasuredModel
from netmodels.system import SystemSettings, idle_settings
from netmodels.zero import ZeroModel

_log = logging.getLogger(__name__)


def tell_of_idle(model: object, system: SystemSettings, said: Sequence[str]) -> None:
    """Warn of settings that mean nothing to the network model."""
    idle = idle_settings(system, said) if isinstance(model, AnalyticalModel) else {}
    if isinstance(model, ZeroModel | MeasuredModel):
        name = "zero" if isinstance(model, ZeroModel) else "measured"
        meant = ("collectives", "bucket_cap_mb") if name == "measured" else ()
        idle = dict.fromkeys([each for each in said if each not in meant], f"with network={name}")
    for setting, why in idle.items():
        _log.warning("network.system.%s means nothing %s", setting, why, extra={"note": True})
