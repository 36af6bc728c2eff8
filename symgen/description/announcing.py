"""Warnings of a reading: the notes that a Python user sees without asking for them."""

from __future__ import annotations

from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.mechanism import Mechanism
from symgen.mechanism.notes import LOUD, gathered
from symgen.support.errors import printable, warn

_BY_DEFAULT = ("armature", "damping", "friction")
"""Drives that a URDF can declare, and that are off unless they are named."""
_REMEDIES = {
    "snap": "snap='off' reads rotations as written",
    "mimic": "mimic='couple' lets them follow",
}
_DOUBLE = 2.0**-51
"""Turn in rad that no double near pi shows."""


def announce(mechanism: Mechanism, tree: Tree, snapper: Snapper, mimic: bool, drives: bool) -> None:
    """Issue a SymgenWarning for each group of loud notes about a decision that nobody named.

    `mimic`, `drives`: True if the user chose what is done with mimic joints, or which drives are applied. Of a description that
    symgen wrote, only the warnings are said again: the first reading said the rest.
    """
    named = {
        "snap": snapper.asked or tree.read_before,
        "mimic": mimic or tree.mimic is not None or tree.read_before,
        "unapplied": drives or tree.names_unapplied or tree.read_before,
    }
    remedies = _REMEDIES | {"unapplied": _drives_remedy(mechanism)}
    invisible = {printable(snap.text) for snap in snapper.snaps if snap.moved <= _DOUBLE}
    audible = [note for note in mechanism.notes if note.text not in invisible]
    for kind in LOUD:
        if not named.get(kind, False):
            remedy = remedies.get(kind, "")
            for text in gathered(audible, kind):
                warn(f"{text}; {remedy}" if remedy else text, kind)


def _drives_remedy(mechanism: Mechanism) -> str:
    """Say how the drives that are off are applied; nothing where there are none."""
    kinds = held_drives(mechanism)
    return f"drives='on' applies {kinds}" if kinds else ""


def held_drives(mechanism: Mechanism) -> str:
    """The kinds of drives that joints declare and that are off, with commas."""
    spare = {
        "armature" if name.startswith("rotor") else name
        for joint in mechanism.joints
        for name, _ in joint.unapplied
    }
    return ", ".join(kind for kind in _BY_DEFAULT if kind in spare)
