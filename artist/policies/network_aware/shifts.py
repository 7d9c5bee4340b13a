"""Shifts that interleave the sending of jobs on all links that they share.

Jobs and the links that they could overload together form a graph. On each link, jobs are rotated against each
other as circles (`artist.policies.network_aware.circles`), on the links with the highest load first; jobs
that were rotated against each other keep their distance from then on and are rotated together. Where the
graph has no loop, every link gets its own best angles, and each job one shift, as in the paper; a link that
would close a loop rotates only jobs that other links have not tied. Links that carry the same jobs count as
one, the one with the highest load.

Source: Rajasekaran et al., CASSINI, NSDI 2024, the affinity graph.

Differs from the paper, which discards placements whose graph has a loop.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from artist.core.link_use import FULL, LinkName, LinkUse
from artist.policies.network_aware.circles import rotations, score

_NONE: Mapping[int, int] = MappingProxyType({})


class Interleaved(NamedTuple):
    """The best shifts of jobs on their links.

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


def interleaved(uses: Mapping[int, LinkUse], kept_ns: Mapping[int, int] = _NONE) -> Interleaved:
    """Return shifts of jobs, from the link use of each alone, and the scores of their links with them.

    Of jobs joined by links, the lowest has no shift.

    Parameters
    ----------
    kept_ns
        Shifts of jobs that keep them; only links of others count.
    """
    links = {link: jobs for link, jobs in _shared(uses).items() if any(job not in kept_ns for job in jobs)}
    shift_ns = _joined_shifts(uses, links, kept_ns)
    scores = {link: score(link, [(uses[job], shift_ns[job]) for job in jobs]) for link, jobs in links.items()}
    return Interleaved({job: ns for job, ns in shift_ns.items() if job not in kept_ns}, scores)


def _joined_shifts(
    uses: Mapping[int, LinkUse], links: Mapping[LinkName, Sequence[int]], kept_ns: Mapping[int, int]
) -> dict[int, int]:
    """Return the shift of each job: link by link, sets of jobs that links join are rotated against others."""
    shift_ns = {job: kept_ns.get(job, 0) for jobs in links.values() for job in jobs}
    kept = [job for job in shift_ns if job in kept_ns]
    tied = {job: [job] for job in shift_ns} | dict.fromkeys(kept, kept)
    for link, jobs in links.items():
        # Jobs that keep their shifts come first: these are not rotated.
        first = sorted(jobs, key=lambda job: job not in kept_ns)
        sets = list({tied[job][0]: tied[job] for job in first}.values())
        here = [[(uses[job], shift_ns[job]) for job in joined if job in jobs] for joined in sets]
        for joined, delay_ns in zip(sets, rotations(link, here), strict=True):
            shift_ns |= {job: shift_ns[job] + delay_ns for job in joined}
        all_joined = list(chain.from_iterable(sets))
        tied |= dict.fromkeys(all_joined, all_joined)
    first_ns = {job: 0 if kept else shift_ns[min(joined)] for job, joined in tied.items()}
    rotated = [job for job in shift_ns if job not in kept_ns]
    return shift_ns | {job: (shift_ns[job] - first_ns[job]) % uses[job].iteration_ns for job in rotated}


def _shared(uses: Mapping[int, LinkUse]) -> dict[LinkName, list[int]]:
    """Return the jobs, sorted, of each link that they could overload, the highest load first."""
    users: dict[LinkName, list[int]] = {}
    for job in sorted(uses):
        for link in uses[job].spans:
            users.setdefault(link, []).append(job)
    users = {link: jobs for link, jobs in users.items() if sum(uses[j].max_share(link) for j in jobs) > FULL}
    carried = {link: sum(uses[job].mean_share(link) for job in jobs) for link, jobs in users.items()}
    order = sorted(users, key=lambda link: (-carried[link], link))
    distinct = {tuple(users[link]): link for link in reversed(order)}
    return {link: users[link] for link in order if distinct[tuple(users[link])] == link}
