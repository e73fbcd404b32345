"""Attributes of result files: the specification, seed and code that made them. Only the attributes are read, not the data."""

import json

import netCDF4

# The keys of the digest of a figure, and of the numbers of its caption, among the texts of its PNG.
DIGEST, NUMBERS = "figure_digest", "caption_numbers"


def attributes_of(path: str) -> dict[str, str]:
    """The attributes of a NetCDF file; none if it does not exist or is damaged."""
    try:
        with netCDF4.Dataset(path) as opened:
            return {name: opened.getncattr(name) for name in opened.ncattrs()}
    except OSError:
        return {}


def digest_of_picture(path: str) -> str | None:
    """The digest that `draw` has written into a PNG; None without it, and for a file that is missing or damaged."""
    return _texts_of_picture(path).get(DIGEST)


def numbers_of_picture(path: str) -> dict[str, float]:
    """The numbers of its caption that `draw` has written into a PNG, by name; none where `digest_of_picture` finds no digest."""
    return json.loads(_texts_of_picture(path).get(NUMBERS, "{}"))


def _texts_of_picture(path):
    # Comes with matplotlib; other readers of this module need neither.
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            return opened.info
    except (OSError, UnidentifiedImageError):
        return {}
