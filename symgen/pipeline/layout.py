"""Search for the layout of a robot's link frames: their position along the joint axes, and frames
that share axes.

A link's frame may slide along its joint's axis (`model.slide`), and links with parallel axes may
share axes (`model.share`). Neither changes a result; both change the number of operations. A
descent visits one link after the other and keeps the choices that reduce the operations of inverse
dynamics and the mass matrix together. Equal links, such as the knees of a quadruped, choose
together. From that layout each of the two functions searches for its own layout, which is counted
after all passes. The search does not depend on time, so a robot always gets the same layouts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import prod
from pathlib import Path
from typing import Any

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Link, Model, reframe, regroup
from symgen.derivation.model.share import GROUND, members, share
from symgen.derivation.model.slide import axial_offset, slide
from symgen.derivation.scalars import Derivation
from symgen.ir import passes
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import parallel
from symgen.support import cache
from symgen.support.errors import SymgenError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import FUNCTIONS

MEASURED = (("inverse_dynamics", "newton_euler"), ("mass_matrix", "composite_body"))
"""Functions and methods that are counted; all other functions consist of the same steps."""
MOST_JOINTS = 40
"""Maximum number of joints of a robot that is searched; counting every choice of a longer one takes
minutes.
"""
SWEEPS = 3
NEAR = 1.01
"""Factor on the fewest operations after the first passes; within it a function's own layout is
counted after all passes.
"""
EFFORT = 30
"""Number of recorded rows of a search, as a multiple of the rows of the plain layout."""
MOST_ROWS = 200_000
"""Maximum number of recorded rows of a search: a few seconds."""
_KNOWN = Path(__file__).with_suffix(".json")

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Layout:
    """A layout of link frames.

    `slides`: link → the frame with whose origin it is level, its parent's (GROUND) or a child's.
    `axes`: link → the link of its group whose axes it shares, or the axes of the group's parent
    (GROUND). `declared`: links start at their declared origins.
    """

    slides: Pairs = ()
    axes: Pairs = ()
    declared: bool = False

    def lay(self, model: Model) -> Model:
        """Return the model with its frames in this layout, link by link from the base."""
        for i, toward in self.slides:
            model = slide(model, i, axial_offset(model, i, toward))
        return share(model, dict(self.axes))

    def steps(self, model: Model) -> Iterator[tuple[int, k.Constant]]:
        """Yield the displacement (m) of each link."""
        for i, toward in self.slides:
            step = axial_offset(model, i, toward)
            yield i, step
            model = slide(model, i, step)


PLAIN = Layout()


@dataclass(frozen=True)
class Layouts:
    """Layouts of a robot: a general one, and those of functions that have fewer operations in their
    own.
    """

    general: Layout = PLAIN
    by_function: tuple[tuple[str, Layout], ...] = ()


def candidate_layouts(mechanism: Mechanism, function: str) -> tuple[Layout, ...]:
    """Return the layouts in which a function of a robot is tried; among equal counts the first is
    used.
    """
    robot_layouts, specification = layouts(mechanism), FUNCTIONS[function]
    own_layouts = [
        layout
        for measured, layout in robot_layouts.by_function
        if measured in (function, *specification.layouts_of)
    ]
    if specification.declared_frames:
        return tuple(
            dict.fromkeys(
                Layout((), layout.axes, declared=True) for layout in (robot_layouts.general, PLAIN)
            )
        )
    return tuple(dict.fromkeys((robot_layouts.general, *own_layouts, PLAIN)))


@lru_cache(maxsize=256)
def layouts(mechanism: Mechanism) -> Layouts:
    """Return the layouts of a robot: recorded, cached, or found by a search. Drives do not change
    them.
    """
    if mechanism.without_drives is not mechanism:
        return layouts(mechanism.without_drives)
    if len(mechanism.joints) > MOST_JOINTS:
        return Layouts()
    recorded = committed().get(mechanism.content) or cache.find("layout", mechanism.content)
    if recorded is not None:
        return _layouts_from_facts(recorded)
    result = search(mechanism)
    cache.keep(layouts_to_plain(result), "layout", mechanism.content)
    return result


def is_known(mechanism: Mechanism) -> bool:
    """True if the layouts of a robot need no search."""
    robot = mechanism.without_drives
    return (
        len(robot.joints) > MOST_JOINTS
        or robot.content in committed()
        or cache.is_kept("layout", robot.content)
    )


def committed() -> dict[str, Any]:
    """Return the recorded layouts of the built-in robots, by `Mechanism.content`."""
    recorded: dict[str, Any] = json.loads(_KNOWN.read_text(encoding="utf-8"))
    return recorded


def layouts_to_plain(robot_layouts: Layouts) -> dict[str, Any]:
    """Return layouts as JSON data."""
    return {
        **_pairs(robot_layouts.general),
        "own": {function: _pairs(layout) for function, layout in robot_layouts.by_function},
    }


def _pairs(layout: Layout) -> dict[str, list[list[int]]]:
    return {
        "slides": [list(pair) for pair in layout.slides],
        "axes": [list(pair) for pair in layout.axes],
    }


def _layouts_from_facts(facts: Mapping[str, Any]) -> Layouts:
    return Layouts(
        _layout(facts),
        tuple((function, _layout(own_facts)) for function, own_facts in facts["own"].items()),
    )


def _layout(facts: Mapping[str, Any]) -> Layout:
    slides, axes = (tuple((int(a), int(b)) for a, b in facts[key]) for key in ("slides", "axes"))
    return Layout(slides, axes)


def search(mechanism: Mechanism) -> Layouts:
    """Return the result of the descents. A robot whose numbers are too extreme to count with keeps
    the plain layout.
    """
    try:
        return k.with_enough_precision(lambda: _descents(mechanism))
    except SymgenError:
        return Layouts()


def _descents(mechanism: Mechanism) -> Layouts:
    """Return the general layout and the own layouts of the measured functions."""
    with k.precision():
        model = reframe(mechanism)
        alike = _alike(model, regroup(model))
        general = _descent(model, alike)
        jobs = [
            partial(_descent_of_function, model, alike, general, *measured) for measured in MEASURED
        ]
        sent = parallel.run(jobs, to_plain=_pairs, from_plain=_layout)
        own_layouts = {
            function: sent[n] if n in sent else jobs[n]()
            for n, (function, _) in enumerate(MEASURED)
        }
    return Layouts(
        general,
        tuple((function, layout) for function, layout in own_layouts.items() if layout != general),
    )


def _descent(model: Model, equal_links: list[tuple[int, ...]]) -> Layout:
    """Return the general layout, by a descent over the links."""
    count = _Counting(model)
    best = PLAIN
    for _ in range(SWEEPS):
        previous = best
        for links in dict.fromkeys(equal_links):
            least = count(links[0], best)
            for candidate in _moves(model, best, links, equal_links):
                if count.rows > count.most:
                    return best
                operations = count(links[0], candidate)
                if operations < least:
                    best, least = candidate, operations
        if best == previous:
            break
    return best


def _descent_of_function(
    model: Model, equal_links: list[tuple[int, ...]], best: Layout, function: str, method: str
) -> Layout:
    """Return the layout of one function, by a descent from the general layout."""
    whole_tree = _Limb(model, tuple(range(len(model.links))))
    counted = {best}
    frozen = whole_tree.derived(best, function, method)
    rows, most = 0, min(EFFORT * len(frozen.rows), MOST_ROWS)
    begun = passes.begin(frozen)
    early, fewest_operations = passes.cost(begun), passes.finish(begun).cost
    for _ in range(SWEEPS):
        before = best
        for links in dict.fromkeys(equal_links):
            for candidate in _moves(model, best, links, equal_links):
                if candidate in counted:
                    continue
                counted.add(candidate)
                frozen = whole_tree.derived(candidate, function, method)
                rows += len(frozen.rows)
                if rows > most:
                    return best
                begun = passes.begin(frozen)
                if (
                    passes.cost(begun) <= NEAR * early
                    and (operations := passes.finish(begun).cost) < fewest_operations
                ):
                    best, early, fewest_operations = candidate, passes.cost(begun), operations
        if best == before:
            break
    return best


class _Counting:
    """Counts the effect of a choice for one link, once each; `rows` have been recorded, `most` are
    allowed.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.limbs: dict[tuple[int, ...], _Limb] = {}
        self.counts: dict[tuple[tuple[int, ...], Layout], int] = {}
        whole_tree = _Limb(model, tuple(range(len(model.links))))
        self.most = min(EFFORT * whole_tree.count(PLAIN)[1], MOST_ROWS)
        self.rows = 0

    def __call__(self, i: int, layout: Layout) -> int:
        """Return the operations of the limb of link i."""
        links = self._limb(i)
        if links not in self.limbs:
            self.limbs[links] = _Limb(self.model, links)
        limb = self.limbs[links]
        key = links, limb.restrict(layout)
        if key not in self.counts:
            self.counts[key], rows = limb.count(key[1])
            self.rows += rows
        return self.counts[key]

    def _limb(self, i: int) -> tuple[int, ...]:
        """Return a link, its ancestors and its descendants: all links whose count a choice for this
        link changes.
        """
        links = {i, *self.model.ancestors(i)}
        for c, link in enumerate(self.model.links):
            if link.parent >= i and link.parent in links:
                links.add(c)
        return tuple(sorted(links))


class _Limb:
    """Some links of a model as a separate model."""

    def __init__(self, model: Model, kept_links: tuple[int, ...]) -> None:
        self.location = {index: new for new, index in enumerate(kept_links)}
        links: list[Link] = []
        nq = nv = 0
        for index in kept_links:
            link = model.links[index]
            q, v = (entries.stop - entries.start for entries in (link.q, link.v))
            links.append(
                replace(
                    link,
                    parent=self.location.get(link.parent, -1),
                    q=slice(nq, nq + q),
                    v=slice(nv, nv + v),
                )
            )
            nq, nv = nq + q, nv + v
        self.model, self.sizes = replace(model, links=tuple(links)), Sizes(nq, nv, len(links))

    def restrict(self, layout: Layout) -> Layout:
        """Return the part of a layout that concerns these links."""
        new_index = {GROUND: GROUND, **self.location}
        slides, axes = (
            tuple(
                (new_index[a], new_index[b]) for a, b in pairs if a in new_index and b in new_index
            )
            for pairs in (layout.slides, layout.axes)
        )
        return Layout(slides, axes)

    def count(self, layout: Layout) -> tuple[int, int]:
        """Return (operations of MEASURED after the removal of repeated rows, recorded rows)."""
        programs = [self.derived(layout, function, method) for function, method in MEASURED]
        return sum(passes.cost(passes.begin(frozen)) for frozen in programs), sum(
            len(frozen.rows) for frozen in programs
        )

    def derived(self, layout: Layout, function: str, method: str) -> Program:
        """Return the recorded rows of one function in a layout."""
        specification = FUNCTIONS[function]
        shapes = {a.name: a.sizes(self.sizes) for a in specification.arguments}
        derivation = Derivation({name: prod(shape) for name, shape in shapes.items()})
        results = methods.derivation(method, function)(
            Linkage(regroup(layout.lay(self.model)), derivation)
        )
        named = [
            (r.name, r.sizes(self.sizes), atoms)
            for r, atoms in zip(specification.results, results, strict=True)
        ]
        return derivation.freeze(function, method, named, shapes, spare=True)


# -- moves of the descent --


def _moves(
    model: Model, layout: Layout, links: tuple[int, ...], equal_links: list[tuple[int, ...]]
) -> Iterator[Layout]:
    """Yield the layouts that differ in the axes of these links, or in their origins.

    A joint without an axis keeps its motion in the axes of its own link.
    """
    groups, first = members(model), links[0]
    if not model.links[first].directed:
        return
    neighbours = (model.links[first].parent, *model.children(first))
    in_group = [i for i in neighbours if i >= 0 and groups[i].group == groups[first].group]
    for chosen in (None, GROUND, *in_group):
        axes = {
            i: _corresponding(
                chosen, [j for j, m in enumerate(groups) if m.group == groups[i].group], equal_links
            )
            for i in links
        }
        yield replace(layout, axes=_changed(layout.axes, axes))
    for toward in (None, GROUND, *model.children(first)):
        levels = {i: _corresponding(toward, model.children(i), equal_links) for i in links}
        candidate = replace(layout, slides=_changed(layout.slides, levels))
        if toward is None or any(
            not k.is_zero(step) for i, step in candidate.steps(model) if i in links
        ):
            yield candidate


def _corresponding(
    chosen: int | None, among: Iterable[int], equal_links: list[tuple[int, ...]]
) -> int | None:
    """Return the link of `among` that is equal to `chosen`."""
    if chosen is None or chosen == GROUND:
        return chosen
    return next((i for i in among if equal_links[i] == equal_links[chosen]), None)


def _changed(pairs: Pairs, changes: Mapping[int, int | None]) -> Pairs:
    merged: dict[int, int | None] = {**dict(pairs), **changes}
    return tuple((i, chosen) for i, chosen in sorted(merged.items()) if chosen is not None)


def _alike(model: Model, regrouped: Model) -> list[tuple[int, ...]]:
    """Return for every link all links that are equal to it.

    Equal links have the same zeros in the same entries, in themselves, in their descendants and in
    their ancestors.
    """
    n = len(model.links)
    subtree_keys: list[tuple[object, ...]] = [()] * n
    for i in reversed(range(n)):
        link, inertia = model.links[i], regrouped.links[i].inertia
        numbers = (
            *(x for row in link.rotation for x in row),
            *link.shift,
            inertia.m,
            *inertia.h,
            *inertia.S,
        )
        own_key = (
            link.kind,
            *(k.unit_value(x) is None or abs(k.unit_value(x) or 0) for x in numbers),
        )
        subtree_keys[i] = (
            own_key,
            tuple(sorted((subtree_keys[c] for c in model.children(i)), key=repr)),
        )
    keys: list[tuple[object, ...]] = []
    for i, link in enumerate(model.links):
        keys.append((keys[link.parent] if link.parent >= 0 else (), subtree_keys[i]))
    links_by_key: dict[tuple[object, ...], list[int]] = {}
    for i, key in enumerate(keys):
        links_by_key.setdefault(key, []).append(i)
    return [tuple(links_by_key[key]) for key in keys]
