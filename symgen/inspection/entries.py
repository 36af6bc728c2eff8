"""Derivation of a request: the Program that computes the requested quantity, the rows of its
entries, and their layout.

A request is for a result of a function, such as M, or for a letter of a method, such as P. The rows
of a result are those of the Program that `symgen generate` prints: derived by the method with the
fewest operations, in the chosen link frames, with inertia moved to the parents, and after all
passes. The rows of a letter are derived separately: no inertia is moved and no pass runs. Twists
and wrenches of letters are in the declared axes of the links, so that a block can be compared with
the description.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import NamedTuple

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.coupling import Coupling
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Model, complete_moments, completed_links, completion_note
from symgen.derivation.model.links import build_model, rotation_to_axis
from symgen.derivation.scalars import Derivation, DivisionByZero, Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.inspection.catalogue import Choice, PaperQuantity, Result, heading
from symgen.inspection.parameters import PORT, Parameter, SymbolicLinkage, parameters, symbolic
from symgen.inspection.request import (
    check_index_count,
    has_several_coordinates,
    parse_index,
    parse_joint,
    parse_task_row,
    parse_velocity,
)
from symgen.inspection.request import parse_frame as frame_named
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Block, Quantity
from symgen.pipeline import loop_closure
from symgen.pipeline.build import program
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.vocabulary.functions import TAU, A, Q, V
from symgen.vocabulary.options import Links, ProgramOptions, Rows

FRAMES = "as declared (in its named equations rotated so that z is the joint's axis)"
"""End of a note: the axes of a block."""
ARGUMENTS = {array.name: array for array in (Q, V, A, TAU)}


@dataclass(frozen=True)
class Answer:
    """Answer to a request: `rows` of `program`, row-major, in `shape` () or (rows, columns).

    `label` is the name of the quantity. `notes` state to which method a letter belongs, in which
    axes it is expressed, or why it is zero. `symbols` maps the inputs for kept parameters to their
    names.
    """

    program: Program
    rows: tuple[int, ...]
    shape: tuple[int, ...]
    label: str
    notes: tuple[str, ...] = ()
    symbols: Mapping[tuple[str, int], str] = field(default_factory=dict)


def answer(
    mechanism: Mechanism,
    choice: Choice,
    frame: Links = None,
    keep: tuple[str, ...] = (),
    task_rows: Rows = None,
) -> Answer:
    """Return the answer to a request whose meaning is `choice`.

    Parameters of the description stay symbols if their kind, such as "m", is in `keep` (see
    `parameters`).
    """
    if isinstance(choice.target, Result):
        function, options = choice.target.function, ProgramOptions(frame=frame, task_rows=task_rows)
        if not keep:
            result_program = program(
                mechanism, function, choice.method, frame=frame, task_rows=task_rows
            )
            return result_answer(mechanism, choice, choice.target, result_program, options)
        derived, kept_parameters = symbolic(
            mechanism, function, keep, frame, choice.method, task_rows
        )
        return _with_symbols(
            result_answer(mechanism, choice, choice.target, derived, options),
            kept_parameters,
            CHOSEN,
        )
    if isinstance(choice.target, PaperQuantity):
        raise choice.target.no_program("options that need a program")
    assert choice.method is not None
    quantity_layout = layout(mechanism, choice.method, choice.words.letter, keep)
    return _with_symbols(
        quantity_answer(mechanism, choice, choice.target, quantity_layout),
        quantity_layout.kept,
        DECLARED,
    )


CHOSEN = "in the frames that 'symgen show' lists"
DECLARED = "in the declared link frames, rotated so that z is the joint's axis"
"""Frames of kept parameters, in notes: of results, and of letters."""


def _with_symbols(
    plain_answer: Answer, kept_parameters: tuple[Parameter, ...], frames: str
) -> Answer:
    """Return the answer with the names of the kept parameters, and a note that explains them."""
    if not kept_parameters:
        return plain_answer
    note = symbol_note({p.kind for p in kept_parameters}, frames)
    return replace(
        plain_answer,
        notes=(*plain_answer.notes, note),
        symbols={(PORT, e): p.symbol for e, p in enumerate(kept_parameters)},
    )


def symbol_note(kinds: Collection[str], frames: str) -> str:
    """Return a note that explains the symbols of these kinds."""
    meanings = ", ".join(
        f"{example} {meaning}" for kind, example, meaning in SYMBOLS if kind in kinds
    )
    return f"symbols of link i, counted from 0, {frames}: {meanings}"


SYMBOLS = (
    ("m", "m_i", "its mass (kg)"),
    ("c", "c_i_x", "its mass centre (m)"),
    ("I", "I_i_xx", "its moments about the mass centre (kg·m²)"),
    ("l", "l_i_x", "the position of its frame in its parent's (m)"),
)
"""Kind of parameter, its symbol for link i, and the meaning."""


# -- results of functions --------------------------------------------------------------------------


def result_answer(
    mechanism: Mechanism, choice: Choice, result: Result, derived: Program, options: ProgramOptions
) -> Answer:
    """Return the requested entries of a function's result: all, or the one of the indices."""
    words, shape, frames = choice.words, derived.outputs[result.index].shape, options.frames
    array = result.array.laid_out(shape)
    rows = derived.outputs[result.index].rows
    if words.position is not None:
        raise ArgumentError(
            f"'{words.what}' has a second index, but {result.heading} is a single number"
        )
    if words.indices is None:
        matrix_shape = (
            (shape[0], 1)
            if len(shape) == 1
            else (len(rows) // shape[-1], shape[-1])
            if shape
            else shape
        )
        notes = []
        if has_several_coordinates(mechanism) and "NV" in array.shape:
            notes.append(order_of(words.letter, mechanism.velocity_names, 6 in shape))
        if len(shape) > 2:
            first, second = frames[:2] if "NF" in array.shape else ("link 0", "link 1")
            notes.append(
                f"the {shape[1]} rows of {first} come first, then the rows of {second}, and so on"
            )
        return Answer(derived, rows, matrix_shape, words.letter, tuple(notes))
    check_index_count(words, words.indices, len(shape))
    parsers = {
        "NV": partial(parse_velocity, mechanism),
        "NB": partial(parse_joint, mechanism),
        "NF": partial(frame_named, frames),
        "NK": partial(parse_task_row, options.rows),
    }
    index_values = [
        parsers[str(size)](text)
        if size in parsers
        else parse_index(text, sizes, f"a row or column of {words.letter}")
        for text, size, sizes in zip(words.indices, array.shape, shape, strict=True)
    ]
    position = 0
    for index, size in zip(index_values, shape, strict=True):
        position = position * size + index
    return Answer(
        derived, (rows[position],), (), heading(words.letter, tuple(map(str, index_values)))
    )


def order_of(letter: str, names: Sequence[str], has_twists: bool) -> str:
    """Return a note on the order of the rows or columns that belong to velocities.

    `has_twists`: the other side belongs to twists or wrenches, which have six entries.
    """
    return f"rows or columns of {letter} that belong to v are, in order: {', '.join(names)}" + (
        "; those of six have the angular part first" if has_twists else ""
    )


# -- letters of methods ----------------------------------------------------------------------------


class BlockPosition(NamedTuple):
    """Position and size of a block among the entries of a `Layout`."""

    first: int
    size: tuple[int, int]
    left: int | None
    """Link in whose axes the rows are expressed; None if they belong to velocities."""
    right: int | None
    """Link in whose axes the columns are expressed, or None."""


@dataclass(frozen=True)
class Layout:
    """Program with all nonzero blocks of a quantity, one after the other, and a last entry 0."""

    program: Program
    blocks: dict[tuple[int, ...], BlockPosition]
    kept: tuple[Parameter, ...] = ()

    @property
    def zero(self) -> int:
        """Row of the Program with the value 0."""
        return self.program.outputs[0].rows[-1]

    def rows(self, index: tuple[int, ...]) -> list[list[int]]:
        """Return the rows of the Program that compute a block, as a matrix."""
        first, (height, width), _, _ = self.blocks[index]
        flat = self.program.outputs[0].rows[first : first + height * width]
        return [list(flat[r * width : (r + 1) * width]) for r in range(height)]


@lru_cache(maxsize=32)
def layout(mechanism: Mechanism, method: str, letter: str, keep: tuple[str, ...] = ()) -> Layout:
    """Return the layout of a letter of a robot, expressed in the declared link frames."""
    with k.precision():
        return derive_layout(
            mechanism, method, letter, declared_model(mechanism), in_declared_axes, keep
        )


def declared_model(mechanism: Mechanism) -> Model:
    """Return the model in the declared link frames, rotated so that z is the joint's axis.

    The rotations are rational if the axes are, so that exact constants stay exact.
    """
    axes = [k.unit(k.vector(joint.axis)) for joint in mechanism.joints]
    return build_model(
        mechanism, [(onto_axis(axis), k.ORIGIN) for axis in axes], [None] * len(axes)
    )


def onto_axis(axis: k.Vec3) -> k.Mat3:
    """Return a rotation that rotates z to `axis`: a permutation for a coordinate axis, else the
    rotation by π about the bisector axis + z.
    """
    if sum(not k.is_zero(x) for x in axis) == 1:
        return rotation_to_axis(axis)
    bisector = k.add(axis, k.IDENTITY[2])
    factor = 2 / k.dot(bisector, bisector)
    return k.columns(
        *(k.sub(k.scale(factor * bisector[c], bisector), k.IDENTITY[c]) for c in range(3))
    )


def derive_layout(
    mechanism: Mechanism,
    method: str,
    letter: str,
    model: Model,
    display: Callable[[Linkage, Block], Block],
    keep: tuple[str, ...] = (),
    linkage_type: type[SymbolicLinkage] | None = None,
) -> Layout:
    """Return the layout of a letter, derived in the frames of `model`.

    `display` converts a block to the axes in which it is shown. Parameters whose kind is in `keep`
    stay symbols. `linkage_type` replaces the class `SymbolicLinkage`.
    """
    quantity = methods.find(method).quantities[letter]
    if _inverts_inertias(mechanism, method, quantity):
        model = complete_moments(model)
    shapes = {name: ARGUMENTS[name].sizes(mechanism.sizes) for name in quantity.inputs}
    kept_parameters = parameters(model, keep)
    if kept_parameters:
        shapes[PORT] = (len(kept_parameters),)
    derivation = Derivation({name: shape[0] for name, shape in shapes.items()})
    coupling = Coupling.of(mechanism)
    linkage = (
        (linkage_type or SymbolicLinkage)(model, derivation, kept_parameters, coupling=coupling)
        if kept_parameters or linkage_type
        else Linkage(model, derivation, coupling=coupling)
    )
    if mechanism.loops and quantity.of_loops:
        loop_closure.configure_linkage(linkage, mechanism)
    try:
        blocks = {
            index: display(linkage, block)
            for index, block in sorted(quantity.derive(linkage).items())
        }
    except DivisionByZero:
        raise RequestError(
            f"{letter} of {method} divides by a quantity that is zero in every state of"
            f" '{mechanism.name}': a joint moves no inertia; 'symgen show' names it"
        ) from None
    entries: list[Scalar] = []
    positions = {}
    for index, block in blocks.items():
        positions[index] = BlockPosition(
            len(entries),
            (len(block.rows), len(block.rows[0]) if block.rows else 0),
            block.left,
            block.right,
        )
        entries += [x for row in block.rows for x in row]
    entries.append(linkage.zero)
    return Layout(
        derivation.freeze(letter, method, [(letter, (len(entries),), entries)], shapes),
        positions,
        kept_parameters,
    )


def in_declared_axes(linkage: Linkage, block: Block) -> Block:
    """Return the block with its twists and wrenches in the declared axes of the links."""
    if not any(block.rows):  # transposing would lose the size of an empty block
        return block
    linkage.derivation.step("turned into the declared axes")
    rows = _rotate_rows(linkage, block.left, block.rows)
    columns = _rotate_rows(
        linkage, block.right, [list(column) for column in zip(*rows, strict=True)]
    )
    return Block([list(row) for row in zip(*columns, strict=True)], block.left, block.right)


def _rotate_rows(
    linkage: Linkage, link: int | None, rows: list[list[Scalar]]
) -> list[list[Scalar]]:
    """Return rows of twists or wrenches in the declared axes of `link`; None rotates nothing."""
    if link is None or link < 0:
        return rows
    axes = Rotation([linkage.matrix(linkage.model.links[link].placement[0])])
    columns = []
    for column in zip(*rows, strict=True):
        rotated = [axes.to_parent(Vector(column[g : g + 3])) for g in range(0, len(column), 3)]
        columns.append([x for vector in rotated for x in vector])
    return [list(row) for row in zip(*columns, strict=True)]


def _inverts_inertias(mechanism: Mechanism, method: str, quantity: Quantity) -> bool:
    """True if the variant of the method that declares a letter divides by the inertia of each
    link."""
    stem = method.partition(":")[0]
    variant = f"{stem}:{quantity.variant}" if quantity.variant else method
    return methods.find(variant).inverts_inertias(mechanism)


def _completion_notes(mechanism: Mechanism, method: str | None, quantity: Quantity) -> list[str]:
    """Return the note on moments of inertia that are added for the method."""
    if method is None or not _inverts_inertias(mechanism, method, quantity):
        return []
    note = completion_note(completed_links(mechanism))
    return [note] if note else []


def quantity_answer(
    mechanism: Mechanism, choice: Choice, quantity: Quantity, quantity_layout: Layout
) -> Answer:
    """Return the full matrix, a block, or an entry of a letter, as the request says."""
    words = choice.words
    choice = replace(
        choice, notes=(*choice.notes, *_completion_notes(mechanism, choice.method, quantity))
    )
    # A quantity of closed loops is one block, so that its only index selects an entry.
    if quantity.of_loops and words.indices is not None and words.position is None:
        words = replace(words, indices=(), position=words.indices)
    name = heading(words.letter, quantity.indices)
    if words.indices is None and quantity.indices and not quantity.is_matrix:
        raise ArgumentError(
            f"'{words.what}' needs an index: {name}, counted from 0 to {len(mechanism.joints) - 1}"
        )
    if words.indices is None:
        grid = _full_matrix(mechanism, quantity, quantity_layout)
        notes = [*choice.notes, *_matrix_notes(quantity, quantity_layout)]
        return _answer_with_grid(mechanism, quantity_layout, grid, words.letter, notes)
    check_index_count(words, words.indices, len(quantity.indices))
    index = tuple(parse_joint(mechanism, text) for text in words.indices)
    label = heading(words.letter, tuple(map(str, index)))
    grid = _block(mechanism, quantity_layout, index)
    _refuse_empty(mechanism, grid, label)
    notes = [*choice.notes, *_block_notes(mechanism, quantity, quantity_layout, index, label)]
    if words.position is None:
        return _answer_with_grid(mechanism, quantity_layout, grid, label, notes)
    if len(grid) == len(grid[0]) == 1:
        raise ArgumentError(f"'{words.what}' has a second index, but {label} is a single number")
    is_column = len(grid[0]) == 1
    if not (is_column and len(words.position) == 1) and len(words.position) != 2:
        raise ArgumentError(
            f"'{words.what}' selects an entry of a {len(grid)}x{len(grid[0])} block; write"
            f" {label}[row,column]"
        )
    r = parse_index(words.position[0], len(grid), f"the rows of {label}")
    c = (
        parse_index(words.position[1], len(grid[0]), f"the columns of {label}")
        if len(words.position) == 2
        else 0
    )
    return Answer(
        quantity_layout.program,
        (grid[r][c],),
        (),
        f"{label}[{','.join(map(str, (r, c)[: len(words.position)]))}]",
        tuple(notes),
    )


def _refuse_empty(mechanism: Mechanism, grid: list[list[int]], label: str) -> None:
    """Raise RequestError if a block or matrix has no entries."""
    if not any(grid):
        raise RequestError(
            f"{label} of '{mechanism.name}' is empty: it has one row or column per constrained"
            " direction of a joint, and a free joint constrains none"
        )


def _answer_with_grid(
    mechanism: Mechanism,
    quantity_layout: Layout,
    grid: list[list[int]],
    label: str,
    notes: list[str],
) -> Answer:
    """Return the answer with the rows in `grid`; one row is a scalar."""
    _refuse_empty(mechanism, grid, label)
    shape = () if len(grid) == len(grid[0]) == 1 else (len(grid), len(grid[0]))
    return Answer(
        quantity_layout.program, tuple(x for row in grid for x in row), shape, label, tuple(notes)
    )


def block_sizes(quantity_layout: Layout, side: int, count: int) -> list[int]:
    """Return the number of rows (side 0) or columns (side 1) of the blocks of each joint.

    A joint without a nonzero block has the size of the first block.
    """
    usual = next((block.size[side] for block in quantity_layout.blocks.values()), 1)
    sizes = [usual] * count
    for index, block in quantity_layout.blocks.items():
        sizes[index[min(side, len(index) - 1)]] = block.size[side]
    return sizes


def _block(
    mechanism: Mechanism, quantity_layout: Layout, index: tuple[int, ...]
) -> list[list[int]]:
    """Return the rows of the Program for the block of an index, which may be zero."""
    if index in quantity_layout.blocks:
        return quantity_layout.rows(index)
    height, width = (
        block_sizes(quantity_layout, side, len(mechanism.joints))[index[min(side, len(index) - 1)]]
        for side in (0, 1)
    )
    return [[quantity_layout.zero] * width for _ in range(height)]


def _full_matrix(
    mechanism: Mechanism, quantity: Quantity, quantity_layout: Layout
) -> list[list[int]]:
    """Return the rows of the Program for the full matrix.

    The blocks of a letter with one index are on the diagonal, those of a letter with two indices in
    the block row and block column of the indices.
    """
    if not quantity.indices:
        return quantity_layout.rows(())
    n = len(mechanism.joints)
    heights, widths = (block_sizes(quantity_layout, side, n) for side in (0, 1))
    grid = [[quantity_layout.zero] * sum(widths) for _ in range(sum(heights))]
    for index in quantity_layout.blocks:
        i, j = index[0], index[-1]
        top, left = sum(heights[:i]), sum(widths[:j])
        for r, row in enumerate(quantity_layout.rows(index)):
            grid[top + r][left : left + len(row)] = row
    return grid


def _block_notes(
    mechanism: Mechanism,
    quantity: Quantity,
    quantity_layout: Layout,
    index: tuple[int, ...],
    label: str,
) -> list[str]:
    """Return notes on the axes of a block, or on why it is zero."""
    if index not in quantity_layout.blocks:
        return [_why_zero(quantity, label)]
    block = quantity_layout.blocks[index]
    velocities = mechanism.velocity_names[mechanism.v_slices[index[-1]]] if index else ()
    sides = zip((block.left, block.right), block.size, strict=True)
    by_velocity = any(link is None and size > 1 for link, size in sides)
    has_twists = block.left is not None or block.right is not None
    order = [order_of(label, velocities, has_twists)] if len(velocities) > 1 and by_velocity else []
    if not has_twists:
        return order
    first = "; angular part first" if 6 in block.size else ""
    axes = _axes_of(mechanism, block)
    return [f"{label}: {axes} {FRAMES}, taken {quantity.point}{first}", *order]


def _why_zero(quantity: Quantity, label: str) -> str:
    """Return why a block is zero. Raises UnknownName if the letter has no block of these
    indices."""
    if not quantity.is_matrix:
        raise UnknownName(
            f"{label} does not exist: [{','.join(quantity.indices)}] exists where"
            f" {quantity.nonzero}"
        )
    if not quantity.nonzero:
        return f"{label} is zero"
    return (
        f"{label} is zero: blocks {heading('', quantity.indices)} are not zero where"
        f" {quantity.nonzero}"
    )


def _axes_of(mechanism: Mechanism, block: BlockPosition) -> str:
    """Return a text that names the links in whose axes the rows and columns of a block are."""
    names = {
        side: mechanism.base if link < 0 else mechanism.bodies[link].name
        for side, link in (("rows", block.left), ("columns", block.right))
        if link is not None
    }
    if len(names) == 2 and names["rows"] == names["columns"]:
        return f"in the axes of link '{names['rows']}'"
    return ", ".join(f"{side} in the axes of link '{name}'" for side, name in names.items())


def _matrix_notes(quantity: Quantity, quantity_layout: Layout) -> list[str]:
    """Return a note on the axes of the blocks; none if no block has twists or wrenches."""
    if all(block.left is None and block.right is None for block in quantity_layout.blocks.values()):
        return []
    return [
        f"each block is in the axes of its own links {FRAMES}, taken {quantity.point}; angular part"
        " first"
    ]
