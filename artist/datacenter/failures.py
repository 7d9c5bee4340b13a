"""Random, independent failures and repairs of machines, with exponential times."""

from artist.core.cluster import CapacityEvent, Cluster
from artist.datacenter.config import FailureConfig
from artist.randomness import child_generator
from artist.units import seconds_to_ns


def random_failures(config: FailureConfig, cluster: Cluster) -> tuple[CapacityEvent, ...]:
    """Return the failures and repairs of all machines, in order of time.

    A machine works for a time with mean `mtbf_h`, then is absent for one with mean `repair_h`, and so on;
    failures begin before `days` have passed, and every one is repaired. Each machine has its own
    generator, so adding machines does not affect the others.
    """
    events: list[CapacityEvent] = []
    horizon_s = config.days * 86_400
    for number, machine in enumerate(cluster.machines):
        rng = child_generator(config.seed, f"failures.{machine.name}")
        time_s = rng.exponential(config.mtbf_h * 3600)
        while time_s < horizon_s:
            events.append(CapacityEvent(seconds_to_ns(time_s), "fail", number))
            time_s += rng.exponential(config.repair_h * 3600)
            events.append(CapacityEvent(seconds_to_ns(time_s), "join", number))
            time_s += rng.exponential(config.mtbf_h * 3600)
    return tuple(sorted(events, key=lambda event: event.time_ns))
