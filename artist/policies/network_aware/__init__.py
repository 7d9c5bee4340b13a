"""Any policy made aware of shared links, and CASSINI."""
