"""Drake's answers about an SDF text: its wheel holds libsdformat, the reader that Gazebo has.

Drake's ball joint has angles where ours has a quaternion, and its angular velocity in the parent's
axes where ours is in the child's; its universal joint is one of two angles, ours are two joints.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array

GROUND = "world"


class Plant:
    """Drake's model of the text of one model, fixed to the world where symgen fixes it: at its
    root, where the file places it.
    """

    def __init__(self, text: str, mechanism: Mechanism) -> None:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        logging.getLogger("drake").setLevel(logging.ERROR)
        self.mechanism = mechanism

        def loaded() -> Any:
            plant = MultibodyPlant(0.0)
            plant.mutable_gravity_field().set_gravity_vector([float(x) for x in mechanism.gravity])
            Parser(plant).AddModelsFromString(text, "sdf")
            return plant

        self.plant, self.loose = loaded(), loaded()
        if mechanism.base != GROUND:
            self._weld()
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    def _weld(self) -> None:
        """The root where it stands, less how far it is from the world's origin."""
        from pydrake.math import RigidTransform

        self.loose.Finalize()
        (floating,) = self.loose.GetFloatingBaseBodies()
        root = self.loose.get_body(floating)
        at = self.loose.EvalBodyPoseInWorld(self.loose.CreateDefaultContext(), root)
        self.plant.WeldFrames(
            self.plant.world_frame(),
            self._body(self.plant, root.name()).body_frame(),
            RigidTransform(at.rotation(), [0, 0, 0]),
        )

    @staticmethod
    def _body(plant: Any, name: str) -> Any:
        body_name = name.split("::")[-1]
        return plant.GetBodyByName(body_name)

    def _joint(self, name: str) -> Any:
        return self.plant.GetJointByName(name.split("::")[-1])

    def _set(self, q: Array, v: Array) -> Array:
        """Set the plant to our state; return the matrix from our velocities to Drake's."""
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.math import RollPitchYaw, RotationMatrix

        theirs = np.zeros(self.plant.num_positions())
        turn = np.zeros((self.plant.num_velocities(), self.mechanism.nv))
        for joint, at, rate in zip(
            self.mechanism.joints, self.mechanism.q_slices, self.mechanism.v_slices, strict=True
        ):
            stem, _, axis_number = joint.name.rpartition("_")
            universal = (
                joint.kind == "revolute"
                and axis_number in ("1", "2")
                and self._has(stem)
                and not self._has(joint.name)
            )
            drake_joint = self._joint(stem if universal else joint.name)
            start, first = drake_joint.position_start(), drake_joint.velocity_start()
            if joint.kind == "spherical":
                x, y, z, w = q[at]
                matrix = RotationMatrix(
                    Quaternion(np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z]))
                )
                theirs[start : start + 3] = RollPitchYaw(matrix).vector()
                turn[first : first + 3, rate] = matrix.matrix()
            else:
                more = int(axis_number) - 1 if universal else 0
                theirs[start + more] = q[at][0]
                turn[first + more, rate.start] = 1.0
        self.plant.SetPositions(self.context, theirs)
        self.plant.SetVelocities(self.context, turn @ v)
        return turn

    def _has(self, name: str) -> bool:
        return bool(self.plant.HasJointNamed(name.split("::")[-1]))

    def answers(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """The mass matrix `M`, the force `tau` of accelerations, and the poses of our links' frames
        that Drake has.
        """
        turn = self._set(q, v)
        mass = self.plant.CalcMassMatrix(self.context)
        bias = self.plant.CalcBiasTerm(self.context) - self.plant.CalcGravityGeneralizedForces(
            self.context
        )
        return {"M": turn.T @ mass @ turn, "tau": turn.T @ (mass @ turn @ a + bias)}

    def pose(self, name: str) -> Array | None:
        """(4, 4) of a link in the world, in the state last asked for."""
        if not self.plant.HasBodyNamed(name.split("::")[-1]):
            return None
        return np.array(
            self.plant.EvalBodyPoseInWorld(
                self.context, self._body(self.plant, name)
            ).GetAsMatrix4()
        )
