"""Conversions between the integers inside and the seconds at the edges."""

NS_PER_S = 1_000_000_000
BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30
MAX_S = 4e9  # 126 years: the sum of two such times still fits 64 bits of nanoseconds


def seconds_to_ns(seconds: float) -> int:
    """Convert seconds to whole nanoseconds, rounded to the nearest."""
    return round(seconds * NS_PER_S)


def ns_to_seconds(ns: int) -> float:
    """Convert nanoseconds to seconds."""
    return ns / NS_PER_S
