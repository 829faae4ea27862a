"""Where running pods lie before the first decision: evenly over the zones, within each node's room.

Invariant: no node is overcommitted, keeps off the pod, or has two pods of one template.
Not here: how a scheduler would have placed them; what matters is that it could have.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.nodes import Machine
from bench.templates import Template


class Placing:
    """Walks along each zone's nodes and takes the next one with room."""

    def __init__(self, drawn: Sequence[Machine]) -> None:
        """Begin with empty nodes."""
        usable = [machine for machine in drawn if not machine.is_gpu]
        zones = sorted({machine.zone for machine in usable})
        self._zones = [[machine for machine in usable if machine.zone == zone] for zone in zones]
        self._at = [0] * len(zones)
        self._taken: dict[str, tuple[int, int, set[str]]] = {machine.name: (0, 0, set()) for machine in usable}

    def node_for(self, template: Template, number: int) -> str:
        """Return the node of a template's n-th pod, and take its room there."""
        zone = number % len(self._zones)
        machines = self._zones[zone]
        for step in range(len(machines)):
            at = (self._at[zone] + step) % len(machines)
            machine = machines[at]
            cpu, memory, there = self._taken[machine.name]
            cpu, memory = cpu + template.cpu_milli, memory + template.memory_bytes
            if cpu <= machine.cpu_milli and memory <= machine.memory_bytes and template.owner not in there:
                there.add(template.owner)
                self._taken[machine.name] = (cpu, memory, there)
                self._at[zone] = at + 1
                return machine.name
        raise ValueError(f"pod {number} of {template.owner} fits nowhere: give the workload more nodes or smaller pods")
