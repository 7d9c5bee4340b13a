"""`python -m artist` is `artist`."""

import sys

from artist.cli import main

sys.exit(main())
