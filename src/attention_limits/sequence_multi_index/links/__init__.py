"""Links: how the output of a model depends on its local fields, and how it constrains them."""
