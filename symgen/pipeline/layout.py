"""Where the link frames of a robot stand, and whose axes they share: the choices that a model leaves open, made by counting.

A link's frame may slide along its joint's axis (`model.slide`), and links with parallel axes may be written in common axes
(`model.share`). Neither changes an answer, both change how much has to be multiplied. A descent takes one link after the other
and keeps what lowers the count of inverse dynamics and of the mass matrix together. Links that are alike, as the knees of a
quadruped, choose together. From there each of the two looks for a layout of its own, that is counted after all passes. The search
knows no clock, so the same robot always gets the same layouts.
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
"""What is counted: everything else is made of the same steps."""
MOST_JOINTS = 40
"""Of a robot that is searched: a count of every choice of a longer one takes minutes."""
SWEEPS = 3
NEAR = 1.01
"""Times the fewest operations after the first passes, within which a layout of a function's own is counted after all of them."""
EFFORT = 30
"""Times the rows of the plain layout that a search may record."""
MOST_ROWS = 200_000
"""Of a search: a few seconds."""
_KNOWN = Path(__file__).with_suffix(".json")

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Layout:
    """`slides`: link → with whose origin it is level, its parent's (GROUND) or a child's. `axes`: link → whose axes it is written
    in, another link's of its group or those of the group's own parent (GROUND). `declared`: links start where they are declared.
    """

    slides: Pairs = ()
    axes: Pairs = ()
    declared: bool = False

    def lay(self, plain: Model) -> Model:
        """The model with its frames so placed: link by link from the base, each level with what it is to be level with."""
        for i, toward in self.slides:
            plain = slide(plain, i, axial_offset(plain, i, toward))
        return share(plain, dict(self.axes))

    def steps(self, plain: Model) -> Iterator[tuple[int, k.Constant]]:
        """How far (m) each link slides."""
        for i, toward in self.slides:
            step = axial_offset(plain, i, toward)
            yield i, step
            plain = slide(plain, i, step)


PLAIN = Layout()


@dataclass(frozen=True)
class Layouts:
    """Of a robot: that of most functions, and those of functions that count less in one of their own."""

    general: Layout = PLAIN
    own: tuple[tuple[str, Layout], ...] = ()


def choices(mechanism: Mechanism, function: str) -> tuple[Layout, ...]:
    """The layouts that a function of a robot is tried in; of those that count alike the first is taken."""
    found, what = layouts(mechanism), FUNCTIONS[function]
    own = [one for measured, one in found.own if measured in (function, *what.layouts_of)]
    if what.declared_frames:
        return tuple(
            dict.fromkeys(Layout((), one.axes, declared=True) for one in (found.general, PLAIN))
        )
    return tuple(dict.fromkeys((found.general, *own, PLAIN)))


@lru_cache(maxsize=256)
def layouts(mechanism: Mechanism) -> Layouts:
    """Of a robot: what is known, or found and kept. Its drives are felt at the joints alone, and turn no frame."""
    if mechanism.without_drives is not mechanism:
        return layouts(mechanism.without_drives)
    if len(mechanism.joints) > MOST_JOINTS:
        return Layouts()
    known = committed().get(mechanism.content) or cache.find("layout", mechanism.content)
    if known is not None:
        return _read(known)
    found = search(mechanism)
    cache.keep(written(found), "layout", mechanism.content)
    return found


def is_known(mechanism: Mechanism) -> bool:
    """True if the layouts of a robot need no search."""
    robot = mechanism.without_drives
    return (
        len(robot.joints) > MOST_JOINTS
        or robot.content in committed()
        or cache.is_kept("layout", robot.content)
    )


def committed() -> dict[str, Any]:
    """What was found for the built-in robots, by `Mechanism.content`."""
    known: dict[str, Any] = json.loads(_KNOWN.read_text(encoding="utf-8"))
    return known


def written(found: Layouts) -> dict[str, Any]:
    """As JSON has it."""
    return {**_pairs(found.general), "own": {function: _pairs(one) for function, one in found.own}}


def _pairs(one: Layout) -> dict[str, list[list[int]]]:
    return {
        "slides": [list(pair) for pair in one.slides],
        "axes": [list(pair) for pair in one.axes],
    }


def _read(known: Mapping[str, Any]) -> Layouts:
    return Layouts(
        _layout(known), tuple((function, _layout(one)) for function, one in known["own"].items())
    )


def _layout(known: Mapping[str, Any]) -> Layout:
    slides, axes = (tuple((int(a), int(b)) for a, b in known[key]) for key in ("slides", "axes"))
    return Layout(slides, axes)


def search(mechanism: Mechanism) -> Layouts:
    """The descents; a robot whose numbers are too extreme to count with keeps the plain layout."""
    try:
        return k.with_enough_precision(lambda: _descents(mechanism))
    except SymgenError:
        return Layouts()


def _descents(mechanism: Mechanism) -> Layouts:
    with k.precision():
        plain = reframe(mechanism)
        alike = _alike(plain, regroup(plain))
        general = _descent(plain, alike)
        jobs = [partial(_own, plain, alike, general, *measured) for measured in MEASURED]
        known = parallel.run(jobs, to_plain=_pairs, from_plain=_layout)
        own = {
            function: known[n] if n in known else jobs[n]()
            for n, (function, _) in enumerate(MEASURED)
        }
    return Layouts(
        general, tuple((function, one) for function, one in own.items() if one != general)
    )


def _descent(plain: Model, alike: list[tuple[int, ...]]) -> Layout:
    count = _Counting(plain)
    found = PLAIN
    for _ in range(SWEEPS):
        before = found
        for links in dict.fromkeys(alike):
            least = count(links[0], found)
            for candidate in _moves(plain, found, links, alike):
                if count.rows > count.most:
                    return found
                operations = count(links[0], candidate)
                if operations < least:
                    found, least = candidate, operations
        if found == before:
            break
    return found


def _own(
    plain: Model, alike: list[tuple[int, ...]], found: Layout, function: str, method: str
) -> Layout:
    """That of one function, from the general one on."""
    whole = _Limb(plain, tuple(range(len(plain.links))))
    tried = {found}
    frozen = whole.derived(found, function, method)
    rows, most = 0, min(EFFORT * len(frozen.rows), MOST_ROWS)
    begun = passes.begin(frozen)
    early, least = passes.cost(begun), passes.finish(begun).cost
    for _ in range(SWEEPS):
        before = found
        for links in dict.fromkeys(alike):
            for candidate in _moves(plain, found, links, alike):
                if candidate in tried:
                    continue
                tried.add(candidate)
                frozen = whole.derived(candidate, function, method)
                rows += len(frozen.rows)
                if rows > most:
                    return found
                begun = passes.begin(frozen)
                if (
                    passes.cost(begun) <= NEAR * early
                    and (operations := passes.finish(begun).cost) < least
                ):
                    found, early, least = candidate, passes.cost(begun), operations
        if found == before:
            break
    return found


class _Counting:
    """Counts what a choice for one link changes, once each; `rows` have been recorded, `most` are granted."""

    def __init__(self, plain: Model) -> None:
        self.plain = plain
        self.limbs: dict[tuple[int, ...], _Limb] = {}
        self.known: dict[tuple[tuple[int, ...], Layout], int] = {}
        whole = _Limb(plain, tuple(range(len(plain.links))))
        self.most = min(EFFORT * whole.count(PLAIN)[1], MOST_ROWS)
        self.rows = 0

    def __call__(self, i: int, found: Layout) -> int:
        """Operations of the limb of link i."""
        kept = self._limb(i)
        if kept not in self.limbs:
            self.limbs[kept] = _Limb(self.plain, kept)
        limb = self.limbs[kept]
        key = kept, limb.own(found)
        if key not in self.known:
            self.known[key], rows = limb.count(key[1])
            self.rows += rows
        return self.known[key]

    def _limb(self, i: int) -> tuple[int, ...]:
        """A link, what carries it and what it carries: all that a choice for this link changes the count of."""
        kept = {i, *self.plain.ancestors(i)}
        for c, link in enumerate(self.plain.links):
            if link.parent >= i and link.parent in kept:
                kept.add(c)
        return tuple(sorted(kept))


class _Limb:
    """Some links of a model as a model of its own."""

    def __init__(self, plain: Model, kept: tuple[int, ...]) -> None:
        self.location = {old: new for new, old in enumerate(kept)}
        links: list[Link] = []
        nq = nv = 0
        for old in kept:
            link = plain.links[old]
            q, v = (own.stop - own.start for own in (link.q, link.v))
            links.append(
                replace(
                    link,
                    parent=self.location.get(link.parent, -1),
                    q=slice(nq, nq + q),
                    v=slice(nv, nv + v),
                )
            )
            nq, nv = nq + q, nv + v
        self.model, self.sizes = replace(plain, links=tuple(links)), Sizes(nq, nv, len(links))

    def own(self, found: Layout) -> Layout:
        """A layout of the whole, as far as it is of these links."""
        place = {GROUND: GROUND, **self.location}
        slides, axes = (
            tuple((place[a], place[b]) for a, b in pairs if a in place and b in place)
            for pairs in (found.slides, found.axes)
        )
        return Layout(slides, axes)

    def count(self, own: Layout) -> tuple[int, int]:
        """(operations of what is MEASURED once nothing is repeated, rows that were recorded)."""
        found = [self.derived(own, function, method) for function, method in MEASURED]
        return sum(passes.cost(passes.begin(frozen)) for frozen in found), sum(
            len(frozen.rows) for frozen in found
        )

    def derived(self, own: Layout, function: str, method: str) -> Program:
        """One function in a layout, as it is recorded."""
        what = FUNCTIONS[function]
        shapes = {a.name: a.sizes(self.sizes) for a in what.arguments}
        home = Derivation({name: prod(shape) for name, shape in shapes.items()})
        results = methods.derivation(method, function)(Linkage(regroup(own.lay(self.model)), home))
        named = [
            (r.name, r.sizes(self.sizes), atoms)
            for r, atoms in zip(what.results, results, strict=True)
        ]
        return home.freeze(function, method, named, shapes, spare=True)


# -- what may be changed ---------------------------------------------------------------------------------------------------


def _moves(
    plain: Model, found: Layout, links: tuple[int, ...], alike: list[tuple[int, ...]]
) -> Iterator[Layout]:
    """The layouts that differ in the axes of these links, or in where they start, in one of the two. A joint without an axis
    has its motion in the axes of its own link."""
    groups, first = members(plain), links[0]
    if not plain.links[first].directed:
        return
    near = (plain.links[first].parent, *plain.children(first))
    same = [i for i in near if i >= 0 and groups[i].group == groups[first].group]
    for chosen in (None, GROUND, *same):
        axes = {
            i: _corresponding(
                chosen, [j for j, m in enumerate(groups) if m.group == groups[i].group], alike
            )
            for i in links
        }
        yield replace(found, axes=_changed(found.axes, axes))
    for toward in (None, GROUND, *plain.children(first)):
        levels = {i: _corresponding(toward, plain.children(i), alike) for i in links}
        candidate = replace(found, slides=_changed(found.slides, levels))
        if toward is None or any(
            not k.is_zero(step) for i, step in candidate.steps(plain) if i in links
        ):
            yield candidate


def _corresponding(
    chosen: int | None, among: Iterable[int], alike: list[tuple[int, ...]]
) -> int | None:
    """The link of `among` that is like `chosen`."""
    if chosen is None or chosen == GROUND:
        return chosen
    return next((i for i in among if alike[i] == alike[chosen]), None)


def _changed(pairs: Pairs, changes: Mapping[int, int | None]) -> Pairs:
    merged: dict[int, int | None] = {**dict(pairs), **changes}
    return tuple((i, chosen) for i, chosen in sorted(merged.items()) if chosen is not None)


def _alike(plain: Model, regrouped: Model) -> list[tuple[int, ...]]:
    """Of every link, all that are like it: the same zeros in the same places, in themselves, in all that they carry and in what
    carries them."""
    n = len(plain.links)
    carried: list[tuple[object, ...]] = [()] * n
    for i in reversed(range(n)):
        link, inertia = plain.links[i], regrouped.links[i].inertia
        numbers = (
            *(x for row in link.rotation for x in row),
            *link.shift,
            inertia.m,
            *inertia.h,
            *inertia.S,
        )
        own = (link.kind, *(k.unit_value(x) is None or abs(k.unit_value(x) or 0) for x in numbers))
        carried[i] = (own, tuple(sorted((carried[c] for c in plain.children(i)), key=repr)))
    whole: list[tuple[object, ...]] = []
    for i, link in enumerate(plain.links):
        whole.append((whole[link.parent] if link.parent >= 0 else (), carried[i]))
    like: dict[tuple[object, ...], list[int]] = {}
    for i, key in enumerate(whole):
        like.setdefault(key, []).append(i)
    return [tuple(like[key]) for key in whole]
