"""Comparison of folded sweeps with the method itself, in numbers, on a few links of the robot.

Uniform links in the middle of a sample chain do not prove anything about branches, about the base,
or about values that change from link to link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame, Link, Model
from symgen.derivation.scalars import Derivation
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Port, Program
from symgen.mechanism.mechanism import BASE
from symgen.pipeline.loops.classes import VIRTUAL_BASE, Classes, short_chains
from symgen.pipeline.loops.link_assignment import NotUniform
from symgen.support.errors import ProgramError
from symgen.vocabulary.functions import FUNCTIONS, Q

FEW = 6
"""Links up to which a robot is compared as it is; of a longer one some links are joined anew."""
CLOSE = Fraction(1, 10**40)
"""Largest difference, relative to the larger of 1 and the value."""
UNIT = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5), Fraction(4, 5))
"""A unit quaternion."""


def check_numbers(form: LoopProgram, model: Model, frame: Frame | None, classes: Classes) -> None:
    """Compare the form with the method on a few links. Raises NotUniform if numbers differ."""
    link = -1 if frame is None else frame.link
    if classes.windows and len(form) > FEW:
        chosen, parents = short_chains(classes, model, link)
    else:
        chosen, parents = _chosen(form, model, link)
    links = _joined_links(form, model, chosen, parents)
    sizes = {port.name: _size(port, form, chosen) for port in (*form.inputs, *form.outputs)}
    sizes = {"q": links[-1].q.stop} | sizes
    short = _shortened(form, chosen, parents, sizes)
    few = Model(model.name, tuple(links), model.gravity, friction_speed=model.friction_speed)
    if frame is not None:
        frame = replace(frame, link=chosen.index(frame.link))
    program = _derived(form, few, frame, sizes)
    state = _state(links, sizes)
    with k.precision():
        balls = {name: [k.BALLS.constant(x) for x in values] for name, values in state.items()}
        results, expected = short.run(balls, k.BALLS), program.run(balls, k.BALLS)
        for name, values in expected.items():
            for x, y in zip(results[name], values, strict=True):
                if not abs((x - y).mid()) < k.BALLS.constant(CLOSE) * (1 + abs(y.mid())):
                    raise NotUniform("its sweeps differ in numbers from the method itself")


def _chosen(form: LoopProgram, model: Model, frame: int) -> tuple[list[int], list[int]]:
    """Choose links with at least two of every class, and a parent for each: a chain, with a branch
    if the robot has one.

    Their mass matrix is regular if that of the robot is: a root that moves freely, which may be
    massless, keeps two of its children, and massless links carry a link with a mass.
    """
    n = len(form)
    if n <= FEW:
        return [*range(n)], [*form.parents]
    roots = form.roots
    base_children = (
        form.children[roots[0]][:2] if model.links[roots[0]].kind == VIRTUAL_BASE else ()
    )
    fit = [
        i
        for i in range(n)
        if i not in (roots[0], *base_children) and (i not in roots or len(roots) > 1)
    ]
    added_links: list[int] = []
    for number in range(len(form.link_classes)):
        added_links += [i for i in fit if form.class_of[i] == number][:2]
    added_links += [i for i in fit if i == frame and i not in added_links]
    free_places = max(1, FEW - 2 - len(base_children) - len(added_links))
    added_links += [i for i in fit if i not in added_links and i not in roots][:free_places]
    heavy = [i for i in fit if not k.is_zero(model.links[i].inertia.m) and i not in roots]
    added_links += [i for i in heavy if i not in added_links][
        : max(0, 2 - sum(i in heavy for i in added_links))
    ]
    chosen = [roots[0], *base_children, *sorted(added_links, key=lambda i: i in heavy)]
    parents = [*range(-1, len(chosen) - 1)]
    for number, i in enumerate(chosen):
        if i in base_children:
            parents[number] = 0
        if i in roots:
            parents[number] = BASE
    branched = any(len(children) > 1 for children in form.children)
    if branched and parents[-1] >= 0 and parents[-2] >= 0:
        parents[-1] = parents[-2]
    return chosen, parents


def _joined_links(
    form: LoopProgram, model: Model, chosen: Sequence[int], parents: Sequence[int]
) -> list[Link]:
    """Return the chosen links with their parents; roots stand on the base of the robot's first
    root.
    """
    links, q, v = [], 0, 0
    root = next(link for link in model.links if link.parent == BASE)
    for i, parent in zip(chosen, parents, strict=True):
        link_class = form.link_classes[form.class_of[i]]
        link = replace(
            model.links[i],
            parent=parent,
            q=slice(q, q + link_class.nq),
            v=slice(v, v + link_class.nv),
        )
        if parent == BASE:
            link = replace(
                link,
                gravity=root.gravity,
                base_rotation=root.base_rotation,
                base_shift=root.base_shift,
            )
        links.append(link)
        q, v = link.q.stop, link.v.stop
    return links


def _shortened(
    form: LoopProgram, chosen: Sequence[int], parents: Sequence[int], sizes: Mapping[str, int]
) -> LoopProgram:
    """Return the form with the chosen links alone."""

    def number(link: int) -> int:
        return chosen.index(link) if link >= 0 else -1

    return replace(
        form,
        parents=tuple(parents),
        class_of=tuple(form.class_of[i] for i in chosen),
        constants=tuple(form.constants[i] for i in chosen),
        inputs=tuple(port._replace(shape=(sizes[port.name],)) for port in form.inputs),
        outputs=tuple(port._replace(shape=(sizes[port.name],)) for port in form.outputs),
        final_carries=tuple(
            final._replace(link=number(final.link)) for final in form.final_carries
        ),
        stages=tuple(
            replace(sweep, only_path_to=number(sweep.only_path_to)) for sweep in form.sweeps
        ),
    )


def _size(port: Port, form: LoopProgram, chosen: Sequence[int]) -> int:
    """Return the elements of a port for the chosen links."""
    if dict(form.per_link).get(port.name) == 0:
        return prod(port.shape)
    return sum(form.width(port.name, form.link_classes[form.class_of[i]]) for i in chosen)


def _state(links: Sequence[Link], sizes: Mapping[str, int]) -> dict[str, list[Fraction]]:
    """Return arguments with unit quaternions."""
    state = {
        name: [Fraction((7 * i + 3 * len(name)) % 19 - 9, 11) for i in range(size)]
        for name, size in sizes.items()
    }
    for link in links:
        if link.q.stop - link.q.start > 3:  # the quaternion stands behind the position
            state["q"][link.q.stop - 4 : link.q.stop] = UNIT
            if "q_next" in state:
                state["q_next"][link.q.stop - 4 : link.q.stop] = reversed(UNIT)
    return state


def _derived(
    form: LoopProgram, model: Model, frame: Frame | None, sizes: Mapping[str, int]
) -> Program:
    """Return the Program that the method derives for these links."""
    specification = FUNCTIONS[form.function]
    arguments = {array.name: sizes[array.name] for array in (*specification.arguments, Q)}
    derivation = Derivation(arguments)
    try:
        results = methods.derivation(form.method, form.function)(Linkage(model, derivation, frame))
    except ProgramError as error:
        raise NotUniform(str(error)) from None
    named = [
        (array.name, (len(atoms),), atoms)
        for array, atoms in zip(specification.results, results, strict=True)
    ]
    shapes = {name: (size,) for name, size in arguments.items()}
    return derivation.freeze(form.function, form.method, named, shapes)
