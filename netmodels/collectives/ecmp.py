"""ECMP: draws of parallel uplinks, as in ASTRA-sim's ns-3 back end.

The uplink of a message is drawn by a hash (MurmurHash3, 32 bits, public domain) of its addresses and ports,
seeded with the switch's number. Host n has address 11.x.y.1 with n = 256 x + y, the first message from one
host to another leaves from port 10000, the next from 10001, and all go to port 100.
"""

from collections.abc import Sequence

_WORD = 0xFFFF_FFFF
_FROM_PORT, _TO_PORT = 10_000, 100


def data_ports(count: int) -> tuple[int, int]:
    """Return the ports of the message number `count` (from 0) between two GPUs."""
    return _FROM_PORT + count, _TO_PORT


def core_of(switch: int, hosts: tuple[int, int], ports: tuple[int, int], cores: int) -> int:
    """Return the core switch, or the uplink, that the switch of a rack chooses for a message.

    Parameters
    ----------
    switch
        Its number, which seeds the hash.
    hosts, ports
        Of the sender and the receiver.
    cores
        To choose from.
    """
    words = (_address(hosts[0]), _address(hosts[1]), ports[0] | ports[1] << 16)
    return murmur(words, switch) % cores


def murmur(words: Sequence[int], seed: int) -> int:
    """Return MurmurHash3 (x86, 32 bits) of whole words (Appleby, 2011)."""
    value = seed
    for word in words:
        mixed = _rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
        value = (_rotated(value ^ mixed, 13) * 5 + 0xE6546B64) & _WORD
    value ^= 4 * len(words)
    value = (value ^ value >> 16) * 0x85EBCA6B & _WORD
    value = (value ^ value >> 13) * 0xC2B2AE35 & _WORD
    return value ^ value >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD


def _address(gpu: int) -> int:
    return 0x0B00_0001 + (gpu // 256 << 16) + (gpu % 256 << 8)
