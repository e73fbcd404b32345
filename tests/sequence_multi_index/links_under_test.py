"""One instance, or a few, of every provided link with an output that can be inferred from."""

from pathlib import Path

from attention_limits.sequence_multi_index.links.loading import load_link

VARIANTS = {
    "deep_attention": [{"depth": 1}, {"depth": 2, "tokens": 3}],
    "rank_attention": [{}, {"rank": 3}, {"tokens": 3, "readout": (1.0, 0.5)}, {"depth": 2}],
    "untied": [{}, {"depth": 2, "skip": 0.5}, {"tokens": 3}],
    "untied_heads": [{"readout": (1.0, 0.5)}, {"depth": 2, "heads": 1}],
    "multi_head": [{"heads": 1}, {"tokens": 4}, {"beta": 0.7, "readout": (0.7, 0.3)}, {"heads": 3}],
    "untied_multi_head": [{"heads": 1}, {"readout": (0.7, 0.3)}, {"depth": 2, "heads": 1}],
    "learned_readout": [
        {},
        {"untied": True, "heads": 1, "tokens": 3},
        {"shared": True, "tokens": 3, "readout": (0.7, 0.3)},
        {"depth": 2, "skip": 0.5, "shared": True},
    ],
    "sequence_output": [{"depth": 1}, {"depth": 2}, {"tokens": 4}],
    "positional_attention": [{"omega": 0.4}],
    "rescaled_attention": [{"depth": 2, "tokens": 3}],
    "committee_depth": [{"depth": 2, "ratio": 2.0}],
    "large_depth": [{"ratio": 1.5}],
    "phase_retrieval": [{}],
    "product": [{"rows": 2}, {"rows": 3}],
    "monomial": [{"exponents": (1, 2)}, {"exponents": (2, 1)}, {"exponents": (2, 2)}],
    "sum_of_squares": [{"rows": 2}, {"rows": 3}],
    "sign_product": [{"rows": 2}],
    "committee": [{"rows": 3}],
    "linear": [{}, {"rows": 2, "tokens": 2}],
    "largest_row": [{"rows": 3}, {"rows": 2, "tokens": 2}],
}


def _named():
    for name, variants in VARIANTS.items():
        for parameters in variants:
            yield (
                " ".join([name, *(f"{key}={value}" for key, value in parameters.items())]),
                load_link({"link": name, **parameters}, Path()),
            )


LINKS = dict(_named())
LINKS["noisy untied"] = load_link({"link": "untied", "tokens": 3, "noise": 0.5}, Path())
