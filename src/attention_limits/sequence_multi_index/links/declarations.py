"""Whether a link agrees with its declarations: output, symmetry, candidates.

This module tests seeded random fields, which is quick, without numba or scipy; `reports.channel_checks` checks the channel.
"""

from collections.abc import Iterator

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link, candidates_of, inference
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

SYMMETRIES = ("rows", "all", "none")
# Fields beyond this many standard deviations carry no probability; their candidates may be inaccurate.
FAR = 8.0
# Fields of the averages are up to this many times as large as the random ones.
WIDER = 2.0
# Largest accepted error of an output that a candidate reproduces, relative to the output and its typical size.
ACCURACY = 1e-6
# Random fields on which a posterior of the link itself is compared with the output, and standard errors that refuse it; those on
# which its moments are compared with differences of log Z of this step, and the accuracy.
MANY, SURE = 16384, 6.0
FEW, STEP, DERIVATIVE = 64, 1e-3, 1e-3
# Step of the differences of an output in the fields of a fibre.
WEIGHT_STEP = 1e-5
# Output noise, relative to the largest output, that rounding leaves.
DIGITS = 1e-10
# Fields at which the density of a single noisy output is integrated, outputs that give its range, points of the integral, and
# its accuracy.
PLACES, DRAWS, POINTS, UNIT = 4, 2048, 8193, 0.02
# More values that are drawn once than this number, and than half of all values, are drawn from a density.
RARE = 16
# Distance of Kolmogorov and Smirnov, times the root of DRAWS, that refuses: a right density has it with the probability 5e-11.
FAR_APART = 3.5
# Importance sampling of a likelihood: outputs, fields, its largest accepted bias, and the least number of effective fields of an
# output that takes part; outputs in one array.
OUTPUTS, FIELDS, BIAS, EFFECTIVE, AT_ONCE = 1024, 4096, 0.05, 50.0, 64
# The log Z of a link itself may differ from that of sampled fields by this number, where so many effective fields carry it.
LOG_Z, SHARP = 0.1, 400.0


def problems_of(link: Link, count=64, seed=0) -> list[str]:
    """The problems of a link: one message each, with the failing example.

    Parameters
    ----------
    link : Link
    count : int
        Number of random fields to try, a multiple of 8.
    seed : int
        Seed of the random fields.
    """
    found = attribute_problems(link)
    if found:
        return found
    try:
        with np.errstate(all="ignore"):
            return _problems(link, count, seed)
    except (Exception, SystemExit) as error:
        # A link of a file may raise anything.
        shape = (count, link.rows, link.tokens)
        return [f"the link fails on random fields of shape {shape}: {type(error).__name__}: {error}"]


def _problems(link, count, seed):
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((count, link.rows, link.tokens))
    found = list(_forward_problems(link, h))
    if found:
        return found
    noise = rng.standard_normal((count, link.noise_dimension))
    found = list(_observe_problems(link, h, noise))
    if found:
        return found
    if hasattr(link, "spikes"):
        spikes = np.asarray(link.spikes(noise))
        if spikes.shape != h.shape or not np.all(np.isfinite(spikes)):
            return [
                f"spikes must return finite numbers (n, P, M) = {h.shape} for noise {noise.shape}, got {spikes.shape}"
            ]
        h = h + spikes
    y = link.forward(h)
    found = [*_symmetry_problems(link, h, y), *_invariance_problems(link, h, y, rng)]
    try:
        form = inference(link)
    except ValueError as error:
        # A link that only runs forward is good for simulations; one with two channels is not.
        forward_only = link.no_density or not hasattr(link, "fibre")
        return found if forward_only else [*found, str(error)]
    if not found:
        check = _fibre_problems if form == "fibre" else _likelihood_problems
        found = list(check(link, h, link.observe(h, noise), rng))
    if not found and form == "fibre" and hasattr(link, "spikes"):
        found = ["spikes need a log_likelihood of the output and of the tokens, not a fibre"]
    if not found and hasattr(link, "moments"):
        found = list(_moments_problems(link, rng))
    return found


def attribute_problems(link: Link) -> list[str]:
    """The sizes and the symmetry of a link that are no sizes and no symmetry: one message each."""
    found = []
    for name, least in (("rows", 1), ("tokens", 1), ("noise_dimension", 0), ("free_rows", 0), ("angles", 0)):
        value = getattr(link, name, None)
        if not isinstance(value, int | np.integer) or value < least:
            found.append(f"{name} must be a whole number >= {least}, is {value!r}")
    if link.sign_symmetry not in SYMMETRIES:
        found.append(f"sign_symmetry must be one of {', '.join(SYMMETRIES)}, is {link.sign_symmetry!r}")
    return found


def _forward_problems(link, h) -> Iterator[str]:
    given = h.copy()
    y = np.asarray(link.forward(given))
    if y.ndim == 0 and y.item() is None:
        yield "forward returned None; is `return` missing?"
        return
    if not np.array_equal(given, h):
        yield "forward changes the fields it is given"
        return
    if y.ndim < 1 or len(y) != len(h):
        yield f"forward must return (n, ...) for fields of shape (n, P, M): {h.shape} gave {y.shape}"
        return
    if not np.issubdtype(y.dtype, np.floating):
        yield f"forward must return real floating numbers, returns {y.dtype}; {_example(h[0], y[0])}"
        return
    # The nodes of the averages reach further than these few fields.
    for fields in (h, WIDER * h):
        shown = y if fields is h else np.asarray(link.forward(fields))
        if not np.all(np.isfinite(shown)):
            bad = int(np.argmin(np.isfinite(shown).reshape(len(h), -1).all(axis=1)))
            yield f"forward must return finite numbers; {_example(fields[bad], shown[bad])}"
            return
    again = np.asarray(link.forward(h))
    if not np.array_equal(again, y):
        bad = _different(again, y, 0.0) or 0
        yield (
            "forward is not deterministic: noise belongs into observe, or into the parameter noise; "
            f"{_example(h[bad], y[bad])}, and {_text(again[bad])} when called again"
        )
        return
    batched = np.asarray(link.forward(h.reshape(-1, 8, *h.shape[1:])))
    if batched.shape != (len(h) // 8, 8, *y.shape[1:]) or not np.allclose(batched.reshape(y.shape), y, rtol=1e-9):
        yield f"forward must act on the last two axes alone: fields (n, S, P, M) gave {batched.shape}, or other values"
        return
    # A mean over all fields, for example.
    half = np.asarray(link.forward(h[: len(h) // 2]))
    if half.shape != (len(h) // 2, *y.shape[1:]) or not np.allclose(half, y[: len(half)], rtol=1e-9):
        yield "forward must act on the last two axes alone: the outputs of some fields depend on the other fields"


def _symmetry_problems(link, h, y) -> Iterator[str]:
    flips = {"rows": range(link.rows), "all": [slice(None)], "none": []}[link.sign_symmetry]
    for rows in flips:
        flipped = h.copy()
        flipped[:, rows] *= -1.0
        wrong = _different(link.forward(flipped), y)
        if wrong is not None:
            which = "all rows" if isinstance(rows, slice) else f"row {rows + 1}"
            others = ["declare sign_symmetry = 'none'"]
            if link.sign_symmetry == "rows" and _different(link.forward(-h), y) is None:
                others = ["declare sign_symmetry = 'all'"]
            yield (
                f"the sign of {which} changes the output, against sign_symmetry = {link.sign_symmetry!r}: {others[0]}; "
                f"{_example(h[wrong], y[wrong])}, with the sign changed {_text(link.forward(flipped)[wrong])}"
            )
            return


def _invariance_problems(link, h, y, rng) -> Iterator[str]:
    """Rotations of the rows of each block, and permutations of all rows but the last."""
    p = link.rotations
    if p > 1 and link.rows % p:
        yield f"rotations must divide the number of rows {link.rows}, is {p}"
    elif p > 1:
        blocks = h.reshape(len(h), link.rows // p, p, link.tokens)
        turned = (np.linalg.qr(rng.standard_normal((p, p)))[0] @ blocks).reshape(h.shape)
        wrong = _different(link.forward(turned), y, ACCURACY)
        if wrong is not None:
            yield f"a rotation of rows changes the output, against rotations = {p}: {_example(h[wrong], y[wrong])}"
    if link.exchangeable:
        moved = np.concatenate([np.roll(h[:, :-1], 1, axis=1), h[:, -1:]], axis=1)
        wrong = _different(link.forward(moved), y, ACCURACY)
        if wrong is not None:
            yield f"a permutation of rows changes the output, against exchangeable = True: {_example(h[wrong], y[wrong])}"


def _observe_problems(link, h, noise) -> Iterator[str]:
    given = h.copy()
    observed = np.asarray(link.observe(given, noise.copy()))
    if not np.array_equal(given, h):
        yield "observe changes the fields it is given"
        return
    real = np.issubdtype(observed.dtype, np.number) and not np.iscomplexobj(observed)
    if observed.ndim < 1 or len(observed) != len(h) or not real:
        yield (
            f"observe must return real numbers (n, ...) for fields (n, P, M): {h.shape} gave {observed.dtype} of shape "
            f"{observed.shape}"
        )
        return
    if not np.all(np.isfinite(observed)):
        bad = int(np.argmin(np.isfinite(observed).reshape(len(h), -1).all(axis=1)))
        yield f"observe must return finite numbers; {_example(h[bad], observed[bad])}"
        return
    again = np.asarray(link.observe(h, noise))
    if not np.array_equal(again, observed):
        bad = int(np.argmax(np.any((again != observed).reshape(len(h), -1), axis=1)))
        yield (
            "observe is not a function of fields and noise: set noise_dimension, and use the noise that observe gets; "
            f"{_example(h[bad], observed[bad])}, and {_text(again[bad])} when called again"
        )
        return
    if not link.reads_fields or hasattr(link, "spikes"):
        return
    largest = np.max(np.abs(np.asarray(link.forward(h))).reshape(len(h), -1), axis=1)
    worst = int(np.argmax(largest))
    if isinstance(link, OutputNoise) and np.sqrt(link.variance) < DIGITS * largest[worst]:
        yield (
            f"noise of the standard deviation {np.sqrt(link.variance):.3g} is lost in the last digits of the output: "
            f"{_example(h[worst], link.forward(h)[worst])}; allowed: at least {DIGITS * largest[worst]:.3g}, or a smaller output"
        )
        return
    # A rare output appears in many fields alone.
    for count in (len(h), MANY):
        many = np.random.default_rng(0).standard_normal((count, *h.shape[1:])) if count > len(h) else h
        same = np.asarray(link.observe(many, np.broadcast_to(noise[:1], (count, link.noise_dimension))))
        if not np.array_equal(same, np.broadcast_to(same[:1], same.shape)):
            return
    yield (
        f"the output does not depend on the fields: {_example(h[0], same[0])}, {_example(h[1], same[0])}, and all of {count} "
        "random fields give the same"
    )


def _fibre_problems(link, h, observed, rng) -> Iterator[str]:
    n, free_rows = len(h), link.free_rows
    if link.noise_dimension:
        yield "a fibre is for links without noise: write log_likelihood"
        return
    if free_rows >= link.rows:
        yield f"free_rows must be below the number of rows {link.rows}, is {free_rows}"
        return
    free = rng.standard_normal((n, 9, free_rows, link.tokens))
    free[:, 0] = h[:, :free_rows]
    angles = rng.standard_normal((9, link.angles))
    given = observed.copy(), free.copy(), angles.copy()
    raw = [np.shape(values) for values in link.fibre(*given)]
    if not all(np.array_equal(x, y) for x, y in zip(given, (observed, free, angles), strict=True)):
        yield "fibre changes the outputs, the free rows or the angles it is given"
        return
    try:
        candidates, log_weight = candidates_of(link, observed, free, angles)
    except ValueError:
        wanted = (n, 9, "K", link.rows - free_rows, link.tokens)
        yield (
            f"fibre must return candidates and log_weight of shapes (n, S, K, P - free_rows, M) = {wanted} and (n, S, K), or "
            f"arrays that broadcast to them, got {raw[0]} and {raw[1]}"
        )
        return
    again = candidates_of(link, observed, free, angles)
    if not all(np.array_equal(x, y, equal_nan=True) for x, y in zip(again, (candidates, log_weight), strict=True)):
        yield f"fibre is not deterministic: two calls for the output {_text(observed[0])} differ"
        return
    if np.any(np.isnan(log_weight)) or np.any(log_weight == np.inf):
        yield "a log_weight of the fibre is NaN or +inf: a candidate that does not exist has -inf"
        return
    if not np.any(np.isfinite(log_weight)):
        yield "the fibre has no candidate of finite weight"
        return
    if link.sign_symmetry != "none":
        yield from _fibre_symmetry_problems(link, observed, free, angles, candidates, log_weight)
    whole = np.broadcast_to(free[:, :, None], (*log_weight.shape, free_rows, link.tokens))
    whole = np.concatenate([whole, candidates], axis=3)
    present = np.isfinite(log_weight) & np.all(np.abs(whole) < FAR, axis=(3, 4))
    if not np.any(present):
        yield f"the fibre has no candidate within {FAR:g} standard deviations of zero for any of {n} random outputs"
        return
    y = np.asarray(link.forward(h))
    sample = np.nonzero(present)[0]
    fields = whole[present]
    again = np.asarray(link.forward(fields))
    wrong = _different(again, y[sample], ACCURACY)
    if wrong is not None:
        yield (
            f"a candidate of the fibre does not reproduce the output: {_example(fields[wrong], again[wrong])}, observed was "
            f"{_text(y[sample[wrong]])}"
        )
    if link.angles == 0:
        distance = np.abs(candidates[:, 0] - h[:, None, free_rows:]).max(axis=(2, 3))
        distance = np.where(np.isfinite(log_weight[:, 0]), distance, np.inf).min(axis=1)
        worst = int(np.argmax(distance))
        if distance[worst] > 1e-4:
            yield (
                f"the true fields are not among the candidates of the fibre, the closest is {distance[worst]:.2g} away: "
                f"{_example(h[worst], y[worst])}"
            )
            return
        yield from _weight_problems(link, h, candidates[:, 0], log_weight[:, 0])


def _weight_problems(link, h, candidates, log_weight) -> Iterator[str]:
    """The weight of the true fields against |dy / d(last fields)|^-1 by first differences, where the output has as many entries.

    A factor that depends on the output alone changes no posterior, only the density of the output, and so the free entropy. A
    kink of the output makes some fields wrong: half of them must be right.
    """
    n, rows = len(h), link.rows - link.free_rows
    size = rows * link.tokens
    if type(link).observe is not Link.observe or np.asarray(link.forward(h)).size != n * size:
        return
    slopes = np.empty((n, size, size))
    for k in range(size):
        step = np.zeros((link.rows, link.tokens))
        step[link.free_rows + k // link.tokens, k % link.tokens] = WEIGHT_STEP
        up, down = (np.asarray(link.forward(h + side * step), dtype=float).reshape(n, size) for side in (1.0, -1.0))
        slopes[:, :, k] = (up - down) / (2.0 * WEIGHT_STEP)
    wanted = -np.linalg.slogdet(slopes)[1]
    nearest = np.abs(candidates - h[:, None, link.free_rows :]).max(axis=(2, 3)).argmin(axis=1)
    given = log_weight[np.arange(n), nearest]
    error = np.abs(given - wanted)
    # NaN where the output does not change with the last fields.
    if np.nanmedian(error) > DERIVATIVE:
        worst = int(np.nanargmax(np.where(np.isfinite(error), error, np.nan)))
        yield (
            "log_weight is not the logarithm of |dy / dh|^-1 for the fields that the fibre computes: "
            f"{given[worst]:.6g}, by differences {wanted[worst]:.6g}; {_example(h[worst], link.forward(h)[worst])}"
        )


def _fibre_symmetry_problems(link, observed, free, angles, candidates, log_weight) -> Iterator[str]:
    """The same output must leave, at -free and -angles, the negatives of the candidates that it leaves at free and angles.

    The nodes are closed under this change of sign, so that a field of unknown sign has the posterior mean zero exactly.
    """
    mirrored, weights = candidates_of(link, observed, -free, -angles)
    distance = np.abs(candidates[:, :, :, None] + mirrored[:, :, None]).max(axis=(4, 5))
    present = np.isfinite(log_weight)
    same = np.isfinite(weights)[:, :, None] & present[..., None]
    with np.errstate(invalid="ignore"):
        same &= np.abs(log_weight[..., None] - weights[:, :, None]) < ACCURACY
    scale = 1.0 + np.abs(candidates).max(axis=(3, 4))
    alone = present & ~np.any(same & (distance < ACCURACY * scale[..., None]), axis=3)
    if np.any(alone):
        n, s, k = np.argwhere(alone)[0]
        yield (
            f"sign_symmetry = {link.sign_symmetry!r}, but the fibre is not closed under (free, angles) -> (-free, -angles): it "
            f"has the candidate {_text(candidates[n, s, k])} at angles {_text(angles[s % len(angles)])} and not, with the same "
            f"weight, its negative at the negative angles, for the output {_text(observed[n])}"
        )


def _likelihood_problems(link, h, observed, rng) -> Iterator[str]:
    fields = np.concatenate([h[:, None], rng.standard_normal((len(h), 8, *h.shape[1:]))], axis=1)
    given, outputs = fields.copy(), observed.copy()
    values = np.asarray(link.log_likelihood(outputs, given))
    if not (np.array_equal(given, fields) and np.array_equal(outputs, observed)):
        yield "log_likelihood changes the outputs or the fields it is given"
        return
    if values.shape != fields.shape[:2] or not np.issubdtype(values.dtype, np.floating):
        yield f"log_likelihood must return real numbers (n, S) = {fields.shape[:2]}, got {values.dtype} of shape {values.shape}"
        return
    if np.any(np.isnan(values)) or np.any(values == np.inf):
        n, s = np.argwhere(np.isnan(values) | (values == np.inf))[0]
        yield f"log_likelihood is {values[n, s]} for the output {_text(observed[n])} at h = {_text(fields[n, s])}"
        return
    again = np.asarray(link.log_likelihood(observed, fields))
    if not np.array_equal(values, again):
        n, s = np.argwhere(values != again)[0]
        yield (
            f"log_likelihood is not deterministic: {values[n, s]:.6g}, and {again[n, s]:.6g} when called again, for the output "
            f"{_text(observed[n])} at h = {_text(fields[n, s])}"
        )
        return
    if link.sign_symmetry != "none" and not np.allclose(values, link.log_likelihood(observed, -fields)):
        yield f"log_likelihood changes with the sign of all fields, against sign_symmetry = {link.sign_symmetry!r}"
    impossible = np.flatnonzero(values[:, 0] == -np.inf)
    if len(impossible):
        first = impossible[0]
        yield f"the true fields have likelihood zero: {_example(h[first], observed[first])}"
        return
    if np.array_equal(values, np.broadcast_to(values[:, :1], values.shape)):
        yield (
            f"log_likelihood does not depend on the fields: {values[0, 0]:.6g} for the output {_text(observed[0])} at "
            f"h = {_text(fields[0, 0])} and at h = {_text(fields[0, 1])}"
        )
        return
    # With spikes the likelihood is that of the tokens too.
    found = [] if hasattr(link, "spikes") else list(_normalisation_problems(link, h, observed, values[:, 0], rng))
    yield from found
    if not found and not _provided(link):
        yield from _contradictions(link, rng)


def _normalisation_problems(link, h, observed, values, rng) -> Iterator[str]:
    """The probabilities of all outputs add up to one: those of an output without noise, and the density of a single one.

    They are also those of the outputs that `observe` gives at some fields. Noisy outputs of several entries are left to
    `_contradictions`.
    """
    if not link.noise_dimension:
        wrong = np.flatnonzero(np.abs(values) > ACCURACY)
        if len(wrong):
            first = wrong[0]
            yield (
                "log_likelihood is not normalised: an output without noise has the probability one, log_likelihood zero, at the "
                f"fields that gave it, not {values[first]:.6g}; {_example(h[first], observed[first])}"
            )
        return
    if observed[0].size != 1:
        return
    for place in h[:PLACES]:
        many = np.broadcast_to(place, (DRAWS, *place.shape))
        drawn = np.asarray(link.observe(many, rng.standard_normal((DRAWS, link.noise_dimension))), dtype=float)
        different, counts = np.unique(drawn, return_counts=True)
        discrete = 16 * len(different) < DRAWS
        alone = int(np.sum(counts == 1))
        if alone < DRAWS and (not discrete or alone > max(RARE, len(different) // 2)):
            # A density beside outputs of positive probability.
            return
        low, high = different[0], different[-1]
        # Twice the range on each side: a density that decays more slowly is left to the statistical checks.
        points = different if discrete else np.linspace(3.0 * low - 2.0 * high, 3.0 * high - 2.0 * low, POINTS)
        outputs, alone = points.reshape(-1, *drawn.shape[1:]), np.broadcast_to(place, (len(points), 1, *place.shape))
        density = np.exp(np.asarray(link.log_likelihood(outputs, alone))[:, 0])
        total = density.sum() if discrete else density.sum() * (points[1] - points[0])
        # Tails or spikes between the points: the density itself must be resolved.
        spread = np.abs(np.diff(density)).max() if not discrete else 0.0
        if abs(total - 1.0) > UNIT and spread < 0.1 * density.max():
            what = (
                f"add up to {total:.4g} over the outputs {_text(points)}"
                if discrete
                else f"integrate to {total:.4g} over y"
            )
            yield f"log_likelihood is not normalised: its exponentials {what}, not to 1, at h = {_text(place)}"
            return
        if discrete:
            share = counts / DRAWS
            excess = np.abs(share - density) - SURE * np.sqrt(share * (1.0 - share) / DRAWS)
            worst = int(np.argmax(excess))
            if excess[worst] > UNIT:
                yield (
                    f"log_likelihood contradicts observe: at h = {_text(place)} it gives the output {_text(points[worst])} the "
                    f"probability {density[worst]:.4g}, and {counts[worst]} of {DRAWS} outputs are this one"
                )
                return
        elif spread < 0.1 * density.max():
            below = np.interp(different, points, np.cumsum(density) / density.sum())
            distance = np.abs(below - (np.arange(DRAWS) + 0.5) / DRAWS)
            worst = int(np.argmax(distance))
            if distance[worst] > FAR_APART / np.sqrt(DRAWS) + 0.5 * UNIT:
                yield (
                    f"log_likelihood contradicts observe: at h = {_text(place)} outputs below {different[worst]:.4g} have the "
                    f"probability {below[worst]:.4g}, and {worst} of {DRAWS} outputs are below"
                )
                return


def _provided(link):
    """Whether the likelihood is that of this package, whose tests show that it is right."""
    inner = link if isinstance(link, OutputNoise) else getattr(link, "link", link)
    return type(inner).__module__.startswith(__name__.partition(".")[0])


def _contradictions(link, rng) -> Iterator[str]:
    """The likelihood of a link against its outputs: Nishimori identities at zero overlap, by importance sampling.

    With m and C the posterior mean and variance of each field h, E[f (h - m)] = 0 and E[f ((h - m)^2 - C)] = 0 for every function
    f of the output. A right likelihood fails with a probability of about 1e-8 for each of them: BIAS, in units of the posterior
    deviation, allows the bias of EFFECTIVE fields. Outputs with fewer have no part, which is a function of the output alone.
    """
    shape = (link.rows, link.tokens)
    spikes = getattr(link, "spikes", None)
    noise = rng.standard_normal((OUTPUTS, link.noise_dimension))
    h = rng.standard_normal((OUTPUTS, *shape)) + (0.0 if spikes is None else spikes(noise))
    observed, nodes = link.observe(h, noise), rng.standard_normal((FIELDS, *shape))
    known = nodes.reshape(FIELDS, -1)
    mean, variance, effective = (
        np.empty((OUTPUTS, known.shape[1])),
        np.empty((OUTPUTS, known.shape[1])),
        np.zeros(OUTPUTS),
    )
    for place in range(0, OUTPUTS, AT_ONCE):
        part = slice(place, place + AT_ONCE)
        values = np.asarray(
            link.log_likelihood(observed[part], np.broadcast_to(nodes, (len(observed[part]), *nodes.shape)))
        )
        top = values.max(axis=1, keepdims=True)
        weights = np.exp(values - np.where(np.isfinite(top), top, 0.0))
        total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        effective[part] = total[:, 0] ** 2 / np.maximum(np.sum(weights**2, axis=1), 1e-300)
        mean[part] = weights @ known / total
        variance[part] = weights @ known**2 / total - mean[part] ** 2
    kept = effective >= EFFECTIVE
    count = int(kept.sum())
    if count < OUTPUTS // 8:
        return
    rest = (h.reshape(OUTPUTS, -1) - mean)[kept]
    seen = _bounded(observed[kept])
    functions = [("1", np.ones((count, 1))), ("tanh of y", seen)]
    spread = variance[kept].mean(axis=0)
    quantities = {
        "h - m": (rest, np.sqrt(spread), [*functions, ("m", mean[kept])]),
        "(h - m)^2 - C": (rest**2 - variance[kept], spread, functions),
    }
    for name, (values, scale, of) in quantities.items():
        for function, factors in of:
            products = np.einsum("nk,ni->nki", factors, values)
            average, error = products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(count)
            excess = np.abs(average) - SURE * error - BIAS * scale
            worst = np.unravel_index(np.argmax(excess), average.shape)
            if excess[worst] > 0.0:
                row, token = np.unravel_index(worst[1], shape)
                law = "observe" if spikes is None else "spikes"
                more = "; log_likelihood must contain log of E exp(sum_a s_a . h_a - |s_a|^2 / 2)" if spikes else ""
                yield (
                    f"log_likelihood contradicts {law}: with m the posterior mean and C the posterior variance of the field h of "
                    f"row {row + 1} and token {token + 1}, E[f ({name})] = 0 for f = {function}, but it is "
                    f"{average[worst]:.3g} ± {error[worst]:.2g} over {count} random outputs{more}"
                )
                return


def _bounded(observed):
    """Outputs (n, ...) as bounded numbers (n, entries) of order one."""
    seen = np.reshape(observed, (len(observed), -1)).astype(float)
    return np.tanh((seen - seen.mean(axis=0)) / (seen.std(axis=0) + 1e-300))


def _moments_problems(link, rng) -> Iterator[str]:
    """The posterior of a link against its output: the Nishimori identities of the mean and of the covariance, on random fields.

    A right posterior fails with a probability of about 1e-8 for each of its entries, over the seeds.
    """
    size, q = link.rows * link.tokens, 0.4
    omega, deviation = (np.sqrt(share) * rng.standard_normal((MANY, link.rows, link.tokens)) for share in (q, 1.0 - q))
    noise, V = rng.standard_normal((MANY, link.noise_dimension)), (1.0 - q) * np.eye(link.rows)
    if hasattr(link, "spikes"):
        spikes = link.spikes(noise)
        omega, deviation = omega + q * spikes, deviation + (1.0 - q) * spikes
    h = omega + deviation
    observed = link.observe(h, noise)
    log_z, mean, covariance = (np.asarray(values, dtype=float) for values in link.moments(observed, omega, V))
    shapes = {"log_z": (MANY,), "mean": h.shape, "covariance": (*h.shape, *h.shape[1:])}
    for (name, shape), values in zip(shapes.items(), (log_z, mean, covariance), strict=True):
        if values.shape != shape:
            yield f"moments must return {name} of shape {shape} for {MANY} outputs, got {values.shape}"
            return
        if not np.all(np.isfinite(values)):
            bad = int(np.argmin(np.isfinite(values.reshape(MANY, -1)).all(axis=1)))
            yield f"moments gives a {name} that is not finite: {_example(h[bad], observed[bad])}"
            return
    few = h[:FEW], observed[:FEW], omega[:FEW], V, rng
    found = list(_derivative_problems(link, *few)) or list(_log_z_problems(link, log_z[:FEW], *few))
    if found:
        yield from found
        return
    m, rest = mean.reshape(MANY, size), (deviation - mean).reshape(MANY, size)
    square = covariance.reshape(MANY, size, size)
    excess = np.einsum("ni,nj->nij", rest, rest) - square
    # Bounded functions of the output and of omega: a posterior that ignores one of them is right on average alone.
    known = np.concatenate([np.ones((MANY, 1)), _bounded(observed), omega.reshape(MANY, size)], axis=1)
    identities = {
        "E[f (h - omega - m)] = 0": np.einsum("nk,ni->nki", known, rest),
        "E[m (h - omega - m)^T] = 0": np.einsum("ni,nj->nij", m, rest),
        "E[f ((h - omega - m)(h - omega - m)^T - C)] = 0": np.einsum("nk,nij->nkij", known, excess),
    }
    for name, values in identities.items():
        average, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(MANY)
        worst = np.unravel_index(np.argmax(np.abs(average) - SURE * error), average.shape)
        if abs(average[worst]) > SURE * error[worst] + 1e-9:
            yield (
                f"moments contradicts the output: with m its mean, C its covariance and f = (1, tanh of y, omega), {name} for "
                f"h_a ~ N(omega_a, V), but the entry {[int(k) + 1 for k in worst]} is {average[worst]:.3g} ± "
                f"{error[worst]:.2g} over {MANY} random fields at V = {1.0 - q:g} I"
            )
            return


def _derivative_problems(link, h, observed, omega, V, rng) -> Iterator[str]:
    """Mean and covariance against the first differences of log Z and of the mean, whose error is of the order of STEP^2."""
    along = rng.standard_normal(omega.shape)
    along *= np.sqrt(V[0, 0]) / np.linalg.norm(along, axis=(1, 2), keepdims=True)
    up, down = (link.moments(observed, omega + side * STEP * along, V) for side in (1.0, -1.0))
    _, mean, covariance = link.moments(observed, omega, V)
    slope, change = ((up[k] - down[k]) / (2.0 * STEP) for k in (0, 1))
    pairs = (
        ("mean", "log_z", "log_z", np.einsum("npa,npa->n", mean, along), slope),
        ("covariance", "mean", "omega + mean", np.einsum("npaqb,nqb->npa", covariance, along), change + along),
    )
    for name, of, moved, product, found in pairs:
        wanted = product / V[0, 0]
        wrong = _different(wanted, found, DERIVATIVE)
        if wrong is not None:
            yield (
                f"the {name} of moments is not V times the derivative of its {of}: along a step of omega {_text(wanted[wrong])}, "
                f"{moved} changes by {_text(found[wrong])}; {_example(h[wrong], observed[wrong])}"
            )
            return


def _log_z_problems(link, log_z, h, observed, omega, V, rng) -> Iterator[str]:
    """log Z against the mean of the likelihood, or the sum over the fibre, at fields h_a ~ N(omega_a, V), V = v I."""
    n, v, free_rows = len(h), V[0, 0], link.free_rows
    sampled = h.shape[1:] if inference(link) != "fibre" else (free_rows, link.tokens)
    fields = omega[:, None, : sampled[0]] + np.sqrt(v) * rng.standard_normal((n, FIELDS, *sampled))
    if inference(link) != "fibre":
        values = np.asarray(link.log_likelihood(observed, fields))
    else:
        candidates, log_weight = candidates_of(link, observed, fields, rng.standard_normal((FIELDS, link.angles)))
        away = np.sum((candidates - omega[:, None, None, free_rows:]) ** 2, axis=(3, 4))
        rest = (link.rows - free_rows) * link.tokens
        values = np.logaddexp.reduce(log_weight - 0.5 * away / v - 0.5 * rest * np.log(2.0 * np.pi * v), axis=2)
    top = values.max(axis=1)
    weights = np.exp(values - np.where(np.isfinite(top), top, 0.0)[:, None])
    total = weights.sum(axis=1)
    kept = total**2 >= SHARP * np.sum(weights**2, axis=1)
    sampled_log_z = top + np.log(total / weights.shape[1])
    if kept.sum() < n // 8:
        return
    error = np.where(kept, np.abs(log_z - sampled_log_z), np.nan)
    if np.nanmedian(error) > LOG_Z:
        worst = int(np.nanargmax(error))
        yield (
            f"log_z of moments is {log_z[worst]:.4g}, and {sampled_log_z[worst]:.4g} by the mean over random fields: "
            f"{_example(h[worst], observed[worst])}, omega = {_text(omega[worst])}, V = {v:g} I"
        )


def _different(first, second, accuracy=1e-9):
    """Index of the sample that differs most, beyond the accuracy; None if none does. A missing number differs."""
    first, second = (np.asarray(x, dtype=float).reshape(len(x), -1) for x in (first, second))
    scale = np.abs(second) + np.sqrt(np.mean(second**2)) + 1e-300
    error = np.nan_to_num(np.max(np.abs(first - second) / scale, axis=1), nan=np.inf)
    return int(np.argmax(error)) if np.max(error) > accuracy else None


def _text(values):
    return np.array2string(np.asarray(values), precision=6, separator=", ", threshold=64).replace("\n", "")


def _example(h, y):
    return f"h = {_text(h)} gave {_text(y)}"
