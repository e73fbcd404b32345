"""Links: how the output of a model depends on its local fields, and what it tells of them."""
