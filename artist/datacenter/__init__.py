"""The machines of a run: built from topology and configuration; their failures, joins and leaves."""
