"""The command `artist`, also as `python -m artist`."""

import sys

from artist.entry import artist as command

if __name__ == "__main__":
    sys.exit(command())
