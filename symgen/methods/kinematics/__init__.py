"""Kinematics: poses, the Jacobian of a chosen frame, RK (3.11)-(3.13), constraint rows, integration
and its inverse.
"""

from symgen.methods.kinematics.frames import forward_kinematics, jacobian
from symgen.methods.kinematics.poses import link_poses
from symgen.methods.kinematics.quantities import QUANTITIES
from symgen.methods.kinematics.steps import difference, integrate
from symgen.methods.shared.closures import constraint_bias, constraint_jacobian, constraint_residual
from symgen.methods.shared.method import Method

METHOD = Method(
    source="Rodriguez & Kreutz 1988, (3.11)-(3.13)",
    functions={
        "forward_kinematics": forward_kinematics,  # (3.11)-(3.12)
        "link_poses": link_poses,  # (3.11)
        "jacobian": jacobian,  # (3.13)
        "integrate": integrate,
        "difference": difference,
        "constraint_residual": constraint_residual,
        "constraint_jacobian": constraint_jacobian,
        "constraint_bias": constraint_bias,
    },
    mimic="supported",
    quantities=QUANTITIES,
)
