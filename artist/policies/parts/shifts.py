"""Shifts that interleave the sending of jobs on all links that they share.

Jobs and the links that they could overload together form a graph. On each link, jobs are turned against each
other as circles (`artist.policies.parts.circles`), on the links with most to carry first; jobs that were
turned against each other keep their distance from then on and are turned together. Where the graph has no
loop, every link gets its own best angles, and each job one shift, as in the paper; a link that would close a
loop turns only what other links have not tied. Links that carry the same jobs count as one, the one with most
to carry.

Source: Rajasekaran et al., CASSINI, NSDI 2024, the affinity graph.

Differs from the paper, which discards placements whose graph has a loop.
"""

from collections.abc import Mapping
from typing import NamedTuple

from artist.core.link_use import LinkName, LinkUse
from artist.policies.parts.circles import score, turns

_FULL = 1 + 1e-9


class Interleaved(NamedTuple):
    """How jobs share their links at best.

    Parameters
    ----------
    shift_ns
        Of each job that shares a link with others, less than its iteration.
    scores
        Of each shared link, at most 1.
    """

    shift_ns: Mapping[int, int]
    scores: Mapping[LinkName, float]

    @property
    def worst(self) -> float:
        """The score of the worst link; 1 if no link is shared."""
        return min(self.scores.values(), default=1.0)


def interleaved(uses: Mapping[int, LinkUse]) -> Interleaved:
    """Return shifts of jobs, given what each sends alone, and the scores of their links with these shifts.

    Of jobs joined by links, the lowest has no shift.
    """
    links = _shared(uses)
    shift_ns = {job: 0 for jobs in links.values() for job in jobs}
    tied = {job: [job] for job in shift_ns}
    for link, jobs in links.items():
        sets = list({tied[job][0]: tied[job] for job in jobs}.values())
        here = [[(uses[job], shift_ns[job]) for job in each if job in jobs] for each in sets]
        for each, turn_ns in zip(sets, turns(link, here), strict=True):
            for job in each:
                shift_ns[job] += turn_ns
        joined = [job for each in sets for job in each]
        tied |= dict.fromkeys(joined, joined)
    for joined in {min(jobs): jobs for jobs in tied.values()}.values():
        first_ns = shift_ns[min(joined)]
        for job in joined:
            shift_ns[job] = (shift_ns[job] - first_ns) % uses[job].iteration_ns
    scores = {link: score(link, [(uses[job], shift_ns[job]) for job in jobs]) for link, jobs in links.items()}
    return Interleaved(shift_ns, scores)


def _shared(uses: Mapping[int, LinkUse]) -> dict[LinkName, list[int]]:
    """Return the jobs, sorted, of each link that they could overload, those with most to carry first."""
    found: dict[LinkName, list[int]] = {}
    for job in sorted(uses):
        for link in uses[job].spans:
            found.setdefault(link, []).append(job)
    found = {link: jobs for link, jobs in found.items() if sum(uses[j].most(link) for j in jobs) > _FULL}
    carried = {link: sum(uses[job].mean(link) for job in jobs) for link, jobs in found.items()}
    order = sorted(found, key=lambda link: (-carried[link], link))
    distinct = {tuple(found[link]): link for link in reversed(order)}
    return {link: found[link] for link in order if distinct[tuple(found[link])] == link}
