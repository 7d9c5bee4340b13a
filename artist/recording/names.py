"""Names of the files in a run folder, and of the columns that several of them share."""

SUMMARY = "summary.json"  # a folder that has one is complete
ERROR = "error.json"  # of a point that failed
CONFIG = "config.yaml"
LOG = "artist.log"
SERIES = "policy.parquet"
RESOURCES_FILE = "resources.parquet"

RESOURCES = {"storage": "storage", "cpu": "CPU", "gpu": "GPU", "network": "network"}  # as in Stages: title
BLOCKING = "blocking_index"
RESOURCE_COLUMNS = (*RESOURCES, BLOCKING)
