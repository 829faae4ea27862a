"""The oracle as a process: cases in by lines, kube-scheduler's results out by lines.

One case is in flight at a time, so neither side can fill a pipe that the other has stopped reading.
Not here: building it (oracle_build.py).
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.parity.case import Case, Result, to_line
from tests.parity.oracle_build import oracle_binary

ANSWERS_PER_PROCESS = 4_000
"""Its informers are never quite gone after a case: a fresh process now and then keeps its memory small."""

ERROR = "oracle_error"


class Oracle:
    """kube-scheduler's own plugins, asked one case at a time."""

    def __init__(self, binary: Path | None = None) -> None:
        self._binary = binary or oracle_binary()
        self._process: subprocess.Popen[str] | None = None
        self._answers = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask_all(self, cases: Iterable[Case]) -> list[Result]:
        """Return the results of the cases, in their order."""
        return [self.ask(case) for case in cases]

    def ask(self, case: Case) -> Result:
        """Return what kube-scheduler concludes; a result with `oracle_error` when it would not take the case."""
        if self._answers >= ANSWERS_PER_PROCESS:
            self.close()
        sent = to_line({name: value for name, value in case.items() if name != "result"}) + "\n"
        # A process may yet end of the case before: only when a fresh one ends too is it this case's doing.
        line = self._ask_once(sent) or self._ask_once(sent)
        if not line:
            return {ERROR: "the oracle ended while it was asked"}
        self._answers += 1
        result: Result = json.loads(line)
        result.pop("id", None)
        return result

    def _ask_once(self, sent: str) -> str:
        send, receive = self._pipes()
        try:
            send.write(sent)
            send.flush()
            line = receive.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
        return line

    def close(self) -> None:
        """End the process, if one runs; the next question starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None
        self._answers = 0

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        if self._process is None:
            self._process = subprocess.Popen(
                [str(self._binary)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        sending, receiving = self._process.stdin, self._process.stdout
        if sending is None or receiving is None:
            raise RuntimeError("the oracle was started without pipes")
        return sending, receiving
