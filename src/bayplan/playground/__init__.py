"""The playground: a Kubernetes API server with pretend nodes, in one Python process.

Objects are trees of JSON, kept losslessly (`store.py`); the verbs of the API act on them (`verbs.py`); HTTP is served
on loopback (`server.py`).
Invariant: everything happens in one event loop, so that a request that does not wait is a transaction.
Not here: any scheduling; this room knows `bayplan.api` and nothing else of ours.
"""
