"""docs/architecture.md names the rooms that there are, and shows them as they are."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRAWING = runpy.run_path(str(ROOT / "docs" / "draw_rooms.py"))


def test_the_picture_shows_the_rooms_as_they_are() -> None:
    """`python docs/draw_rooms.py` after a change of imports between rooms brings it up to date."""
    assert (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8") == DRAWING["svg"](DRAWING["rooms"]())


def test_the_page_names_every_room_of_artist() -> None:
    """A newcomer finds the room for a change in the table."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {room.removeprefix("artist/") for room in DRAWING["rooms"]() if room.startswith("artist/")}
    assert not [room for room in sorted(rooms) if f"`{room}" not in page]
