"""Inspection: every result and every letter of every method, as a readable formula.

`inspect(robot, "M[1,2]")` is a SymPy expression in q0, q1, … v0, … a0, …; `"P[2]"` is a block of a
method's own quantity; without an index the result is the full matrix. Indices count from 0. A
joint's name may replace its number: "M[panda_joint2,panda_joint3]".

`catalogue` lists the quantities, `entries` derives them, `equations` substitutes names, `names`
defines how names count, and `printing` formats the result.
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
    """Return one quantity, in SI units, as a SymPy expression, or as a Matrix if it has several
    entries.

    A method's letter, Minv, det and Lambda_inv are in canonical form if they have one (see
    `symgen.inspection.canonical`), anything else in closed form.
    A closed form of more than 500 000 operations is returned as named equations (`Recursive`); if
    those are refused as well, a whole result is returned as the equations of one link (`Loops`). A
    SymgenWarning says so. `form="closed"` raises an error instead.

    Results (M, tau, c, g, J …) are those of the generated program. A method's letters (P, psi, U,
    H_theta_L …) refer to the declared link frames, at their origins (SA's at the mass centres),
    without inertia moved to a parent. If a method adds moments of inertia that no motion depends
    on, a SymgenWarning says so.

    `form`: "closed" for one expression, "recursive" for named equations down to the inputs,
    "multiangle" for the canonical form, "looped" for the equations of one link of a whole result.
    The canonical form is a `MultiAngle`, a `Quotient` of two, or for several entries a `Canonical`;
    it is unique, so == decides equality, and .sympy() returns it as SymPy. In a `Quotient` of a
    robot with decimal angles, rational rotations within 1e-78 rad replace these angles, and
    coefficients agree with those of the robot to 55 digits. `at`: numbers for inputs,
    {"q1": "pi/2", "elbow": 0}, exact at multiples of pi/2. `frame`: the link to which J and
    Lambda_inv refer, or a list of several; the first index of J is then that of the frame.
    `symbols`: "all" or a list such as "m,l"; masses, mass centres, moments and lengths remain
    symbols m_1, c_1_x, I_1_xx, l_1_x. `task_rows`: the rows of the task of Lambda and Jbar, which
    "Lambda[x,wz]" may name.

    Letters i, j, k and l in place of indices stand for the links of a chain of like links. The
    formulas in these letters and the number of links n are a `General`: .block(n=50, i=3, j=7) is
    an entry. They are compared with chains of up to nine links. `.proved_from` names the definition
    from which they are proved for every n, and is "" if they are compared only. A letter without
    such a formula, such as P[i], is a `Steps`, with a SymgenWarning: the recursion step from the
    next link, or of U[i,j], from link i + 1 to link i. .block(n=50, i=3) is a block of it; its
    symbols q0, q1 and entry_R_C are the coordinates of links i and i + 1 and the entries of the
    articulated-body inertia, or of the carried wrench. form="recursive" asks for it.

    Every result is the complete formula. In a notebook a SymPy object is rendered completely, a
    long MultiAngle by its largest terms + ⋯ with the number of the other terms.

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
