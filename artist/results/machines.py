"""What a run's configuration says of its machines: types and worths by name. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from artist.results.steps import Floats


def worths(config: Mapping[str, Any], machines: Sequence[str]) -> Floats:
    """Return how many of the cluster's own GPUs a GPU of each machine replaces for a fungible job.

    Machines are m0, m1 ... in the order of `cluster.machines`. 1 where the configuration has machines of
    one type, or does not say.
    """
    groups = (config.get("cluster") or {}).get("machines")
    if not isinstance(groups, list):
        return np.ones(len(machines))
    topology = config.get("topology") or {}
    types = [str(group["type"]) for group in groups for _ in range(int(group["count"]))]
    default = str(topology.get("default_machine_type"))
    own = _worth(topology, default if default in types else Counter(types).most_common(1)[0][0])
    numbers = [int(name[1:]) if name[:1] == "m" and name[1:].isdecimal() else -1 for name in machines]
    return np.array([_worth(topology, types[n]) / own if 0 <= n < len(types) else 1.0 for n in numbers])


def _worth(topology: Mapping[str, Any], kind: str) -> float:
    facts = (topology.get("machine_types") or {}).get(kind) or {}
    return float(facts.get("worth") or facts.get("speed") or 1.0)
