"""Names of the channels and the place of each in this folder, for specifications and solvers; nothing in this module compiles."""

from collections.abc import Mapping

# Channels with a posterior mean, and all.
WITH_POSTERIOR = ("linear", "softmax", "hardmax")
NAMES = (*WITH_POSTERIOR, "hardmax_published")

_UNTIED = {
    "linear": "untied:UntiedLinear",
    "softmax": "untied:UntiedSoftmax",
    "hardmax": "hardmax.untied:UntiedHardmax",
}
_TIED = {
    "linear": "linear:Linear",
    "softmax": "linear:Softmax",
    "hardmax": "hardmax.many_tokens:ManyHardmax",
    "hardmax_published": "hardmax.two_tokens:PublishedHardmax",
}


def untied_problem(channel: str, noise: float) -> str | None:
    """Why there is no untied `channel` of this name with output noise of the variance `noise`; None where there is one."""
    if channel not in WITH_POSTERIOR:
        return f"{channel}: allowed with untied: true: {', '.join(WITH_POSTERIOR)}"
    if noise > 0 and channel != "linear":
        return f"{channel}: with untied: true and output noise {noise:g}: allowed: linear, or output_noise 0"
    return None


def place_of(channel: str, tokens: int, untied: bool = False, noise: float = 0.0) -> str:
    """Module of this folder and class of a provided `channel` of so many `tokens`, of `untied` attention or not.

    A linear channel has `noise`, others not.
    """
    if channel == "linear" and noise:
        return "untied:UntiedNoisyLinear" if untied else "linear:NoisyLinear"
    if channel == "hardmax" and tokens == 2 and not untied:
        return "hardmax.two_tokens:Hardmax"
    return (_UNTIED if untied else _TIED)[channel]


def code_modules(model: Mapping) -> list[str]:
    """The modules that hold the channel of a `model` (keys as in `loading.load_channel`); none for a model without a channel.

    `loading` imports them by name, so that an edit of one channel concerns no other one.
    """
    name, noise = model.get("channel"), model.get("output_noise") or 0.0
    if name is None:
        return []
    if name not in NAMES:
        modules = ["files", "sampled"]
    else:
        modules = [place_of(name, model["tokens"], bool(model.get("untied")), noise).partition(":")[0]]
        if noise and name != "linear":
            modules += ["output", "sampled"]
    return [f"{__package__}.{module}" for module in modules]
