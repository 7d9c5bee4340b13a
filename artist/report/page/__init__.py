"""The page of a report and its tables, as HTML."""
