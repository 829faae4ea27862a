"""Controllers: just enough of them that workloads make pods, and that what is deleted takes its own with it.

Each looks at one object at a time, whenever something about it changed, and does the next thing that is missing.
Invariant: a controller keeps nothing that the store does not know: it may be started at any time.
Not here: running the pods (`kubelets.py`).
"""
