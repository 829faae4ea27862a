"""Settings of the core: what a step costs in work units, how long is waited, what is switched.

Work units are what a turn's budget is counted in: never time, so that a recorded day replays as it was.
Invariant: every step costs at least one unit.
Not here: how many units a turn gets (whoever drives the core).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bayplan.core.queue import Settings as QueueSettings

EVENT: Final = 2  # folded in
OF_NODE: Final = 4  # folded in: many columns are written
LOOK: Final = 1  # at a group of pods that wait
WOKEN: Final = 1  # each pod
ATTEMPT: Final = 2
ROWS_PER_UNIT: Final = 512  # asked in an attempt
ROWS_PER_UNIT_AFRESH: Final = 16  # asked by every rule: for a plan that is made, and to say why there is no node
ADVANCED: Final = 1  # one that waited on its way
RESTORED: Final = 3  # each object laid on a new table

FAULTS_MAX: Final = 3
FAULTS_WITHIN_MS: Final = 60_000
NOTE_BYTES_MAX: Final = 1024


class CoreSettings(NamedTuple):
    """What a core is made with."""

    queue: QueueSettings = QueueSettings()
    story_bytes_max: int = 64 << 20
