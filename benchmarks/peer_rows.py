"""Other programs on the same work, in the same run. A row is absent where its program does not install.

- scikit-learn: `make bench` installs it.
- tree-AMP (Baker et al. 2023, J. Mach. Learn. Res. 24, 77) imports networkx 1, which needs Python 3.8. Name its interpreter:
  TREE_AMP=/path/to/python, with its checkout on PYTHONPATH.
"""

import importlib.util
import json
import os
import subprocess
from functools import partial

import numpy as np

import attention_limits as al
from attention_limits.sequence_multi_index.erm.losses import make_loss
from attention_limits.sequence_multi_index.erm.minimisation import minimise
from attention_limits.sequence_multi_index.links.linear import Linear
from attention_limits.sequence_multi_index.schema.erm import MinimisationSolver
from table import Row, Spread, clocked

DIMENSION, SAMPLES, RIDGE = 1000, 2000, 0.1
# Fixed points: title, our model, the peer's names of prior and output, alpha.
PERCEPTRON = {"link": "sign_product", "rows": 1}
FIXED_POINTS = (
    ("perceptron, α = 1.5", PERCEPTRON, "gaussian", "sgn", 1.5),
    ("binary perceptron, α = 1", {**PERCEPTRON, "prior": {"name": "binary"}}, "binary", "sgn", 1.0),
)
# Runs in the peer's own interpreter, once without a measurement.
TREE_AMP = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
from tramp.algos import ConstantInit
from tramp.experiments import BayesOptimalScenario
from tramp.models import glm_generative
prior, output, alpha, repeats = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
model = glm_generative(N=1000, alpha=alpha, ensemble_type="gaussian", prior_type=prior, output_type=output)
scenario = BayesOptimalScenario(model, x_ids=["x"])
scenario.setup(seed=1)
seconds = []
for _ in range(repeats + 1):
    start = time.perf_counter()
    found = scenario.run_se(max_iter=1000, damping=0.0, initializer=ConstantInit(a=1.0, b=0))
    seconds.append(time.perf_counter() - start)
print(json.dumps([seconds[1:], float(found["x"]["v"])]))
"""


def rows(quick):
    """The rows of the programs that are here."""
    repeats = 2 if quick else 7
    found = minimum_rows(repeats) if importlib.util.find_spec("sklearn") else []
    if python := os.environ.get("TREE_AMP"):
        found += [fixed_point_row(python, *case, repeats) for case in FIXED_POINTS]
    return found


def minimum_row(title, loss_name, labels_of, peer_of, repeats):
    """A minimum of a loss with a ridge; errors against a minimum whose gradient is smaller by five orders.

    labels_of(fields, rng) are the labels (n,) at the fields (n,) of the teacher; peer_of() an estimator of scikit-learn.
    """
    rng = np.random.default_rng(5)
    inputs, teacher = rng.standard_normal((SAMPLES, DIMENSION)), rng.standard_normal(DIMENSION)
    scaled = inputs / np.sqrt(DIMENSION)
    labels = labels_of(scaled @ teacher, rng)
    loss, start = make_loss(loss_name, Linear()), 0.1 * rng.standard_normal((1, DIMENSION))

    def ours(tolerance):
        settings = MinimisationSolver(tolerance=tolerance, max_iterations=10000)
        return minimise(loss, labels[:, None], inputs[:, None], RIDGE, start, settings).weights[0]

    def peer():
        return np.ravel(peer_of().fit(scaled, labels).coef_)

    exact = ours(1e-9)
    times = np.array([[clocked(peer)[0], clocked(partial(ours, 1e-4))[0]] for _ in range(repeats)])
    errors = [np.linalg.norm(found - exact) / np.linalg.norm(exact) for found in (peer(), ours(1e-4))]
    return _row(f"minimum of the {title}, D = 1000, α = 2, λ = 0.1, beside scikit-learn", times, "weights", errors)


def minimum_rows(repeats):
    """Logistic and ridge regression."""
    from sklearn.linear_model import LogisticRegression, Ridge

    return [
        minimum_row(
            "logistic loss", "logistic", lambda fields, rng: np.sign(fields),
            lambda: LogisticRegression(C=1.0 / RIDGE, fit_intercept=False, tol=1e-8, max_iter=10000), repeats,
        ),
        # Conjugate gradients end at an error like ours; the default of scikit-learn is an exact solution.
        minimum_row(
            "square loss", "square", lambda fields, rng: fields + 0.3 * rng.standard_normal(len(fields)),
            lambda: Ridge(alpha=RIDGE, fit_intercept=False, solver="sparse_cg", tol=1e-6), repeats,
        ),
    ]  # fmt: skip


def fixed_point_row(python, title, model, prior, output, alpha, repeats):
    """A fixed point of the state evolution of one model; the peer has the spectrum of one matrix of 1000 columns."""
    command = [python, "-c", TREE_AMP, prior, output, str(alpha), str(repeats)]
    seconds, mmse = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def ours(nodes=4096):
        point = {"alpha": [alpha]}
        return al.compute("sequence_multi_index.state_evolution", model, point, replicas=1, solver={"nodes": nodes})

    # The reference: eight times as many nodes.
    exact, found = (1.0 - ours(nodes).overlap.item() for nodes in (32768, 4096))
    times = np.array([[peer, clocked(ours)[0]] for peer in seconds])
    return _row(f"fixed point of the {title}, beside tree-AMP", times, "mmse", [abs(mmse - exact), abs(found - exact)])


def _row(what, times, quantity, errors):
    baseline_error, our_error = ({quantity: Spread.of([error])} for error in errors)
    return Row.in_turn(what, times, baseline_errors=baseline_error, our_errors=our_error)
