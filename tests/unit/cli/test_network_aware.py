"""A policy inside another on the command line: chosen, swept and named; and told where it changes nothing."""

from collections.abc import Callable
from typing import Any

Artist = Callable[..., Any]


def test_the_policy_inside_is_swept_and_named(artist: Artist) -> None:
    """Both names are in the table; `as_chosen` is the policy as it is, so one sweep compares with it."""
    inside = "policy@policy.of=fifo,srtf"
    result = artist("-m", "policy=network_aware,cassini", inside, "performance.contention=packets")
    assert result.code == 0
    for name in ("network_aware(fifo)", "network_aware(srtf)", "cassini(fifo)", "cassini(srtf)"):
        assert result.out.count(name) == 1
    as_is = artist("policy=network_aware", "policy@policy.of=srtf", "policy.placement=as_chosen")
    row = next(line for line in as_is.out.splitlines() if line.startswith("network_aware(srtf)"))
    plain = next(line for line in artist("policy=srtf").out.splitlines() if line.startswith("srtf"))
    assert row.split()[1:] == plain.split()[1:]


def test_settings_without_effect_are_warned_about(artist: Artist) -> None:
    """Without contention nobody learns by the figures that the policy was not asked."""
    result = artist("policy=cassini", "performance.contention=none")
    assert (
        "policy.placement=compatible does nothing about shared links with performance.contention=none"
        in result.err
    )
    assert (
        "policy.shifts=interleaved does nothing about shared links with performance.contention=none"
        in result.err
    )


def test_settings_that_contradict_are_refused(artist: Artist) -> None:
    """Lyra keeps books of places; a score needs shifts; what is inside must be a policy."""
    for arguments, told in (
        (("policy@policy.of=lyra",), "allowed: policy.placement=as_chosen"),
        (("policy.placement=compatible",), "allowed: policy.shifts=interleaved"),
        (("policy.of=7",), "policy.of: no such part"),
    ):
        result = artist("policy=network_aware", *arguments)
        assert result.code == 2
        assert told in result.err
        assert len(result.err.splitlines()) <= 2
