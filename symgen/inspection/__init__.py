"""Read one quantity in closed form: `inspect(robot, "M[1,2]")` is a SymPy expression in q0, q1, … v0, … a0, ….

Entries of M, tau, c and g substitute the named equations of a method back into each other, which happens here and
nowhere else. p[i] and B[i,j] (SA 4) are derived from the declared geometry itself. Indices count from 0; a joint's
name serves as well: "M[panda_joint2,panda_joint3]".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import Any

import sympy as sp

from symgen.closed_forms import Q, cross_matrix, joint_form, joint_vector, twist_transport
from symgen.errors import RequestError
from symgen.generation import program
from symgen.ir import Program
from symgen.loading import load
from symgen.mechanism import Angle, Mechanism, Pose, Shift, Slide, Vector3, nearest

ENTRIES = {"M": ("mass_matrix", 2), "tau": ("inverse_dynamics", 1), "c": ("bias_force", 1), "g": ("gravity_force", 1)}
BLOCKS = {"p": 1, "B": 2}
FORMATS = ("text", "latex", "python", "c")
LONGEST_DENOMINATOR = 30
CLOSED_UP_TO = 600
"""Operations beyond which the text format prints named equations instead of one closed form."""


@dataclass(frozen=True)
class Quantity:
    """A parsed request: the letter and its indices."""

    letter: str
    indices: tuple[int, ...]


def parse(mechanism: Mechanism, what: str) -> Quantity:
    """"M[1,2]" or "M[joint_a,joint_b]"; RequestError says what exists."""
    found = re.fullmatch(r"\s*([A-Za-z]+)\s*\[([^\[\]]*)\]\s*", what)
    known = {**{k: n for k, (_, n) in ENTRIES.items()}, **BLOCKS}
    listed = ", ".join(f"{k}[{','.join('ij'[:n])}]" for k, n in known.items())
    if found is None or found[1] not in known:
        raise RequestError(f"'{what}' is no quantity to inspect; there are: {listed}")
    letter, inside = found[1], [part.strip() for part in found[2].split(",")]
    if len(inside) != known[letter]:
        raise RequestError(f"'{what}' has {len(inside)} indices, {letter} takes {known[letter]}")
    return Quantity(letter, tuple(_index(mechanism, part) for part in inside))


def _index(mechanism: Mechanism, text: str) -> int:
    if not re.fullmatch(r"-?\d{1,6}", text):
        return mechanism.joint_index(text)
    if not 0 <= int(text) < mechanism.nv:
        raise RequestError(f"index {text} is outside this robot's joints; they count from 0 to {mechanism.nv - 1}")
    return int(text)


def inspect(robot: Mechanism | str | PathLike[str], what: str, method: str | None = None) -> Any:
    """One quantity as a SymPy expression (entries) or matrix (p: 6x1 at C_i in link axes, B: 6x6 in link j's axes).

    SI units; q, v, a are symbols q0, v0, a0, …. Raises RequestError for an unknown quantity, joint or method.
    """
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    quantity = parse(mechanism, what)
    if quantity.letter == "p":
        return joint_twist(mechanism, *quantity.indices)
    if quantity.letter == "B":
        return transport(mechanism, *quantity.indices)
    derived, element = _program(mechanism, quantity, method)
    return closed_form(derived, derived.outputs[0].rows[element])


def _program(mechanism: Mechanism, quantity: Quantity, method: str | None) -> tuple[Program, int]:
    function, rank = ENTRIES[quantity.letter]
    element = quantity.indices[0] if rank == 1 else quantity.indices[0] * mechanism.nv + quantity.indices[1]
    return program(mechanism, function, method), element


# -- entries: names substituted back --------------------------------------------------------------------------------

_ACT = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "sin": sp.sin, "cos": sp.cos, "sqrt": sp.sqrt, "log": sp.log,
}


def _number(value: Fraction) -> Any:
    """A rational of the description stays one; a 64-digit value behind a root or a sine becomes a 17-digit Float."""
    if len(str(value.denominator)) <= LONGEST_DENOMINATOR:
        return _exact(value)
    return sp.Float(_exact(value), 17)


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _symbol(derived: Program, row: Any) -> Any:
    port, element = row.value
    return sp.Symbol(f"{derived.inputs[port].name}{element}", real=True)


def _needed(derived: Program, target: int) -> list[int]:
    seen, stack = set(), [target]
    while stack:
        r = stack.pop()
        if r not in seen:
            seen.add(r)
            stack.extend(derived.rows[r].args)
    return sorted(seen)


def equations(derived: Program, target: int, named: bool = True) -> list[tuple[Any, Any]]:
    """(name, expression) of every named row that the target needs, in order; the last is the target's own expression.

    `named` False substitutes every name back.
    """
    values: dict[int, Any] = {}
    found = []
    for r in _needed(derived, target):
        row = derived.rows[r]
        if row.op == "const":
            values[r] = _number(row.value)
        elif row.op == "input":
            values[r] = _symbol(derived, row)
        else:
            values[r] = _ACT[row.op](*(values[a] for a in row.args))
            if named and row.name and r != target:
                found.append((sp.Symbol(row.name, real=True), values[r]))
                values[r] = found[-1][0]
    found.append((sp.Symbol(derived.rows[target].name or "result", real=True), values[target]))
    return found


def closed_form(derived: Program, target: int) -> Any:
    """The expression behind one row, down to the inputs."""
    return equations(derived, target, named=False)[-1][1]


# -- blocks: from the declared geometry --------------------------------------------------------------------------------

def _exact(x: Fraction) -> Any:
    return sp.Rational(x.numerator, x.denominator)


def _rational(v: Vector3) -> Any:
    return sp.Matrix([_exact(x) for x in v])


def _angle(angle: Angle) -> Any:
    return _exact(angle.radians) + _exact(angle.pi) * sp.pi


def turn(axis: Vector3, angle: Any) -> Any:
    """Rodrigues' rotation about a declared axis."""
    n = _rational(axis)
    K = cross_matrix(n / sp.sqrt(n.dot(n)))
    return sp.eye(3) + sp.sin(angle) * K + (1 - sp.cos(angle)) * K * K


def pose_matrices(pose: Pose) -> tuple[Any, Any]:
    """(R, r) of declared steps, exact."""
    R, r = sp.eye(3), sp.zeros(3, 1)
    for step in pose:
        if isinstance(step, Shift):
            r = r + R * _rational(step.xyz)
        elif isinstance(step, Slide):
            n = _rational(step.axis)
            r = r + R * n / sp.sqrt(n.dot(n)) * _exact(step.distance)
        else:
            R = R * turn(step.axis, _angle(step.angle))
    return R, r


def mass_centre(mechanism: Mechanism, i: int) -> Any:
    """d_i: the mass centre in body i's declared frame; the joint's origin for a massless body."""
    total, moment = sp.Integer(0), sp.zeros(3, 1)
    for part in mechanism.bodies[i].parts:
        m = _exact(part.mass)
        total, moment = total + m, moment + m * pose_matrices(part.pose)[1]
    return moment / total if total != 0 else moment


def joint_twist(mechanism: Mechanism, i: int) -> Any:
    """p_i (SA 4) in the declared axes of body i, at its mass centre."""
    joint = mechanism.joints[i]
    axis = _rational(joint.axis)
    axis = axis / sp.sqrt(axis.dot(axis))
    H = joint_form(joint.kind).motion_subspace
    return joint_vector(sp.Matrix.vstack(axis * H[2], axis * H[5]), mass_centre(mechanism, i))


def _link_pose(mechanism: Mechanism, i: int) -> tuple[Any, Any]:
    """Body i's declared frame in its parent's, as a function of q_i."""
    joint = mechanism.joints[i]
    R, r = pose_matrices(joint.pose)
    q = sp.Symbol(f"q{i}", real=True)
    rotation, shift = (m.subs(Q, q) for m in (joint_form(joint.kind).rotation, joint_form(joint.kind).shift))
    n = _rational(joint.axis)
    slide = r + R * n / sp.sqrt(n.dot(n)) * shift[2]
    return (R * turn(joint.axis, q) if rotation != sp.eye(3) else R), slide


def transport(mechanism: Mechanism, i: int, j: int) -> Any:
    """B_ij (SA 4) in the declared axes of body j: from the twist at C_j to the twist at C_i of a body j that carries i."""
    way = [i]
    while way[-1] != j:
        parent = mechanism.joints[way[-1]].parent
        if parent < 0:
            raise RequestError(f"B[{i},{j}] does not exist: joint {j} does not carry joint {i}")
        way.append(parent)
    point = mass_centre(mechanism, i)
    for body in way[:-1]:
        R, r = _link_pose(mechanism, body)
        point = R * point + r
    back, symbols = twist_transport()
    c = mass_centre(mechanism, j) - point                                       # c_ij = c_j − c_i
    return back.subs(dict(zip(symbols, c, strict=True)), simultaneous=True)


# -- printing --------------------------------------------------------------------------------------------------------

def _decimals(expression: Any) -> Any:
    """Rationals with a short decimal expansion, printed as decimals."""
    terminating = [r for r in expression.atoms(sp.Rational) if not r.is_Integer and _terminates(Fraction(int(r.p), int(r.q)))]
    return expression.xreplace({r: sp.sign(r) * sp.Symbol(_decimal(abs(r))) for r in terminating})


def _decimal(r: Any) -> str:
    """A positive terminating Rational as its decimal."""
    places, rest = 0, int(r.q)
    while (10 ** places) % rest:
        places += 1
    digits = str(int(r.p) * (10 ** places // rest)).rjust(places + 1, "0")
    return digits[:-places] + "." + digits[-places:]


def render(mechanism: Mechanism, what: str, method: str | None = None, format: str = "text") -> str:
    """What `symgen inspect` prints; a closed form of more than CLOSED_UP_TO operations is printed as named equations."""
    nearest(format, FORMATS, "format")
    quantity = parse(mechanism, what)
    if quantity.letter in BLOCKS:
        return _printed(inspect(mechanism, what), format)
    derived, element = _program(mechanism, quantity, method)
    target = derived.outputs[0].rows[element]
    if _tree_size(derived, target) <= CLOSED_UP_TO:
        return _printed(closed_form(derived, target), format)
    lines = [_equation(name, value, format) for name, value in equations(derived, target)]
    lines[-1] = _equation(sp.Symbol(_plain(quantity)), equations(derived, target)[-1][1], format)
    return "\n".join(lines)


def _plain(quantity: Quantity) -> str:
    return f"{quantity.letter}_{'_'.join(str(i) for i in quantity.indices)}"


def _tree_size(derived: Program, target: int) -> int:
    size: dict[int, int] = {}
    for r in _needed(derived, target):
        size[r] = 1 + sum(size[a] for a in derived.rows[r].args)
    return size[target]


def _printed(expression: Any, format: str) -> str:
    if format == "latex":
        return str(sp.latex(expression))
    if format == "python":
        if isinstance(expression, sp.MatrixBase):
            return str(expression.tolist())
        return str(sp.pycode(expression, fully_qualified_modules=False))
    if format == "c":
        if isinstance(expression, sp.MatrixBase):
            return "{" + ", ".join(str(sp.ccode(x)) for x in expression) + "}"
        return str(sp.ccode(expression))
    if isinstance(expression, sp.MatrixBase):
        return str(sp.pretty(expression.applyfunc(_decimals), use_unicode=True, wrap_line=False))
    return str(_decimals(expression))


def _equation(name: Any, value: Any, format: str) -> str:
    if format == "latex":
        return f"{sp.latex(name)} = {sp.latex(value)} \\\\"
    if format == "c":
        return f"const double {name} = {sp.ccode(value)};"
    return f"{name} = {_printed(value, format)}"
