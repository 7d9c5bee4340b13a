"""Settings of the network that were set but mean nothing."""

import logging
from collections.abc import Sequence

from netmodels.analytical import AnalyticalModel
from netmodels.system import SystemSettings, idle_settings

_log = logging.getLogger(__name__)


def tell_of_idle(model: object, system: SystemSettings, said: Sequence[str]) -> None:
    """Warn of settings that mean nothing to the network model."""
    idle = idle_settings(system, said) if isinstance(model, AnalyticalModel) else {}
    heeded = getattr(model, "heeded", None)
    if heeded is not None:
        why = f"with network={type(model).__name__.removesuffix('Model').lower()}"
        idle = dict.fromkeys([each for each in said if each not in heeded], why)
    for setting, why in idle.items():
        _log.warning("network.system.%s means nothing %s", setting, why, extra={"note": True})
