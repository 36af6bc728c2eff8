"""Classes of links with the same steps: by the kind of their joint, or by the kinds of the
neighbouring joints as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

from symgen.derivation.closed_forms import constraint_subspace, motion_class
from symgen.derivation.model import Link, Model
from symgen.mechanism.mechanism import BASE

VIRTUAL_BASE = "free"
"""Joint of the virtual base of a sample chain."""
REPEATED = 6
"""Links of one class in a row."""
LAST_LINKS = 4
"""Links at the end of a sample chain that may differ from the links before them."""
Window = tuple[str, str, str]
"""Kinds of three joints that follow each other."""


@dataclass(frozen=True)
class Classes:
    """Classes of a robot's links, and of the links of a sample chain behind its virtual base."""

    kinds: tuple[str, ...]
    """Kind of joint of each class; the classes of the robot come first."""
    of_links: tuple[int, ...]
    """Class of each link of the robot, -1 for a link that the virtual base stands for."""
    walk: tuple[int, ...]
    """Class of each link of the sample chain."""
    windows: tuple[Window, ...] = ()
    """Joints before, of, and behind the links of each class of the robot; empty for classes by
    kind.
    """

    @property
    def used(self) -> int:
        """Classes of the robot; further classes stand between them in the sample chain."""
        return 1 + max(self.of_links)

    def name(self, group: Sequence[int]) -> str:
        """Return the name of classes of one kind of joint."""
        if not self.windows:
            return self.kinds[group[0]]
        before, (kind, *_), behind = (
            dict.fromkeys(kinds) for kinds in zip(*(self.windows[c] for c in group), strict=True)
        )
        return f"{kind} between {' or '.join(before)} and {' or '.join(behind)}"


def classes_by_kind(model: Model, trunk: Sequence[Link], framed: bool) -> Classes:
    """Return one class for each kind of joint; the virtual base stands for the links of `trunk`.

    In the sample chain every class stands behind every other one, between links that turn: beside
    links that slide some rows are zero or unused. A chain with a frame is longer.
    """
    kinds = tuple(dict.fromkeys(link.kind for link in model.links if link not in trunk))
    kinds = kinds or (VIRTUAL_BASE,)  # of no link of the robot
    order = sorted(range(len(kinds)), key=lambda c: motion_class(kinds[c]) == "slide")
    walk = order[:1] * REPEATED
    for a in order:
        for b in order:
            walk += [a, b, b]
    walk += order[:1] * (LAST_LINKS * (1 + framed))
    of_links = (-1 if link in trunk else kinds.index(link.kind) for link in model.links)
    return Classes(kinds, tuple(of_links), tuple(walk))


def classes_by_neighbours(model: Model, framed: bool) -> Classes:
    """Return one class for each joint of chains with the kinds of the joints before and behind it.

    The first and the last link of a chain are of classes of links between two others: the base and
    the end pass on zeros. In the sample chain every class stands twice.
    """
    class_by_kind = kinds_alike(model)
    kinds = [class_by_kind[link.kind] for link in model.links]
    outer = min(
        dict.fromkeys(kinds), key=lambda kind: (motion_class(kind) == "slide", kind == VIRTUAL_BASE)
    )
    parents = [link.parent for link in model.links]
    behind = dict(zip(parents, kinds, strict=True))
    pairs = [
        (outer if parent == BASE else kinds[parent], kind)
        for parent, kind in zip(parents, kinds, strict=True)
    ]
    behind_pair = {pair: behind[i] for i, pair in enumerate(pairs) if i in behind}
    windows = [(*pair, behind.get(i, behind_pair.get(pair, outer))) for i, pair in enumerate(pairs)]
    numbers = {window: number for number, window in enumerate(dict.fromkeys(windows))}
    robot = tuple(numbers)
    walk = [outer] * (REPEATED // 2)
    missing = [*robot, *robot]
    everything = [(a, b, c) for a, b, c in product(dict.fromkeys(kinds), repeat=3)]
    while missing:
        for window in _path((outer, walk[-2], walk[-1]), everything, missing):
            walk.append(window[-1])
            if window in missing:
                missing.remove(window)
    walk += [outer] * (LAST_LINKS * (1 + framed))
    around = zip([outer, *walk], walk, [*walk[1:], outer], strict=False)
    of_walk = tuple(numbers.setdefault(window, len(numbers)) for window in around)
    return Classes(
        tuple(kind for _, kind, _ in numbers),
        tuple(numbers[window] for window in windows),
        of_walk,
        robot,
    )


def kinds_alike(model: Model) -> dict[str, str]:
    """Return for each kind of joint of a robot the first kind that allows and forbids the same
    directions.
    """
    kinds = [*dict.fromkeys(link.kind for link in model.links)]
    return {
        kind: next(k for k in kinds if constraint_subspace(k) == constraint_subspace(kind))
        for kind in kinds
    }


def _path(start: Window, windows: Sequence[Window], goals: Collection[Window]) -> list[Window]:
    """Return the fewest windows that lead from `start` to one of `goals`, each behind the one
    before.
    """
    waiting: deque[tuple[Window, list[Window]]] = deque([(start, [])])
    visited: set[Window] = set()
    while waiting:
        last, path = waiting.popleft()
        for window in windows:
            if window[:-1] != last[1:] or window in visited:
                continue
            if window in goals:
                return [*path, window]
            visited.add(window)
            waiting.append((window, [*path, window]))
    return []


def short_chains(classes: Classes, model: Model, frame: int) -> tuple[list[int], list[int]]:
    """Return links of chains, and the parent of each, that have every class between neighbours of
    the right kinds.

    The link that carries the frame is one of them, if there is one.
    """
    windows = classes.windows
    links_of: list[list[int]] = [[] for _ in windows]
    for link, number in sorted(enumerate(classes.of_links), key=lambda pair: pair[0] != frame):
        links_of[number].append(link)
    chosen: list[int] = []
    parents: list[int] = []
    met: set[Window] = set()
    roots = [i for i, link in enumerate(model.links) if link.parent == BASE]
    for root in roots:
        path = [windows[classes.of_links[root]]]
        # The robot's own chain leads from each of its windows to those that it has later.
        for goal in windows:
            if goal not in met and goal not in path:
                path += _path(path[-1], windows, [goal])
        if met.issuperset(path):
            continue
        parents += [BASE, *range(len(chosen), len(chosen) + len(path) - 1)]
        met.update(path)
        for window in path:
            links = links_of[windows.index(window)]
            chosen.append(next((i for i in links if i not in chosen), links[0]))
    return chosen, parents
