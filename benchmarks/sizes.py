"""CPU time and memory at the largest sizes of the papers and beyond: `python benchmarks/sizes.py`, some minutes.

Each case is one point of one replica (or of several, where replicas are the size), computed by `attention-limits compute` in its
own process with one thread, with its data. The last size of most rows is ten times that of the papers.
"""

import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from run import THREAD_VARIABLES

# Settings of the data of the Potts family.
SAMPLES = (
    '{"potts_samples": {"samples": 3000, "test_samples": 500, "gap": 20, "tuning_samples": 200, "tuning_gap": 10}}'
)
# Family, estimator, what it is, the size that grows, its values (the first one is that of the papers), and the arguments; SIZE
# stands for the value.
CASES = [
    (
        "sequence_multi_index.gamp", "GAMP, 2 layers, α = 1.2", "D", (1000, 2000, 4000, 10_000),
        "--depth 2 --skip 1 --alpha 1.2", '{"gaussian_sequences": {"dimension": SIZE}}',
    ),
    (
        "sequence_multi_index.gamp", "GAMP, D = 500, α = 1, 40 iterations", "L", (3, 6),
        "--depth SIZE --skip 1 --alpha 1 --max_iterations 40", '{"gaussian_sequences": {"dimension": 500}}',
    ),
    (
        "sequence_multi_index.state_evolution", "State evolution, one layer, α = 0.5, 512 nodes", "M", (2, 4, 6),
        "--depth 1 --skip 1 --tokens SIZE --alpha 0.5 --nodes 512", None,
    ),
    (
        "sequence_multi_index.state_evolution", "State evolution, one layer of rank P, α = 0.5, 512 nodes", "P", (1, 2, 4),
        "--link rank_attention --depth 1 --skip 1 --rank SIZE --tokens 2 --alpha 0.5 --nodes 512", None,
    ),
    (
        "sequence_multi_index.state_evolution", "State evolution, 2 layers, α = 0.5, 512 nodes", "replicas", (8, 16),
        "--depth 2 --skip 1 --alpha 0.5 --nodes 512 --replicas SIZE", None,
    ),
    (
        "attention_indexed.matrix_amp", "Matrix AMP, softmax, M = 2, α = 0.1, 20 iterations", "d", (100, 200, 400, 1000),
        "--channel softmax --tokens 2 --ratio 0.5 --alpha 0.1 --max_iterations 20 --dimension SIZE", None,
    ),
    (
        "attention_indexed.matrix_amp", "Matrix AMP, softmax, d = 100, α = 0.05, 20 iterations", "M", (5, 8, 10),
        "--channel softmax --tokens SIZE --ratio 0.5 --alpha 0.05 --max_iterations 20 --dimension 100", None,
    ),
    (
        "attention_indexed.gradient_descent", "Gradient descent, M = 2, α = 0.1, 4 starts, 1000 steps", "d", (100, 200, 400),
        "--tokens 2 --ratio 0.5 --alpha 0.1 --starts 4 --dimension SIZE", None,
    ),
    (
        "sequence_single_index.attention_sgd", "SGD of attention, 10⁷ steps", "d", (1000, 10**6),
        "--a 1 --omega 0.5 --loss frobenius --dimension SIZE --learning_rate 0.05 --threshold 0.99 --steps 10000000 --stop false",
        None,
    ),
    (
        "potts_mlm.factored_attention", "Samples, and a fit of factored attention, C = 20, 3000 sequences", "L", (20, 53, 200),
        '--sites SIZE --colors 20 --couplings {"kind":"gaussian"} --color_couplings {"kind":"gaussian"} --distance 0.7 '
        '--samples 3000 --ridge 1e-5 --attentions ["softmax"] --starts 1 --max_iterations 300', SAMPLES,
    ),
    (
        "potts_mlm.factored_attention", "Samples, and a fit of factored attention, L = 20, 3000 sequences", "C", (20, 40, 80),
        '--sites 20 --colors SIZE --couplings {"kind":"gaussian"} --color_couplings {"kind":"gaussian"} --distance 0.7 '
        '--samples 3000 --ridge 1e-5 --attentions ["softmax"] --starts 1 --max_iterations 300', SAMPLES,
    ),
    (
        "potts_mlm.transformer", "Samples, and 20 epochs of a transformer of 3 layers, 3000 sequences", "L", (20, 53, 106),
        '--sites SIZE --colors 20 --couplings {"kind":"gaussian"} --color_couplings {"kind":"gaussian"} --distance 0.7 '
        '--samples 3000 --layers 3 --epochs 20 --evaluations 1', SAMPLES,
    ),
]  # fmt: skip


def measure(estimator, arguments, data, folder):
    """(CPU seconds, MB) of one call, with those of its data."""
    command = [
        sys.executable,
        "-m",
        "attention_limits",
        "compute",
        estimator,
        *arguments.split(),
        "-o",
        str(folder / "cube.nc"),
    ]
    if data is not None:
        command += ["--data", data]
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}\n{errors}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    """Print the table; the exponent is that of the CPU seconds between the last two sizes."""
    print("| Computation | Size | CPU seconds | Memory / MB | Exponent |\n|---|---|---|---|---|", flush=True)
    with TemporaryDirectory() as folder:
        for estimator, what, symbol, sizes, arguments, data in CASES:
            found = []
            for size in sizes:
                given = data and data.replace("SIZE", str(size))
                found.append(measure(estimator, arguments.replace("SIZE", str(size)), given, Path(folder)))
            seconds, memory = zip(*found, strict=True)
            exponent = math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])
            cells = [", ".join(f"{number:.0f}" for number in column) for column in (seconds, memory)]
            print(
                f"| {what} | {symbol} = {', '.join(map(str, sizes))} | {' | '.join(cells)} | {exponent:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
