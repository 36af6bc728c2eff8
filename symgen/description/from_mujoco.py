"""`from_mujoco`: a compiled MuJoCo model in memory to a Mechanism. Nothing is imported: what is asked of it is its arrays.

MuJoCo has computed the inertia of meshes and geoms, so that this is the way for a model whose masses lie in them. A body has its
name in the model (`body3` where it has none), and so have joints and named sites, which are frames. A body with several joints
is moved by as many, with massless links between. Numbers of coordinates, theirs → ours, in MuJoCo's order:

    hinge, slide    q and v are the same, `ref` included
    ball            quaternion w x y z → x y z w; v, the angular velocity in the body's axes, is the same
    free            place the same, quaternion w x y z → x y z w; v: MuJoCo's linear velocity is in the world's axes, ours in the
                    body's: v_ours = Rᵀ v_theirs; the angular one, in the body's axes, is the same

Joints that an equality couples keep coordinates of their own, as they have in MuJoCo, unless `mimic` is "couple".
Equalities that connect or weld bodies are loops, closed from the keyframe `home` or from qpos0; MuJoCo holds them softly.
Armature, damping, springs and gravcomp are applied as they are, friction loss as symgen's smooth friction, where MuJoCo's sticks.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any, NamedTuple, Unpack

from symgen.description.loading import load
from symgen.description.models import SOFT, Given, exact, fresh, inactive, pose, vector
from symgen.description.quantities import Place, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import (
    AS_DECLARED,
    Closing,
    Connection,
    ExtraFrame,
    Grip,
    Inertial,
    Link,
    Tree,
)
from symgen.mechanism.drives import Drive
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import Limits, Mechanism, Mimic, Note
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import RobotOptions
from symgen.vocabulary.poses import Z_AXIS, ZERO3, Angle, Pose, Shift, Slide, Turn, Vector3, compose

FREE, BALL, SLIDE, HINGE = range(4)
"""mjtJoint."""
CONNECT, WELD, JOINT = range(3)
"""mjtEq."""
_KINDS = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
_CLOSES = {CONNECT: "point", WELD: "weld"}
_DRIVEN = (0, 1)
"""What moves a joint, of MuJoCo's mjtTrn: the joint itself, or it in the parent's axes."""
BODY, SITE = 1, 6
"""mjtObj, of what an equality holds."""
HOME = "home"
"""The keyframe from which closing loops starts, where there is one."""
_LEFT_OUT = (
    ("ntendon", "tendons", "their forces, limits and armature are"),
    ("nflex", "flexible bodies", "they are"),
    ("nplugin", "plugins", "they are"),
    ("nplastic", "joints that yield", "that is"),
)
_DOF_WORDS = {"armature": "armature", "damping": "damping", "friction": "frictionloss"}
"""What MuJoCo calls the numbers of each velocity."""
_SWITCHES = {"armature": "", "damping": "DAMPER", "friction": "FRICTIONLOSS", "stiffness": "SPRING"}
"""Of a drive: the bit of `option` that disables it; none does an armature."""
_POLYNOMIALS = ("jnt_stiffnesspoly", "dof_dampingpoly")


def from_mujoco(model: Any, **options: Unpack[RobotOptions]) -> Mechanism:
    """The mechanism of `model`, a mujoco.MjModel, read with the options of `symgen.load`.

    What of its dynamics is left out (tendons, fluid) is a note of the mechanism. DescriptionError names a body or
    joint that symgen cannot have; ArgumentError where `model` is no such model.
    """
    for name in ("body_parentid", "body_iquat", "jnt_type", "dof_armature", "qpos0", "opt"):
        if not hasattr(model, name):
            raise ArgumentError(
                f"{type(model).__name__} has no '{name}', as a MuJoCo model has; give a mujoco.MjModel"
            )
    return load(Given("MuJoCo model", lambda snapper: _Reading(model, snapper).tree()), **options)


class _Seat(NamedTuple):
    """What moves a body's own frame: a link, and the pose of that frame from the frame of the link's joint."""

    link: str
    pose: Pose


class _Reading:
    """One model, while it is read."""

    def __init__(self, model: Any, snapper: Snapper) -> None:
        self.model, self.snapper = model, snapper
        self.place = Place(f"MuJoCo model {shown(_text(model, 0))}")
        self.links: list[Link] = []
        self.connections: list[Connection] = []
        self.notes: list[Note] = []
        self.joints = [self._named("name_jntadr", k, "joint") for k in range(model.njnt)]
        self.bodies = [self._named("name_bodyadr", k, "body") for k in range(model.nbody)]
        self.follows: dict[int, Mimic] = {}

    def tree(self) -> Tree:
        """What a reader of a file hands over."""
        model = self.model
        self._equalities()
        seats = [_Seat(self.bodies[0], ())]
        self.links.append(Link(self.bodies[0], self._inertia(0, ()), self.place))
        for body in range(1, model.nbody):
            seats.append(self._moved(body, seats[int(model.body_parentid[body])]))
        self._unsaid()
        gravity = (
            ZERO3
            if self._disabled("GRAVITY")
            else vector(model.opt.gravity, self.place.at("gravity"))
        )
        loops = self._loops(seats)
        return Tree(
            _text(model, 0),
            tuple(self.links),
            tuple(self.connections),
            self._sites(seats),
            gravity,
            place=self.place,
            pinocchio_order=AS_DECLARED,
            notes=tuple(self.notes),
            loops=loops,
            start=self._start() if loops else (),
            actuated=self._driven() if loops else (),
        )

    def _driven(self) -> tuple[str, ...]:
        """The hinges and slides that actuators drive."""
        model = self.model
        found = (
            int(model.actuator_trnid[k][0])
            for k in range(model.nu)
            if int(model.actuator_trntype[k]) in _DRIVEN
        )
        return tuple(
            dict.fromkeys(self.joints[k] for k in found if int(model.jnt_type[k]) in (SLIDE, HINGE))
        )

    def _moved(self, body: int, on: _Seat) -> _Seat:
        """A body, its joints, and the links between these."""
        model, name = self.model, self.bodies[body]
        first = int(model.body_jntadr[body])
        joints = range(first, first + int(model.body_jntnum[body]))
        here = self.place.at(f"body {shown(name)}")
        behind = compose(
            on.pose, pose(model.body_pos[body], model.body_quat[body], self.snapper, here)
        )
        if not joints:
            self.connections.append(
                Connection(f"{name}_fixed", "fixed", on.link, name, behind, place=here)
            )
            if getattr(model, "body_mocapid", [-1] * (body + 1))[body] >= 0:
                self.notes.append(
                    Note(
                        "warning",
                        f"body {name} is a mocap body, which the user moves; it stands still here",
                    )
                )
        parent = on.link
        after: Pose = ()
        for joint in joints:
            link = name if joint == joints[-1] else f"{name}_{self.joints[joint]}"
            at, kind = vector(model.jnt_pos[joint], here), int(model.jnt_type[joint])
            # A free body's place is q alone, from the world.
            seat = (
                on.pose if kind == FREE else compose(behind, (Shift(at),), self._back(joint, here))
            )
            self.connections.append(self._joint(joint, parent, link, seat))
            behind = after = () if kind == FREE else compose((Shift(_negative(at)),))
            if link != name:
                self.links.append(Link(link, place=here))
            parent = link
        self.links.append(Link(name, self._inertia(body, after), here, after))
        return _Seat(name, after)

    def _back(self, joint: int, place: Place) -> Pose:
        """The motion from q = 0 to where the model is drawn, backwards: that is at q = `ref`."""
        kind, axis = int(self.model.jnt_type[joint]), vector(self.model.jnt_axis[joint], place)
        if kind not in (SLIDE, HINGE):
            return ()
        drawn = exact(self.model.qpos0[int(self.model.jnt_qposadr[joint])], place)
        return compose((Turn(axis, Angle(-drawn)) if kind == HINGE else Slide(axis, -drawn),))

    def _joint(self, joint: int, parent: str, child: str, seat: Pose) -> Connection:
        model, name = self.model, self.joints[joint]
        here, kind = self.place.at(f"joint {shown(name)}"), int(model.jnt_type[joint])
        along_axis = kind in (SLIDE, HINGE)
        drive = self._drive(joint, here)
        limits = self._limits(joint, here) if along_axis else Limits()
        axis = vector(model.jnt_axis[joint], here) if along_axis else Z_AXIS
        stiffness = exact(model.jnt_stiffness[joint], here)
        unapplied = (("stiffness", stiffness),) if stiffness and not along_axis else ()
        return Connection(
            name,
            _KINDS[kind],
            parent,
            child,
            seat,
            axis,
            limits,
            self.follows.get(joint),
            unapplied,
            here,
            drive=drive,
        )

    def _drive(self, joint: int, place: Place) -> Drive:
        """Return what drives a joint, without what the model's options switch off."""
        model, kind = self.model, int(self.model.jnt_type[joint])
        first = int(model.jnt_dofadr[joint])
        velocities = slice(first, first + {FREE: 6, BALL: 3}.get(kind, 1))
        numbers = {
            name: [exact(x, place) for x in getattr(model, f"dof_{word}")[velocities]]
            for name, word in _DOF_WORDS.items()
        }
        stiffness = exact(model.jnt_stiffness[joint], place)
        if kind == FREE:
            for name, values in numbers.items():
                if len(set(values[:3])) > 1:
                    raise place.error(
                        f"its linear velocities differ in {name}, along the axes of the world",
                        "make them equal",
                    )
        if kind in (SLIDE, HINGE) and stiffness:
            rest = exact(model.qpos_spring[int(model.jnt_qposadr[joint])], place)
            numbers |= {"stiffness": [stiffness], "rest": [rest]}
        return Drive.of_velocities(numbers).only(
            name for name, switch in _SWITCHES.items() if not self._disabled(switch)
        )

    def _limits(self, joint: int, place: Place) -> Limits:
        if not self.model.jnt_limited[joint]:
            return Limits()
        return Limits(*(exact(end, place) for end in self.model.jnt_range[joint]))

    def _inertia(self, body: int, within: Pose) -> tuple[Inertial, ...]:
        """Principal moments in axes of their own; nothing of a body without mass."""
        model, here = self.model, self.place.at(f"body {shown(self.bodies[body])}")
        mass, moments = exact(model.body_mass[body], here), vector(model.body_inertia[body], here)
        if not mass and not any(moments):
            return ()
        (xx, yy, zz), zero = moments, Fraction(0)
        at = pose(model.body_ipos[body], model.body_iquat[body], self.snapper, here)
        return (
            Inertial(
                mass,
                (xx, zero, zero, yy, zero, zz),
                compose(within, at),
                here,
                gravcomp=self._borne(body, here),
            ),
        )

    def _borne(self, body: int, place: Place) -> Fraction:
        """The fraction of its weight that is borne; without springs and dampers MuJoCo has no passive forces at all."""
        none = self._disabled("SPRING") and self._disabled("DAMPER")
        return (
            Fraction(0)
            if none or not hasattr(self.model, "body_gravcomp")
            else exact(self.model.body_gravcomp[body], place)
        )

    def _equalities(self) -> None:
        """Joints that follow others; what neither follows nor closes a loop is said, and left out."""
        model = self.model
        for k in range(model.neq):
            kind, first, second = (
                int(model.eq_type[k]),
                int(model.eq_obj1id[k]),
                int(model.eq_obj2id[k]),
            )
            factors = [exact(one, self.place.at(f"equality {k}")) for one in model.eq_data[k][:5]]
            if not model.eq_active0[k]:
                continue
            if kind == JOINT and second >= 0 and not any(factors[2:]) and factors[1]:
                drawn, leads = (
                    exact(model.qpos0[int(model.jnt_qposadr[j])], self.place)
                    for j in (first, second)
                )
                self.follows[first] = Mimic(
                    self.joints[second], factors[1], factors[0] + drawn - factors[1] * leads
                )
                continue
            if kind not in _CLOSES:
                what = (
                    "a joint at a place or by a curve"
                    if kind == JOINT
                    else "a tendon or a flexible body"
                )
                self.notes.append(Note("warning", f"equality {k} holds {what}; left out"))

    def _loops(self, seats: list[_Seat]) -> tuple[Closing, ...]:
        """The equalities that hold bodies together, between places that MuJoCo has found already."""
        model, found, off = self.model, list[Closing](), list[str]()
        taken = {_text(model, int(at)) for at in model.name_eqadr}
        for k in (k for k in range(model.neq) if int(model.eq_type[k]) in _CLOSES):
            kind, name = (
                int(model.eq_type[k]),
                _text(model, int(model.name_eqadr[k])) or fresh(f"loop{k}", taken),
            )
            if self._disabled("EQUALITY") or not model.eq_active0[k]:
                off.append(name)
                continue
            here = self.place.at(f"equality {shown(name)}")
            found.append(
                Closing(name, _CLOSES[kind], *self._ends(k, kind, seats, here), place=here)
            )
        self.notes += [*inactive(off), *([Note("info", SOFT)] if found else [])]
        return tuple(found)

    def _ends(self, k: int, kind: int, seats: list[_Seat], place: Place) -> tuple[Grip, Grip]:
        model, data = self.model, self.model.eq_data[k]
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if int(getattr(model, "eq_objtype", [BODY] * model.neq)[k]) == SITE:
            one, other = (
                _Seat(
                    seats[int(model.site_bodyid[site])].link,
                    compose(
                        seats[int(model.site_bodyid[site])].pose,
                        pose(model.site_pos[site], model.site_quat[site], self.snapper, place),
                    ),
                )
                for site in (first, second)
            )
            return Grip(one.link, one.pose, place), Grip(other.link, other.pose, place)
        near, far = (Shift(vector(data[3 * i : 3 * i + 3], place)) for i in range(2))
        ends: tuple[Pose, Pose] = ((near,), (far,))
        if kind == WELD:  # there the second body's place stands first
            ends = pose(data[3:6], data[6:10], self.snapper, place), (near,)
        return (
            Grip(seats[first].link, compose(seats[first].pose, ends[0]), place),
            Grip(seats[second].link, compose(seats[second].pose, ends[1]), place),
        )

    def _start(self) -> tuple[tuple[str, tuple[Angle, ...]], ...]:
        """Where closing them starts; joints at their zero are not named."""
        model, found = self.model, []
        names = [_text(model, int(at)) for at in model.name_keyadr]
        qpos = model.key_qpos[names.index(HOME)] if HOME in names else model.qpos0
        for joint in range(model.njnt):
            of, at = joint_type(_KINDS[int(model.jnt_type[joint])]), int(model.jnt_qposadr[joint])
            values = [exact(one, self.place) for one in qpos[at : at + of.nq]]
            if of.quaternion is not None:  # w x y z there
                values = [
                    *values[: of.quaternion],
                    *values[of.quaternion + 1 :],
                    values[of.quaternion],
                ]
            if tuple(values) != of.neutral:
                found.append((self.joints[joint], tuple(Angle(value) for value in values)))
        return tuple(found)

    def _unsaid(self) -> None:
        """Notes of what else has a part in MuJoCo's dynamics."""
        model = self.model
        for count, what, left in _LEFT_OUT:
            if getattr(model, count, 0):
                self.notes.append(Note("warning", f"the model has {what}; {left} left out"))
        if hasattr(model, "actuator_armature") and model.actuator_armature.any():
            self.notes.append(
                Note("warning", "actuators have armature of their own; it is left out")
            )
        if getattr(model, "ngravcomp", 0) and model.jnt_actgravcomp.any():
            self.notes.append(
                Note(
                    "info",
                    "at some joints MuJoCo has actuators bear the weight by gravcomp, which is no part of "
                    "tau here",
                )
            )
        if model.opt.density or model.opt.viscosity:
            self.notes.append(Note("warning", "the model is in a fluid; its drag is left out"))
        if any(getattr(model, name).any() for name in _POLYNOMIALS if hasattr(model, name)):
            self.notes.append(
                Note(
                    "warning",
                    "joints have springs or damping of a higher order; that part is left out",
                )
            )

    def _sites(self, seats: list[_Seat]) -> tuple[ExtraFrame, ...]:
        """Sites with a name that nothing else has."""
        model, found = self.model, {link.name: None for link in self.links}
        frames = []
        for site in range(model.nsite):
            name, on = (
                _text(model, int(model.name_siteadr[site])),
                seats[int(model.site_bodyid[site])],
            )
            if name and name not in found:
                found[name] = None
                here = self.place.at(f"site {shown(name)}")
                at = pose(model.site_pos[site], model.site_quat[site], self.snapper, here)
                frames.append(ExtraFrame(name, on.link, compose(on.pose, at), here))
        return tuple(frames)

    def _disabled(self, what: str) -> bool:
        """Whether the model's options switch that off. Which bit it is, the version of MuJoCo tells that made the model."""
        bits = getattr(sys.modules.get("mujoco"), "mjtDisableBit", None)
        return bool(
            int(getattr(self.model.opt, "disableflags", 0))
            & int(getattr(bits, f"mjDSBL_{what}", 0))
        )

    def _named(self, addresses: str, index: int, what: str) -> str:
        return _text(self.model, int(getattr(self.model, addresses)[index])) or f"{what}{index}"


def _negative(at: Vector3) -> Vector3:
    return -at[0], -at[1], -at[2]


def _text(model: Any, address: int) -> str:
    """The name that begins at an address among the model's names."""
    return bytes(model.names)[address:].split(b"\0", 1)[0].decode("utf-8", errors="replace")
