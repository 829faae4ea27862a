"""Settings that choose between ways of computing one answer; tests set them, so that every way is tried at every size.

Invariant: no setting changes an answer.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Settings(msgspec.Struct, frozen=True):
    """Which way is taken when."""

    plans: bool = True  # remember; false: every question is answered afresh
    rows_per_domain: float = 16  # a key is known by id with at most rows/this domains; 0: always, inf: never
    scalar_rows: int = 12  # an own column catches up row by row over at most this many rows
    together: int = 4096  # own columns times rows that are refreshed at once; 0: each alone
    block: int = 8192  # rows judged in one step
    bytes_base: int = 64 << 20  # what plans may take, whatever the table's size,
    bytes_per_row: int = 512  # and more for each row


USUAL: Final = Settings()
