"""Prices as tables, in aligned text or CSV."""

from collections.abc import Sequence

from artist.pricing.price import CollectivePrice, Price
from artist.pricing.together import JobPrice, LinkPrice
from artist.results.stand_ins import ABOVE_PORT, CARRIED, FALLBACK
from artist.tables.grid import Grid, csv_text, percent
from netmodels.api import TIERS

_STAND_INS = (("carried", CARRIED), ("fallback", FALLBACK))
_NO_LINKS = "no link could be overloaded, even if all jobs sent their most at once"


def price_table(prices: Sequence[Price], leads: Sequence[str]) -> str:
    """Return the table of iterations as aligned text; times in ms, bytes sent by each GPU in MB.

    If the network's program has not answered for a placement itself, or answers are above the port, a last
    column and notes give the reason.

    Parameters
    ----------
    prices
        The rows.
    leads
        Headings of the further columns.
    """
    tiers = [tier for tier in TIERS if any(tier in price.sent_bytes for price in prices)]
    notes = [f"{name}: {why}" for name, why in _STAND_INS if any(price.origin == name for price in prices)]
    answers = any(price.bound for price in prices) or bool(notes)
    notes += _above_notes(prices)
    heads = [
        *(("", "", lead) for lead in leads),
        ("", "", "model"),
        ("", "", "placement"),
        ("", "", "tier"),
        ("", "", "GPUs"),
        ("", "compute", "ms"),
        ("", "comm.", "ms"),
        ("", "exposed", "ms"),
        ("", "total", "ms"),
        ("over-", "head", "%"),
        *(("sent", tier, "MB") for tier in tiers),
        *[("", "", "answer")] * answers,
    ]
    rows = tuple(
        (
            *price.lead,
            price.model,
            price.placement,
            price.tier,
            str(price.gpus),
            *(
                _ms(time_ns)
                for time_ns in (price.compute_ns, price.comm_ns, price.exposed_ns, price.total_ns)
            ),
            percent(price.overhead),
            *(_mb(price.sent_bytes[tier]) if tier in price.sent_bytes else "-" for tier in tiers),
            *[_answer(price)] * answers,
        )
        for price in prices
    )
    return Grid(tuple(heads), rows, len(leads) + 3, "\n".join(notes)).text()


def _answer(price: Price) -> str:
    words: list[str] = [] if price.origin == "model" else [price.origin]
    if price.bound is not None:
        words.append(f"above the port: {_ms(price.bound.comm_ns)} for {_ms(price.bound.by_port_ns)} ms")
    return ", ".join(words)


def _above_notes(prices: Sequence[Price] | Sequence[CollectivePrice]) -> list[str]:
    """Return the note on prices with collectives faster than their ports, if there are any."""
    above = any(price.bound is not None for price in prices)
    return [f"above the port: {ABOVE_PORT}; its time for the least by the port"] * above


def together_table(jobs: Sequence[JobPrice], links: Sequence[LinkPrice], leads: Sequence[str]) -> str:
    """Return the tables of jobs on one fabric, and of the links that they could overload, as aligned text.

    Parameters
    ----------
    jobs, links
        The rows.
    leads
        Headings of the further columns.
    """
    heads = [
        *(("", "", lead) for lead in leads),
        *(("", "", head) for head in ("job", "model", "placement", "tier", "GPUs")),
        ("", "alone", "ms"),
        ("by the mean", "field", "ms"),
        ("", "slow-", "down"),
        ("in", "packets", "ms"),
        ("", "slow-", "down"),
    ]
    rows = tuple(
        (
            *(*job.lead, str(job.number), job.model, job.placement, job.tier, str(job.gpus)),
            *(_ms(job.alone_ns), _ms(job.mean_field_ns), f"{job.slowdown(job.mean_field_ns):.3f}"),
            *(_ms(job.packets_ns), f"{job.slowdown(job.packets_ns):.3f}"),
        )
        for job in jobs
    )
    text = Grid(tuple(heads), rows, len(leads) + 4).text()
    if not links:
        return f"{text}\n{_NO_LINKS}"
    heads = [
        *(("", "", lead) for lead in leads),
        *(("", "", "link that jobs could overload"), ("", "", "jobs"), ("", "", "Gb/s")),
        *(("all send", "at once", "%"), ("mean use", "in packets", "%")),
    ]
    rows = tuple(
        (
            *(*link.lead, link.name, ", ".join(map(str, link.jobs))),
            f"{link.paths} x " * (link.paths > 1) + f"{8 * link.bytes_per_ns:g}",
            *(f"{100 * link.asked:.1f}", f"{100 * link.use:.1f}"),
        )
        for link in links
    )
    return f"{text}\n\n{Grid(tuple(heads), rows, len(leads) + 2).text()}"


def collective_table(prices: Sequence[CollectivePrice], leads: Sequence[str]) -> str:
    """Return the table of collectives as aligned text; bandwidths as nccl-tests define them.

    If some are above the port, a last column and a note give the least time by the port.

    Parameters
    ----------
    prices
        The rows.
    leads
        Headings of the further columns.
    """
    notes = _above_notes(prices)
    heads = [
        *(("", lead) for lead in leads),
        ("", "collective"),
        ("", "placement"),
        ("", "tier"),
        ("", "GPUs"),
        ("", "MB"),
        ("time", "us"),
        ("algorithm", "GB/s"),
        ("bus", "GB/s"),
        *[("", "answer")] * bool(notes),
    ]
    rows = tuple(
        (
            *price.lead,
            price.collective,
            price.placement,
            price.tier,
            str(price.gpus),
            _mb(price.bytes),
            f"{price.time_ns / 1e3:,.3f}",
            f"{price.algorithm_gb_s:.2f}",
            f"{price.bus_gb_s:.2f}",
            *[_above(price)] * bool(notes),
        )
        for price in prices
    )
    grid = Grid(tuple(("", *head) for head in heads), rows, len(leads) + 3, "\n".join(notes))
    return grid.text().lstrip("\n")


def _above(price: CollectivePrice) -> str:
    return "" if price.bound is None else f"above the port: at least {price.bound.by_port_ns / 1e3:,.3f} us"


def price_csv(prices: Sequence[Price], leads: Sequence[str]) -> str:
    """Return the table of iterations as CSV, units in the headings; least times where above the port."""
    names = (*leads, "model", "placement", "tier", "gpus", "compute_ns", "comm_ns", "exposed_ns", "total_ns")
    rows = [
        (
            *(*price.lead, price.model, price.placement, price.tier, price.gpus, price.compute_ns),
            *(price.comm_ns, price.exposed_ns, price.total_ns, repr(price.overhead)),
            *(price.sent_bytes.get(tier, 0) for tier in TIERS),
            "" if price.bound is None else price.bound.by_port_ns,
            price.origin,
        )
        for price in prices
    ]
    sent = (f"sent_{tier}_bytes" for tier in TIERS)
    return csv_text([(*names, "overhead", *sent, "above_port_least_ns", "answer"), *rows])


def together_csv(jobs: Sequence[JobPrice], links: Sequence[LinkPrice], leads: Sequence[str]) -> str:
    """Return the table of jobs on one fabric as CSV, and the fullest link that each could overload."""
    names = (*leads, "job", "model", "placement", "tier", "gpus", "alone_ns", "mean_field_ns", "packets_ns")
    rows = []
    for job in jobs:
        used = [link for link in links if job.number in link.jobs and link.lead == job.lead]
        fullest = max(used, key=lambda link: link.use, default=None)
        rows.append(
            (
                *(*job.lead, job.number, job.model, job.placement, job.tier, job.gpus),
                *(repr(job.alone_ns), repr(job.mean_field_ns), repr(job.packets_ns)),
                *(("", "") if fullest is None else (fullest.name, repr(fullest.use))),
            )
        )
    return csv_text([(*names, "fullest_link", "fullest_link_use"), *rows])


def collective_csv(prices: Sequence[CollectivePrice], leads: Sequence[str]) -> str:
    """Return the table of collectives as CSV, units in the headings; least times where above the port."""
    names = ("collective", "placement", "tier", "gpus", "bytes", "time_ns", "algorithm_gb_s", "bus_gb_s")
    rows = [
        (
            *(*price.lead, price.collective, price.placement, price.tier, price.gpus),
            *(price.bytes, price.time_ns, repr(price.algorithm_gb_s), repr(price.bus_gb_s)),
            "" if price.bound is None else price.bound.by_port_ns,
        )
        for price in prices
    ]
    return csv_text([(*leads, *names, "above_port_least_ns"), *rows])


def _ms(time_ns: float) -> str:
    return f"{time_ns / 1e6:,.3f}"


def _mb(bytes_: int) -> str:
    return f"{bytes_ / 1e6:,.1f}" if bytes_ >= 1e5 else f"{bytes_ / 1e6:.2g}"
