"""Rows of the golden table that every run of the tests makes.

They were chosen by `tests.golden.choose_rows`: each next row executes most lines of symgen/ that no
row before it executes, for its processor time. Of the 71 chosen rows, the 7 that take more than 2.6
s in a process of their own are left out.
"""

from __future__ import annotations

QUICK_ROWS = (
    "planar_arm forces",
    (
        "planar_arm forward mode=jvp form=unrolled trig=libm"
        " checked=checked batch=batch real=double wrap=cpp17"
        " parameters=* loads=payload frame=frame jacobian=local only=functions_only name=arm1"
    ),
    (
        "planar_arm slopes trig=auto checked=checked batch=batch wrap=casadi parameters=link"
        " frame=frame jacobian=linear only=functions_only"
    ),
    (
        "planar_arm coriolis real=float wrap=cpp17 target=rv32imafc parameters=link"
        " loads=payload+wrench jacobian=linear"
    ),
    (
        "scara links form=unrolled trig=inline"
        " checked=checked batch=batch real=float wrap=casadi frame=frames only=functions_only"
    ),
    (
        "spherical_pendulum forces mode=jacobian real=float wrap=casadi target=cortex-m7"
        " parameters=link frame=frame jacobian=world only=functions_only"
    ),
    (
        "spherical_pendulum determinant trig=macro wrap=cpp17,casadi target=rv32imafc"
        " jacobian=local+linear"
    ),
    "tree_coupled kinematics wrap=cuda loads=wrenches jacobian=world",
    "cart forces",
    "cart steps",
    (
        "jaws forward mode=jvp form=unrolled trig=libm"
        " checked=checked batch=batch real=double wrap=cpp17"
        " parameters=* loads=payload frame=frame jacobian=local only=functions_only name=arm1"
    ),
    (
        "jaws determinant mode=jacobian trig=inline wrap=cuda parameters=link loads=wrenches"
        " jacobian=linear"
    ),
    "branches coriolis",
    "swing slopes",
    "slot forces",
    (
        "slot inertia mode=vjp trig=macro real=float wrap=casadi target=host parameters=gravity"
        " loads=wrench frame=frames jacobian=world"
    ),
    "slot task",
    "scissors forces",
    "scissors centre target=rv32imafc",
    "scissors steps",
    "scissors regressors",
    "scissors contacts contact=contact gains=baumgarte",
    "scissors default",
    "four_bar regressors",
    "jaws contacts contact=contacts",
    "planar_arm forward target=rv32imafc",
    "slot contacts target=cortex-m7 contact=contact gains=baumgarte",
    "scara by riccati:fd1",
    "scara by riccati:two_sweeps",
    "point_masses by fixman:planar",
    "slot by udut:links",
    "masses40 cyclic looped",
    "ur5 levels looped",
    "ur5 levels looped cpp17",
    "hopper forces looped cuda",
    "lever_compensated default",
    "command inspect planar_arm M[0,1] --format text",
    "command inspect planar_arm M[0,1] --form recursive --format c",
    "command inspect planar_arm tau --form looped",
    "command inspect planar_arm M[0,1] --where",
    "command inspect planar_arm M --structure",
    "command inspect planar_arm U[0,1] --method udut",
    "command inspect planar_arm M --at q0=pi/3,q1=pi/2",
    "command inspect planar_arm",
    "command inspect puma560 M[1,2] --form recursive --format python",
    "command inspect four_bar A",
    "command inspect tree.urdf g --symbols m,l",
    "command derive planar_arm --method riccati --format markdown",
    "command derive planar_arm --method udut --format latex",
    "command derive planar_arm --method all --format notebook",
    "command derive planar_point_mass:3 --method fixman",
    "command prove scara --identities --json",
    "command robots",
    "command show planar_arm",
    "command convert planar_arm --to toml -o -",
    "command convert scara --to mjcf -o -",
    "command show four_bar",
    "command show tree.urdf --json",
    "command convert tree.urdf --to urdf -o -",
    "command show ball.xml",
    "command show ball.xml --json",
    "command convert swing.sdf --to urdf -o -",
    "command convert swing.sdf --to mjcf -o -",
    "command generate planar_arm -o OUT/folder -f forward_dynamics -f jacobian",
)
"""Names of the rows, in the order of the table."""
