"""What may stand at the elements that make the tree and its masses: a slip of the pen there would change the robot.

By MuJoCo 4's schema, with what older ones had besides.
"""

from __future__ import annotations

_WHERE = "axisangle euler pos quat xyaxes zaxis"
_SAID = {
    "compiler": "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict convexhull coordinate "
                "discardvisual eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir "
                "passthrough savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
    "body": f"{_WHERE} childclass fuse gravcomp mocap name simple sleep user",
    "frame": f"{_WHERE} childclass name scale",
    "inertial": f"{_WHERE} diaginertia fullinertia mass",
    "freejoint": "align group name",
    "joint": "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group limited "
             "margin name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield "
             "stiffness type user",
    "connect": "active anchor body1 body2 class name site1 site2 solimp solref",
    "weld": "active anchor body1 body2 class name relpose site1 site2 solimp solref torquescale",
    "geom": f"{_WHERE} adhesion castshadow class conaffinity condim contype density fitscale fluidcoef fluidshape friction "
            "fromto gap group hfield margin mass material mesh name priority rgba shellinertia size solimp solmix solref "
            "surfacevel type user",
}
KNOWN = {name: frozenset(words.split()) for name, words in _SAID.items()}
