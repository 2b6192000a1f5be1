"""One fair queue in front of a model.

Equal requests share one run, whoever asks. A session has one waiting job: its newer request replaces the older. Jobs
run in the order of self-clocked fair queueing (Golestani 1994): a session that asked for much waits behind those that
asked for little. Work that nobody waits for is dropped, or stopped at its next progress report.
"""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cachetools import LRUCache

from explorer.errors import Busy, Cancelled

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


@dataclass(eq=False)
class Job(Generic[Key, Answer]):
    """One run, the session that is charged for it, and everyone who waits for it."""

    key: Key
    owner: str = ""
    turn: float = 0.0
    tickets: set["JobTicket[Key, Answer]"] = field(default_factory=set)
    done: threading.Event = field(default_factory=threading.Event)
    fraction: float = 0.0
    answer: Answer | None = None
    error: BaseException | None = None

    def progress(self, fraction: float) -> None:
        """Note the share done. Raises ``Cancelled`` when nobody waits any more."""
        self.fraction = fraction
        if not self.tickets:
            raise Cancelled("Nobody waits for this run any more.")


class JobTicket(Generic[Key, Answer]):
    """One hold on a job. A session may have two for a moment: a page that runs anew joins before its old run leaves."""

    def __init__(self, scheduler: "Scheduler[Key, Answer]", job: Job[Key, Answer], session: str) -> None:
        self._scheduler, self.job, self.session = scheduler, job, session

    @property
    def fraction(self) -> float:
        """The share of the work done."""
        return self.job.fraction

    @property
    def ahead(self) -> int:
        """How many jobs come first."""
        return self._scheduler.ahead(self.job)

    def wait(self, seconds: float) -> bool:
        """Whether the answer came within ``seconds``."""
        return self.job.done.wait(seconds)

    def result(self) -> Answer:
        """The answer, waiting for it if need be. Raises what the work raised."""
        self.job.done.wait()
        if self.job.error is not None:
            raise self.job.error
        assert self.job.answer is not None
        return self.job.answer

    def leave(self) -> None:
        """Stop waiting."""
        self._scheduler.leave(self)


class Scheduler(Generic[Key, Answer]):
    """Runs ``work(key, progress)`` on its own thread and remembers answers up to ``cache_bytes``."""

    def __init__(
        self,
        work: Callable[[Key, Callable[[float], None]], Answer],
        *,
        cost: Callable[[Key], float],
        size: Callable[[Answer], int],
        cache_bytes: int,
        max_waiting: int,
    ) -> None:
        self._work, self._cost, self._size, self._max_waiting = work, cost, size, max_waiting
        self._answers: LRUCache[Key, Answer] = LRUCache(cache_bytes, getsizeof=size)
        self._changed = threading.Condition()
        self._waiting: dict[Key, Job[Key, Answer]] = {}
        self._running: dict[Key, Job[Key, Answer]] = {}
        self._clock = 0.0
        self._last_turn: dict[str, float] = {}
        self.runs = 0
        threading.Thread(target=self._serve, name="engine", daemon=True).start()

    def submit(self, key: Key, session: str) -> JobTicket[Key, Answer]:
        """Join or queue the work for ``key``.

        Raises ``Busy`` when too much waits already.
        """
        with self._changed:
            if key in self._answers:
                job = Job(key, answer=self._answers[key], fraction=1.0)
                job.done.set()
                return JobTicket(self, job, session)
            for other in list(self._waiting.values()):
                for old in [ticket for ticket in other.tickets if ticket.session == session and other.key != key]:
                    self._drop(old)
            shared = self._waiting.get(key) or self._running.get(key)
            job = shared if shared and shared.tickets else self._queue(key, session)
            ticket = JobTicket(self, job, session)
            job.tickets.add(ticket)
            return ticket

    def ahead(self, job: Job[Key, Answer]) -> int:
        """How many jobs come before ``job``: the running ones and the waiting ones that will be taken first."""
        with self._changed:
            if self._waiting.get(job.key) is not job:
                return 0
            order = sorted(self._waiting.values(), key=lambda waiting: waiting.turn)  # equal turns by arrival
            return len(self._running) + order.index(job)

    def leave(self, ticket: JobTicket[Key, Answer]) -> None:
        """Take ``ticket`` off its job; the last one to leave ends it."""
        with self._changed:
            self._drop(ticket)

    def _queue(self, key: Key, session: str) -> Job[Key, Answer]:
        if len(self._waiting) >= self._max_waiting:
            raise Busy(f"{len(self._waiting)} requests are waiting.", "Try again in a few seconds.")
        start = max(self._clock, self._last_turn.get(session, 0.0))
        job: Job[Key, Answer] = Job(key, owner=session, turn=start + self._cost(key))
        self._last_turn[session] = job.turn
        self._waiting[key] = job
        self._changed.notify()
        return job

    def _drop(self, ticket: JobTicket[Key, Answer]) -> None:
        job = ticket.job
        job.tickets.discard(ticket)
        if not job.tickets and self._waiting.get(job.key) is job:
            del self._waiting[job.key]
            if self._last_turn.get(job.owner) == job.turn:  # what never ran is not charged
                self._last_turn[job.owner] = job.turn - self._cost(job.key)
            job.error = Cancelled("Nobody waits for this run any more.")
            job.done.set()

    def _next(self) -> Job[Key, Answer]:
        with self._changed:
            while not self._waiting:
                self._last_turn.clear()  # nobody waits: old debts are forgotten, and the table cannot grow
                self._changed.wait()
            job = min(self._waiting.values(), key=lambda waiting: waiting.turn)
            del self._waiting[job.key]
            self._running[job.key] = job
            self._clock = job.turn
            return job

    def _serve(self) -> None:
        while True:
            job = self._next()
            try:
                job.answer = self._work(job.key, job.progress)
            except Exception as error:  # noqa: BLE001 - whoever waits raises it again, with its traceback
                job.error = error
            with self._changed:
                if self._running.get(job.key) is job:
                    del self._running[job.key]
                self.runs += 1
                if job.answer is not None and self._size(job.answer) <= self._answers.maxsize:
                    self._answers[job.key] = job.answer
            job.done.set()
