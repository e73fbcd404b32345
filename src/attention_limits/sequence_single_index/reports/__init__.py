"""What the command exponent prints.

In reading order:

- exponent: information exponents and escape laws of a target

May import it: commands.
"""
