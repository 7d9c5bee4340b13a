"""Jobs that share links: README.md defines the terms and rules, with two worked examples."""
