"""Host ports in use: by protocol and port, which rows have them on which address.

Invariant: an entry counts the pods that take it; two pods of one row may have taken the same port.
Not here: which containers' ports count (api/requests.py).
"""

from __future__ import annotations

from typing import Final

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 a host port's wildcard, not an address that is listened on
HostPort = tuple[str, str, int]  # (address, protocol, port)


class Ports:
    """Rows by port; the port's version rises with every change."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], dict[int, dict[str, int]]] = {}  # port -> row -> address -> pods

    def add(self, row: int, port: HostPort, change: int) -> None:
        """Count pods that take a port in or out."""
        address, protocol, at = port
        rows = self._rows.setdefault((protocol, at), {})
        addresses = rows.setdefault(row, {})
        number = addresses.get(address, 0) + change
        if number:
            addresses[address] = number
        else:
            addresses.pop(address, None)
            if not addresses:
                del rows[row]

    def rows_in_conflict(self, port: HostPort) -> list[int]:
        """Return the rows on which a port cannot be taken."""
        address, protocol, number = port
        rows = self._rows.get((protocol, number), {})
        if address == ANY_ADDRESS:
            return list(rows)
        return [row for row, taken in rows.items() if address in taken or ANY_ADDRESS in taken]
