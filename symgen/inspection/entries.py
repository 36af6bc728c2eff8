"""A request derived: the Program that computes it, the rows of its entries, and how they are laid out.

A result is taken from the Program that `symgen generate` prints: after the passes, links in the chosen frames, inertia moved to
the parents, by the shortest method. A method's letters are derived for reading: nothing is moved and no pass runs. Twists and
wrenches are in the axes of the links as declared, so that a block can be compared with the description.
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
from symgen.derivation.model import Model
from symgen.derivation.model.links import aligned, build_model
from symgen.derivation.scalars import Derivation, DivisionByZero, Scalar
from symgen.derivation.spatial import Rotation, Vector
from symgen.inspection.catalogue import Choice, Result, heading
from symgen.inspection.parameters import PORT, Parameter, SymbolicLinkage, parameters, symbolic
from symgen.inspection.request import counted, joint, plain, several, task_row, velocity
from symgen.inspection.request import frame as frame_named
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Block, Quantity
from symgen.pipeline import loop_closure
from symgen.pipeline.build import program
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.vocabulary.functions import TAU, A, Q, V
from symgen.vocabulary.options import Links, ProgramOptions, Rows

FRAMES = "as declared (its named equations: turned so that z is the joint's axis)"
ARGUMENTS = {array.name: array for array in (Q, V, A, TAU)}


@dataclass(frozen=True)
class Answer:
    """`rows` of `program`, one an entry, row-major, in `shape` () or (rows, columns); `label` names what was asked for.

    `notes` are what a reader should know: whose letter it is, in which axes it stands, why it is zero. `symbols`: what an
    input that is a kept number of the description is called.
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
    """What a choice stands for. The kinds of numbers in `keep` stay symbols (see `parameters`)."""
    if isinstance(choice.found, Result):
        function, options = choice.found.function, ProgramOptions(frame=frame, task_rows=task_rows)
        if not keep:
            made = program(mechanism, function, choice.method, frame=frame, task_rows=task_rows)
            return of_result(mechanism, choice, choice.found, made, options)
        derived, kept = symbolic(mechanism, function, keep, frame, choice.method, task_rows)
        return _with_symbols(
            of_result(mechanism, choice, choice.found, derived, options), kept, CHOSEN
        )
    assert choice.method is not None
    found = layout(mechanism, choice.method, choice.words.letter, keep)
    return _with_symbols(of_letter(mechanism, choice, choice.found, found), found.kept, UPRIGHT)


CHOSEN = "in the frames that 'symgen show' lists"
UPRIGHT = "in the declared link frames, turned so that z is the joint's axis"


def _with_symbols(found: Answer, kept: tuple[Parameter, ...], frames: str) -> Answer:
    """The same, with the names of the numbers that were kept and a note that says what they are."""
    if not kept:
        return found
    note = symbol_note({p.kind for p in kept}, frames)
    return replace(
        found, notes=(*found.notes, note), symbols={(PORT, e): p.symbol for e, p in enumerate(kept)}
    )


def symbol_note(kinds: Collection[str], frames: str) -> str:
    """What the symbols of these kinds are."""
    stems = ", ".join(f"{example} {what}" for kind, example, what in SYMBOLS if kind in kinds)
    return f"symbols of link i, counted from 0, {frames}: {stems}"


SYMBOLS = (
    ("m", "m_i", "its mass (kg)"),
    ("c", "c_i_x", "its mass centre (m)"),
    ("I", "I_i_xx", "its moments about the mass centre (kg·m²)"),
    ("l", "l_i_x", "the place of its frame in its parent's (m)"),
)


# -- results of functions -----------------------------------------------------------------------------------------------


def of_result(
    mechanism: Mechanism, choice: Choice, result: Result, derived: Program, options: ProgramOptions
) -> Answer:
    """The entries of a function's result that are asked for."""
    words, shape, frames = choice.words, derived.outputs[result.place].shape, options.frames
    array = result.array.laid_out(shape)
    rows = derived.outputs[result.place].rows
    if words.place is not None:
        raise ArgumentError(
            f"'{words.what}' asks for a place in a number; {result.heading} is one already"
        )
    if words.indices is None:
        whole = (
            (shape[0], 1)
            if len(shape) == 1
            else (len(rows) // shape[-1], shape[-1])
            if shape
            else shape
        )
        notes = []
        if several(mechanism) and "NV" in array.shape:
            notes.append(order_of(words.letter, mechanism.velocity_names, 6 in shape))
        if len(shape) > 2:
            first, second = frames[:2] if "NF" in array.shape else ("link 0", "link 1")
            notes.append(
                f"the {shape[1]} rows of {first} come first, then those of {second}, and so on"
            )
        return Answer(derived, rows, whole, words.letter, tuple(notes))
    counted(words, words.indices, len(shape))
    named = {
        "NV": partial(velocity, mechanism),
        "NB": partial(joint, mechanism),
        "NF": partial(frame_named, frames),
        "NK": partial(task_row, options.rows),
    }
    at = [
        named[str(size)](text)
        if size in named
        else plain(text, sizes, f"a row or column of {words.letter}")
        for text, size, sizes in zip(words.indices, array.shape, shape, strict=True)
    ]
    flat = 0
    for index, size in zip(at, shape, strict=True):
        flat = flat * size + index
    return Answer(derived, (rows[flat],), (), heading(words.letter, tuple(map(str, at))))


def order_of(letter: str, names: Sequence[str], six: bool) -> str:
    """What the rows or columns that go with velocities are, which says how it differs from a side of six."""
    return f"rows or columns of {letter} that go with v are, in order: {', '.join(names)}" + (
        "; those of six have the angular part first" if six else ""
    )


# -- letters of methods -------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where a block stands among the entries, its size, and the links in whose axes its rows and columns are."""

    first: int
    size: tuple[int, int]
    left: int | None
    right: int | None


@dataclass(frozen=True)
class Layout:
    """All blocks of a quantity as one Program whose last entry is 0."""

    program: Program
    blocks: dict[tuple[int, ...], Place]
    kept: tuple[Parameter, ...] = ()

    @property
    def zero(self) -> int:
        return self.program.outputs[0].rows[-1]

    def rows(self, index: tuple[int, ...]) -> list[list[int]]:
        first, (height, width), _, _ = self.blocks[index]
        flat = self.program.outputs[0].rows[first : first + height * width]
        return [list(flat[r * width : (r + 1) * width]) for r in range(height)]


@lru_cache(maxsize=32)
def layout(mechanism: Mechanism, method: str, letter: str, keep: tuple[str, ...] = ()) -> Layout:
    """A quantity of a robot, in its declared link frames."""
    with k.precision():
        return derived_layout(mechanism, method, letter, upright(mechanism), in_declared_axes, keep)


def upright(mechanism: Mechanism) -> Model:
    """The model in the declared link frames, turned so that z is the joint's axis: rationally, so that exact stays exact."""
    axes = [k.unit(k.vector(joint.axis)) for joint in mechanism.joints]
    return build_model(mechanism, [(_onto(axis), k.ORIGIN) for axis in axes], [None] * len(axes))


def _onto(axis: k.Vec3) -> k.Mat3:
    """Some rotation whose z column is `axis`: along a coordinate axis a permutation, else half a turn about axis + z."""
    if sum(not k.is_zero(x) for x in axis) == 1:
        return aligned(axis)
    v = k.add(axis, k.IDENTITY[2])
    twice = 2 / k.dot(v, v)
    return k.columns(*(k.sub(k.scale(twice * v[c], v), k.IDENTITY[c]) for c in range(3)))


def derived_layout(
    mechanism: Mechanism,
    method: str,
    letter: str,
    model: Model,
    shown: Callable[[Linkage, Block], Block],
    keep: tuple[str, ...] = (),
) -> Layout:
    """A quantity over any frames; `shown` turns a block into the axes it is to be read in; kinds in `keep` stay symbols."""
    quantity = methods.find(method).quantities[letter]
    shapes = {name: ARGUMENTS[name].sizes(mechanism.sizes) for name in quantity.inputs}
    kept = parameters(model, keep)
    if kept:
        shapes[PORT] = (len(kept),)
    home = Derivation({name: shape[0] for name, shape in shapes.items()})
    coupling = Coupling.of(mechanism)
    linkage = (
        SymbolicLinkage(model, home, kept, coupling=coupling)
        if kept
        else Linkage(model, home, coupling=coupling)
    )
    if mechanism.loops and quantity.of_loops:
        loop_closure.lay(linkage, mechanism)
    try:
        blocks = {
            index: shown(linkage, block)
            for index, block in sorted(quantity.derive(linkage).items())
        }
    except DivisionByZero:
        raise RequestError(
            f"{letter} of {method} divides by what is zero in every state of '{mechanism.name}': a joint moves no "
            "inertia of its own; 'symgen show' says which"
        ) from None
    atoms: list[Scalar] = []
    places = {}
    for index, block in blocks.items():
        places[index] = Place(
            len(atoms),
            (len(block.rows), len(block.rows[0]) if block.rows else 0),
            block.left,
            block.right,
        )
        atoms += [x for row in block.rows for x in row]
    atoms.append(linkage.zero)
    return Layout(
        home.freeze(letter, method, [(letter, (len(atoms),), atoms)], shapes), places, kept
    )


def in_declared_axes(linkage: Linkage, block: Block) -> Block:
    """The same block with its twists and wrenches in the axes of the links' declared frames."""
    if not any(block.rows):  # nothing to turn, and its size is kept
        return block
    linkage.home.step("turned into the declared axes")
    rows = _turned(linkage, block.left, block.rows)
    columns = _turned(linkage, block.right, [list(column) for column in zip(*rows, strict=True)])
    return Block([list(row) for row in zip(*columns, strict=True)], block.left, block.right)


def _turned(linkage: Linkage, link: int | None, rows: list[list[Scalar]]) -> list[list[Scalar]]:
    if link is None or link < 0:
        return rows
    axes = Rotation([linkage.matrix(linkage.model.links[link].placement[0])])
    columns = []
    for column in zip(*rows, strict=True):
        parts = [axes.to_parent(Vector(column[g : g + 3])) for g in range(0, len(column), 3)]
        columns.append([x for part in parts for x in part])
    return [list(row) for row in zip(*columns, strict=True)]


def of_letter(mechanism: Mechanism, choice: Choice, quantity: Quantity, found: Layout) -> Answer:
    """The whole, a block, or an entry of a quantity."""
    words = choice.words
    if (
        quantity.of_loops and words.indices is not None and words.place is None
    ):  # one block, and a place in it
        words = replace(words, indices=(), place=words.indices)
    name = heading(words.letter, quantity.indices)
    if words.indices is None and quantity.indices and not quantity.whole:
        raise ArgumentError(
            f"'{words.what}' needs an index: {name}, counted from 0 to {len(mechanism.joints) - 1}"
        )
    if words.indices is None:
        grid = _whole(mechanism, quantity, found)
        notes = [*choice.notes, *_frames_of_whole(quantity, found)]
        return _laid_out(mechanism, found, grid, words.letter, notes)
    counted(words, words.indices, len(quantity.indices))
    index = tuple(joint(mechanism, text) for text in words.indices)
    label = heading(words.letter, tuple(map(str, index)))
    grid = _block(mechanism, found, index)
    _not_empty(mechanism, grid, label)
    notes = [*choice.notes, *_about(mechanism, quantity, found, index, label)]
    if words.place is None:
        return _laid_out(mechanism, found, grid, label, notes)
    if len(grid) == len(grid[0]) == 1:
        raise ArgumentError(f"'{words.what}' asks for a place in a number; {label} is one already")
    single = len(grid[0]) == 1
    if not (single and len(words.place) == 1) and len(words.place) != 2:
        raise ArgumentError(
            f"'{words.what}' asks for a place in a {len(grid)}x{len(grid[0])} block; write {label}[row,column]"
        )
    r = plain(words.place[0], len(grid), f"the rows of {label}")
    c = (
        plain(words.place[1], len(grid[0]), f"the columns of {label}")
        if len(words.place) == 2
        else 0
    )
    return Answer(
        found.program,
        (grid[r][c],),
        (),
        f"{label}[{','.join(map(str, (r, c)[: len(words.place)]))}]",
        tuple(notes),
    )


def _not_empty(mechanism: Mechanism, grid: list[list[int]], label: str) -> None:
    if not any(grid):
        raise RequestError(
            f"{label} of '{mechanism.name}' is empty: a joint has as many rows or columns of it as directions "
            "that it forbids, and a free joint forbids none"
        )


def _laid_out(
    mechanism: Mechanism, found: Layout, grid: list[list[int]], label: str, notes: list[str]
) -> Answer:
    _not_empty(mechanism, grid, label)
    shape = () if len(grid) == len(grid[0]) == 1 else (len(grid), len(grid[0]))
    return Answer(found.program, tuple(x for row in grid for x in row), shape, label, tuple(notes))


def sizes(found: Layout, side: int, count: int) -> list[int]:
    """How many rows (side 0) or columns (side 1) the blocks of each index have."""
    usual = next((block.size[side] for block in found.blocks.values()), 1)
    sizes = [usual] * count
    for index, block in found.blocks.items():
        sizes[index[min(side, len(index) - 1)]] = block.size[side]
    return sizes


def _block(mechanism: Mechanism, found: Layout, index: tuple[int, ...]) -> list[list[int]]:
    if index in found.blocks:
        return found.rows(index)
    height, width = (
        sizes(found, side, len(mechanism.joints))[index[min(side, len(index) - 1)]]
        for side in (0, 1)
    )
    return [[found.zero] * width for _ in range(height)]


def _whole(mechanism: Mechanism, quantity: Quantity, found: Layout) -> list[list[int]]:
    """The matrix of all blocks: block diagonal where one index selects, in rows and columns where two do."""
    if not quantity.indices:
        return found.rows(())
    n = len(mechanism.joints)
    heights, widths = (sizes(found, side, n) for side in (0, 1))
    grid = [[found.zero] * sum(widths) for _ in range(sum(heights))]
    for index in found.blocks:
        i, j = index[0], index[-1]
        top, left = sum(heights[:i]), sum(widths[:j])
        for r, row in enumerate(found.rows(index)):
            grid[top + r][left : left + len(row)] = row
    return grid


def _about(
    mechanism: Mechanism, quantity: Quantity, found: Layout, index: tuple[int, ...], label: str
) -> list[str]:
    """Say in which axes a block stands, or why it is zero."""
    if index not in found.blocks:
        return [_why_zero(quantity, label)]
    block = found.blocks[index]
    velocities = mechanism.velocity_names[mechanism.v_slices[index[-1]]] if index else ()
    sides = zip((block.left, block.right), block.size, strict=True)
    by_velocity = any(link is None and size > 1 for link, size in sides)
    six = block.left is not None or block.right is not None
    order = [order_of(label, velocities, six)] if len(velocities) > 1 and by_velocity else []
    if not six:
        return order
    first = "; angular part first" if 6 in block.size else ""
    axes = _axes_of(mechanism, block)
    return [f"{label}: {axes} {FRAMES}, taken {quantity.point}{first}", *order]


def _why_zero(quantity: Quantity, label: str) -> str:
    """Say which blocks are not zero. UnknownName where the others do not exist."""
    if not quantity.whole:
        raise UnknownName(
            f"{label} does not exist: [{','.join(quantity.indices)}] does where {quantity.nonzero}"
        )
    if not quantity.nonzero:
        return f"{label} is zero"
    return f"{label} is zero: blocks {heading('', quantity.indices)} are not zero where {quantity.nonzero}"


def _axes_of(mechanism: Mechanism, block: Place) -> str:
    """Name the links in whose axes the rows and the columns of a block stand."""
    names = {
        side: mechanism.base if link < 0 else mechanism.bodies[link].name
        for side, link in (("rows", block.left), ("columns", block.right))
        if link is not None
    }
    if len(names) == 2 and names["rows"] == names["columns"]:
        return f"in the axes of link '{names['rows']}'"
    return ", ".join(f"{side} in the axes of link '{name}'" for side, name in names.items())


def _frames_of_whole(quantity: Quantity, found: Layout) -> list[str]:
    if all(block.left is None and block.right is None for block in found.blocks.values()):
        return []
    return [
        f"each block in the axes of its own links {FRAMES}, taken {quantity.point}; angular part first"
    ]
