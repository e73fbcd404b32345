"""The couplings of a specification: random ones with a number, or matrices from files."""

from pathlib import Path

from attention_limits.pipeline.base.streams import Streams
from attention_limits.potts_mlm.potts.contacts import contact_map
from attention_limits.potts_mlm.potts.model import Potts, color_couplings, read_matrix, site_couplings


def make_model(model: dict, project: Path | str, root_seed: int, family: str, replica: int = 0) -> Potts:
    """The Potts model of a specification; instances with the same number are equal in all experiments.

    From a list of instances, replica number `replica` takes the entry of this number. Files are relative to `project`.
    `root_seed` and `family` name the random streams. Raises ValueError when a file holds no symmetric matrix of the right size,
    or lacks the distance of some sites.
    """
    streams = Streams(root_seed, family, "instances")
    instance = model["instance"][replica] if isinstance(model["instance"], list) else model["instance"]

    def matrix(key, draw, size):
        options = dict(model[key])
        kind = options.pop("kind")
        if kind == "distances":
            return contact_map(Path(project) / options["file"], size, options["contact"])
        if kind != "file":
            return draw(kind, size, streams.generator(key, instance), **options)
        found = read_matrix(Path(project) / options["file"])
        if len(found) != size:
            raise ValueError(f"{options['file']}: shape {found.shape}: must have {size} rows")
        return found

    return Potts(
        matrix("couplings", site_couplings, model["sites"]), matrix("color_couplings", color_couplings, model["colors"])
    )
