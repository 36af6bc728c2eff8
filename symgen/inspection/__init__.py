"""Read the dynamics: every result and every letter of every method, as a formula that a person can follow.

`inspect(robot, "M[1,2]")` is a SymPy expression in q0, q1, … v0, … a0, …; `"P[2]"` is a block of a method's own; without an index
it is the whole matrix. Indices count from 0. A joint's name may stand for its number: "M[panda_joint2,panda_joint3]". `catalogue`
knows what there is, `entries` derives it, `equations` puts names back into each other, `names` says how they count, `printing`
writes it down.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from symgen.description.arguments import validated_with
from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.options import FormulaRequest

if TYPE_CHECKING:
    from symgen.inspection.multiangle import MultiAngle
    from symgen.inspection.reading import Recursive


@validated_with(FormulaRequest, form="closed")
def inspect(
    robot: Mechanism | str | PathLike[str],
    what: str,
    method: str | None = None,
    **options: Unpack[FormulaRequest],
) -> Any:
    """One quantity, SI units, as a SymPy expression, or a Matrix where it has more than one entry.

    Results (M, tau, c, g, J …) are those of the generated program. A method's letters (P, psi, U, H_theta_L …) stand in the
    link frames as declared, at their origins (SA's at the mass centres), no inertia moved to a parent. `form` "recursive"
    gives named equations down to the inputs instead, "multiangle" the canonical form of an entry of M, c, g or tau (a
    `MultiAngle`: unique, so that == decides; .sympy() is its sum). `at` puts numbers in for inputs, {"q1": "pi/2", "elbow": 0},
    exact at multiples of pi/2; `frame` names the link that J and Lambda_inv speak of, or several in a list, and the first index
    of J is then the frame's; `symbols` ("all", "m,l" …) keeps masses, mass centres, moments and lengths as symbols m_1, c_1_x,
    I_1_xx, l_1_x; `task_rows` are the rows that Lambda and Jbar are about, and "Lambda[x,wz]" may name them. Every answer is the
    whole formula and renders in a notebook: a SymPy object wholly, a long MultiAngle as its largest terms + ⋯ with the number of
    the others in the sum.
    Raises RequestError, one sentence, for an unknown quantity, index, joint or method, and for a formula beyond reading.
    """
    from symgen.inspection.at import of_mapping
    from symgen.inspection.parameters import kinds
    from symgen.inspection.reading import FormulaOptions, read

    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    formula = FormulaOptions(
        options["form"],
        at=of_mapping(mechanism, options["at"] or {}),
        frame=options["frame"],
        keep=kinds(options["symbols"]),
        task_rows=options["task_rows"],
    )
    value: Any | Recursive | MultiAngle = read(mechanism, what, method, formula).value
    return value
