"""Topics: what random cases are about, one module each; generator.py puts them together.

A topic decorates a world (its nodes, its pods, the pod in question, the settings) and knows no other topic.
"""
