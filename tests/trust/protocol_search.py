"""Every interleaving of a few processes, breadth first: each state once, each judged, the shortest way to a fault told.

A process is a function of what it was told, so that its real code runs once for each of its own histories, however many
interleavings that history is part of; what it does at a step is remembered. A state is the world and what each process
has been told since it was last idle; an idle one is what it remembers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tests.trust.protocol_process import Running
from tests.trust.protocol_world import (
    IDLE,
    Books,
    Left,
    Observation,
    Request,
    World,
    answered,
    put_back,
)

Local = int
"""A process by the number of its history."""
State = tuple[int, ...]
"""The number of a world, and where each process stands."""
MOST_PARKED = 4096
"""So many processes are kept as they stopped; others are led there again."""


class Standing(NamedTuple):
    """Where a process stands: which it is, what it asks for, what it is at, all that it was told since its birth."""

    number: int
    life: int
    request: Request
    operation: str
    told: tuple[Observation, ...]

    @property
    def is_idle(self) -> bool:
        return self.request.kind == IDLE

    @property
    def is_open(self) -> bool:
        """Whether an operation can begin."""
        return self.is_idle and self.request.what is not None


class Move(NamedTuple):
    """What happens next: a process begins an operation, goes on with one, or dies; or an older journal is put back."""

    process: int | None
    what: Literal["begins", "goes on", "dies", "put back"]
    detail: str

    def __str__(self) -> str:
        return f"the journal is put back {self.detail}" if self.process is None else f"{self.process} {self.detail}"


class Scope(NamedTuple):
    """What is searched: the operations that each process may choose from, how many of them (of each, or by process),
    and how many steps, crashes and rollbacks there are at most."""

    menus: tuple[tuple[str, ...], ...]
    steps: int
    operations: int | tuple[int, ...]
    crashes: int = 0
    rollbacks: int = 0

    def operations_of(self, number: int) -> int:
        return self.operations if isinstance(self.operations, int) else self.operations[number]


@dataclass(frozen=True)
class Searched:
    """What a search came to. `way` leads to what is wrong, step by step."""

    states: int
    transitions: int
    journals: int
    histories: int
    depth: int
    wrong: str | None = None
    way: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((self.wrong or "nothing is wrong", *self.way))


@dataclass
class Search:
    """The states that are reached from a beginning, and how."""

    scope: Scope
    books: Books
    home: Path
    judge: Callable[[World, bool], str | None]
    _worlds: list[World] = field(default_factory=list)
    _world_numbers: dict[World, int] = field(default_factory=dict)
    _standing: list[Standing] = field(default_factory=list)
    _numbers: dict[Any, Local] = field(default_factory=dict)
    _steps: dict[tuple[Local, Observation], tuple[tuple[Any, ...], Local]] = field(default_factory=dict)
    _parked: dict[Local, Running] = field(default_factory=dict)

    def run(self, beginning: World) -> Searched:
        """Search breadth first, to the depth of the scope or the first thing that is wrong."""
        start = self.start(beginning)
        came: dict[State, tuple[State, Move] | None] = {start: None}
        level, transitions = [start], 0
        for depth in range(1, self.scope.steps + 1):
            reached = []
            for state in level:
                for move, after in self.successors(state):
                    transitions += 1
                    if after in came:
                        continue
                    came[after] = (state, move)
                    reached.append(after)
                    idle = all(self._standing[local].is_idle for local in after[1:])
                    wrong = self.judge(self._worlds[after[0]], idle)
                    if wrong is not None:
                        return self._searched(came, transitions, depth, wrong, after)
            if not reached:
                return self._searched(came, transitions, depth - 1)
            level = reached
        return self._searched(came, transitions, self.scope.steps)

    def start(self, beginning: World) -> State:
        """Every process has opened the vault, undisturbed."""
        processes = len(self.scope.menus)
        begun = beginning._replace(begun=(0,) * processes, lives=(0,) * processes)
        state = (self._numbered(begun), *(self._born(number, 0) for number in range(processes)))
        for number in range(processes):
            while not self.standing(state, number).is_open:
                state = next(after for move, after in self.successors(state) if move.process == number)
        return state

    def standing(self, state: State, number: int) -> Standing:
        return self._standing[state[1 + number]]

    def world(self, state: State) -> World:
        return self._worlds[state[0]]

    def _searched(
        self,
        came: dict[State, tuple[State, Move] | None],
        transitions: int,
        depth: int,
        wrong: str | None = None,
        last: State | None = None,
    ) -> Searched:
        way = []
        while last is not None and (step := came[last]) is not None:
            last, move = step
            way.append(str(move))
        return Searched(
            len(came), transitions, len(self.books.entries), len(self._standing), depth, wrong, tuple(reversed(way))
        )

    def successors(self, state: State) -> Iterator[tuple[Move, State]]:
        """All that may happen next."""
        world, locals_ = self._worlds[state[0]], state[1:]
        for number, local in enumerate(locals_):
            standing = self._standing[local]
            for move, then, told in self._choices(world, standing):
                effects, after = self._step(local, told)
                done = self._numbered(self._apply(then, effects))
                yield move, (done, *locals_[:number], after, *locals_[number + 1 :])
            if not standing.is_idle and world.crashes < self.scope.crashes:
                yield Move(number, "dies", f"dies, at {standing.operation}"), self._crashed(state, number)
        if world.era < self.scope.rollbacks:
            for length in range(1, len(self.books.entries[world.files[-1]])):
                for in_place in (False, True):
                    how = "in place" if in_place else "by a move"
                    older = put_back(world, self.books, length, in_place)
                    yield Move(None, "put back", f"to entry {length}, {how}"), (self._numbered(older), *locals_)

    def _choices(self, world: World, standing: Standing) -> Iterator[tuple[Move, World, Observation]]:
        """What a process may be told next."""
        if not standing.is_idle:
            then, told = answered(world, self.books, standing.request)
            yield Move(standing.number, "goes on", f"{standing.operation}: {standing.request.kind}"), then, told
            return
        number = standing.number
        if world.begun[number] >= self.scope.operations_of(number) and standing.is_open:
            return
        began = (*world.begun[:number], world.begun[number] + standing.is_open, *world.begun[number + 1 :])
        for operation in self._menu(world, standing):
            since = self.books.snapshot(world.files[-1]).number
            yield Move(number, "begins", operation), world._replace(begun=began), (operation, since)

    def _menu(self, world: World, standing: Standing) -> tuple[str, ...]:
        if standing.is_open:
            return self.scope.menus[standing.number]
        return ("open", "accept") if world.era else ("open",)

    def _crashed(self, state: State, number: int) -> State:
        world, locals_ = self._worlds[state[0]], state[1:]
        life = world.lives[number] + 1
        lives = (*world.lives[:number], life, *world.lives[number + 1 :])
        after = self._numbered(world._replace(crashes=world.crashes + 1, lives=lives))
        return (after, *locals_[:number], self._born(number, life), *locals_[number + 1 :])

    def _numbered(self, world: World) -> int:
        number = self._world_numbers.setdefault(world, len(self._worlds))
        if number == len(self._worlds):
            self._worlds.append(world)
        return number

    def _apply(self, world: World, effects: tuple[Any, ...]) -> World:
        for effect in effects:
            match effect:
                case ("append", file, entries):
                    head = self.books.extended(world.files[file], entries)
                    accepted = sum(entry.kind == "rollback-accepted" for entry in entries)
                    files = (*world.files[:file], head, *world.files[file + 1 :])
                    world = world._replace(files=files, accepted=world.accepted + accepted)
                case ("draw", draw):
                    world = world._replace(draws=world.draws | {draw})
                case ("left", since, free, answers):
                    world = world._replace(left=world.left | {Left(world.era, since, free, answers)})
                case ("failed", operation, error):
                    world = world._replace(failures=world.failures | {(operation, error)})
        return world

    def _born(self, number: int, life: int) -> Local:
        process = self._new(number, life)
        _, request = process.tell(None)
        return self._stands(process, Standing(number, life, request, "", ()), (number, life))

    def _new(self, number: int, life: int) -> Running:
        return Running(number, life, self.books, self.home, receipts=self.scope.rollbacks > 0)

    def _step(self, local: Local, told: Observation) -> tuple[tuple[Any, ...], Local]:
        """What a process does when it is told something, and where it stands then."""
        known = self._steps.get((local, told))
        if known is not None:
            return known
        before = self._standing[local]
        process = self._parked.pop(local, None) or self._led_to(before)
        effects, request = process.tell(told)
        operation = told[0] if before.is_idle else before.operation
        standing = Standing(before.number, before.life, request, operation, (*before.told, told))
        history = (request.what,) if standing.is_idle else (local, told)
        after = self._stands(process, standing, (before.number, before.life, *history))
        self._steps[local, told] = effects, after
        return effects, after

    def _led_to(self, standing: Standing) -> Running:
        """A process that stands there, by being told again what was told."""
        process = self._new(standing.number, standing.life)
        process.tell(None)
        for told in standing.told:
            process.tell(told)
        return process

    def _stands(self, process: Running, standing: Standing, key: Any) -> Local:
        if key not in self._numbers:
            self._numbers[key] = len(self._standing)
            self._standing.append(standing)
        local = self._numbers[key]
        if len(self._parked) < MOST_PARKED:
            self._parked[local] = process
        return local
