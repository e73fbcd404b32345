"""How many steps SGD needs to leave the uninformed start, from the information exponent (arXiv:2506.02651).

Near the start the loss falls like R = R_0 - C m^k, so that dm/dtau = gamma k C m^(k-1) with tau = t / d, and the start is
m = d^(-1/2). The noise, -gamma^2/2 V m, allows learning rates gamma = c, c / log d, c d^(-(k-2)/2) for k = 1, 2, and above. For c
far below the bound of the noise the number of steps is t = d m / (c C) until the overlap m for k = 1; until m is of order one it
is t = d log(d)^2 / (4 c C) for k = 2 and t = d^(k-1) / (k (k-2) c C) above.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class EscapeLaw:
    """Steps t = prefactor / c * d^power * log(d)^logarithms at the learning rate gamma = c d^(-rate_power) (c / log d for k = 2).

    Attributes
    ----------
    order : int
        Information exponent k.
    power, logarithms : int
        Powers of d and log d.
    rate_power : float
        Minus the power of d of the learning rate.
    prefactor, error : float
        Of 1 / c, at leading order in d, and its absolute error, which comes from the error of C.
    """

    order: int
    power: int
    logarithms: int
    rate_power: float
    prefactor: float
    error: float

    @property
    def text(self):
        """The law in one line."""
        rate = {1: "c", 2: "c / log d"}.get(self.order, f"c d^(-{self.rate_power:g})")
        size = {(1, 0): "d", (1, 2): "d log(d)^2"}.get((self.power, self.logarithms), f"d^{self.power}")
        return (
            f"steps = {self.prefactor:.5g}(1 ± {self.error / self.prefactor:.1g}) / c * {size} at learning rate {rate}"
        )


def escape_law(exponent) -> EscapeLaw | None:
    """The law of an `exponent` (information_exponent.InformationExponent), or None where the loss falls along no order."""
    k = exponent.order
    if k is None or not exponent.descends:
        return None
    coefficient, error = abs(float(exponent.coefficients[k])), float(exponent.errors[k])
    inverse = {1: 1.0, 2: 4.0}.get(k, k * (k - 2.0)) * coefficient
    return EscapeLaw(
        order=k,
        power=max(1, k - 1),
        logarithms=2 if k == 2 else 0,
        rate_power=0.5 * max(0, k - 2),
        prefactor=1.0 / inverse,
        error=error / (coefficient * inverse),
    )
