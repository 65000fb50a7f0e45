"""Commands: one module each, one typed function, which is the Python API and, through ``eyetest.cli``, the command.

A module imports nothing heavy at its top, so that its help is printed at once; what its function needs is imported
inside. The function returns a `Result`.
"""
