"""A recursion beside the method that it was folded from: both make the same numbers of a few links of the robot.

That links in the middle of a chain are alike says nothing of branches, of the base, or of what grows from link to link unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame, Model
from symgen.derivation.scalars import Derivation
from symgen.ir.loops import LoopProgram, evaluate
from symgen.ir.program import Port, Program
from symgen.ir.program import evaluate as evaluate_program
from symgen.mechanism.mechanism import BASE
from symgen.pipeline.loops.link_assignment import Unlike
from symgen.pipeline.loops.sample_chain import GHOST
from symgen.support.errors import ProgramError
from symgen.vocabulary.functions import FUNCTIONS, Q

FEW = 6
"""Links of a robot that is taken as it is; of a longer one a few are put together anew."""
CLOSE = Fraction(1, 10**40)
"""Times the larger of 1 and the value, most that two roads to it may differ by."""
UNIT = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5), Fraction(4, 5))
"""A quaternion of length 1."""


def sampled(recursion: LoopProgram, model: Model, frame: Frame | None) -> None:
    """Raises Unlike where a few links of the robot, in the frames of `model`, are not what the method itself makes of them."""
    chosen, parents = _chosen(recursion, model, -1 if frame is None else frame.link)
    links, q, v = [], 0, 0
    root = next(link for link in model.links if link.parent == BASE)
    for i, parent in zip(chosen, parents, strict=True):
        kind = recursion.link_classes[recursion.class_of[i]]
        own = replace(
            model.links[i], parent=parent, q=slice(q, q + kind.nq), v=slice(v, v + kind.nv)
        )
        if parent == BASE:
            own = replace(
                own,
                gravity=root.gravity,
                base_rotation=root.base_rotation,
                base_shift=root.base_shift,
            )
        links.append(own)
        q, v = q + kind.nq, v + kind.nv
    few = Model(model.name, tuple(links), model.gravity, friction_speed=model.friction_speed)
    sizes = {
        port.name: _size(port, recursion, chosen)
        for port in (*recursion.inputs, *recursion.outputs)
    }
    one = replace(
        recursion,
        parents=tuple(parents),
        class_of=tuple(recursion.class_of[i] for i in chosen),
        constants=tuple(recursion.constants[i] for i in chosen),
        inputs=tuple(port._replace(shape=(sizes[port.name],)) for port in recursion.inputs),
        outputs=tuple(port._replace(shape=(sizes[port.name],)) for port in recursion.outputs),
        final_carries=tuple(
            end._replace(link=chosen.index(end.link) if end.link >= 0 else -1)
            for end in recursion.final_carries
        ),
        stages=tuple(
            replace(
                sweep,
                only_path_to=chosen.index(sweep.only_path_to) if sweep.only_path_to >= 0 else -1,
            )
            for sweep in recursion.sweeps
        ),
    )
    other = _made(
        recursion,
        few,
        None if frame is None else replace(frame, link=chosen.index(frame.link)),
        {"q": q} | sizes,
    )
    state = {
        name: [Fraction((7 * i + 3 * len(name)) % 19 - 9, 11) for i in range(size)]
        for name, size in ({"q": q} | sizes).items()
    }
    for link in links:
        if link.q.stop - link.q.start > 3:  # the quaternion stands behind the place
            state["q"][link.q.stop - 4 : link.q.stop] = UNIT
            if "q_next" in state:
                state["q_next"][link.q.stop - 4 : link.q.stop] = reversed(UNIT)
    with k.precision():
        given = {name: [k.BALLS.constant(x) for x in values] for name, values in state.items()}
        found, wanted = evaluate(one, given, k.BALLS), evaluate_program(other, given, k.BALLS)
        for name, values in wanted.items():
            for x, y in zip(found[name], values, strict=True):
                if not abs((x - y).mid()) < k.BALLS.constant(CLOSE) * (1 + abs(y.mid())):
                    raise Unlike("along its links it is not what the method makes of the whole")


def _chosen(recursion: LoopProgram, model: Model, frame: int) -> tuple[list[int], list[int]]:
    """Links with at least two of every class, and a parent for each: on a chain, with a branch where the robot has one.

    Their mass matrix is regular where that of the robot is: a root that moves freely has two children of its own, since it may
    weigh nothing, and what weighs nothing carries something that does.
    """
    n = len(recursion)
    if n <= FEW:
        return [*range(n)], [*recursion.parents]
    roots = [i for i, parent in enumerate(recursion.parents) if parent < 0]
    held = recursion.children[roots[0]][:2] if model.links[roots[0]].kind == GHOST else ()
    fit = [i for i in range(n) if i not in (roots[0], *held) and (i not in roots or len(roots) > 1)]
    more: list[int] = []
    for own in range(len(recursion.link_classes)):
        more += [i for i in fit if recursion.class_of[i] == own][:2]
    more += [i for i in fit if i == frame and i not in more]
    more += [i for i in fit if i not in more and i not in roots][
        : max(1, FEW - 2 - len(held) - len(more))
    ]
    heavy = [i for i in fit if not k.is_zero(model.links[i].inertia.m) and i not in roots]
    more += [i for i in heavy if i not in more][: max(0, 2 - sum(i in heavy for i in more))]
    found = [roots[0], *held, *sorted(more, key=lambda i: i in heavy)]
    parents = [*range(-1, len(found) - 1)]
    for place, i in enumerate(found):
        if i in held:
            parents[place] = 0
        if i in roots:
            parents[place] = BASE
    if (
        any(len(children) > 1 for children in recursion.children)
        and parents[-1] >= 0
        and parents[-2] >= 0
    ):
        parents[-1] = parents[-2]
    return found, parents


def _size(port: Port, recursion: LoopProgram, chosen: Sequence[int]) -> int:
    each = dict(recursion.per_link)
    if each.get(port.name) == 0:
        return prod(port.shape)
    return sum(
        recursion.width(port.name, recursion.link_classes[recursion.class_of[i]]) for i in chosen
    )


def _made(
    recursion: LoopProgram, model: Model, frame: Frame | None, sizes: Mapping[str, int]
) -> Program:
    """What the method makes of these links, unrolled."""
    what = FUNCTIONS[recursion.function]
    given = {array.name: sizes[array.name] for array in (*what.arguments, Q)}
    home = Derivation(given)
    try:
        results = methods.derivation(recursion.method, recursion.function)(
            Linkage(model, home, frame)
        )
    except ProgramError as error:
        raise Unlike(str(error)) from None
    named = [
        (array.name, (len(atoms),), atoms)
        for array, atoms in zip(what.results, results, strict=True)
    ]
    return home.freeze(
        recursion.function, recursion.method, named, {name: (size,) for name, size in given.items()}
    )
