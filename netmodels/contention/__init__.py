"""Jobs that share links: docs/contention.md defines the terms and rules, with worked examples."""
