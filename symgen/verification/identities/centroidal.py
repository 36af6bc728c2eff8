"""Identities between energy, centroidal momentum, mass centre, link poses, Jacobian and gravity
force.

Each identity has a function here, which evaluates it at `count` states and returns a `Distance`.
This is a pair: the difference of the two sides (count, n), and the reference size of the terms,
with which the verification compares the difference.

`f("mass_matrix")["M"]` is the result M of the function `mass_matrix`. `f.time_derivatives` gives
time derivatives of results while q moves along v. A time derivative may be zero although its terms
are not. The reference size of a derivative therefore includes the size of the differentiated
result. `sizes.of(function, result)` is the size of a result: the magnitude of the terms of its
computation.
"""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.arrays import times
from symgen.reference.precision import Array
from symgen.verification.identities._identity import Distance, Functions, Identity


def _total_mass(f: Functions) -> Array:
    """Return the total mass of all parts, payload included: (count, 1) with payload, else (1,)."""
    return np.asarray(sum(part.mass for part in f.reference.parts(f.states.get("payload"))))[
        ..., None
    ]


def _kinetic_energy(f: Functions) -> Distance:
    """Return T − vᵀ M v/2 (count, 1), of size (Σ √s_j |v_j|)²/2 with the size s_j of M_jj."""
    v = f.states["v"]
    difference = f("kinetic_energy")["T"] - (v * times(f("mass_matrix")["M"], v)).sum(axis=-1) / 2
    return difference[:, None], f.exact_results.scales.weighted_sum(v)[:, 0] ** 2 / 2


def _slope_of_the_potential_energy(f: Functions) -> Distance:
    """Return g · v − dU/dt (count, 1): the power of gravity changes the potential energy."""
    power = (f("gravity_force")["g"] * f.states["v"]).sum(axis=-1)
    sizes, v = f.exact_results.scales, np.abs(f.exact_results.floats["v"])
    size = (sizes.of("gravity_force", "g") * v).sum(axis=-1) + sizes.of("potential_energy", "U")
    return (power - f.time_derivatives("potential_energy")["U"])[:, None], size


def _potential_energy_from_com(f: Functions) -> Distance:
    """Return U + m gravity · com (count, 1), with the total mass m."""
    weight = _total_mass(f) * f.reference.gravity
    return (f("potential_energy")["U"] + (weight * f("center_of_mass")["com"]).sum(axis=-1))[
        :, None
    ], 2 * f.exact_results.scales.of("potential_energy", "U")


def _com_rate(f: Functions) -> Distance:
    """Return Jcom v − d com/dt (count, 3)."""
    sizes, v = f.exact_results.scales, np.abs(f.exact_results.floats["v"])
    size = times(sizes.of("center_of_mass_jacobian", "Jcom"), v) + sizes.of("center_of_mass", "com")
    return times(f("center_of_mass_jacobian")["Jcom"], f.states["v"]) - f.time_derivatives(
        "center_of_mass"
    )["com"], size


def _com_from_link_poses(f: Functions) -> Distance:
    """Return com − Σ m (p + R c)/Σ m (count, 3), summed over all parts and the payload.

    p and R are the pose of the link that a part belongs to. m and c are the declared mass of the
    part and its declared mass centre in the link's frame.
    """
    poses, sizes = f("link_poses"), f.exact_results.scales
    mass_moment = 0 * poses["p_links"][:, 0]
    for part in f.reference.parts(f.states.get("payload")):
        centre = poses["p_links"][:, part.body] + times(poses["R_links"][:, part.body], part.centre)
        mass_moment = mass_moment + part.mass[..., None] * centre
    size = sizes.of("center_of_mass", "com") + sizes.of("link_poses", "p_links").max(axis=1)
    return f("center_of_mass")["com"] - mass_moment / _total_mass(f), size


def _momentum(f: Functions) -> Distance:
    """Return h − A_G v (count, 6), with the centroidal momentum h and its matrix A_G."""
    return f("centroidal_momentum")["h"] - times(
        f("centroidal_momentum_matrix")["A_G"], f.states["v"]
    ), f.exact_results.scales.of("centroidal_momentum", "h")


def _linear_momentum_from_com(f: Functions) -> Distance:
    """Return h[3:] − m Jcom v (count, 3): the linear momentum is the total mass times the velocity
    of the mass centre.
    """
    velocity = times(f("center_of_mass_jacobian")["Jcom"], f.states["v"])
    size = 2 * f.exact_results.scales.of("centroidal_momentum", "h")[:, 3:]
    return f("centroidal_momentum")["h"][:, 3:] - _total_mass(f) * velocity, size


def _slope_of_the_momentum(f: Functions) -> Distance:
    """Return hdot − (A_G a + dA_G/dt v) (count, 6)."""
    matrix = f("centroidal_momentum_matrix")["A_G"]
    slope = times(f.time_derivatives("centroidal_momentum_matrix")["A_G"], f.states["v"]) + times(
        matrix, f.states["a"]
    )
    sizes = f.exact_results.scales
    size = sizes.of("centroidal_momentum_rate", "hdot") + sizes.of("centroidal_momentum", "h")
    return f("centroidal_momentum_rate")["hdot"] - slope, size


def _slope_of_the_jacobian(f: Functions) -> Distance:
    """Return Jdot_v − dJ/dt v (count, 6), with the Jacobian J of the chosen frame."""
    v, sizes = f.states["v"], f.exact_results.scales
    size = sizes.of("bias_acceleration", "Jdot_v") + times(
        sizes.of("jacobian", "J"), np.abs(f.exact_results.floats["v"])
    )
    return f("bias_acceleration")["Jdot_v"] - times(f.time_derivatives("jacobian")["J"], v), size


def _pose_of_the_frame(f: Functions) -> Distance:
    """Return the difference (count, 12) between two poses of the chosen frame: 9 entries of the
    rotation, then 3 of the position.

    One pose is the result of `forward_kinematics`. The other is the frame's declared pose on its
    link, multiplied by the link's pose; a frame on the base has its declared pose.
    """
    reference, poses, frame_pose, sizes = (
        f.reference,
        f("link_poses"),
        f("forward_kinematics"),
        f.exact_results.scales,
    )
    assert reference.frame is not None
    turn, shift = reference.pose(reference.frame.pose)
    body, size = reference.frame.body, sizes.of("forward_kinematics", "p")
    if body != BASE:
        link = poses["R_links"][:, body]
        turn, shift = link @ turn, poses["p_links"][:, body] + times(link, shift)
        size = size + sizes.of("link_poses", "p_links")[:, body]
    difference = np.concatenate(
        [(frame_pose["R"] - turn).reshape(f.exact_results.count, 9), frame_pose["p"] - shift],
        axis=-1,
    )
    return difference, np.concatenate([np.ones((f.exact_results.count, 9)), size], axis=-1)


RANK = 1
"""Order of this file among the files of identities (`symgen.verification.identities`)."""
IDENTITIES = (
    Identity(
        "J̇ v = d/dt J v",
        ("bias_acceleration", "jacobian"),
        _slope_of_the_jacobian,
        exact_only=True,
    ),
    Identity(
        "pose of the frame = pose of its link",
        ("link_poses", "forward_kinematics"),
        _pose_of_the_frame,
    ),
    Identity("com = Σ m (p + R c)/Σ m", ("center_of_mass", "link_poses"), _com_from_link_poses),
    Identity(
        "Jcom v = d/dt com",
        ("center_of_mass", "center_of_mass_jacobian"),
        _com_rate,
        exact_only=True,
    ),
    Identity("T = vᵀ M v/2", ("kinetic_energy", "mass_matrix"), _kinetic_energy),
    Identity(
        "g · v = d/dt U",
        ("potential_energy", "gravity_force"),
        _slope_of_the_potential_energy,
        exact_only=True,
    ),
    Identity(
        "U = −m gravity · com",
        ("potential_energy", "center_of_mass"),
        _potential_energy_from_com,
    ),
    Identity("h = A_G v", ("centroidal_momentum", "centroidal_momentum_matrix"), _momentum),
    Identity(
        "linear h = m Jcom v",
        ("centroidal_momentum", "center_of_mass_jacobian"),
        _linear_momentum_from_com,
    ),
    Identity(
        "hdot = A_G a + d/dt A_G v",
        ("centroidal_momentum_rate", "centroidal_momentum_matrix"),
        _slope_of_the_momentum,
        exact_only=True,
    ),
)
