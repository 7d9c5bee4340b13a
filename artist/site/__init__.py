"""Configuration files of a site's scheduler, read as settings of a run."""
