"""The estimator as a whole, small: its variables, and that a point does not depend on its block."""

import shutil

import numpy as np
import pytest
import xarray as xr

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes.cube_bytes import annotate
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.sequence_multi_index.estimators.training.trec import run
from attention_limits.sequence_multi_index.questions.grammar import generate_questions
from attention_limits.sequence_multi_index.schema.training import Trec
from toy import REPOSITORY

pytestmark = pytest.mark.slow

MODEL = {
    "corpus": "generated", "questions": 300, "vocabulary": "words", "max_tokens": 32, "test_fraction": 0.2, "depth": 2,
    "embedding": 12, "hidden": 6, "skip": 1.0, "initial_std": 0.1,
    "special_tokens": False, "padding": "masked", "key_bias": False,
}  # fmt: skip


def specification(rates, replicas, project="nowhere", **model):
    return {
        "family": "sequence_multi_index",
        "experiment": "trial",
        "estimator": "trec",
        "model": {**MODEL, **model},
        "grid": {"embedding_std": [0.5], "learning_rate": rates},
        "replicas": replicas,
        "solver": Trec.Solver(epochs=6, records=2),
        "project": project,
    }


def compute(*arguments, **model):
    return run(specification(*arguments, **model), Streams(7, "sequence_multi_index", "trial"))


@pytest.fixture(scope="module")
def cube():
    return compute([1e-3, 1e-2], [0, 1])


def test_all_variables_are_registered_and_plausible(cube):
    annotate(cube, "sequence_multi_index", ["embedding_std", "learning_rate"])
    assert cube.epoch.values.tolist() == [0.5 * record for record in range(13)]
    assert cube.layer.values.tolist() == [1, 2]
    for name in ("weight_similarity", "product_similarity", "gram_similarity"):
        np.testing.assert_allclose(cube[name].isel(epoch=-1), 1.0, rtol=1e-12)
        assert np.all(cube[name].isel(epoch=0) < 0.999)
    fast = cube.sel(learning_rate=1e-2)
    assert np.all(fast.training_accuracy.isel(epoch=-1) > fast.majority_accuracy + 0.3)
    assert np.all(fast.training_loss.isel(epoch=-1) < 0.7 * fast.training_loss.isel(epoch=0))
    # A start is chance: 60 test questions, six classes, four of them near a fifth.
    assert np.all(cube.test_accuracy.isel(epoch=0) < 0.6)


def test_rates_share_their_start_and_replicas_do_not(cube):
    start = cube.training_loss.isel(epoch=0)
    np.testing.assert_array_equal(start.isel(learning_rate=0), start.isel(learning_rate=1))
    assert np.all(start.isel(replica=0) != start.isel(replica=1))


def test_a_point_does_not_depend_on_its_block(cube):
    xr.testing.assert_identical(compute([1e-2], [1]), cube.sel(learning_rate=[1e-2], replica=[1]))


def test_a_file_and_a_vocabulary_of_word_pieces(tmp_path):
    lines = generate_questions(200, np.random.default_rng(1))
    corpus = tmp_path / "train_5500.label"
    corpus.write_text("\n".join(lines), encoding="latin-1")
    vocabulary = tmp_path / "vocab.txt"
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    common = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "?", "who", "what", "where", "how", "when", "the", "of"]
    vocabulary.write_text("\n".join([*common, *letters, *(f"##{letter}" for letter in letters)]) + "\n")
    files = {"corpus": "train_5500.label", "vocabulary": "vocab.txt"}
    found = compute([1e-2], [0], tmp_path, **files)
    # Marks, question words and letters, each at most twice (first and further), with padding and unknown.
    assert 20 < found.vocabulary_size.item() <= len(common) - 4 + 2 * len(letters) + 3
    assert found.training_loss.isel(epoch=-1) < found.training_loss.isel(epoch=0)
    framed = compute([1e-2], [0], tmp_path, **files, special_tokens=True, padding="attended", key_bias=True)
    assert framed.vocabulary_size.item() == found.vocabulary_size.item() + 2
    assert framed.training_loss.isel(epoch=-1) < framed.training_loss.isel(epoch=0)


@pytest.fixture
def written(tmp_path):
    """Write the public experiment, with edits, into a separate project, and load it."""
    family = REPOSITORY / "config" / "sequence_multi_index"
    home = tmp_path / "config" / "sequence_multi_index" / "experiments"
    home.mkdir(parents=True)
    shutil.copy(family / "models.yaml", home.parent)
    text = (family / "experiments" / "fig3_trec_public.yaml").read_text()

    def load(*edits):
        changed = text
        for old, new in edits:
            assert old in changed
            changed = changed.replace(old, new)
        path = home / "trial.yaml"
        path.write_text(changed)
        return load_experiment(path)

    return load


def test_the_public_experiment_says_where_its_files_belong(written, tmp_path):
    questions, pieces = written().missing()
    assert questions.startswith(f"{tmp_path}/data/train_5500.label is missing: save there train_5500.label of https://")
    assert pieces.startswith(f"{tmp_path}/data/vocab.txt is missing: save there vocab.txt of https://")
    assert "questions" not in written().estimators["trec"].model


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            ("  corpus: data/train_5500.label", "  corpus: data/other.label"),
            "model.corpus: 'data/other.label': allowed: generated, or",
        ),
        (
            ("  vocabulary: data/vocab.txt", "  vocabulary: data/other.txt"),
            "model.vocabulary: 'data/other.txt': allowed: words, or",
        ),
        (("  corpus: data/train_5500.label", "  corpus: generated"), "model.questions: missing"),
        (
            ("  vocabulary: data/vocab.txt", "  vocabulary: words"),
            "model.special_tokens: true: allowed: false, because words have no special tokens",
        ),
        (
            ("  base: question_classifier", "  base: question_classifier\n  questions: 100"),
            "model.questions: leave it out; the file sets",
        ),
    ],
)
def test_files_must_be_required_and_generated_questions_counted(written, edit, message):
    with pytest.raises(SpecError) as caught:
        written(edit)
    assert message in str(caught.value)
