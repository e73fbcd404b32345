"""What no schema can say about specifications of the Potts family."""

# Numbers of the simulated sequences of one point: 8 bytes each, held three times.
MAX_ENTRIES = 1e8

# The key that each kind of couplings needs, beside `kind`.
_OPTIONS = {"low_rank": "rank", "contact": "density", "file": "file"}


def problems(estimator):
    """Options that a kind does not read or lacks, unfitting files, unreachable distances, more sequences than there are."""
    model, found = estimator.model, []
    for key, size in (("couplings", "sites"), ("color_couplings", "colors")):
        if key in model:
            found += _coupling_problems(key, model[key], model[size], estimator.project)
    if "colors" in model and "distance" in estimator.grid:
        largest = 1.0 - 1.0 / model["colors"]
        found += [
            (
                ("grid", "distance"),
                f"{value:g}: allowed: below {largest:g}, that of {model['colors']} colours at random",
            )
            for value in estimator.grid["distance"]
            if value >= largest
        ]
    if "gamma" in estimator.grid and "sites" in estimator.solver:
        found += _simulation_problems(estimator)
    if "alignment" in model:
        found += _alignment_problems(model, estimator.project)
    if estimator.reads is not None and "samples" in estimator.reads.solver:
        found += _size_problems(estimator)
    solver = estimator.solver
    if solver.get("evaluations", 0) > solver.get("epochs", 0):
        found.append(
            (("solver", "evaluations"), f"{solver['evaluations']}: more than solver.epochs, {solver['epochs']}")
        )
    return found


def _simulation_problems(estimator):
    sites, alpha = estimator.solver["sites"], max(estimator.grid["alpha"])
    if alpha * (sites - 1) * sites > MAX_ENTRIES:
        most = MAX_ENTRIES / (sites * (sites - 1))
        return [
            (
                ("grid", "alpha"),
                f"{alpha:g}: allowed: at most {most:g} for {sites} sites; the sequences must fit into memory",
            )
        ]
    return []


def code_files(estimator):
    """The matrices and the alignment that the model names."""
    model = estimator.model
    names = [model[key]["file"] for key in ("couplings", "color_couplings") if "file" in model.get(key, {})]
    names += [model["alignment"]] if "alignment" in model else []
    return [estimator.project / name for name in names]


def _coupling_problems(key, options, size, project):
    wanted = _OPTIONS.get(options["kind"])
    found = [
        (("model", key, name), f"kind {options['kind']} does not read it")
        for name in sorted(options.keys() - {"kind", wanted})
    ]
    if wanted and wanted not in options:
        return [*found, (("model", key, wanted), f"missing; kind {options['kind']} needs it")]
    if wanted == "file":
        # A file of one's own is rare and worth the imports: it is looked into before any job.
        from attention_limits.potts_mlm.potts import read_matrix, symmetric

        path = project / options["file"]
        try:
            matrix = symmetric(read_matrix(path), str(path), hollow=key == "couplings")
            if len(matrix) != size:
                raise ValueError(f"{path}: {len(matrix)} rows; the model has {size}")
        except ValueError as error:
            found.append((("model", key, "file"), str(error)))
    return found


def _alignment_problems(model, project):
    from attention_limits.potts_mlm.alignment import read_alignment

    letters = model["alphabet"]
    twice = sorted({letter for letter in letters if letters.count(letter) > 1 or letter.isspace() or letter == ">"})
    if twice:
        return [
            (("model", "alphabet"), f"{letters!r}: allowed: letters that differ, without > and spaces; found {twice}")
        ]
    try:
        read_alignment(project / model["alignment"], model["alphabet"])
    except OSError as error:
        return [(("model", "alignment"), f"{project / model['alignment']}: cannot be read: {error.strerror}")]
    except ValueError as error:
        return [(("model", "alignment"), str(error))]
    return []


def _size_problems(estimator):
    there = estimator.reads.solver
    asked = [(("grid", "samples"), max(estimator.grid.get("samples", [0])), "samples")]
    asked += [(("solver", "samples"), estimator.solver.get("samples", 0), "samples")]
    asked += [(("solver", "test_sequences"), estimator.solver.get("test_sequences", 0), "test_samples")]
    return [
        (keys, f"{count}: the data have {there[name]}, their solver.{name}")
        for keys, count, name in asked
        if count > there[name]
    ]
