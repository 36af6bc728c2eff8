"""File formats that symgen does not read: what each is, and what to use instead."""

from __future__ import annotations

_SHAPE = "geometry, without joints and masses"
_USD = "USD, a scene format"
_WEBOTS = "a file of Webots"

_ROOTS = {
    "COLLADA": _SHAPE,
    "package": "the manifest of a ROS package",
    "launch": "a launch file of ROS",
    "html": "a web page",
}
_SUFFIXES = {
    ".srdf": "SRDF, groups of joints without masses",
    ".usd": _USD,
    ".usda": _USD,
    ".usdc": _USD,
    ".wbt": _WEBOTS,
    ".proto": _WEBOTS,
    **dict.fromkeys(
        (".stl", ".dae", ".obj", ".step", ".stp", ".ply", ".glb", ".iges", ".igs"), _SHAPE
    ),
}


def by_root(name: str) -> tuple[str, str] | None:
    """Return (fault, remedy) of a file with this root element; None for an unknown name."""
    return _refusal(_ROOTS.get(name) or _ROOTS.get(name.lower()))


def by_suffix(suffix: str) -> tuple[str, str] | None:
    """Return (fault, remedy) of a file with this suffix; None for an unknown suffix."""
    return _refusal(_SUFFIXES.get(suffix.lower()))


def _refusal(format_name: str | None) -> tuple[str, str] | None:
    """Return (fault, remedy) of a format."""
    if format_name is None:
        return None
    if format_name == "a web page":
        return "this is a web page, not the file itself", "download the raw file"
    return (
        f"this is {format_name}, which symgen does not read",
        "give the URDF of that robot, or write it in symgen's own TOML",
    )
