"""Inspection: every result of a function and every letter of a method, as a readable formula.

A letter is a quantity of a method in the notation of its paper, such as the articulated-body
inertia P. `inspect(robot, "M[1,2]")` is a SymPy expression in q0, q1, … v0, … a0, …; `"P[2]"` is a
block of a letter; without an index the formula is the full matrix. Indices count from 0. The name
of a joint may replace its number: "M[panda_joint2,panda_joint3]".

`catalogue` lists the quantities, `entries` derives them, `equations` writes named equations,
`names` defines the symbols, and `printing` formats the formula.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from symgen.description.arguments import validated_with
from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import warn
from symgen.vocabulary.options import FormulaRequest

if TYPE_CHECKING:
    from symgen.inspection.multiangle import MultiAngle


@validated_with(FormulaRequest)
def inspect(
    robot: Mechanism | str | PathLike[str],
    what: str,
    method: str | None = None,
    **options: Unpack[FormulaRequest],
) -> Any:
    """Return one quantity in SI units: a SymPy expression, or a Matrix if it has several entries.

    Results (M, tau, c, g, J …) are those of the generated program. The letters of a method (P, psi,
    U, H_theta_L …) refer to the link frames of the description: their axes and their origins; those
    of SA (Saha) refer to the mass centres. The program may move inertia from a link to its parent;
    the letters keep the inertias of the description. Some methods divide by the inertia of every
    link. If such an inertia is singular, moments of inertia on which no motion depends are added,
    and a SymgenWarning says so.

    Without `form`, the size of the formula decides. Letters, Minv, det and Lambda_inv are in
    canonical form if they have one (see `symgen.inspection.canonical`), other quantities in closed
    form. If the closed form has more than 500 000 operations, the result is a `Recursive`, named
    equations. If the named equations are too many as well, a function's result without an index is
    returned as a `Loops`, the equations of one link. A SymgenWarning announces a `Recursive` or a
    `Loops`.

    Values of `form`:

    - "closed": one expression; RequestError if it is too long.
    - "recursive": named equations down to the inputs.
    - "multiangle": the canonical form, which is a `MultiAngle`, a `Quotient` of two, or a
      `Canonical` if there are several entries. It is unique, so == decides equality; .sympy()
      converts it. If the robot has angles in decimals, a `Quotient` is computed for rational
      rotations that differ from them by at most 1e-78 rad. Its coefficients then agree with those
      of the robot to 55 digits.
    - "looped": the equations of one link, for a function's result without an index.

    Other arguments:

    - `at`: numbers for inputs, {"q1": "pi/2", "elbow": 0}; multiples of pi/2 are exact.
    - `frame`: the link to which J and Lambda_inv refer, or a list of several links; the first index
      of J is then that of the link.
    - `symbols`: "all" or a list such as "m,l"; masses, mass centres, moments of inertia and lengths
      remain symbols m_1, c_1_x, I_1_xx, l_1_x.
    - `task_rows`: the rows of the task of Lambda and Jbar; "Lambda[x,wz]" may name them.

    Indices i, j, k and l denote any link of a serial chain of like links. The formulas in these
    indices and in the number of links n are a `General`; its method .block(n=50, i=3, j=7) is one
    block. symgen compares the formulas with chains of up to nine links. `.proved_from` names the
    definition from which they are proved for every n, and is "" if they are only compared.

    A letter without such a formula, such as P[i], is a `Steps`, and a SymgenWarning says so.
    `Steps` is one step of its recursion, from link i + 1 to link i. .block(n=50, i=3) is one block.
    The symbols q0, q1 and entry_R_C of the step are the coordinates of links i and i + 1 and the
    entries of the articulated-body inertia, or of the carried wrench. form="recursive" requests the
    step explicitly, without a warning.

    Every formula is complete. A notebook displays SymPy objects completely, and of a long
    MultiAngle the largest terms and the number of the other terms.

    Raises RequestError for an unknown quantity, index, joint or method, and for a formula that is
    too large to read.
    """
    from symgen.derivation.model import completed_links, completion_note
    from symgen.inspection.at import values_from_mapping
    from symgen.inspection.canonical import Canonical
    from symgen.inspection.general.steps import Steps
    from symgen.inspection.parameters import parse_kinds
    from symgen.inspection.reading import CLOSED_AT_MOST, FormulaOptions, Recursive, read
    from symgen.inspection.sweeps import Loops

    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    formula = FormulaOptions(
        options["form"],
        at=values_from_mapping(mechanism, options["at"] or {}),
        frame=options["frame"],
        keep=parse_kinds(options["symbols"]),
        task_rows=options["task_rows"],
        closed_up_to=CLOSED_AT_MOST,
    )
    reading = read(mechanism, what, method, formula)
    completion = completion_note(completed_links(mechanism))
    if completion in reading.notes:
        warn(completion)
    value: Any | Recursive | Loops | Steps | MultiAngle | Canonical = reading.value
    if isinstance(value, Canonical):
        if formula.form is None:
            return value.sympy()
        return value if value.shape else value.entries[0]
    if formula.form is None and isinstance(value, Recursive | Loops | Steps):
        for note in reading.notes:
            warn(note)
    return value
