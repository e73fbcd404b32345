"""The couplings that a specification asks for: random ones by number, or a file of one's own."""

from pathlib import Path

from attention_limits.pipeline.streams import Streams
from attention_limits.potts_mlm.potts import Potts, color_couplings, read_matrix, site_couplings


def make_model(model: dict, project: Path | str, root_seed: int, family: str) -> Potts:
    """The model of a specification; an instance of one number is the same in every experiment.

    Raises ValueError for files that hold no fitting symmetric matrix.
    """
    streams = Streams(root_seed, family, "instances")
    matrices = []
    for key, random, size in (
        ("couplings", site_couplings, model["sites"]),
        ("color_couplings", color_couplings, model["colors"]),
    ):
        options = dict(model[key])
        kind = options.pop("kind")
        if kind == "file":
            matrix = read_matrix(Path(project) / options["file"])
            if len(matrix) != size:
                raise ValueError(f"{options['file']}: a matrix of shape {matrix.shape}; {size} rows are asked for")
        else:
            matrix = random(kind, size, streams.generator(key, model["instance"]), **options)
        matrices.append(matrix)
    return Potts(*matrices)
