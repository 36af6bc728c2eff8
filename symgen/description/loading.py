"""Loading a Mechanism: from a built-in robot's name, a description file, its text, a generated folder or a Python package."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, PackagePath, files
from pathlib import Path
from typing import Unpack

from symgen.description import marks
from symgen.description.announcing import announce
from symgen.description.arguments import validated_with
from symgen.description.asking import Asked, refuse_unheard
from symgen.description.assembly import AssemblyOptions, assemble
from symgen.description.canonical import to_toml
from symgen.description.coupling import WAYS
from symgen.description.lookup import in_folder, missing
from symgen.description.namesakes import KIND, ROBOTS, Namesake, builtin_names, namesake
from symgen.description.ordering import FILE, PINOCCHIO
from symgen.description.parsing.foreign import by_suffix
from symgen.description.quantities import Place, rational, shown
from symgen.description.readers import reader, suffixes
from symgen.description.snapping import Snapper, tolerance
from symgen.description.tree import LONGEST_NAME, Declared, Tree, sha256_of
from symgen.mechanism.drives import selected, speed_fault
from symgen.mechanism.mechanism import Mechanism
from symgen.mechanism.notes import Note
from symgen.support.errors import ArgumentError, DescriptionError, UnknownName, printable, warn
from symgen.vocabulary.options import ReadingOptions
from symgen.vocabulary.poses import Vector3

LARGEST_FILE = 50_000_000
LARGEST_CHAIN = 100_000
BASES = ("fixed", "free")
SHOWN = 5
"""Files of a package that a sentence lists before it counts the rest."""
TEXT = "<text>"
"""The name of a description that came as a text, for sentences."""
_UTF16 = b"\xff\xfe", b"\xfe\xff"
"""Marks at the start of XML in UTF-16."""
_SELDOM_ROBOTS = (".csv", ".toml")
"""Suffixes that in a package seldom are of a robot."""
_REPEAT = re.compile(rb"^repeat = \d+", re.MULTILINE)


@dataclass(frozen=True)
class _Description:
    """A description that was read: its tree, the bytes it was read from, their path, and its name for sentences."""

    tree: Tree
    data: bytes
    path: Path
    file: str

    @property
    def source(self) -> str:
        """The name of the file, or what a canonical description says of the file that it was written from."""
        first_reading = self.file != TEXT and self.tree.source_sha256 is None
        return printable(self.tree.source or (self.path.name if first_reading else ""))


@validated_with(ReadingOptions)
def load(
    robot: str | bytes | os.PathLike[str] | Declared, **options: Unpack[ReadingOptions]
) -> Mechanism:
    """The mechanism of a built-in robot (`panda`, `planar_point_mass:12`), a description file, its text, a generated folder or a
    `symgen.Robot`.

    A `str` that is a built-in robot's name means that robot, even where a folder has the name too; a Path means a path.
    A `str` or `bytes` whose first sign is `<` is the text of a URDF, SDF or MJCF, and one of several lines that of TOML;
    sentences about it name `<text>` and the line.

    `lock`: joint -> value (rad or m; a number, a text such as `pi/2`, or None for 0) at which it is frozen and what
    hangs on it is lumped; names alone are frozen at 0. `gravity`: three numbers in m/s² or the text `x,y,z`; without
    it the description's, else (0, 0, -9.81). `snap`: None (1e-8 rad, or what the description says), 'off' or a
    tolerance in rad. `mimic`: whether joints that mimic others are 'independent' (what a description says, else this), follow
    those ('couple') or are not wanted ('refuse'). `strict`: warnings become refusals. `base`: 'fixed' (also without it, but then
    a trunk with mass is a warning), or 'free' for a root link that floats: a free joint `root_joint` leads from the world to it.
    `drives`: what is applied of the drives
    that the description declares, 'on', 'off' or some of armature, damping, friction, stiffness; without it all that TOML,
    SDF and MJCF declare and nothing of a URDF. `friction_speed`: ε of μ v/√(v² + ε²) in rad/s and m/s (1e-3 without it).
    `independent`, `actuated`: where loops are closed, the joints on whose velocities all others hang, and those that are driven,
    a list or a text with commas; a velocity of a joint that has several is named as `root_joint.wz`.
    `joint_order`: of the joints in q and v, 'file', 'pinocchio' (that of its reader of the format) or the names of all that have
    coordinates, parents first, in a list or a text with commas. `model`: which of the models of a file; `xacro`: the arguments
    of its macros; `packages`: ROS package -> its folder.
    `distribution`: the installed Python package in which a file is looked for that `robot` names, such as example-robot-data.

    Raises DescriptionError (file, line and element) or RequestError (an option, a name), one sentence each. Issues a
    SymgenWarning for what looks like a mistake, and for rotations that were snapped, mimic joints read as independent and drives
    of a URDF that are off, unless `snap`, `mimic` or `drives` says what to do; `notes` of the mechanism has these and all other
    remarks.
    """
    _refuse_unknown_words(options)
    snapper = Snapper(tolerance(options["snap"]), asked=options["snap"] is not None)
    choices = _assembly_options(options)
    asked = _file_options(options)
    robot, twin = _located(robot, options["distribution"])
    description = _named(_read(robot, snapper, asked))
    tree = description.tree
    mechanism = assemble(
        tree,
        replace(choices, mimic=choices.mimic or tree.mimic),
        snapper,
        description.source,
        tree.read_sha256 or sha256_of(description.data),
    )
    if tree.source_sha256 is not None:
        mechanism = _as_first_read(mechanism, tree.source_sha256, description.data)
    if options["strict"]:
        _refuse_warnings(mechanism, description.file)
    announce(mechanism, tree, snapper, options["mimic"] is not None, options["drives"] is not None)
    return mechanism if twin is None else _with_namesake(mechanism, twin, str(robot))


def _refuse_unknown_words(options: ReadingOptions) -> None:
    mimic, base = options["mimic"], options["base"]
    if mimic is not None and mimic not in WAYS:
        raise ArgumentError(f"mimic is {shown(mimic)}; give 'independent', 'couple' or 'refuse'")
    if base is not None and base not in BASES:
        raise ArgumentError(f"base is {shown(base)}; give 'fixed' or 'free'")


def _assembly_options(options: ReadingOptions) -> AssemblyOptions:
    """Read the options that hold for every format."""
    gravity, speed, lock = options["gravity"], options["friction_speed"], options["lock"]
    if not isinstance(lock, Mapping):
        lock = dict.fromkeys([lock] if isinstance(lock, str) else lock or ())
    return AssemblyOptions(
        lock=lock,
        gravity=None if gravity is None else _gravity(gravity),
        mimic=options["mimic"],
        strict=options["strict"],
        base=options["base"],
        drives=selected(options["drives"]),
        friction_speed=None if speed is None else _friction_speed(speed),
        independent=_names(options["independent"]),
        actuated=_names(options["actuated"]),
        joint_order=_order(options["joint_order"]),
    )


def _file_options(options: ReadingOptions) -> Asked:
    """Read the options of formats that leave something open."""
    packages = options["packages"] or {}
    return Asked(
        options["model"],
        dict(options["xacro"] or {}),
        {name: os.fspath(folder) for name, folder in packages.items()},
        floating=options["base"] == "free",
    )


def _located(
    robot: str | bytes | os.PathLike[str] | Declared, distribution: str | None
) -> tuple[str | bytes | os.PathLike[str] | Declared, Namesake | None]:
    """Return the robot, or its file in a Python package; and the folder that has the name of a built-in robot."""
    if distribution is None:
        twin = namesake(robot) if isinstance(robot, str) and not is_text(robot) else None
        return robot, twin
    if isinstance(robot, Declared) or is_text(robot):
        raise ArgumentError(
            "a robot that is given whole is in no package; leave distribution (--from) out"
        )
    return in_distribution(os.fsdecode(robot), distribution, suffixes()), None


def _read(
    robot: str | bytes | os.PathLike[str] | Declared, snapper: Snapper, asked: Asked
) -> _Description:
    """Read the description by the reader of its format."""
    if isinstance(robot, Declared):
        refuse_unheard(asked, (), robot.label)
        return _Description(robot.tree(snapper), b"", Path(), robot.label)
    data, path, file = _fetch(robot)
    if not data.strip():
        raise Place(file).error("the file is empty", "give a robot description")
    of_format = reader(path.suffix, data)
    refuse_unheard(asked, of_format.TAKES, file)
    return _Description(of_format.read(data, file, snapper, asked), data, path, file)


def _named(description: _Description) -> _Description:
    """Give a robot without a name that of its file."""
    if description.tree.name:
        return description
    name = description.path.stem[:LONGEST_NAME]
    name = "".join(character if character.isprintable() else "_" for character in name)
    return replace(description, tree=replace(description.tree, name=name))


def _as_first_read(mechanism: Mechanism, sha256: str, data: bytes) -> Mechanism:
    """Keep the hash of the description that a canonical one was written from, as long as the canonical one is unchanged."""
    first = replace(mechanism, source_sha256=sha256)
    return (
        first
        if re.fullmatch("([0-9a-f]{64})?", sha256) and to_toml(first).encode() == data
        else mechanism
    )


def _refuse_warnings(mechanism: Mechanism, file: str) -> None:
    warnings = [note.text for note in mechanism.notes if note.kind == "warning"]
    if warnings:
        raise Place(file).error(
            f"strict reading refuses this warning: {warnings[0]}",
            "correct it or read without strict",
        )


def _with_namesake(mechanism: Mechanism, twin: Namesake, robot: str) -> Mechanism:
    """Note the folder that has the built-in robot's name; warn where symgen generated it."""
    note = Note(KIND, twin.sentence(robot))
    if twin.generated:
        warn(note.text, KIND)
    return replace(mechanism, notes=(*mechanism.notes, note))


def builtin_robots() -> dict[str, str]:
    """Name -> one-line description of every robot inside the package, sorted by name."""
    return {
        path.stem: str(tomllib.loads(path.read_text(encoding="utf-8")).get("description", ""))
        for path in sorted(ROBOTS.glob("*.toml"))
    }


def _gravity(value: str | Sequence[int | float | str | Fraction]) -> Vector3:
    entries = value.split(",") if isinstance(value, str) else list(value)
    if len(entries) != 3:
        raise ArgumentError(f"gravity has {len(entries)} entries; give three, such as 0,0,-9.81")
    try:
        x, y, z = (e if isinstance(e, Fraction) else rational(str(e)) for e in entries)
    except DescriptionError as error:
        raise ArgumentError(f"gravity: {error}") from None
    return x, y, z


def _names(words: str | Iterable[str] | None) -> list[str] | None:
    return (
        None
        if words is None
        else [word.strip() for word in words.split(",")]
        if isinstance(words, str)
        else list(words)
    )


def _order(words: str | Iterable[str]) -> str | list[str]:
    """'file', 'pinocchio', or the names that a text has with commas, or a list has."""
    return words if isinstance(words, str) and words in (FILE, PINOCCHIO) else _names(words) or []


def _friction_speed(value: str | float | Fraction) -> Fraction:
    try:
        speed = value if isinstance(value, Fraction) else rational(str(value))
    except DescriptionError as error:
        raise ArgumentError(f"friction_speed: {error}") from None
    if (slow := speed_fault(speed)) is not None:
        raise ArgumentError("; ".join(slow))
    return speed


def is_text(robot: object) -> bool:
    """True if it is the text of a description, not a name or a path: no path starts with `<` or has several lines."""
    if isinstance(robot, bytes | bytearray):
        return robot.startswith(_UTF16) or is_text(robot.decode("latin-1"))
    return isinstance(robot, str) and (_begins(robot) == "<" or "\n" in robot.strip())


def _begins(text: str) -> str:
    """Its first character after a byte order mark, also one of UTF-8 that was read as Latin-1, and blanks."""
    return text.removeprefix("\xef\xbb\xbf").lstrip("\ufeff \t\r\n")[:1]


def _fetch(robot: str | bytes | os.PathLike[str]) -> tuple[bytes, Path, str]:
    """Return the bytes of the description, its path, and its name for sentences."""
    if is_text(robot) and isinstance(robot, bytes | bytearray):
        is_xml = robot.startswith(_UTF16) or _begins(robot.decode("latin-1")) == "<"
        return _sized(bytes(robot)), _path_of_text(is_xml), TEXT
    text = os.fsdecode(bytes(robot) if isinstance(robot, bytearray) else robot)
    if is_text(robot):
        return _encoded(text), _path_of_text(_begins(text) == "<"), TEXT
    if "\0" in text or not text.strip():
        raise ArgumentError(f"{shown(text)} is no robot; give a built-in name or a path")
    builtin, colon, count = text.partition(":")
    if isinstance(robot, str | bytes | bytearray) and builtin in builtin_names():
        path = ROBOTS / f"{builtin}.toml"
        data = _with_count(_bytes(path, path.name), builtin, count if colon else None)
        return data, path, path.name
    return _file(Path(text), text)


def _path_of_text(is_xml: bool) -> Path:
    """Return the path of a file that would hold such a text."""
    return Path("robot.urdf" if is_xml else "robot.toml")


def _file(path: Path, text: str) -> tuple[bytes, Path, str]:
    """Return the bytes of a file, or of the description in a generated folder, its path, and its name for sentences."""
    if _is_directory(path, text):
        path = _inside(path)
    file = str(path)
    if not _exists(path):
        raise UnknownName(missing(text, builtin_robots(), suffixes()))
    if path.suffix.lower() not in suffixes():
        raise Place(file).error(*_unread(path))
    return _bytes(path, file), path, file


def _encoded(text: str) -> bytes:
    """The bytes of a description's text."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise Place(TEXT).error(
            f"character {error.start} is no character of Unicode", "read the file as UTF-8"
        ) from None
    return _sized(data)


def _sized(data: bytes) -> bytes:
    """`data`, unless it is too large for a description."""
    if len(data) > LARGEST_FILE:
        raise Place(TEXT).error(
            f"it is larger than {LARGEST_FILE // 10**6} MB", "give one without embedded geometry"
        )
    return data


def _unread(path: Path) -> tuple[str, str]:
    """(what kind of file it is that no reader takes, what to do)."""
    known = ", ".join(sorted(suffixes()))
    if not path.suffix:
        return (
            "its name has no suffix to tell the format by",
            f"give it a name that ends in {known}",
        )
    return by_suffix(path.suffix) or (
        f"no reader knows the file type {shown(path.suffix)}",
        f"give a file that ends in {known}",
    )


def _with_count(data: bytes, name: str, count: str | None) -> bytes:
    """A chain's description with its number of links replaced by `count`."""
    if count is None:
        return data
    if not _REPEAT.search(data):
        raise ArgumentError(
            f"robot '{name}' has a fixed number of links; leave out ':{count[:20]}'"
        )
    if not re.fullmatch(r"[0-9]{1,6}", count) or not 1 <= int(count) <= LARGEST_CHAIN:
        raise ArgumentError(
            f"{shown(count)} is no number of links for '{name}'; give a whole number from 1 to {LARGEST_CHAIN}"
        )
    return _REPEAT.sub(f"repeat = {int(count)}".encode(), data, count=1)


def _bytes(path: Path, file: str) -> bytes:
    place = Place(file)
    try:
        if path.is_symlink() and not path.exists():
            raise place.error(
                "this is a link that leads nowhere", "mend it, or give the file itself"
            )
        if path.exists() and not path.is_file():
            raise place.error("this is not an ordinary file", "give a description file")
        if path.stat().st_size > LARGEST_FILE:
            raise place.error(
                f"the file is larger than {LARGEST_FILE // 10**6} MB",
                "give one without embedded geometry",
            )
        return path.read_bytes()
    except PermissionError:
        raise place.error(
            "reading it is not permitted", "change its permissions or copy it"
        ) from None
    except OSError as error:
        raise place.error(f"it cannot be read ({error.strerror})", "check the path") from None


def _exists(path: Path) -> bool:
    """Whether something has that name. A link that leads nowhere and a file that may not be read count as well."""
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return True  # reading it will say why


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False  # no name that a file can have


def _is_directory(path: Path, text: str) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        raise ArgumentError(
            f"{shown(text)} is no path that can be looked up; give a built-in name or a path"
        ) from None


def _inside(folder: Path) -> Path:
    """The canonical description inside a generated folder, named by its manifest."""
    place = Place(str(folder))
    hint = in_folder(folder, suffixes())
    beside = folder / "manifest.json"
    if not os.path.lexists(beside):
        if marks.functions_alone(folder):
            without = (
                "it holds functions alone, without the description and manifest that say which robot, frame and options "
                "they are to be judged by"
            )
            raise place.error(
                without, "generate again without --functions-only and take that folder"
            )
        raise place.error("this is a directory without a manifest.json", hint)
    try:
        name = str(json.loads(_bytes(beside, str(beside)))["robot"])
    except DescriptionError as error:
        raise place.error(f"its manifest.json cannot be read: {error.what}", hint) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise place.error("its manifest.json is not one that symgen wrote", hint) from None
    path = folder / f"{name}.toml"
    if Path(name).name != name or not _is_file(path):
        raise place.error(
            f"its manifest.json names {shown(name + '.toml')}, which is not there", hint
        )
    return path


# -- Python packages --


def in_distribution(
    name: str | os.PathLike[str], distribution: str, readable: Collection[str]
) -> Path:
    """Return the description that `name` stands for in an installed Python package; nothing is fetched.

    `name` is that of a file, with or without its suffix and the last folders before it; `readable` are the suffixes of
    descriptions. UnknownName where there is no such package or file, ArgumentError where there are several, or no description.
    """
    paths = _descriptions_in(distribution, readable)
    where = f"package {shown(distribution)} holds"
    if not paths:
        raise ArgumentError(
            f"{where} no robots: where it downloads them when they are asked for, give the path that it tells"
        )
    parts = Path(os.fspath(name)).parts
    matching = [path for path in paths if parts and _ends_with(path, parts)]
    if not matching:
        raise UnknownName(f"{where} no robot {shown(name)}; {_nearest_stem(parts, paths)}")
    if len(matching) > 1:
        listed = _listed(_distinct_ends(matching, len(parts)))
        raise ArgumentError(f"{where} {len(matching)} files {shown(name)}; give one of {listed}")
    return Path(str(matching[0].locate()))


def _descriptions_in(distribution: str, readable: Collection[str]) -> list[PackagePath]:
    """List the files of an installed package that may be robots."""
    try:
        paths = files(distribution)
    except (PackageNotFoundError, ValueError):
        raise UnknownName(
            f"there is no package {shown(distribution)} in this Python; install it, or give the path of the "
            "file"
        ) from None
    wanted = {suffix for suffix in readable if suffix not in _SELDOM_ROBOTS}
    return sorted(path for path in paths or () if path.suffix.lower() in wanted)


def _ends_with(path: PackagePath, parts: tuple[str, ...]) -> bool:
    """True if a path ends with these parts, the last one with or without its suffix."""
    *folders, last = path.parts[-len(parts) :]
    return (*folders, last) == parts or (*folders, path.stem) == parts


def _nearest_stem(parts: tuple[str, ...], paths: Sequence[PackagePath]) -> str:
    """Name the file that is called nearly so, or the first ones."""
    stems = sorted({path.stem for path in paths})
    close = difflib.get_close_matches(parts[-1] if parts else "", stems, n=1, cutoff=0.5)
    return f"did you mean {shown(close[0])}?" if close else f"there are {_listed(stems)}"


def _distinct_ends(paths: Sequence[PackagePath], least: int) -> list[str]:
    """Return the shortest ends, of `least` parts or more, by which paths differ."""
    longest = max(len(path.parts) for path in paths)
    ends = [[path.parts[-count:] for path in paths] for count in range(least, longest + 1)]
    distinct = next(several for several in ends if len(set(several)) == len(paths))
    return ["/".join(parts) for parts in distinct]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
