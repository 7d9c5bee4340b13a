"""Messages as packets: the time of a step of a collective beyond ideal links.

A message is cut into packets with headers. Every hop stores a packet before it sends it on, every packet is
acknowledged, and the step is over when the last acknowledgement is back: after a round trip. Messages of one
sender share its narrow link: the sender's own link takes packets of all in turn; behind a switch, whole
messages queue in order of arrival.

With windows (`transport=windows`; ASTRA-sim's ns-3 with HAS_WIN 1) a sender keeps at most a *window* of each
message in flight: the bytes that the narrowest link of the path carries in an unloaded round trip.

- Behind a switch, messages longer than their windows share the narrow link window by window.
- The window suffices for a link alone, but not for traffic in both directions. Acknowledgements then wait:
  at the sender's own link for a packet; in front of a switch's narrow link for the queue of data in
  their direction. All of a cycle's acknowledgements leave behind that queue at once, and the next cycle's
  packets take half a round trip back to it, in which the link is idle. With m windows in flight, each of
  one round trip R, a cycle takes m R + R / 2 (ack-compression: Zhang, Shenker and Clark, Observations on
  the dynamics of a congestion control algorithm, SIGCOMM 1991, section 4.3). The last window does
  not wait, so of a message of p bytes and a window w the share 1 - w / p is slowed.

Sizes are those on the links of ASTRA-sim's ns-3 back end: PACKET_PAYLOAD_SIZE as this project sets it
(`netmodels.astra_sim.ns3`), headers of its RDMA packets, acknowledgements padded to 60 bytes with a PPP
header of 14, but sent with one of 2. Nothing here is fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

PAYLOAD_BYTES = 8000
HEADER_BYTES = 2 + 20 + 8 + 6
"""PPP, IPv4, UDP, sequence number."""
ACKNOWLEDGEMENT_BYTES = 60 - 14 + 2


@dataclass(frozen=True, slots=True)
class Way:
    """The links from one GPU to the next in a collective.

    Parameters
    ----------
    latency_ns
        Of all links together, one way.
    bytes_per_ns
        Bandwidth of the narrowest link: smallest for each of its flows.
    flows
        GPUs that send over the narrowest link at once, in one direction.
    ns_per_byte
        Sum over all links of a byte's transmission time.
    queued
        True if the narrowest link is behind a switch, not at the sender.
    windows
        True if each message has at most a window in flight.
    """

    latency_ns: float
    bytes_per_ns: float
    flows: float
    ns_per_byte: float
    queued: bool
    windows: bool = False
    window_bytes: float = field(init=False)

    def __post_init__(self) -> None:
        round_trip_ns = 2 * self.latency_ns + PAYLOAD_BYTES * self.ns_per_byte
        object.__setattr__(self, "window_bytes", round_trip_ns * self.bytes_per_ns)

    def beside_ns(self, message: Any) -> Any:
        """Return the time of a step besides the message's transmission on the narrowest link.

        Latency both ways, its last packet on the other links, and the acknowledgement.
        """
        last = np.minimum(message, PAYLOAD_BYTES) + HEADER_BYTES
        other = self.ns_per_byte - 1 / self.bytes_per_ns
        return 2 * self.latency_ns + last * other + ACKNOWLEDGEMENT_BYTES * self.ns_per_byte

    def carried_ns(self, message: Any) -> Any:
        """Return the transmission of a message and its headers on the narrowest link, without sharing."""
        packets = np.maximum(-(-message // PAYLOAD_BYTES), 1)
        return (message + packets * HEADER_BYTES) / self.bytes_per_ns

    def beyond_window(self, message: Any) -> Any:
        """Return the share of a message that waits for acknowledgements of its window."""
        beyond = np.maximum(1 - self.window_bytes / np.maximum(message, 1), 0)
        return beyond if self.windows else 0 * beyond

    @property
    def lost_at_sender(self) -> float:
        """Share of a window spent waiting for a packet."""
        return PAYLOAD_BYTES / self.window_bytes

    def alone_ns(self, message: Any) -> Any:
        """Return the transmission of a message on a narrow link at the sender, both directions in use."""
        return self.carried_ns(message) * (1 + self.beyond_window(message) * self.lost_at_sender)

    def send_ns(self, message: Any) -> Any:
        """Return the time of a step in which all GPUs send equal messages."""
        if not self.queued:
            return self.alone_ns(message) + self.beside_ns(message)
        kept = self.flows + self.beyond_window(message) / 2
        return self.carried_ns(message) * kept + self.beside_ns(message)


@lru_cache(maxsize=16_384)
def way_over(latency_ns: float, links: Sequence[tuple[float, float]], *, windows: bool = False) -> Way:
    """Return the path over some links, from the sender on.

    Parameters
    ----------
    latency_ns
        Of all together, one way.
    links
        (bytes per ns, GPUs that send over it at once); a tuple.
    windows
        True if each message has at most a window in flight.
    """
    narrowest = min(range(len(links)), key=lambda place: links[place][0] / links[place][1])
    rate, flows = links[narrowest]
    return Way(latency_ns, rate, flows, sum(1 / bandwidth for bandwidth, _ in links), narrowest > 0, windows)
