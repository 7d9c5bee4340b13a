"""Parameters of NCCL's collectives on a fabric; `netmodels.nccl.model` has the formulas."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NcclTier:
    """The links of one tier as NCCL can use them.

    Parameters
    ----------
    step_us
        Latency of a step of a tree with the quickest protocol (LL).
    gpu_gb_s
        Bandwidth of a GPU, 10^9 byte/s: its links times their efficiency.
    machine_gb_s, rack_gb_s
        Bandwidth limit of all GPUs of a machine (of a rack) together; 0: the sum of theirs.
    """

    step_us: float
    gpu_gb_s: float
    machine_gb_s: float = 0.0
    rack_gb_s: float = 0.0

    def sends_gb_s(self, gpus: int, rack_gpus: int) -> float:
        """Return the bandwidth of some GPUs of one machine together, of `rack_gpus` in their rack."""
        limits = [gpus * self.gpu_gb_s]
        if self.machine_gb_s:
            limits.append(self.machine_gb_s)
        if self.rack_gb_s:
            limits.append(self.rack_gb_s * gpus / rack_gpus)
        return min(limits)


@dataclass(frozen=True, slots=True)
class NcclFabric:
    """The parameters of NCCL's collectives on a fabric; `netmodels.nccl.model` has the formulas.

    Parameters
    ----------
    machine, rack, network
        The tiers.
    start_us
        Start-up time of any collective before its first step.
    skew
        Relative slowdown of a step of a tree with each doubling of the machines after the first.
    pipeline
        Cost of filling the pipeline of large messages relative to sending them, while their chunks grow.
    ll_pipeline
        The same for small messages (LL): 1 for the best of constant chunks.
    bulk
        Latency of a tree's step with the protocol of large messages (Simple), relative to LL.
    ll_share
        Bandwidth of LL, relative to that of large messages.
    round_us, bulk_round_us
        A step of a ring over machines, with LL and with large messages.
    message_us
        A message of an all-to-all to another machine.
    exchange
        Fraction of a machine's bandwidth that all-to-all and send-receive reach.
    switch_gb_s
        Bus bandwidth of an all-reduce inside a machine, as with reduction in the switch (NVLS); 0: that of
        its links.
    channels_gb_s
        Maximum bus bandwidth of collectives over machines, between the network and the GPUs of a machine;
        0: that inside a machine.
    ring_from_mb
        Size of an all-reduce over machines, 10^6 bytes for each GPU in it, from which it runs as a ring if
        that is faster; smaller ones run as a tree. Published runs switch at 1 to 4.
    """

    machine: NcclTier
    rack: NcclTier
    network: NcclTier
    start_us: float = 6.8
    skew: float = 0.07
    pipeline: float = 1.6
    ll_pipeline: float = 0.7
    bulk: float = 2.8
    ll_share: float = 1 / 3.8
    round_us: float = 3.0
    bulk_round_us: float = 6.0
    message_us: float = 10.0
    exchange: float = 0.6
    switch_gb_s: float = 0.0
    channels_gb_s: float = 0.0
    ring_from_mb: float = 3.0

    @property
    def inside_gb_s(self) -> float:
        """Bus bandwidth of an all-reduce inside a machine."""
        return self.switch_gb_s or self.machine.gpu_gb_s
