"""Max-min fair rates of jobs that share links, by progressive filling.

All rates rise together, each in proportion to its job's weight, until a link is full; the jobs on it keep
their rates and the others rise on. In the end no rate can grow without lowering one that is no larger
relative to its weight: every job crosses a full link on which no other job has more (its bottleneck), unless
its own limit holds it (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats

_TIE = 1 + 1e-12
"""Levels that differ by less, relatively, are equal: they are reached in one round."""


@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """Links that each job crosses, with its flows over each; built once for jobs that stay.

    Only links in use are kept, so that an answer costs as much in a large fabric as in a small one.

    Parameters
    ----------
    n_jobs
        Number of jobs.
    used
        Numbers of the links that some job crosses, ascending, shape (n_used,).
    job, link
        One crossing each, shape (n_crossings,): the job's number, ascending, and the link's place in `used`.
    flows
        The job's flows over the link, shape (n_crossings,); each has the job's rate.
    """

    n_jobs: int
    used: Ints
    job: Ints
    link: Ints
    flows: Floats

    @classmethod
    def of(cls, indptr: Ints, links: Ints, n_links: int, flows: Floats | None = None) -> Self:
        """Return the incidence of the rows of a sparse matrix, jobs by links.

        Parameters
        ----------
        indptr
            Where the links of each job begin and end in `links`, shape (n_jobs + 1,).
        links
            Numbers of links, job by job, shape (n_crossings,).
        n_links
            How many links there are.
        flows
            0 or more, shape (n_crossings,); by default one each.
        """
        in_use = np.bincount(links, minlength=n_links) > 0
        n_jobs = len(indptr) - 1
        return cls(
            n_jobs=n_jobs,
            used=np.flatnonzero(in_use),
            job=np.repeat(np.arange(n_jobs), np.diff(indptr)),
            link=(np.cumsum(in_use) - 1)[links],
            flows=np.ones(len(links)) if flows is None else flows,
        )


def fair(
    incidence: Incidence, capacities: Floats, weights: Floats | None = None, limits: Floats | None = None
) -> Floats:
    """Return the weighted max-min fair rate of every job, bytes per ns of each of its flows.

    A link's level is the rate per weight at which it would be full if all its jobs had the same. A link is
    a bottleneck once no job on it crosses a link of a lower level, so all such links are filled in one round.
    1,000 jobs on 20 random links each of 10,000 take ten rounds. The worst case is a chain of links of rising
    capacity, each shared by two jobs: one job a round (1,000 jobs: 25 ms; scripts/benchmarks).

    Parameters
    ----------
    incidence
        Jobs and the links that they cross.
    capacities
        Of all links, bytes per ns, shape (n_links,): 0 or more, infinite for a link that limits no job.
    weights
        Above 0, shape (n_jobs,); by default equal.
    limits
        The most that a flow of each job sends on any link, bytes per ns, shape (n_jobs,); by default none.

    Returns
    -------
    Floats
        Shape (n_jobs,); infinite for a job that neither a link nor its own limit holds.
    """
    weight = np.ones(incidence.n_jobs) if weights is None else weights
    ceiling = np.full(incidence.n_jobs, np.inf) if limits is None else limits / weight
    left = capacities[incidence.used]
    binding = np.isfinite(left)[incidence.link] & (incidence.flows > 0)
    job, link = incidence.job[binding], incidence.link[binding]
    need = incidence.flows[binding] * weight[job]
    reached = ceiling.copy()
    while len(job):
        load = np.bincount(link, need, len(left))
        level = np.divide(left, load, out=np.full(len(left), np.inf), where=load > 0)
        lowest = ceiling.copy()  # of each job's links
        np.minimum.at(lowest, job, level[link])
        least = np.full(len(left), np.inf)  # of each link's jobs
        np.minimum.at(least, link, lowest[job])
        stops = np.zeros(incidence.n_jobs, dtype=bool)
        stops[job[(level <= least * _TIE)[link] | (lowest == ceiling)[job]]] = True
        reached[stops] = lowest[stops]
        gone = stops[job]
        left -= np.bincount(link[gone], (need * lowest[job])[gone], len(left))
        job, link, need = job[~gone], link[~gone], need[~gone]
    return reached * weight
