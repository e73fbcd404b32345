"""Slow and independent implementations of the attention-indexed family, from its equations and from nothing of the package."""

from decimal import Decimal, localcontext

# Digits: terms of the cubic cancel to (rho D)^2 of each other, and mmse(D) to rho D.
DIGITS = 90


def decimal_mmse(ratio: float, noise: float, nodes: int = 40) -> float:
    """mmse(D) = D - (4 pi^2 / 3) D^2 int mu^3, mu from the roots of the cubic z = 1/g + D g + rho / (sqrt(rho) - g).

    Chebyshev nodes of the second kind on each bulk, between the zeros of z'(g), all in decimal arithmetic of 90 digits.
    """
    with localcontext() as context:
        context.prec = DIGITS
        rho, D = Decimal(ratio), Decimal(noise)
        root, third, pi = rho.sqrt(), Decimal(1) / 3, _pi()

        def cube_root(x):
            return (abs(x) ** third).copy_sign(x) if x else x

        def density(z):
            # D g^3 + b g^2 + c g + e = 0 by Cardano: one real root and a pair of imaginary part sqrt(3)/2 |u - v|.
            b, c, e = -(z + D * root) / D, (z * root + 1 - rho) / D, -root / D
            p, q = c - b * b / 3, 2 * b**3 / 27 - b * c / 3 + e
            discriminant = q * q / 4 + p**3 / 27
            if discriminant <= 0:
                return Decimal(0)
            half = discriminant.sqrt()
            return Decimal(3).sqrt() / 2 * abs(cube_root(half - q / 2) + cube_root(half + q / 2)) / pi

        total = Decimal(0)
        for low, high in _bulks(rho, root, D):
            middle, half = (low + high) / 2, (high - low) / 2
            for k in range(1, nodes + 1):
                cosine = _cosine(pi * k / (nodes + 1))
                weight = half * pi / (nodes + 1) * (1 - cosine * cosine).sqrt()
                total += weight * density(middle + half * cosine) ** 3
        return float(D - 4 * pi**2 / 3 * D**2 * total)


def _pi():
    """pi by Machin's formula."""

    def arctan(inverse):
        x = term = Decimal(1) / inverse
        total, k = term, 1
        while abs(term) > Decimal(10) ** -(DIGITS + 5):
            term, k = -term / inverse**2, k + 2
            total += term / k
        return total + 0 * x

    return 16 * arctan(5) - 4 * arctan(239)


def _cosine(angle):
    total = term = Decimal(1)
    k = 0
    while abs(term) > Decimal(10) ** -DIGITS:
        k += 2
        term *= -angle * angle / (k * (k - 1))
        total += term
    return total


def _bulks(rho, root, D):
    """Ends (low, high) of the bulks of the spectrum: z at the zeros of z'(g)."""

    def z(g):
        return 1 / g + D * g + rho / (root - g)

    def slope(g):
        return D - 1 / (g * g) + rho / (root - g) ** 2

    def zero(negative, positive):
        for _ in range(280):
            middle = (negative + positive) / 2
            negative, positive = (middle, positive) if slope(middle) < 0 else (negative, middle)
        return z((negative + positive) / 2)

    far = 2 * (root + 1 / D.sqrt() + 1)
    tiny = Decimal(10) ** -40
    lowest, highest = zero(-tiny * root, -far), zero(tiny * root, root * (1 - tiny))
    if rho >= 1:
        return [(lowest, highest)]
    neck = root / (1 - rho ** (Decimal(1) / 3))
    if slope(neck) >= 0:
        return [(lowest, highest)]
    # Between the bulks g runs from the right end of the lower one, large, to the left end of the upper one.
    return [(lowest, zero(neck, far + neck)), (zero(neck, root * (1 + tiny)), highest)]
