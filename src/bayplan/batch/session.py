"""A session: jobs and queues looked at together, actions taken in order, what was decided handed out at the end.

It works on the live table: a task that is given room lies on its row, assumed, from then on; one that is evicted stays
there, on its way out.  A statement is a trial: what it did is kept or taken back as a whole.  What has room but may not
start yet when the session closes (a gang that is not ready, a task that waits for others to leave) is taken off again.
Invariant: between two verbs jobs, room and table agree on where every task is and how.
Not here: what the actions do (actions/, kubebatch/), who votes how (plugins/), and telling the API server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from bayplan.api.messages import Bind, Effect, Evict, who
from bayplan.batch.amounts import EXACT, TOLERANT, Amount, Slack
from bayplan.batch.choosing import Chooser
from bayplan.batch.room import IDLE, Room
from bayplan.batch.seeking import Seeker
from bayplan.batch.statuses import Short, statuses
from bayplan.batch.tasks import GOING, Status, Task
from bayplan.batch.voting import Voter, Votes
from bayplan.cluster.residents import Resident
from bayplan.cluster.trial import Mark, Trial

if TYPE_CHECKING:
    from bayplan.batch.jobs import GroupStatus, Job, Jobs, Queue
    from bayplan.batch.victims import Held
    from bayplan.batch.waits import Wait
    from bayplan.cluster.columns import Row
    from bayplan.cluster.table import Table
    from bayplan.framework.tiers import BatchConfiguration


class Step(NamedTuple):
    """One thing that a session did, in order."""

    action: str
    verb: Status  # what the task became
    task: Task
    row: Row


class Point(NamedTuple):
    """A point inside a statement."""

    mark: Mark
    steps: int


class Kit(NamedTuple):
    """The actions and plugins that a configuration may name."""

    actions: Mapping[str, Callable[[Session], None]]
    voters: Mapping[str, type[Voter]]


class Ground(NamedTuple):
    """What sessions of a profile stand on."""

    table: Table
    jobs: Jobs
    room: Room
    chooser: Chooser


class Session:
    """One round over all jobs and queues."""

    def __init__(self, ground: Ground, configuration: BatchConfiguration, kit: Kit) -> None:
        self.table, jobs, self.room, self.chooser = ground
        self.configuration = configuration
        self.slack: Slack = TOLERANT if configuration.behaviour == "kube-batch" else EXACT
        self.queues: dict[str, Queue] = jobs.open_queues()
        self.jobs: dict[str, Job] = {job.uid: job for job in jobs.open_jobs()}
        self.tasks = jobs.tasks
        self.room.catch_up()
        self.chooser.freed()
        self.whole: Amount = self.room.whole()
        self.action = ""
        self.steps: list[Step] = []
        self.effects: list[Effect] = []
        self.short: dict[str, Short] = {}  # by job: why its gang is not ready
        self.waits: dict[str, Wait] = {}  # by job: why it waits
        self.promises: dict[str, str] = {}  # by task, at the end: on which node it waits for others to leave
        self.held: Held | None = None  # counted when somebody first looks for victims
        self._trial: Trial | None = None
        self._away: dict[str, Resident] = {}  # by uid: thought of as gone while a statement is open
        self._held: dict[str, Task] = {}  # by uid: has room, is not bound
        self._actions = kit.actions
        self.votes = Votes(configuration, kit.voters, self)
        self.seeker = Seeker(self)

    # -- actions

    def run(self) -> None:
        """Take the configured actions in their order."""
        for name in self.configuration.actions:
            action = self._actions.get(name)
            if action is not None:
                self.action = name
                action(self)
        self.action = ""

    def redeem(self, promises: Mapping[str, str]) -> None:
        """Give tasks the room for which an earlier session had others leave, before anybody else is served."""
        by_job: dict[str, list[tuple[Task, Row]]] = {}
        for uid, node in promises.items():
            task, row = self.tasks.get(uid), self.table.row_of.get(node)
            if task is not None and row is not None and task.status is Status.PENDING and task.job is not None:
                by_job.setdefault(task.job.uid, []).append((task, row))
        for name, promised in by_job.items():
            if name in self.jobs:
                self.seeker.redeem(self.jobs[name], promised)

    # -- verbs

    def allocate(self, task: Task, row: Row) -> bool:
        """Give a task idle room; its whole job is bound when that makes it ready.  False: its node has not enough."""
        if not self.room.fits(task.charge.request, row, IDLE):
            return False
        self.seat(task, row, Status.ALLOCATED)
        job = job_of(task)
        if self.votes.is_ready(job):
            self.dispatch(job)
        return True

    def dispatch(self, job: Job) -> None:
        """Bind every task of a job that has room."""
        for task in list(job.having(Status.ALLOCATED).values()):
            assert task.row is not None  # noqa: S101 it was allocated
            job.move(task, Status.BINDING)
            self._held.pop(task.uid, None)
            self._note(Status.BINDING, task, task.row)
            self.effects.append(Bind(**who(task.pod, self.action), node=self.node_name(task.row)))

    def pipeline(self, task: Task, row: Row) -> None:
        """Give a task room that is being released."""
        self.seat(task, row, Status.PIPELINED)

    def seat(self, task: Task, row: Row, status: Status) -> None:
        """Lay a waiting task on a row, as allocated or pipelined."""
        self.chooser.forget(task)
        if self._trial is None:
            self.table.place(task.pod, row, is_assumed=True)
        else:
            self._trial.hold(task.pod, row)
            self._trial.note(lambda: self._unseat(task, row, status))
        self._seated(task, row, status)
        self._note(status, task, row)

    def unseat(self, task: Task) -> None:
        """Take a task off that was given room outside a statement."""
        row, status = self.row_of(task), task.status
        self.table.remove(task.uid)
        self._unseat(task, row, status)
        self.steps.pop()

    def _unseat(self, task: Task, row: Row, status: Status) -> None:
        """Take a task off its row again, the table aside."""
        job_of(task).move(task, Status.PENDING)
        task.row = None
        self.room.drop(row, task.charge, status)
        self._held.pop(task.uid, None)
        self.chooser.freed()
        for released in self.votes.on_released:
            released(task)

    def evict(self, task: Task) -> None:
        """Have a running task leave; its room is being released from now on."""
        row, before = self.row_of(task), task.status
        self._turn(task, row, Status.RELEASING)
        self.chooser.freed()
        self._note(Status.RELEASING, task, row)
        if self._trial is None:
            self._tell_eviction(task, row)
        else:
            self._trial.note(lambda: self._turn(task, row, before))

    def spare(self, task: Task, status: Status) -> None:
        """Have a task stay whom this statement evicted."""
        assert self._trial is not None  # noqa: S101 what was told cannot be taken back
        row = self.row_of(task)
        self._turn(task, row, status)
        self._trial.note(lambda: self._turn(task, row, Status.RELEASING))
        self._note(status, task, row)

    def _turn(self, task: Task, row: Row, status: Status) -> None:
        """Have a running task leave, or an evicted one stay after all."""
        self.room.drop(row, task.charge, task.status)
        job_of(task).move(task, status)
        self.room.put(row, task.charge, status)
        for hear in self.votes.on_released if status is Status.RELEASING else self.votes.on_charged:
            hear(task)

    def _tell_eviction(self, task: Task, row: Row) -> None:
        self.effects.append(Evict(**who(task.pod, self.action), node=self.node_name(row)))

    def _note(self, verb: Status, task: Task, row: Row) -> None:
        self.steps.append(Step(self.action, verb, task, row))

    # -- statements

    @contextmanager
    def statement(self) -> Iterator[Statement]:
        """Do things that are taken back at the end, unless they are kept."""
        statement = Statement(self)
        with Trial(self.table, self.action) as trial:
            self._trial = trial
            try:
                yield statement
            finally:
                self._trial = None
                if statement.is_kept:
                    trial.commit()
                    for resident in self._away.values():
                        self.table.seat(resident)
                    self.room.knows()
                    self._away.clear()
        if not statement.is_kept:
            del self.steps[statement.begun :]
            self.room.knows()  # all is as it was

    def leaving(self) -> list[Task]:
        """Return the tasks of the session that are on their way out."""
        found = (task for job in self.jobs.values() for task in job.having(Status.RELEASING).values())
        return [task for task in found if task.uid in self.table.pods]

    def clear_the_way(self) -> None:
        """Think of whoever is on the way out as gone, until the statement ends."""
        for task in self.leaving():
            self.think_gone(task.uid)

    def is_cleared(self, row: Row) -> bool:
        """Say whether somebody on a row is thought of as gone."""
        return any(resident.row == row for resident in self._away.values())

    def think_gone(self, uid: str) -> None:
        """Think of a task as gone, until the statement ends: its room is counted as being released."""
        assert self._trial is not None  # noqa: S101 the table is put right when the statement ends
        self._away[uid] = self._trial.take_off(uid)
        self._trial.note(lambda: self._away.pop(uid))
        self.room.knows()

    def think_back(self, uid: str) -> None:
        """Think of a task as there again."""
        assert self._trial is not None  # noqa: S101 as think_gone
        resident = self._away.pop(uid, None)
        if resident is not None:
            away = resident
            self.table.seat(away)
            self._trial.note(lambda: self._away.__setitem__(uid, away))
            self._trial.note(lambda: self.table.remove(uid))
            self.room.knows()

    def point(self) -> Point:
        """Return the point inside a statement that `back` may be asked to go back to."""
        assert self._trial is not None  # noqa: S101 a point is inside a statement
        return Point(self._trial.mark(), len(self.steps))

    def back(self, point: Point) -> None:
        """Take back what a statement did since a point."""
        assert self._trial is not None  # noqa: S101 as point
        self._trial.rollback(point.mark)
        del self.steps[point.steps :]
        self.room.knows()

    def note(self, undo: Callable[[], object]) -> None:
        """Have something of an action's own taken back with the statement."""
        assert self._trial is not None  # noqa: S101 outside a statement nothing is taken back
        self._trial.note(undo)

    def lift(self, task: Task) -> None:
        """Take a task off that was given room in this statement."""
        assert self._trial is not None  # noqa: S101 as point
        row, status = self.row_of(task), task.status
        self._trial.take_off(task.uid)
        self._unseat(task, row, status)
        self._trial.note(lambda: self._seated(task, row, status))

    def _seated(self, task: Task, row: Row, status: Status) -> None:
        """Have a task back on its row, the table aside."""
        job_of(task).move(task, status)
        task.row = row
        self.room.put(row, task.charge, status)
        self._held[task.uid] = task
        for charged in self.votes.on_charged:
            charged(task)

    # -- closing

    def close(self) -> dict[str, GroupStatus]:
        """Take off what may not start, and return what is to be said of each PodGroup; the session is over."""
        for closing in self.votes.on_closing:
            closing()
        said = statuses(self)
        self.promises = {uid: self.node_name(self.row_of(task)) for uid, task in self._held.items()}
        for task in list(self._held.values()):
            row, status = self.row_of(task), task.status
            self.table.remove(task.uid)
            self._unseat(task, row, status)
        return said

    # -- questions

    def row_of(self, task: Task) -> Row:
        """Return the row on which a task lies."""
        resident = self.table.pods.get(task.uid)
        return self._away[task.uid].row if resident is None else resident.row

    def node_name(self, row: Row) -> str:
        """Return the name of a row's node."""
        node = self.table.nodes[row]
        assert node is not None  # noqa: S101 tasks are put on live rows only
        return node.metadata.name

    def on_row(self, row: Row) -> Iterator[Task]:
        """Yield the tasks on a row that belong to jobs of the session."""
        refused = self.room.refused.get(row, ())
        for uid in self.table.on_row[row]:
            task = self.tasks.get(uid)
            if task is not None and uid not in refused and task.job is not None and task.job.uid in self.jobs:
                yield task


class Statement:
    """What is done inside a session's trial; it is taken back unless it is kept."""

    def __init__(self, session: Session) -> None:
        self.begun = len(session.steps)
        self.is_kept = False
        self._session = session

    def keep(self) -> None:
        """Keep it all; whoever was evicted, and not spared after all, is told."""
        session = self._session
        done = session.steps[self.begun :]
        spared = {step.task.uid for step in done if step.verb in GOING}
        if spared:
            done = session.steps[self.begun :] = [step for step in done if step.task.uid not in spared]
        for step in done:
            if step.verb is Status.RELEASING:
                session._tell_eviction(step.task, step.row)  # noqa: SLF001 the two are one thing
        self.is_kept = True


def job_of(task: Task) -> Job:
    """Return the job of a task of a session."""
    job = task.job
    assert job is not None  # noqa: S101 a session's tasks are of its jobs
    return job
