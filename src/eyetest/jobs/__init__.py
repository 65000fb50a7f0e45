"""What the commands and the Python functions do, once for both: a module a verb, plain arguments in, a result out.

Nothing here prints to standard output. Notes and progress go to the current `observer` of `eyetest.jobs.opening`;
each user interface sets it, and how a parameter is spelled in a message (`eyetest.errors.param`).
"""
