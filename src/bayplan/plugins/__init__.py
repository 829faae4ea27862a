"""The rules, one file each.

Each is found through the entry points of the group `bayplan.plugins`, like anybody else's.
Invariant: no rule imports another; what two share is a column, a tally, a book, or a function in framework.
"""
