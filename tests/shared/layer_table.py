"""Rooms of symgen and the rooms that each may import."""

from __future__ import annotations

# Layers from the lowest to the highest. Each line is a room (a file or a folder of symgen/,
# "symgen" the package itself) and
# the rooms above it that it imports. Imports for the type checker count as well.
ROOMS: dict[str, str] = {
    # shared by all rooms
    "support": "",
    "errors": "support",
    "vocabulary": "support",
    "ir": "support vocabulary",
    "mechanism": "support vocabulary",
    # independent reference results: no import of the derivation
    "reference": "mechanism support vocabulary",
    # a file → Mechanism
    "description": "mechanism reference support vocabulary",
    # Mechanism → Program
    "derivation": "ir mechanism support vocabulary",
    "methods": "derivation mechanism support vocabulary",
    # C → rows, without any import of the printers; and Program → C
    "readback": "ir support vocabulary",
    "emission": "ir support vocabulary",
    "pipeline": "derivation description ir mechanism methods reference support vocabulary",
    # certificates of a Program, and its execution on a machine
    "certificate": "derivation ir mechanism pipeline reference support vocabulary",
    # operators of the papers, which share no code with the methods
    "papers": "derivation description ir mechanism pipeline reference support vocabulary",
    "inspection": (
        "derivation description emission ir mechanism methods papers pipeline reference support "
        "vocabulary"
    ),
    "machine": (
        "certificate description emission ir mechanism pipeline reference support vocabulary"
    ),
    "verification": (
        "certificate derivation description emission ir machine mechanism methods pipeline "
        "readback reference support vocabulary"
    ),
    # interfaces for users
    "jax": "derivation description ir machine mechanism pipeline support vocabulary",
    "dask": "ir machine support vocabulary",
    "delivery": (
        "certificate description emission ir machine mechanism pipeline reference support "
        "verification vocabulary"
    ),
    "benchmarks": (
        "description ir machine mechanism methods pipeline reference support "
        "verification vocabulary"
    ),
    "pages": (
        "benchmarks derivation description emission inspection ir machine mechanism methods "
        "papers pipeline reference support verification vocabulary"
    ),
    "cli": (
        "benchmarks certificate delivery description inspection ir machine mechanism pages "
        "papers pipeline support verification vocabulary"
    ),
    "__main__": "cli",
    "symgen": "delivery description inspection ir machine mechanism pipeline support verification",
}

# folders whose leaves, each a file or a folder, do not know each other; the file named here, and
# any that starts with _, is
# what they share.
LEAVES: dict[str, str] = {
    "methods": "shared",
    "description/readers": "",
    "description/writers": "",
    "ir/passes": "rewrite",
    "mechanism/closures": "",
    "emission/backends": "",
    "cli/commands": "",
    "pages/reproduce": "",
    "machine/targets": "",
}
