"""The engine: continuous batching, in virtual time.

Owns the queues. A request waits, runs, perhaps waits again after a preemption, and ends. In each step
every running request that has its prompt behind it gets a slot for its last token; if there is none,
the request that was admitted last is preempted. Then waiting requests are admitted, and the model
computes all new prompts whole and one token for everybody else.

Who is admitted next is a scheduler's choice: one of the kernel's own policies, with a request for a
process and tokens for ticks. Who was preempted is ahead of the scheduler's queue; so nobody takes
the memory for which somebody else had to stop.

Yu et al., "Orca" (2022); Kwon et al., "PagedAttention" (2023), section 4.5
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from nexemu.errors import OutOfMemory, panic
from nexemu.policy import Scheduler
from nexemu.serve.costs import Costs
from nexemu.serve.memory import Memory, Usage
from nexemu.serve.request import MILLISECOND, Record, Request

SAMPLE_EVERY: Final = 100 * MILLISECOND


@dataclass(frozen=True, slots=True)
class Batch:
    """At most ``requests`` run at once, and no further prompt is taken into a step in which ``tokens``
    prompt tokens are computed already."""

    requests: int = 256
    tokens: int = 8192


class Sample(NamedTuple):
    """The engine at one moment."""

    now: int
    usage: Usage
    running: int
    waiting: int


@dataclass(slots=True)
class Outcome:
    """What came of a trace. ``records`` are in the order of the requests; ``elapsed`` is when the last of
    them ended."""

    records: list[Record]
    samples: list[Sample] = field(default_factory=list)
    steps: int = 0
    elapsed: int = 0


class Engine:
    """Serves the requests that it is given, of which the arrivals ascend, a step at a time."""

    def __init__(
        self,
        requests: Sequence[Request],
        memory: Memory,
        scheduler: Scheduler,
        costs: Costs,
        batch: Batch | None = None,
    ) -> None:
        self.now = 0
        self.memory = memory
        self.outcome = Outcome([Record(request) for request in requests])
        self._scheduler = scheduler
        self._costs = costs
        self._batch = batch or Batch()
        self._arrived = 0
        self._candidate: int | None = None  # chosen, but there was no room yet
        self._preempted: deque[int] = deque()
        self._running: list[int] = []  # in the order of admission
        self._generated = [0] * len(requests)
        self._next_sample = 0

    @property
    def waiting(self) -> int:
        """How many requests have arrived and do not run."""
        return self._scheduler.waiting() + len(self._preempted) + (self._candidate is not None)

    @property
    def running(self) -> int:
        """How many requests run."""
        return len(self._running)

    @property
    def done(self) -> bool:
        """Has every request ended, or been refused?"""
        return self._arrived == len(self.outcome.records) and not self.waiting and not self._running

    def run(self) -> Outcome:
        """Serve everything. Panics when a request finds no room even alone."""
        while not self.done:
            if not self.step():
                panic("engine: nobody runs, and yet there is no room for the next request")
        return self.outcome

    def step(self) -> bool:
        """One step of the model, or a jump to the next arrival when nobody is there. False when there was
        neither: somebody waits, and has no room though nobody runs."""
        self._receive()
        time = self._grow()
        time += self._costs.of_decode(len(self._running), sum(map(self._length, self._running)))
        time += self._admit()
        if not self._running:
            return self._jump()
        self.now += self._costs.step + time
        self._emit()
        self.outcome.steps += 1
        if self.now >= self._next_sample:
            self._sample()
        return True

    def wait_until(self, moment: int) -> None:
        """Nothing happens here until ``moment``."""
        self.now = max(self.now, moment)

    # ---- the parts of a step ----------------------------------------------------------------------

    def _receive(self) -> None:
        records = self.outcome.records
        while self._arrived < len(records) and records[self._arrived].request.arrival <= self.now:
            record = records[self._arrived]
            record.refused = self.memory.refusal(record.request)
            if not record.refused:
                self._scheduler.ready(self._arrived)
            self._arrived += 1

    def _grow(self) -> int:
        """A slot for the last token of everybody who runs. The result is the time that preemptions take."""
        time = position = 0
        while position < len(self._running):
            number = self._running[position]
            output = self.outcome.records[number].request.output
            try:
                self.memory.append(number, output[self._generated[number] - 1])
                position += 1
            except OutOfMemory:
                time += self._preempt(self._running.pop())
        return time

    def _preempt(self, number: int) -> int:
        record = self.outcome.records[number]
        record.preemptions += 1
        self._preempted.appendleft(number)
        return self.memory.preempt(number)

    def _admit(self) -> int:
        """Let in whoever fits, in the order of the scheduler. The result is the time that their prompts
        take, copied or computed."""
        time = prefilled = 0
        while len(self._running) < self._batch.requests and prefilled < self._batch.tokens:
            number = self._next()
            if number is None:
                break
            record = self.outcome.records[number]
            length = self._length(number)
            admission = self.memory.admit(number, record.request, self._generated[number])
            if admission is None:
                break
            self._start(number, admission.cached)
            time += admission.transfer + self._costs.of_prefill(admission.cached, length)
            prefilled += length - admission.cached
        return time

    def _next(self) -> int | None:
        """The request to admit next; it stays that until it is admitted, or the scheduler has somebody
        who should go first."""
        if self._preempted:
            return self._preempted[0]
        if self._candidate is not None and self._scheduler.preempts(self._candidate):
            self._scheduler.ready(self._candidate)
            self._candidate = None
        if self._candidate is None:
            self._candidate = self._scheduler.choose()
        return self._candidate

    def _start(self, number: int, cached: int) -> None:
        record = self.outcome.records[number]
        if self._preempted:
            self._preempted.popleft()
            record.recomputed += self._length(number) - cached - 1  # the last one is new work
        else:
            self._candidate = None
            record.admitted = self.now
            record.cached = cached
        self._scheduler.ran(number, self._length(number) - cached)
        self._running.append(number)

    def _emit(self) -> None:
        """Everybody who runs has got a token; who has got the last one leaves."""
        still_running = []
        for number in self._running:
            record = self.outcome.records[number]
            self._generated[number] += 1
            self._scheduler.ran(number, 1)
            if record.first_token is None:
                record.first_token = self.now
            if self._generated[number] < len(record.request.output):
                still_running.append(number)
            else:
                record.finished = self.outcome.elapsed = self.now
                self._scheduler.forget(number)
                self.memory.finish(number)
        self._running = still_running

    def _jump(self) -> bool:
        records = self.outcome.records
        if self._preempted or self._candidate is not None:
            return False
        if self._arrived < len(records):
            self._sample()
            self.now = max(self.now, records[self._arrived].request.arrival)
            self._sample()
        return True

    def _sample(self) -> None:
        self.outcome.samples.append(Sample(self.now, self.memory.usage(), self.running, self.waiting))
        self._next_sample = self.now + SAMPLE_EVERY

    def _length(self, number: int) -> int:
        return len(self.outcome.records[number].request.prompt) + self._generated[number]
