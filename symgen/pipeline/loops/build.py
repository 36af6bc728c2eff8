"""Loop programs: a function of a robot as sweeps along its links, with one step for each class of
links.

A method records the operations of a function as rows. `recursion` runs the method on a sample
chain, a short chain that has links of every class. It then folds the rows: the rows of one link of
a class become the step of that class. The loop program applies these steps to the links of the
robot, each with its own row of constants.

The sample chain begins with a virtual base, a link with a free joint. The virtual base may
represent free roots of the robot: links that a free joint connects to the base. The list `trunk`
has the roots that it represents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import NamedTuple

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.model import Frame, Link, Model, complete_moments, reframe, regroup
from symgen.derivation.model.links import build_model
from symgen.derivation.scalars import DivisionByZero
from symgen.derivation.table_linkage import (
    GEOMETRY,
    INERTIAL,
    Columns,
    constants_of,
    inertia_numbers,
)
from symgen.ir import passes
from symgen.ir.loops import (
    LinkClass,
    LoopProgram,
    check,
    equal_classes,
    with_one_class_for,
    without_unused_constants,
)
from symgen.ir.program import Port
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.pipeline.loops.base_steps import with_base_steps
from symgen.pipeline.loops.classes import (
    VIRTUAL_BASE,
    Classes,
    classes_by_kind,
    classes_by_neighbours,
    kinds_alike,
)
from symgen.pipeline.loops.fold import FoldedSweeps, fold_sweeps
from symgen.pipeline.loops.link_assignment import NotUniform
from symgen.pipeline.loops.numeric_check import check_numbers
from symgen.pipeline.loops.sample_chain import run_on_chain, sample_chain
from symgen.support.cache import LOG
from symgen.support.collector import collector_at_rest
from symgen.support.errors import MethodRefusal, OutOfReach
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS

ModelPass = Callable[[Model], Model] | None
"""A pass over the links of a robot, or none."""


def recursion(mechanism: Mechanism, function: str, method: str, frame: str = "") -> LoopProgram:
    """Build the loop program of a function by a method. `frame` names the frame of a function that
    needs one.

    Raises OutOfReach, with the reason in one sentence, if links of one class need different steps.
    """
    with collector_at_rest():
        return k.with_enough_precision(lambda: _recursion(mechanism, function, method, frame))


def _recursion(mechanism: Mechanism, function: str, method: str, frame: str) -> LoopProgram:
    """Build the loop program in current working precision; `recursion` raises it if necessary."""
    request = _build_request(mechanism, function, method, frame)
    if methods.find(method).couples_joints:
        return _with_classes(request, _classes_of_chains(request), [])
    first_refusal: OutOfReach | None = None
    for trunk in _candidate_trunks(request):
        classes = classes_by_kind(request.model, trunk, request.frame is not None)
        try:
            return _with_classes(request, classes, trunk)
        except OutOfReach as error:
            first_refusal = first_refusal or error
    assert first_refusal is not None
    raise first_refusal


def _build_request(mechanism: Mechanism, function: str, method: str, frame: str) -> _Request:
    """Return the request with the links and constants of the robot.

    Raises OutOfReach if no loop program can have such arrays, such a free joint or such a frame.
    """
    specification = FUNCTIONS[function]
    inputs = _ports(mechanism, function, specification.arguments)
    outputs = _ports(mechanism, function, specification.results)
    declared_method = methods.find(method)
    with_poses = any(_widths(function).values())
    model_pass: ModelPass = None
    if declared_method.inverts_inertias(mechanism):
        model_pass = complete_moments
    elif specification.sums_forces and declared_method.regroups:
        model_pass = regroup
    model, constants = _links_and_constants(mechanism, model_pass, with_poses, k.digits())
    link_frame = model.frame(mechanism, frame) if specification.needs_frame else None
    request = _Request(mechanism, function, method, inputs, outputs, model, constants, link_frame)
    for link in model.links:
        if link.kind == VIRTUAL_BASE and link.parent != BASE:
            raise request.refused(f"the free joint of link '{link.name}' is not on the base")
    if link_frame is not None and link_frame.link == BASE:
        raise request.refused(f"frame '{link_frame.name}' is on the base, which does not move")
    return request


def _candidate_trunks(request: _Request) -> list[list[Link]]:
    """Return the lists of free roots that the virtual base may represent, in the order in which
    they are tried.

    With an empty list, the free roots have classes as all other links do. It is no candidate if a
    free root is the only root and carries links.
    """
    links = request.model.links
    free_roots = [link for link in links if link.kind == VIRTUAL_BASE]
    all_free = len(free_roots) == len(links)
    several_roots = sum(link.parent == BASE for link in links) > 1
    trunks = [free_roots]
    if all_free or (free_roots and several_roots):
        trunks.append([])
    if all_free and request.frame is None:
        trunks.reverse()
    return trunks


class LinkConstants(NamedTuple):
    """Constants of the links, and a cache of their values as fractions."""

    by_link: Sequence[Mapping[str, k.Constant]]
    """One mapping per link, from the name of a constant to its value."""
    fractions: dict[int, tuple[k.Constant, Fraction]]
    """Cache {id(constant): (constant, its fraction)}. It stores the constant, so that no other
    object gets the same id.
    """


@dataclass(frozen=True)
class _Request:
    """Request for the loop program of a function of a robot by a method, with the robot's links and
    their constants.
    """

    mechanism: Mechanism
    function: str
    method: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    model: Model
    constants: LinkConstants
    frame: Frame | None

    def fraction(self, constant: k.Constant) -> Fraction:
        """Return a constant of a link as a fraction, from the cache if it is there."""
        cached = self.constants.fractions.get(id(constant))
        if cached is None:
            cached = self.constants.fractions[id(constant)] = constant, k.to_fraction(constant)
        return cached[1]

    def refused(self, why: str) -> OutOfReach:
        """Return the error that this function has no looped form, for the reason `why`."""
        return OutOfReach(
            f"{self.function} of '{self.mechanism.name}' has no looped form, since {why}; take"
            " --form unrolled"
        )


def _classes_of_chains(request: _Request) -> Classes:
    """Return the classes of links for a method whose step at a joint depends on the neighbouring
    joints.

    Raises OutOfReach if a link has several children.
    """
    model, framed = request.model, request.frame is not None
    parents = [link.parent for link in model.links]
    branched = next((i for i in parents if i != BASE and parents.count(i) > 1), None)
    if branched is not None:
        raise request.refused(
            f"{request.method} couples all joints on a link, and '{model.links[branched].name}'"
            f" carries {parents.count(branched)}"
        )
    if len({*kinds_alike(model).values()}) == 1:
        return classes_by_kind(model, [], framed)
    return classes_by_neighbours(model, framed)


def _with_classes(request: _Request, classes: Classes, trunk: Sequence[Link]) -> LoopProgram:
    """Build the loop program with these classes of links; the virtual base represents the links of
    `trunk`.

    Tries the candidates of `_columns` in turn. Raises OutOfReach if links of one class need
    different steps with all of them.
    """
    last_failure = ""
    tried: list[list[Mapping[str, int]]] = []
    for columns in _columns(request, classes):
        column_numbers = [class_columns.column for class_columns in columns]
        if column_numbers in tried:
            continue
        tried.append(column_numbers)
        try:
            folded = _fold(request, classes, columns, trunk)
            form = _loop_program(request, classes, folded)
            check_numbers(form, request.model, request.frame, classes)
            return form
        except (NotUniform, MethodRefusal, DivisionByZero) as error:
            last_failure = str(error)
    remedy = "--form unrolled, or another method"
    raise unlike_links(request.mechanism, request.function, request.method, last_failure, remedy)


def _columns(request: _Request, classes: Classes) -> Iterator[list[Columns]]:
    """Yield candidates for the columns of each class in the constant table, from few columns to
    many.

    A number that all links with one kind of joint share can be a literal in the steps, which then
    need no column for it. A literal zero or one also removes operations. If only the links with one
    kind of joint have such a literal, the steps beside these links may no longer be uniform. A
    later candidate then has a column for that number.
    """
    kinds = [*dict.fromkeys(classes.kinds)]
    kind_of_link = [classes.kinds[c] if c >= 0 else VIRTUAL_BASE for c in classes.of_links]
    links_of_kind: dict[str, list[Mapping[str, k.Constant]]] = {kind: [] for kind in kinds}
    for kind, link_constants in zip(kind_of_link, request.constants.by_link, strict=True):
        if kind in links_of_kind:
            links_of_kind[kind].append(link_constants)
    nonzero_inertia = {
        kind: [
            name for name in INERTIAL if any(not k.is_zero(constants[name]) for constants in links)
        ]
        for kind, links in links_of_kind.items()
    }
    for required_columns in (
        dict.fromkeys(kinds, ()),
        dict.fromkeys(kinds, ("m",)),
        nonzero_inertia,
        dict.fromkeys(kinds, GEOMETRY + INERTIAL),
    ):
        # A joint parameter such as a pitch has a column even if all links share its value. As a
        # literal, its product
        # with a value of the child would depend on the child alone, and would be assigned to the
        # child.
        columns = {
            kind: Columns.of(
                links_of_kind[kind],
                (
                    *required_columns[kind],
                    *[parameter.name for parameter in joint_type(kind).parameters],
                ),
            )
            for kind in kinds
        }
        yield [columns[kind] for kind in classes.kinds]


def _fold(
    request: _Request, classes: Classes, columns: Sequence[Columns], trunk: Sequence[Link]
) -> FoldedSweeps:
    """Run the method on a sample chain of these classes, and fold the recorded rows into one step
    per class.
    """
    model, frame = request.model, request.frame
    root_count = sum(link.parent == BASE for link in model.links)
    frame_on_virtual_base = frame is not None and classes.of_links[frame.link] < 0
    gives_shared_results = len(trunk) == root_count == 1 if frame is None else frame_on_virtual_base
    chain = replace(
        sample_chain(model, classes, columns, trunk, _widths(request.function), frame),
        rows=_row_counts(request.function),
        rooted=gives_shared_results,
        unrooted=frame_on_virtual_base and len(trunk) > 1,
        on=-1 if frame is None or frame_on_virtual_base else frame.link,
    )
    run = run_on_chain(chain, request.function, request.method)
    return fold_sweeps(chain, bool(trunk), run)


def _loop_program(request: _Request, classes: Classes, folded: FoldedSweeps) -> LoopProgram:
    """Return the loop program that applies the folded sweeps to the links of the robot, optimized
    by `passes.run`.

    Classes 0 … `used` − 1 are those of the robot's links. Further classes, if there are any, are
    those of the links that the virtual base represents; the last one has the link that carries the
    frame.
    """
    # classes.of_links has -1 for a link that the virtual base represents
    used, class_count = classes.used, len(folded.sweeps[0].steps)
    base_classes = range(used, class_count)
    names = [classes.name([c]) for c in range(used)] + [VIRTUAL_BASE for _ in base_classes]
    joints = [joint_type(kind) for kind in (*classes.kinds[:used], *names[used:])]
    columns = [*folded.columns[:used], *(folded.columns[-1] for _ in base_classes)]
    class_of = [number if number >= 0 else used for number in classes.of_links]
    if request.frame is not None and class_of[request.frame.link] == used:
        class_of[request.frame.link] = base_classes[-1]
    form = LoopProgram(
        request.function,
        request.method,
        request.inputs,
        request.outputs,
        tuple(
            LinkClass(name, joint.nq, joint.nv, class_columns.width, class_columns.names)
            for name, joint, class_columns in zip(names, joints, columns, strict=True)
        ),
        tuple(link.parent for link in request.model.links),
        tuple(class_of),
        tuple(
            tuple(map(request.fraction, columns[number].row(link_constants)))
            for link_constants, number in zip(request.constants.by_link, class_of, strict=True)
        ),
        folded.sweeps,
        folded.work,
        final_carries=folded.final_carries,
        epilogue=folded.epilogue,
        per_link=tuple(_widths(request.function).items()),
        columns=tuple(_row_counts(request.function).items()),
        quaternions=request.mechanism.quaternions,
    ).by(passes.run)
    if request.frame is not None:
        form = form.along_path_to(request.frame.link)
    form = without_unused_constants(form)
    if classes.windows:  # classes by neighbours, of which several may have equal steps
        groups = equal_classes(form)
        form = with_one_class_for(form, groups, [*map(classes.name, groups)])
    return check(with_base_steps(form))


def unlike_links(
    mechanism: Mechanism, function: str, method: str, detail: str, remedy: str
) -> OutOfReach:
    """Return the error that a function has no looped form, because its links need different steps.

    `detail` names rows of the sample chain, which a user does not know; it is written to the log
    only.
    """
    LOG.info("%s by %s does not repeat link for link: %s", function, method, detail)
    return OutOfReach(
        f"{function} by {method} has no looped form for '{mechanism.name}', since its steps are not"
        f" the same for every link; take {remedy}"
    )


@lru_cache(maxsize=4)
def _links_and_constants(
    mechanism: Mechanism, model_pass: ModelPass, with_poses: bool, digits: int
) -> tuple[Model, LinkConstants]:
    """Return the links and their constants. The constants include the poses of the declared frames
    if `with_poses`.

    `digits` is the working precision; as an argument it is part of the key of the cache.
    """
    model = placed_links(mechanism, model_pass)
    if model_pass is not regroup:
        return model, LinkConstants([constants_of(link, with_poses) for link in model.links], {})
    _, ungrouped = _links_and_constants(mechanism, None, with_poses, digits)
    by_link = [
        dict(numbers) | inertia_numbers(link)
        for numbers, link in zip(ungrouped.by_link, model.links, strict=True)
    ]
    return model, LinkConstants(by_link, ungrouped.fractions)


def placed_links(mechanism: Mechanism, model_pass: ModelPass = None) -> Model:
    """Return the links in frames that need few multiplications; several roots share one base frame.

    `model_pass`: `regroup` moves the part of a link's inertia that has no effect on its own joint
    to the parent, `complete_moments` adds moments that no motion depends on.
    """
    model = reframe(mechanism)
    if sum(link.parent == BASE for link in model.links) > 1:
        model = build_model(
            mechanism, [link.placement for link in model.links], [None] * len(model.links)
        )
    return model_pass(model) if model_pass else model


# -- arguments and results -----------------------------------------------------------------------


def _ports(mechanism: Mechanism, function: str, arrays: Sequence[Array]) -> tuple[Port, ...]:
    """Return the ports for arrays of a function, its arguments or its results.

    Raises OutOfReach if an array cannot be divided among joints or links (`_width`), since a loop
    program has no such array.
    """
    if any(_width(array) is None for array in arrays if array.name not in _row_counts(function)):
        raise OutOfReach(
            f"{function} has no looped form, since not all of its arguments and results are numbers"
            " of joints or of links; take --form unrolled"
        )
    return tuple(Port(array.name, array.sizes(mechanism.sizes)) for array in arrays)


def _width(array: Array) -> int | None:
    """Return the number of elements of an array that belong to each link.

    Two values are codes: -1 for an array over q or v, whose elements belong to joints, and 0 for an
    array that all links share. Return None for any other array that is not divided among links.
    """
    if array.shape in (("NV",), ("NQ",)):
        return -1
    per_link = array.shape[:1] == ("NB",)
    sizes = array.shape[1:] if per_link else array.shape
    numeric_sizes = [size for size in sizes if isinstance(size, int)]
    if len(numeric_sizes) != len(sizes):
        return None
    return prod(numeric_sizes) if per_link else 0


def _widths(function: str) -> dict[str, int]:
    """Return, for each array of a function that is not over q or v, the number of elements per link
    (0: shared by all).
    """
    specification = FUNCTIONS[function]
    arrays = (*specification.arguments, *specification.results)
    widths = {array.name: _width(array) for array in arrays}
    return {name: width for name, width in widths.items() if width is not None and width >= 0}


def _row_counts(function: str) -> dict[str, int]:
    """Return the number of rows of each result of shape (rows, NV), such as a Jacobian."""
    return {
        array.name: rows
        for array in FUNCTIONS[function].results
        for rows, column_count in [array.shape if len(array.shape) == 2 else (0, "")]
        if isinstance(rows, int) and column_count == "NV"
    }
