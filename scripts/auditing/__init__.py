"""Parts of scripts/audit.py. They import nothing of artist or netmodels."""
