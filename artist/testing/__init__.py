"""Tiny clusters and conformance suites, for the tests here and for plug-ins elsewhere."""
