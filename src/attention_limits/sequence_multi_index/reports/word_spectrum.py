"""The command word-spectrum: eigenvalues of the covariance of the word vectors of a text, for the key `covariance` of a model.

The vectors are those of `questions.word_vectors` (Levy, Goldberg and Dagan 2015).
"""

from pathlib import Path

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.base.user_files import lines_of, read_text
from attention_limits.sequence_multi_index.priors.spectrum import of_values
from attention_limits.sequence_multi_index.questions.corpus import CLASSES
from attention_limits.sequence_multi_index.questions.word_vectors import WINDOW, word_vectors


def word_spectrum_command(text, dimension, output) -> None:
    """Write the K = `dimension` eigenvalues of the file `text` to the file `output`, and print their participation ratio.

    Raises SpecError if the text cannot be read or is too short, or the folder of the output does not exist.
    """
    output, text = Path(output), Path(text)
    if not output.parent.is_dir():
        raise SpecError([f"{output}: the folder {output.parent} does not exist"])
    try:
        sentences = [_words(line) for line in lines_of(read_text(text, otherwise="latin-1"))]
        found = word_vectors(sentences, dimension)
        values = found.eigenvalues()
        spectrum = of_values([float(f"{value:.8g}") for value in values])
    except OSError as error:
        raise SpecError([f"{text}: cannot be read: {error.strerror}"]) from None
    except ValueError as error:
        raise SpecError([f"{text}: {error}"]) from None
    ratio = 1.0 / spectrum.second_moment
    page = (
        f"# Eigenvalues of the covariance of word vectors, mean one, participation ratio {ratio:.4f}.\n"
        f"# attention-limits word-spectrum {text.name} --dimension {dimension}\n"
        f"# {found.counts.sum()} tokens of {len(found.words)} words, neighbours at most {WINDOW} places apart.\n"
        + "".join(f"{value:.8g}\n" for value in values)
    )
    write_text(output, page)
    print(f"{output}: {dimension} eigenvalues, participation ratio {ratio:.4f}")


def _words(line):
    """The words of a line in lower case; a label `CLASS:fine` of the question corpus is no word."""
    words = line.lower().split()
    labels = tuple(f"{name.lower()}:" for name in CLASSES)
    return words[1:] if words and words[0].startswith(labels) else words
