"""bayplan decides where every pod in a Kubernetes cluster goes, and can say why.

Not here: anything that a rule's author or a notebook does not need; the rooms below are not public.
"""
