"""The text experiment of Troiani et al. 2025 (arXiv:2502.00901): a classifier of tied attention layers learns the class of a
question.

In reading order:

- corpus, grammar: public or generated questions, with the words of `words.json`
- word_vectors: vectors of the words of a text, and the spectrum of their covariance
- tokens: questions as rows of token numbers
- classifier: model and training
- classifier_kernels, gradient_kernels, training_kernels: forward, backward, AdamW

May import it: estimators.
"""
