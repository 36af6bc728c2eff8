"""PyBullet's M and inverse dynamics of an SDF text that `loadSDF` reads.

PyBullet computes inertias from the shapes of a file and has no flag to read the declared ones, so
the declared moments are set link by link. It has principal moments only, in the axes of the
inertial's pose.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array

MOMENTS = ("ixx", "iyy", "izz")


class Body:
    """PyBullet's model of the text of one model."""

    def __init__(self, text: str, mechanism: Mechanism) -> None:
        import pybullet

        self.bullet: Any = pybullet
        self.client = pybullet.connect(pybullet.DIRECT)
        self.gravity = [float(x) for x in mechanism.gravity]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.sdf"
            path.write_text(text, encoding="utf-8")
            (self.body,) = pybullet.loadSDF(str(path))
        infos = [
            pybullet.getJointInfo(self.body, index)
            for index in range(pybullet.getNumJoints(self.body))
        ]
        moving = [info[1].decode() for info in infos if info[2] != pybullet.JOINT_FIXED]
        self.order = [moving.index(joint.name) for joint in mechanism.joints]
        self._give_moments(text, [info[12].decode() for info in infos])

    def _give_moments(self, text: str, links: list[str]) -> None:
        for index, name in [
            (-1, self.bullet.getBodyInfo(self.body)[0].decode()),
            *enumerate(links),
        ]:
            moments = [
                link
                for link in etree.fromstring(text.encode()).iter("link")
                if link.get("name") == name
            ]
            inertia = moments[0].find("inertial/inertia") if moments else None
            if inertia is not None:
                if any(float(inertia.findtext(product, "0")) for product in ("ixy", "ixz", "iyz")):
                    raise AssertionError(
                        "it has products of inertia, which PyBullet cannot be given"
                    )
                diagonal = [float(inertia.findtext(moment, "1")) for moment in MOMENTS]
                self.bullet.changeDynamics(self.body, index, localInertiaDiagonal=diagonal)

    def _point_gravity(self, turn: list[float]) -> None:
        """Set gravity in the axes of a fixed base, whose orientation PyBullet's inverse dynamics
        ignores.
        """
        axes = np.array(self.bullet.getMatrixFromQuaternion(turn)).reshape(3, 3)
        self.bullet.setGravity(*(axes.T @ self.gravity))

    def answers(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """The mass matrix `M` and the force `tau` of accelerations, in our order; of a base that
        floats, held still.
        """
        count = len(self.order)
        theirs = [np.zeros(count) for _ in range(3)]
        for index, q_index in enumerate(self.order):
            for mine, values in zip(theirs, (q, v, a), strict=True):
                mine[q_index] = values[index]
        q_index, turn = self.bullet.getBasePositionAndOrientation(self.body)
        mass = np.array(self.bullet.calculateMassMatrix(self.body, list(theirs[0])))
        if self.bullet.getDynamicsInfo(self.body, -1)[0]:  # the base floats
            self.bullet.setGravity(*self.gravity)
            still = ([*q_index, *turn], [0.0] * 6, [0.0] * 6)
        else:
            self._point_gravity(turn)
            still = ([], [], [])
        arguments = [[*more, *state] for more, state in zip(still, theirs, strict=True)]
        tau = np.array(self.bullet.calculateInverseDynamics(self.body, *arguments))
        return {
            "M": mass[-count:, -count:][np.ix_(self.order, self.order)],
            "tau": tau[-count:][self.order],
        }
