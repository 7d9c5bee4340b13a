"""Settings that mean nothing to a program, or something other than their name."""

from netmodels.astra_sim.locate import NAMES, Backend
from netmodels.fabric.system import SystemSettings, Transport
from netmodels.inputs.errors import InputError

_TRANSPORTS: dict[Backend, tuple[Transport, ...]] = {
    "unaware": ("ideal",),
    "aware": ("ideal",),
    "version1": ("ideal",),
    "ns3": ("packets", "windows"),
    "htsim": ("packets",),
}


def check_meaning(system: SystemSettings, backend: Backend) -> None:
    """Raise InputError for settings that no input file of a program can express.

    Raises
    ------
    InputError
        With the setting, its value and the allowed values.
    """
    if system.collectives != "astra_sim":
        raise InputError(
            "an ASTRA-sim program runs ASTRA-sim's collectives",
            where="network.system.collectives",
            found=system.collectives,
            allowed="astra_sim, or network=analytical for a model of NCCL",
        )
    if system.transport not in (None, *_TRANSPORTS[backend]):
        raise InputError(
            f"messages travel as the program has them: {NAMES[backend]}",
            where="network.system.transport",
            found=system.transport,
            allowed=" or ".join(("null", *_TRANSPORTS[backend])),
        )
    if backend == "version1" and system.across_machines != "hierarchical":
        raise InputError(
            "ASTRA-sim 1.0 runs collectives dimension by dimension",
            where="network.system.across_machines",
            found=system.across_machines,
            allowed="hierarchical, or a binary of ASTRA-sim 2.x",
        )
