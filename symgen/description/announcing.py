"""Warnings of a reading: notes that are shown to a Python user without a request."""

from __future__ import annotations

from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.mechanism import Mechanism
from symgen.mechanism.notes import LOUD, combined_notes
from symgen.support.errors import printable, warn

_BY_DEFAULT = ("armature", "damping", "friction")
"""Drives that a URDF can declare and that are off by default."""
_REMEDIES = {
    "snap": "snap='off' reads rotations as written",
    "mimic": "mimic='couple' lets them follow",
}
_DOUBLE = 2.0**-51
"""Rotation in rad that no double near pi can represent."""


def announce(mechanism: Mechanism, tree: Tree, snapper: Snapper, mimic: bool, drives: bool) -> None:
    """Issue a SymgenWarning for each group of loud notes about a decision that the user did not
    make.

    `mimic`, `drives`: True if the user chose the treatment of mimic joints, or the drives to apply.
    For a description that symgen wrote, only the warnings are issued again: the first reading
    issued the other notes.
    """
    decided = {
        "snap": snapper.chosen or tree.read_before,
        "mimic": mimic or tree.mimic is not None or tree.read_before,
        "unapplied": drives or tree.names_unapplied or tree.read_before,
    }
    remedies = _REMEDIES | {"unapplied": _drives_remedy(mechanism)}
    negligible = {printable(snap.text) for snap in snapper.snaps if snap.angle_change <= _DOUBLE}
    shown_notes = [note for note in mechanism.notes if note.text not in negligible]
    for kind in LOUD:
        if not decided.get(kind, False):
            remedy = remedies.get(kind, "")
            for text in combined_notes(shown_notes, kind):
                warn(f"{text}; {remedy}" if remedy else text, kind)


def _drives_remedy(mechanism: Mechanism) -> str:
    """Return how to apply the drives that are off; "" if there are none."""
    kinds = unapplied_drives(mechanism)
    return f"drives='on' applies {kinds}" if kinds else ""


def unapplied_drives(mechanism: Mechanism) -> str:
    """Return the kinds of drives that joints declare and that are off, separated by commas."""
    declared = {
        "armature" if name.startswith("rotor") else name
        for joint in mechanism.joints
        for name, _ in joint.unapplied
    }
    return ", ".join(kind for kind in _BY_DEFAULT if kind in declared)
