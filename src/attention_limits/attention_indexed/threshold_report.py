"""The command channel-threshold: samples of weak and exact recovery of one layer, without a run.

The equations are those of `state_evolution` (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582).
"""

from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.denoiser import mmse
from attention_limits.attention_indexed.specs import SMALLEST_RATIO
from attention_limits.attention_indexed.state_evolution import curve, exact_recovery, tail, weak_recovery
from attention_limits.numerics.roots import bisect
from attention_limits.pipeline.errors import SpecError

# Width ratios of the theory, and noises D between which its error passes one half.
LARGEST_RATIO = 100.0
SEARCHED = (1e-3, 1e10)


def threshold_command(channel: str, tokens: int, ratio: float) -> None:
    """Print where recovery begins, where it is exact, and the error at large alpha of outputs without exact recovery.

    Parameters
    ----------
    channel : str
        Name of a channel.
    tokens : int
        T.
    ratio : float
        rho = r / d.

    Raises
    ------
    SpecError
        For a channel that does not exist or has fewer tokens, and for a ratio out of its range.
    """
    if not SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        raise SpecError([f"--ratio: {ratio:g}: allowed: {SMALLEST_RATIO:g} to {LARGEST_RATIO:g}"])
    try:
        known = make_channel(channel, tokens)
    except ValueError as error:
        raise SpecError([str(error)]) from None
    exact, half = exact_recovery(known, ratio), _half(known, ratio)
    print(f"{channel}, T = {tokens}, rho = {ratio:g}")
    print(f"weak recovery in the limit rho -> 0: n / (d r) = {weak_recovery(known):.6g}")
    print("weak recovery at this rho: none needed, the first samples reduce the error")
    print(f"half of the error at n / d^2 = {half:.6g}")
    if known.equations is not None:
        print(f"exact recovery: n / d^2 = {exact:.6g}, K = {known.equations} equations per sequence")
        return
    print("exact recovery: none at finite n / d^2, the output is discrete")
    if known.ties is not None:
        print(f"error at large n / d^2: {tail(known, ratio, [1.0])[0]:.6g} (n / d^2)^-2")


def _half(channel, ratio):
    """The alpha at which the error is one half: mmse(D) = 1/2 gives D, which the curve maps to alpha."""
    noise = bisect(lambda D: mmse(ratio, D) - 0.5, *SEARCHED)
    return float(curve(channel, ratio, noise).alpha)
