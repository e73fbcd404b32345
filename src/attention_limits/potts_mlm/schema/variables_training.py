"""Variables of the learners that are trained by gradient descent, and of full pseudo-likelihood."""

_LOSS = "-(1/(M L)) sum_(m,i) log p(s_mi | s_m,-i)"
_TRANSFORMER = "post-layer-norm encoder, one head"
_FACTORED = "p = softmax_a(sum_(j != i) A_ij V[a, s_j])"
_NATS = "per site, natural logarithm"
_ERROR = "0 exact, 1 orthogonal"
_PRECISION = "as many pairs as contacts; missing without a contact map"
_LARGEST = "true contacts among the largest |A_ij + A_ji|"
_TRAINED = ("attention", "epoch")

FIELDS = (
    (
        "transformer_optimal_loss", (), "loss of the true conditionals on the test sequences of the transformers",
        "", _NATS, _LOSS,
    ),
    (
        "factored_optimal_loss", (), "the same for factored attention by SGD",
        "", _NATS, _LOSS,
    ),
    (
        "transformer_training_loss", ("optimizer", "epoch"), "training loss",
        "", "per masked site, natural logarithm, mean over the epoch", _TRANSFORMER,
    ),
    ("transformer_test_loss", ("optimizer", "epoch"), "test loss", "", _NATS, f"{_LOSS}, {_TRANSFORMER}"),
    (
        "transformer_gradient_norm", ("optimizer",), "largest component of the gradient at the end",
        "", "nats per site, over all training sequences and sites", _TRANSFORMER,
    ),
    (
        "transformer_converged", ("optimizer",), "whether the gradient at the end reached the tolerance",
        "", "true or false; one start", "SGD or Adam",
    ),
    (
        "transformer_map", ("optimizer", "site", "site_other"), "attention of a masked site",
        "", "rows add up to 1; mean over the final two layers and test sequences", _TRANSFORMER,
    ),
    (
        "transformer_site_error", ("optimizer", "epoch"),
        "error of the attention, mean over the final two layers, without its diagonal",
        "err_J", _ERROR, "sqrt(1 - cos^2(A, J))",
    ),
    ("transformer_precision", ("optimizer", "epoch"), "precision of the same attention", "", _PRECISION, _LARGEST),
    (
        "transformer_all_layers_site_error", ("optimizer", "epoch"),
        "error of the attention, mean over all layers, without its diagonal", "err_J", _ERROR, "sqrt(1 - cos^2(A, J))",
    ),
    (
        "transformer_all_layers_precision", ("optimizer", "epoch"), "precision of the mean over all layers",
        "", _PRECISION, _LARGEST,
    ),
    (
        "factored_training_loss", _TRAINED, "training loss of factored attention by SGD",
        "", "per site, natural logarithm, mean over the epoch", f"{_LOSS}, {_FACTORED}",
    ),
    ("factored_test_loss", _TRAINED, "test loss of factored attention by SGD", "", _NATS, f"{_LOSS}, {_FACTORED}"),
    (
        "factored_site_error", _TRAINED, "error of the attention of factored attention by SGD",
        "err_J", _ERROR, "sqrt(1 - cos^2(A, J))",
    ),
    ("factored_precision", _TRAINED, "precision of factored attention by SGD", "", _PRECISION, _LARGEST),
    (
        "pseudo_likelihood_loss", (), "test loss of full pseudo-likelihood",
        "", _NATS, f"{_LOSS}, p = softmax_a(h_i(a) + sum_(j != i) J_ij(a, s_j))",
    ),
    (
        "pseudo_likelihood_precision", (), "precision of full pseudo-likelihood",
        "", _PRECISION, "Frobenius norms with average product correction",
    ),
    (
        "pseudo_likelihood_converged", (), "whether the gradient reached the tolerance",
        "", "true or false", "L-BFGS",
    ),
)  # fmt: skip
