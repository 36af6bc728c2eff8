"""Letters of the papers that no method derives: operators over rational functions, in canonical
form.

A method derives what it computes. The papers have more objects, such as Φ, Ψ, 1 + HΦL (RK) or L_h
and U_h (LC). They are taken from the operators of `symgen.papers`, which share no code with the
methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from symgen.derivation.model import completion_note
from symgen.inspection.canonical import (
    QUICK,
    Canonical,
    Names,
    Quotient,
    TooLong,
    form_of_fraction,
)
from symgen.inspection.coordinates import coordinate_notes, quaternion_indices
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.request import (
    Words,
    check_index_count,
    has_several_coordinates,
    parse_index,
    parse_joint,
)
from symgen.mechanism import trees
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.blocks import Matrix
from symgen.papers.chain import chain
from symgen.papers.equation import Letter
from symgen.papers.identities import INVERTING, PAPERS, paper, without_drives
from symgen.papers.rational_functions import Ratio, TooManyProducts
from symgen.papers.symbolic import SymbolicRobot
from symgen.reference.precision import Array
from symgen.support.errors import ArgumentError, RequestError

PAPERS_OF_METHOD = {
    "riccati": ("rk",),
    "udut": ("sa",),
    "fixman": ("lc", "wc"),
    "constraint_force": ("ff",),
}


def papers_of(method: str) -> tuple[str, ...]:
    """Return the papers whose operators belong to a method, without its variant."""
    return PAPERS_OF_METHOD.get(method.partition(":")[0], ())


def letters_of(method: str) -> Iterator[tuple[str, Letter[Any]]]:
    """Yield (paper, letter) of the papers of a method."""
    for name in papers_of(method):
        for letter in getattr(paper(name), "LETTERS", ()):
            yield name, letter


def method_of(name: str) -> str:
    """Return the method of a paper."""
    return next(method for method, papers in PAPERS_OF_METHOD.items() if name in papers)


def papers_with(letter: str) -> list[str]:
    """Return the papers that have a letter of this name."""
    return [
        name
        for name in PAPERS
        if any(item.name == letter for item in getattr(paper(name), "LETTERS", ()))
    ]


class PaperOperators:
    """The operators of one paper on one robot, over rational functions of its state."""

    def __init__(self, mechanism: Mechanism, name: str) -> None:
        self.mechanism, self.bodies, self.paper = mechanism, without_drives(mechanism), paper(name)
        links = chain(self.bodies)
        self.sample = self.paper.Operators(links)
        """The operators at a random state, in rationals. RequestError if the paper does not cover
        the robot.
        """
        self.rounded = links.rounded
        self.completed = links.completed_links if name in INVERTING else ()
        """The names of the links to which moments of inertia are added."""

    @property
    def no_form(self) -> str | None:
        """Reason why the operators of this robot have no canonical form; None if they have one."""
        if self.mechanism.coupled:
            return (
                f"the operators of '{self.mechanism.name}' have no canonical form: a joint mimics "
                "another"
            )
        if self.rounded:
            return (
                f"the operators of '{self.mechanism.name}' have no canonical form: its description"
                " has irrational rotations"
            )
        return None

    @cached_property
    def robot(self) -> SymbolicRobot:
        """The robot over rational functions. TooLong if its operators have no canonical form."""
        if self.no_form:
            raise TooLong(f"{self.no_form}; symgen.papers.operators computes them at a state")
        return SymbolicRobot(self.bodies, QUICK)

    @cached_property
    def operators(self) -> Any:
        """The operators over rational functions, with the symbols v and tau in place of random
        rates and forces.
        """
        operators = self.paper.Operators(self.robot.chain)
        if hasattr(type(operators), "motion"):
            operators.motion = self.robot.motion(operators)
        for name in ("tau", "b"):
            if hasattr(type(operators), name):
                setattr(operators, name, Matrix.of(self.robot.forces))
        return operators

    def letter(self, name: str) -> Letter[Any]:
        """Return a letter of the paper."""
        return next(item for item in self.paper.LETTERS if item.name == name)

    def block(self, letter: Letter[Any], indices: tuple[int, ...]) -> Array | None:
        """Return a block over rational functions, with two dimensions; None if it is zero.

        Raises TooLong if it takes more than QUICK products of terms.
        """
        self.robot.field.products = 0
        try:
            block = letter.block(self.operators, *indices)
        except TooManyProducts:
            label = f"{letter.name}[{','.join(map(str, indices))}]"
            raise TooLong(
                f"the canonical form of {label} takes more than {QUICK} products of terms; "
                "symgen.papers.operators computes it at a state"
            ) from None
        if block is None:
            return None
        array = np.asarray(block, dtype=object)
        return array.reshape(-1, 1) if array.ndim < 2 else array

    def indices(self, letter: Letter[Any]) -> list[tuple[int, ...]]:
        """Return all indices of a letter, also those of zero blocks."""
        count = range(len(self.bodies.joints))
        if len(letter.indices) == 1:
            return [(k,) for k in count]
        return [(i, j) for i in count for j in count]

    def exists(self, letter: Letter[Any], indices: tuple[int, ...]) -> bool:
        """True if a block is not zero at a random state."""
        block = letter.block(self.sample, *indices)
        return block is not None and any(x != 0 for x in np.ravel(np.asarray(block, dtype=object)))

    def form(self, entry: Any, label: str) -> MultiAngle | Quotient:
        """Return the canonical form of an entry."""
        robot = self.robot
        ratio = entry if isinstance(entry, Ratio) else robot.field.number(entry)
        above, below = ratio.lowest().fraction()
        names = Names({}, str, self.bodies.nq, label)
        quaternions = [
            tuple(f"q{index}" for index in entries) for entries in quaternion_indices(self.bodies)
        ]
        return form_of_fraction(above, below, robot.angles, robot.other_symbols, names, quaternions)

    def canonical(self, block: Array, label: str) -> Canonical:
        """Return the canonical forms of a block."""
        rows, columns = block.shape
        forms = tuple(self.form(x, label) for x in block.flat)
        return Canonical(label, () if rows == columns == 1 else (rows, columns), forms)


@lru_cache(maxsize=8)
def paper_operators(mechanism: Mechanism, name: str) -> PaperOperators:
    """Return the operators of a paper on a robot. RequestError if the paper does not cover it."""
    return PaperOperators(mechanism, name)


def uncovered(mechanism: Mechanism, name: str) -> str | None:
    """Return why a paper does not cover a robot, or None if it does."""
    try:
        paper_operators(mechanism, name)
    except RequestError as error:
        return str(error)
    return None


def paper_letter(
    mechanism: Mechanism, name: str, words: Words
) -> tuple[Canonical, tuple[str, ...]]:
    """Return the canonical form that a request for a letter of a paper asks for, and notes.

    TooLong if it has none, RequestError for a wrong index.
    """
    operators = paper_operators(mechanism, name)
    letter = operators.letter(words.letter)
    notes = [
        f"{letter.name} of {operators.paper.SOURCE}: {letter.says}; links count from 0 at the base"
    ]
    if words.indices is None:
        if words.position is not None:
            raise ArgumentError(
                f"'{words.what}' has a position but no block; write {letter.name}[...][r,c]"
            )
        return _with_notes(
            operators, operators.canonical(_block_matrix(operators, letter), letter.name), notes
        )
    check_index_count(words, words.indices, len(letter.indices))
    indices = tuple(parse_joint(mechanism, text) for text in words.indices)
    label = f"{letter.name}[{','.join(map(str, indices))}]"
    block = operators.block(letter, indices)
    if block is None:
        notes.append(
            f"{label} is zero: blocks {_heading(letter)} are not zero where {letter.nonzero}"
        )
        block = np.zeros(_shape(operators, letter, indices), dtype=int).astype(object)
    if not block.size:
        raise RequestError(
            f"{label} of '{mechanism.name}' is empty: it has one row or column per constrained "
            "direction of a joint, and a free joint constrains none"
        )
    if words.position is not None:
        size = block.shape
        if len(words.position) != 2:
            raise ArgumentError(
                f"'{words.what}' has {len(words.position)} positions in the block; write two, as in"
                f" {label}[0,0]"
            )
        row, column = (
            parse_index(text, size[side], f"{label}, whose {entry_kind}")
            for side, (text, entry_kind) in enumerate(
                zip(words.position, ("rows", "columns"), strict=True)
            )
        )
        entry = block[row : row + 1, column : column + 1]
        return _with_notes(operators, operators.canonical(entry, f"{label}[{row},{column}]"), notes)
    return _with_notes(operators, operators.canonical(block, label), notes)


def _with_notes(
    operators: PaperOperators, value: Canonical, notes: list[str]
) -> tuple[Canonical, tuple[str, ...]]:
    """Add notes on added moments of inertia and on the coordinates of joints that have several."""
    completion = completion_note(operators.completed)
    return value, (
        *notes,
        *([completion] if completion else []),
        *coordinate_notes(operators.mechanism, value.coordinates),
    )


def _heading(letter: Letter[Any]) -> str:
    return f"{letter.name}[{','.join(letter.indices)}]"


def _shape(
    operators: PaperOperators, letter: Letter[Any], indices: tuple[int, ...]
) -> tuple[int, int]:
    """Return the shape of a zero block."""
    blocks = {}
    for block_indices in operators.indices(letter):
        block = operators.block(letter, block_indices)
        if block is not None:
            blocks[block_indices] = block
            if not has_several_coordinates(operators.mechanism):
                return block.shape[0], block.shape[1]
    rows, columns = (_sizes(operators.bodies, blocks, side) for side in (0, 1))
    return rows[indices[0]], columns[indices[-1]]


def _sizes(mechanism: Mechanism, blocks: Mapping[tuple[int, ...], Array], side: int) -> list[int]:
    """Return the number of rows (side 0) or columns (side 1) of the blocks of each joint.

    The blocks that are not zero show whether it is the number of velocities of the joint, of its
    constrained directions, or one number for all joints.
    """
    sizes = {indices[-side]: block.shape[side] for indices, block in blocks.items()}
    velocities = [joint.type.nv for joint in mechanism.joints]
    usual = next(iter(sizes.values()), 1)
    rules = (velocities, [6 - nv for nv in velocities], [usual] * len(velocities))
    for rule in rules:
        if all(rule[joint] == size for joint, size in sizes.items()):
            return rule
    return [sizes.get(joint, usual) for joint in range(len(velocities))]


def _block_matrix(operators: PaperOperators, letter: Letter[Any]) -> Array:
    """Return the matrix of all blocks, block diagonal for a letter with one index."""
    blocks = {
        indices: block
        for indices in operators.indices(letter)
        if (block := operators.block(letter, indices)) is not None
    }
    if not blocks:
        return np.zeros((1, 1), dtype=int).astype(object)
    if len(letter.indices) == 1 and all(block.shape[1] == 1 for block in blocks.values()):
        return np.concatenate(list(blocks.values()))
    rows, columns = (trees.slices(_sizes(operators.bodies, blocks, side)) for side in (0, 1))
    matrix = np.zeros((rows[-1].stop, columns[-1].stop), dtype=int).astype(object)
    for indices, block in blocks.items():
        matrix[rows[indices[0]], columns[indices[-1]]] = block
    return matrix


def check_form(letter: str, form: str | None, has_values: bool, has_symbols: bool) -> None:
    """Raise RequestError for options that do not apply to a letter of a paper."""
    if form not in (None, "multiangle"):
        raise RequestError(
            f"{letter} is an operator of the paper, which has a canonical form only; leave --form"
            f" {form} out"
        )
    if has_values or has_symbols:
        option = "at" if has_values else "symbols"
        raise RequestError(
            f"{letter} is an operator of the paper, over the symbols of the state; leave"
            f" --{option} out"
        )
