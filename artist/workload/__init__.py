"""Jobs to simulate: trace readers, a generator, filters, models and arrivals."""

from artist.workload.load import load_jobs, load_table

__all__ = ["load_jobs", "load_table"]
