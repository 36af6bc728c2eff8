"""`from_mujoco`: a Mechanism from a compiled MuJoCo model in memory. The reader uses the arrays of
the model only, and does not import the package `mujoco`.

A compiled model already contains the masses and inertias that MuJoCo computes from meshes and
geoms, so that such models can be read, too. Bodies and joints keep their names; an unnamed body is
called `body3` after its index. Named sites become frames. For a body with several joints, massless
links are added between these joints. Coordinates in MuJoCo → in symgen, in MuJoCo's order:

    hinge, slide    q and v are the same, `ref` included
    ball            quaternion w x y z → x y z w; v, the angular velocity in the body's axes, is
                    the same
    free            the position is the same, quaternion w x y z → x y z w; MuJoCo's linear velocity
                    is in the world's axes, symgen's in the body's: v_symgen = Rᵀ v_mujoco; the
                    angular velocity, in the body's axes, is the same

Joints that an equality couples stay independent coordinates, as in MuJoCo, unless `mimic` is
"couple". Equalities that connect or weld bodies become closed loops, which MuJoCo enforces softly.
The search for a pose that closes the loops starts at the keyframe `home`, or at qpos0. Armature,
damping, springs and gravcomp are applied unchanged. Friction loss becomes symgen's smooth friction;
MuJoCo's friction includes stiction.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any, NamedTuple, Unpack

from symgen.description.loading import load
from symgen.description.models import (
    SOFT_LOOPS,
    ModelInMemory,
    exact,
    note_hidden_sites,
    note_inactive_loops,
    pose,
    unused_name,
    vector,
)
from symgen.description.quantities import Location, quote
from symgen.description.snapping import Snapper
from symgen.description.tree import (
    AS_DECLARED,
    Connection,
    DeclaredLoop,
    ExtraFrame,
    Inertial,
    Link,
    LoopEnd,
    Tree,
)
from symgen.mechanism.drives import Drive
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import Limits, Mechanism, Mimic, Note
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import RobotOptions
from symgen.vocabulary.poses import Z_AXIS, ZERO3, Angle, Pose, Shift, Slide, Turn, Vector3, compose

FREE, BALL, SLIDE, HINGE = range(4)
"""Joint types of MuJoCo (mjtJoint)."""
CONNECT, WELD, JOINT = range(3)
"""Equality types of MuJoCo (mjtEq)."""
_JOINT_KINDS = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
_LOOP_KINDS = {CONNECT: "point", WELD: "weld"}
"""symgen's names of the equalities that close loops."""
_JOINT_TRANSMISSIONS = (0, 1)
"""Actuator transmissions to a joint (mjtTrn): mjTRN_JOINT and mjTRN_JOINTINPARENT."""
SITE = 6
"""Object type of equalities between sites (mjtObj). Others are between bodies, as in older models.
"""
HOME = "home"
"""Name of the keyframe at which the search for a closed pose starts, if the keyframe exists."""
_OMITTED_FEATURES = (
    ("ntendon", "tendons", "their forces, limits and armature are"),
    ("nflex", "flexible bodies", "they are"),
    ("nplugin", "plugins", "they are"),
    ("nplastic", "joints that yield", "that is"),
)
"""Count in the model, the feature in words, and the start of the sentence "… left out"."""
_DOF_WORDS = {"armature": "armature", "damping": "damping", "friction": "frictionloss"}
"""MuJoCo's names of the drive values of each velocity."""
_DISABLE_FLAGS = {
    "armature": "",
    "damping": "DAMPER",
    "friction": "FRICTIONLOSS",
    "stiffness": "SPRING",
}
"""Suffix of the flag mjDSBL_… that disables a kind of drive; no flag disables the armature."""
_POLYNOMIALS = ("jnt_stiffnesspoly", "dof_dampingpoly")
"""Arrays of the coefficients of higher order of springs and dampers."""


def from_mujoco(model: Any, **options: Unpack[RobotOptions]) -> Mechanism:
    """Return the mechanism of `model`, a mujoco.MjModel, read with the options of `symgen.load`.

    Notes of the mechanism report omitted parts of its dynamics (tendons, fluid). Raises
    DescriptionError for a body or joint that symgen cannot represent, and ArgumentError if `model`
    is not a mujoco.MjModel.
    """
    for name in ("body_parentid", "body_iquat", "jnt_type", "dof_armature", "qpos0", "opt"):
        if not hasattr(model, name):
            raise ArgumentError(
                f"{type(model).__name__} has no attribute '{name}' of a MuJoCo model; give a"
                " mujoco.MjModel"
            )
    return load(
        ModelInMemory("MuJoCo model", lambda snapper: _Reading(model, snapper).tree()), **options
    )


class _BodyFrame(NamedTuple):
    """Frame of a MuJoCo body: symgen's link, and the pose of the frame from the frame in which the
    link moves, the frame of its last joint.
    """

    link: str
    pose: Pose


class _Reading:
    """Conversion of one model: links, connections and notes so far."""

    def __init__(self, model: Any, snapper: Snapper) -> None:
        self.model, self.snapper = model, snapper
        self.location = Location(f"MuJoCo model {quote(_text(model, 0))}")
        self.links: list[Link] = []
        self.connections: list[Connection] = []
        self.notes: list[Note] = []
        self.joints = [self._name("name_jntadr", k, "joint") for k in range(model.njnt)]
        self.bodies = [self._name("name_bodyadr", k, "body") for k in range(model.nbody)]
        self.mimics: dict[int, Mimic] = {}

    def tree(self) -> Tree:
        """Return the tree, as a reader of a file does."""
        model = self.model
        self._read_couplings()
        body_frames = [_BodyFrame(self.bodies[0], ())]
        self.links.append(Link(self.bodies[0], self._inertia(0, ()), self.location))
        for body in range(1, model.nbody):
            body_frames.append(self._add_body(body, body_frames[int(model.body_parentid[body])]))
        self._note_omissions()
        gravity = (
            ZERO3
            if self._is_disabled("GRAVITY")
            else vector(model.opt.gravity, self.location.at("gravity"))
        )
        loops = self._loops(body_frames)
        return Tree(
            _text(model, 0),
            tuple(self.links),
            tuple(self.connections),
            self._sites(body_frames),
            gravity,
            location=self.location,
            pinocchio_order=AS_DECLARED,
            notes=tuple(self.notes),
            loops=loops,
            start=self._start() if loops else (),
            actuated=self._actuated_joints() if loops else (),
        )

    def _actuated_joints(self) -> tuple[str, ...]:
        """Return the hinges and slides that actuators drive."""
        model = self.model
        joints = (
            int(model.actuator_trnid[k][0])
            for k in range(model.nu)
            if int(model.actuator_trntype[k]) in _JOINT_TRANSMISSIONS
        )
        return tuple(
            dict.fromkeys(
                self.joints[k] for k in joints if int(model.jnt_type[k]) in (SLIDE, HINGE)
            )
        )

    def _add_body(self, body: int, carrier: _BodyFrame) -> _BodyFrame:
        """Add a body with its joints and the massless links between them, and return its frame.

        `carrier` is the frame of the parent body.
        """
        model, name = self.model, self.bodies[body]
        first = int(model.body_jntadr[body])
        joints = range(first, first + int(model.body_jntnum[body]))
        body_location = self.location.at(f"body {quote(name)}")
        offset = compose(
            carrier.pose,
            pose(model.body_pos[body], model.body_quat[body], self.snapper, body_location),
        )
        if not joints:
            self.connections.append(
                Connection(
                    f"{name}_fixed", "fixed", carrier.link, name, offset, location=body_location
                )
            )
            mocap_ids = getattr(model, "body_mocapid", None)
            if mocap_ids is not None and mocap_ids[body] >= 0:
                self.notes.append(
                    Note(
                        "warning",
                        f"body {name} is a mocap body, which a program moves; it is fixed here",
                    )
                )
        parent = carrier.link
        frame_pose: Pose = ()
        for joint in joints:
            link = name if joint == joints[-1] else f"{name}_{self.joints[joint]}"
            anchor, kind = vector(model.jnt_pos[joint], body_location), int(model.jnt_type[joint])
            # q alone is the pose of a free body in the world; qpos0 contains the declared pose.
            joint_pose = (
                carrier.pose
                if kind == FREE
                else compose(
                    offset, (Shift(anchor),), self._motion_from_reference(joint, body_location)
                )
            )
            self.connections.append(self._joint(joint, parent, link, joint_pose))
            offset = frame_pose = () if kind == FREE else compose((Shift(_negative(anchor)),))
            if link != name:
                self.links.append(Link(link, location=body_location))
            parent = link
        self.links.append(Link(name, self._inertia(body, frame_pose), body_location, frame_pose))
        return _BodyFrame(name, frame_pose)

    def _motion_from_reference(self, joint: int, location: Location) -> Pose:
        """Return the joint's motion by −ref.

        MuJoCo declares the poses of bodies at q = `ref`, symgen at q = 0.
        """
        kind, axis = int(self.model.jnt_type[joint]), vector(self.model.jnt_axis[joint], location)
        if kind not in (SLIDE, HINGE):
            return ()
        reference = exact(self.model.qpos0[int(self.model.jnt_qposadr[joint])], location)
        return compose(
            (Turn(axis, Angle(-reference)) if kind == HINGE else Slide(axis, -reference),)
        )

    def _joint(self, joint: int, parent: str, child: str, joint_pose: Pose) -> Connection:
        """Return the joint with its limits and drive."""
        model, name = self.model, self.joints[joint]
        joint_location, kind = self.location.at(f"joint {quote(name)}"), int(model.jnt_type[joint])
        along_axis = kind in (SLIDE, HINGE)
        drive = self._drive(joint, joint_location)
        limits = self._limits(joint, joint_location) if along_axis else Limits()
        axis = vector(model.jnt_axis[joint], joint_location) if along_axis else Z_AXIS
        stiffness = exact(model.jnt_stiffness[joint], joint_location)
        unapplied = (("stiffness", stiffness),) if stiffness and not along_axis else ()
        return Connection(
            name,
            _JOINT_KINDS[kind],
            parent,
            child,
            joint_pose,
            axis,
            limits,
            self.mimics.get(joint),
            unapplied,
            joint_location,
            drive=drive,
        )

    def _drive(self, joint: int, location: Location) -> Drive:
        """Return the drive of a joint, without the parts that the model's options disable."""
        model, kind = self.model, int(self.model.jnt_type[joint])
        first = int(model.jnt_dofadr[joint])
        velocities = slice(first, first + {FREE: 6, BALL: 3}.get(kind, 1))
        numbers = {
            name: [exact(x, location) for x in getattr(model, f"dof_{word}")[velocities]]
            for name, word in _DOF_WORDS.items()
        }
        stiffness = exact(model.jnt_stiffness[joint], location)
        if kind == FREE:
            for name, values in numbers.items():
                if len(set(values[:3])) > 1:
                    raise location.error(
                        f"its three linear velocities have different values of {name}",
                        f"make the first three values of dof_{_DOF_WORDS[name]} equal",
                    )
        if kind in (SLIDE, HINGE) and stiffness:
            rest_position = exact(model.qpos_spring[int(model.jnt_qposadr[joint])], location)
            numbers |= {"stiffness": [stiffness], "rest": [rest_position]}
        return Drive.of_velocities(numbers).only(
            name for name, switch in _DISABLE_FLAGS.items() if not self._is_disabled(switch)
        )

    def _limits(self, joint: int, location: Location) -> Limits:
        if not self.model.jnt_limited[joint]:
            return Limits()
        return Limits(*(exact(end, location) for end in self.model.jnt_range[joint]))

    def _inertia(self, body: int, within: Pose) -> tuple[Inertial, ...]:
        """Return a body's inertia: principal moments, in the principal axes.

        `within` is the pose of the body's frame on its link. The result is empty if mass and
        moments are zero.
        """
        model, body_location = self.model, self.location.at(f"body {quote(self.bodies[body])}")
        mass, moments = (
            exact(model.body_mass[body], body_location),
            vector(model.body_inertia[body], body_location),
        )
        if not mass and not any(moments):
            return ()
        (xx, yy, zz), zero = moments, Fraction(0)
        centre_pose = pose(
            model.body_ipos[body], model.body_iquat[body], self.snapper, body_location
        )
        return (
            Inertial(
                mass,
                (xx, zero, zero, yy, zero, zz),
                compose(within, centre_pose),
                body_location,
                gravcomp=self._gravity_compensation(body, body_location),
            ),
        )

    def _gravity_compensation(self, body: int, location: Location) -> Fraction:
        """Return the gravity compensation of a body.

        It is zero if springs and dampers are disabled, since MuJoCo then omits all passive forces.
        """
        disabled = self._is_disabled("SPRING") and self._is_disabled("DAMPER")
        return (
            Fraction(0)
            if disabled or not hasattr(self.model, "body_gravcomp")
            else exact(self.model.body_gravcomp[body], location)
        )

    def _read_couplings(self) -> None:
        """Collect the mimic joints, and note the equalities that cannot be represented."""
        model = self.model
        for k in range(model.neq):
            kind, first, second = (
                int(model.eq_type[k]),
                int(model.eq_obj1id[k]),
                int(model.eq_obj2id[k]),
            )
            # q_first = factors[0] + factors[1] q_second + …, both relative to qpos0
            factors = [
                exact(factor, self.location.at(f"equality {k}")) for factor in model.eq_data[k][:5]
            ]
            if not model.eq_active0[k]:
                continue
            if kind == JOINT and second >= 0 and not any(factors[2:]) and factors[1]:
                follower_zero, leader_zero = (
                    exact(model.qpos0[int(model.jnt_qposadr[j])], self.location)
                    for j in (first, second)
                )
                self.mimics[first] = Mimic(
                    self.joints[second],
                    factors[1],
                    factors[0] + follower_zero - factors[1] * leader_zero,
                )
                continue
            if kind not in _LOOP_KINDS:
                text = (
                    "fixes a joint or couples two joints by a nonlinear polynomial"
                    if kind == JOINT
                    else "constrains a tendon or a flexible body"
                )
                self.notes.append(Note("warning", f"equality {k} {text}; it is left out"))

    def _loops(self, body_frames: list[_BodyFrame]) -> tuple[DeclaredLoop, ...]:
        """Return the closed loops: the equalities that connect or weld two bodies, at the points
        that MuJoCo computed.
        """
        model, loops, inactive = self.model, list[DeclaredLoop](), list[str]()
        used_names = {_text(model, int(address)) for address in model.name_eqadr}
        for k in (k for k in range(model.neq) if int(model.eq_type[k]) in _LOOP_KINDS):
            kind, name = (
                int(model.eq_type[k]),
                _text(model, int(model.name_eqadr[k])) or unused_name(f"loop{k}", used_names),
            )
            if self._is_disabled("EQUALITY") or not model.eq_active0[k]:
                inactive.append(name)
                continue
            loop_location = self.location.at(f"equality {quote(name)}")
            loops.append(
                DeclaredLoop(
                    name,
                    _LOOP_KINDS[kind],
                    *self._loop_ends(k, kind, body_frames, loop_location),
                    location=loop_location,
                )
            )
        self.notes += [
            *note_inactive_loops(inactive),
            *([Note("info", SOFT_LOOPS)] if loops else []),
        ]
        return tuple(loops)

    def _loop_ends(
        self, k: int, kind: int, body_frames: list[_BodyFrame], location: Location
    ) -> tuple[LoopEnd, LoopEnd]:
        """Return the ends of a loop on the first and on the second body of equality `k`."""
        model, data = self.model, self.model.eq_data[k]
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        object_types = getattr(model, "eq_objtype", None)
        if object_types is not None and int(object_types[k]) == SITE:
            first_frame, second_frame = (
                _BodyFrame(
                    body_frames[int(model.site_bodyid[site])].link,
                    compose(
                        body_frames[int(model.site_bodyid[site])].pose,
                        pose(model.site_pos[site], model.site_quat[site], self.snapper, location),
                    ),
                )
                for site in (first, second)
            )
            return LoopEnd(first_frame.link, first_frame.pose, location), LoopEnd(
                second_frame.link, second_frame.pose, location
            )
        point, next_point = (Shift(vector(data[3 * i : 3 * i + 3], location)) for i in range(2))
        end_poses: tuple[Pose, Pose] = ((point,), (next_point,))
        if kind == WELD:  # the data of a weld begin with the point of the second body
            end_poses = pose(data[3:6], data[6:10], self.snapper, location), (point,)
        return (
            LoopEnd(
                body_frames[first].link, compose(body_frames[first].pose, end_poses[0]), location
            ),
            LoopEnd(
                body_frames[second].link, compose(body_frames[second].pose, end_poses[1]), location
            ),
        )

    def _start(self) -> tuple[tuple[str, tuple[Angle, ...]], ...]:
        """Return the coordinates at which the search for a closed pose starts.

        Joints at their neutral position are omitted.
        """
        model, start = self.model, []
        names = [_text(model, int(address)) for address in model.name_keyadr]
        qpos = model.key_qpos[names.index(HOME)] if HOME in names else model.qpos0
        for joint in range(model.njnt):
            kind, address = (
                joint_type(_JOINT_KINDS[int(model.jnt_type[joint])]),
                int(model.jnt_qposadr[joint]),
            )
            values = [exact(value, self.location) for value in qpos[address : address + kind.nq]]
            if kind.quaternion is not None:  # MuJoCo has w x y z
                values = [
                    *values[: kind.quaternion],
                    *values[kind.quaternion + 1 :],
                    values[kind.quaternion],
                ]
            if tuple(values) != kind.neutral:
                start.append((self.joints[joint], tuple(Angle(value) for value in values)))
        return tuple(start)

    def _note_omissions(self) -> None:
        """Note the parts of MuJoCo's dynamics, other than equalities, that are left out."""
        model = self.model
        for count, feature, omission in _OMITTED_FEATURES:
            if getattr(model, count, 0):
                self.notes.append(Note("warning", f"the model has {feature}; {omission} left out"))
        if hasattr(model, "actuator_armature") and model.actuator_armature.any():
            self.notes.append(
                Note("warning", "actuators have armature of their own; it is left out")
            )
        if getattr(model, "ngravcomp", 0) and model.jnt_actgravcomp.any():
            self.notes.append(
                Note(
                    "info",
                    "at some joints MuJoCo adds gravcomp to the actuator forces; here it is not"
                    " part of tau",
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

    def _sites(self, body_frames: list[_BodyFrame]) -> tuple[ExtraFrame, ...]:
        """Return the frames of named sites. Sites with the name of a link are omitted, with a
        note.
        """
        model, links = self.model, {link.name for link in self.links}
        names = [_text(model, int(address)) for address in model.name_siteadr[: model.nsite]]
        self.notes += note_hidden_sites([name for name in names if name in links])
        frames = []
        for site, name in enumerate(names):
            if name and name not in links:
                carrier = body_frames[int(model.site_bodyid[site])]
                site_location = self.location.at(f"site {quote(name)}")
                site_pose = pose(
                    model.site_pos[site], model.site_quat[site], self.snapper, site_location
                )
                frames.append(
                    ExtraFrame(name, carrier.link, compose(carrier.pose, site_pose), site_location)
                )
        return tuple(frames)

    def _is_disabled(self, flag: str) -> bool:
        """True if the model's options contain the flag mjDSBL_`flag`.

        The values of the flags are read from the imported `mujoco`, since they differ between
        versions.
        """
        bits = getattr(sys.modules.get("mujoco"), "mjtDisableBit", None)
        return bool(
            int(getattr(self.model.opt, "disableflags", 0))
            & int(getattr(bits, f"mjDSBL_{flag}", 0))
        )

    def _name(self, addresses: str, index: int, prefix: str) -> str:
        """Return the name of an element, or `prefix` and the index if it has no name."""
        return _text(self.model, int(getattr(self.model, addresses)[index])) or f"{prefix}{index}"


def _negative(vector_entries: Vector3) -> Vector3:
    return -vector_entries[0], -vector_entries[1], -vector_entries[2]


def _text(model: Any, address: int) -> str:
    """Return the name that begins at an address in the model's names."""
    return bytes(model.names)[address:].split(b"\0", 1)[0].decode("utf-8", errors="replace")
