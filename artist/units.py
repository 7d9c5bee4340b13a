"""Conversions between the integers inside and the seconds at the edges."""

NS_PER_S = 1_000_000_000
BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30


def seconds_to_ns(seconds: float) -> int:
    """Convert seconds to whole nanoseconds, rounded to the nearest."""
    return round(seconds * NS_PER_S)


def ns_to_seconds(ns: int) -> float:
    """Convert nanoseconds to seconds."""
    return ns / NS_PER_S
