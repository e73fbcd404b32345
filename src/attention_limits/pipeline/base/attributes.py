"""Attributes of result files: the specification, seed and code that made them. Only the attributes are read, not the data."""

import netCDF4

# The key of the digest of a figure among the texts of its PNG.
DIGEST = "figure_digest"


def attributes_of(path: str) -> dict[str, str]:
    """The attributes of a NetCDF file; none if it does not exist or is damaged."""
    try:
        with netCDF4.Dataset(path) as opened:
            return {name: opened.getncattr(name) for name in opened.ncattrs()}
    except OSError:
        return {}


def digest_of_picture(path: str) -> str | None:
    """The digest that `draw` has written into a PNG; None without it, and for a file that is missing or damaged."""
    # Comes with matplotlib; other readers of this module need neither.
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            return opened.info.get(DIGEST)
    except (OSError, UnidentifiedImageError):
        return None
