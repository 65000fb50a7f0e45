"""A plan is carried out on many machines, by Ray: the same requests, the same journal, the same end.

In: a plan and what of it is left. Out: the same rows as on one machine, in parts by several writers. The driver holds
the run's lock, cuts what is left into pieces by picture, hands them out, counts, and takes pieces of dead workers
back, less what it had stored. A worker (`asker.Asker`) makes calls as one machine does, and writes parts of its own.
Large networks live apart from it on GPUs (`hosts.ModelHost`), so that any worker can put an item to a whole panel.
"""
