"""Untied softmax attention whose keys read the tokens of the queries, or separate sequences."""
