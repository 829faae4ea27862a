"""A real API server: how it is reached, what it tells, what is told to it, and who may.

auth (who we are), transport (requests and streams), watch (what is there), writes (what the core wants done), lease
(whether we may).
Invariant: nothing from outside reaches another room undecoded, and no outcome is guessed.
Not here: deciding anything (`core`), and putting these together (`serve`).
"""
