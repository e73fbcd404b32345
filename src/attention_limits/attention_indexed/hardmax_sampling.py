"""Placeholder."""


class SampledHardmax:
    pass
