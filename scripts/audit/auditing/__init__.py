"""Parts of scripts/audit/audit.py. They import nothing of artist or netmodels."""
