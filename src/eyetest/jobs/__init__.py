"""What the commands and the Python functions do, once for both: a module a verb, plain arguments in, a result out.

Nothing here prints. What has to be told on the way goes to an `Observer` that each door brings; how a parameter is
spelled in a message is the door's as well (`eyetest.errors.param`).
"""
