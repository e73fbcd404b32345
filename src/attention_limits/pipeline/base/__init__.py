"""What all of the pipeline uses: messages, files, random streams, and the digest of the code that decides a number.

In reading order:

- errors: the errors that name file, key and what is allowed; how a message shows a wrong value
- arguments: types of the arguments of commands and functions
- files, attributes: a file is written whole or not at all; the digests that it holds
- provenance: the modules that an estimator executes, and their digest
- streams: random streams by name
- registry: variables and coordinates of the cubes
- user_files: text files and Python files of the user
- progress, threads: the progress of a job, and the threads of the numerical libraries

May import it: everything but `numerics`.
"""
