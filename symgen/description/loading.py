"""Reading of a Mechanism from the name of a built-in robot, a description file, its text, a
generated folder or a Python package.
"""

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
from symgen.description.asking import FileOptions, refuse_unused_options
from symgen.description.assembly import AssemblyOptions, assemble
from symgen.description.canonical import to_toml
from symgen.description.coupling import MIMIC_CHOICES
from symgen.description.lookup import folder_remedy, missing_robot
from symgen.description.namesakes import KIND, ROBOTS, Namesake, builtin_names, namesake
from symgen.description.ordering import FILE, PINOCCHIO
from symgen.description.parsing.foreign import by_suffix
from symgen.description.quantities import Location, quote, rational
from symgen.description.readers import reader, suffixes
from symgen.description.snapping import Snapper, snap_tolerance
from symgen.description.tree import LONGEST_NAME, Declared, Tree, sha256_of
from symgen.mechanism.drives import selected_kinds, speed_fault
from symgen.mechanism.mechanism import Mechanism
from symgen.mechanism.notes import Note
from symgen.support.errors import ArgumentError, DescriptionError, UnknownName, printable, warn
from symgen.support.lists import shortened_list
from symgen.vocabulary.options import ReadingOptions
from symgen.vocabulary.poses import Vector3

LARGEST_FILE = 50_000_000
LARGEST_CHAIN = 100_000
BASES = ("fixed", "free")
SHOWN = 5
"""Number of files of a package that a message lists before it counts the rest."""
TEXT = "<text>"
"""Name of a description that was given as text, for messages."""
_UTF16 = b"\xff\xfe", b"\xfe\xff"
"""Byte order marks of XML in UTF-16."""
_SELDOM_ROBOTS = (".csv", ".toml")
"""Suffixes that rarely belong to a robot in a package."""
_REPEAT = re.compile(rb"^repeat = \d+", re.MULTILINE)


@dataclass(frozen=True)
class _Description:
    """A description that was read: its tree, the bytes it was read from, their path, and its name
    in messages.
    """

    tree: Tree
    data: bytes
    path: Path
    file: str

    @property
    def source(self) -> str:
        """Name of the file, or the source that a canonical description declares."""
        first_reading = self.file != TEXT and self.tree.source_sha256 is None
        return printable(self.tree.source or (self.path.name if first_reading else ""))


@validated_with(ReadingOptions)
def load(
    robot: str | bytes | os.PathLike[str] | Declared, **options: Unpack[ReadingOptions]
) -> Mechanism:
    """Return the mechanism of a robot description.

    `robot` is one of:

    - the name of a built-in robot (`panda`, `planar_point_mass:12`); a str that is such a name
      never means a folder of that name
    - the path of a description file or of a generated folder
    - the text of a description: a str or bytes whose first character is `<` is URDF, SDF or MJCF,
      one of several lines is TOML; messages about it name `<text>` and the line
    - a `symgen.Robot`

    Options of every robot:

    - `lock`: joint -> value (rad or m; a number, a string such as `pi/2`, or None for 0) at which
      the joint is locked; a list of names locks at 0. Links that a locked joint connects are
      merged.
    - `gravity`: three numbers in m/s² or the string `x,y,z`; default the description's, else (0, 0,
      -9.81).
    - `snap`: tolerance in rad for rotations that stand for multiples of π/2, 'off', or None (the
      description's, else 1e-8).
    - `mimic`: 'independent', 'couple' (followers follow their leaders) or 'refuse'; default the
      description's, else 'independent'.
    - `strict`: turn warnings into errors.
    - `base`: 'fixed', or 'free' for a free joint `root_joint` from the world to the root link.
      Without it the root link is fixed, with a warning if it looks like the trunk of a mobile
      robot.
    - `drives`: declared drives to apply, 'on', 'off' or some of armature, damping, friction,
      stiffness, gravcomp; default 'off' for URDF and xacro, 'on' for other formats.
    - `friction_speed`: ε of μ v/√(v² + ε²) in rad/s and m/s; default the description's, else 1e-3.
    - `independent`, `actuated`: independent and actuated joints of closed loops, a list or a
      comma-separated string. A velocity of a joint with several is named as in `root_joint.wz`.
    - `joint_order`: order of the joints in q and v: 'file', 'pinocchio' (that of its reader of the
      format), or a list of all joints with coordinates, parents first.

    Options of files:

    - `model`: name of the model in a file with several; `xacro`: arguments of a xacro file;
      `packages`: ROS package -> folder.
    - `distribution`: installed Python package that contains the file `robot`, such as
      example-robot-data.

    Raises DescriptionError, which names file, line and element, and RequestError for an option or a
    name. Issues a SymgenWarning for what looks like a mistake. It also issues one for snapped
    rotations, mimic joints that are read as independent, and drives of a URDF that are off, unless
    `snap`, `mimic` or `drives` is given. `Mechanism.notes` has all remarks.
    """
    _refuse_unknown_words(options)
    snapper = Snapper(snap_tolerance(options["snap"]), chosen=options["snap"] is not None)
    choices = _assembly_options(options)
    file_options = _file_options(options)
    robot, same_name_folder = _locate(robot, options["distribution"])
    description = _with_file_name(_read_description(robot, snapper, file_options))
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
    return (
        mechanism
        if same_name_folder is None
        else _with_namesake(mechanism, same_name_folder, str(robot))
    )


def _refuse_unknown_words(options: ReadingOptions) -> None:
    """Raise ArgumentError for an unknown choice of `mimic` or `base`."""
    mimic, base = options["mimic"], options["base"]
    if mimic is not None and mimic not in MIMIC_CHOICES:
        raise ArgumentError(f"mimic is {quote(mimic)}; give 'independent', 'couple' or 'refuse'")
    if base is not None and base not in BASES:
        raise ArgumentError(f"base is {quote(base)}; give 'fixed' or 'free'")


def _assembly_options(options: ReadingOptions) -> AssemblyOptions:
    """Return the options that apply to every format."""
    gravity, speed, lock = options["gravity"], options["friction_speed"], options["lock"]
    if not isinstance(lock, Mapping):
        lock = dict.fromkeys([lock] if isinstance(lock, str) else lock or ())
    return AssemblyOptions(
        lock=lock,
        gravity=None if gravity is None else _gravity(gravity),
        mimic=options["mimic"],
        strict=options["strict"],
        base=options["base"],
        drives=selected_kinds(options["drives"]),
        friction_speed=None if speed is None else _friction_speed(speed),
        independent=_names(options["independent"]),
        actuated=_names(options["actuated"]),
        joint_order=_order(options["joint_order"]),
    )


def _file_options(options: ReadingOptions) -> FileOptions:
    """Return the options of formats that leave something open."""
    packages = options["packages"] or {}
    return FileOptions(
        options["model"],
        dict(options["xacro"] or {}),
        {name: os.fspath(folder) for name, folder in packages.items()},
        floating=options["base"] == "free",
    )


def _locate(
    robot: str | bytes | os.PathLike[str] | Declared, distribution: str | None
) -> tuple[str | bytes | os.PathLike[str] | Declared, Namesake | None]:
    """Return the robot, or its file in a Python package; and the folder with the name of a built-in
    robot.
    """
    if distribution is None:
        same_name_folder = (
            namesake(robot) if isinstance(robot, str) and not is_text(robot) else None
        )
        return robot, same_name_folder
    if isinstance(robot, Declared) or is_text(robot):
        raise ArgumentError(
            "distribution (--from) needs the name of a file, not a description; leave"
            " distribution out"
        )
    return in_distribution(os.fsdecode(robot), distribution, suffixes()), None


def _read_description(
    robot: str | bytes | os.PathLike[str] | Declared, snapper: Snapper, file_options: FileOptions
) -> _Description:
    """Return the description, read by the reader of its format."""
    if isinstance(robot, Declared):
        refuse_unused_options(file_options, (), robot.label)
        return _Description(robot.tree(snapper), b"", Path(), robot.label)
    data, path, file = _fetch(robot)
    if not data.strip():
        raise Location(file).error("the file is empty", "give a robot description")
    of_format = reader(path.suffix, data)
    refuse_unused_options(file_options, of_format.TAKES, file)
    return _Description(of_format.read(data, file, snapper, file_options), data, path, file)


def _with_file_name(description: _Description) -> _Description:
    """Return the description; a robot without a name gets that of its file."""
    if description.tree.name:
        return description
    name = description.path.stem[:LONGEST_NAME]
    name = "".join(character if character.isprintable() else "_" for character in name)
    return replace(description, tree=replace(description.tree, name=name))


def _as_first_read(mechanism: Mechanism, sha256: str, data: bytes) -> Mechanism:
    """Restore the hash of the first description in a canonical description that has not been
    edited.
    """
    first = replace(mechanism, source_sha256=sha256)
    return (
        first
        if re.fullmatch("([0-9a-f]{64})?", sha256) and to_toml(first).encode() == data
        else mechanism
    )


def _refuse_warnings(mechanism: Mechanism, file: str) -> None:
    """Raise DescriptionError for the first warning."""
    warnings = [note.text for note in mechanism.notes if note.kind == "warning"]
    if warnings:
        raise Location(file).error(
            f"strict reading refuses this warning: {warnings[0]}",
            "correct it or read without strict",
        )


def _with_namesake(mechanism: Mechanism, namesake: Namesake, robot: str) -> Mechanism:
    """Add a note on a folder with a built-in robot's name; warn if symgen generated the folder."""
    note = Note(KIND, namesake.sentence(robot))
    if namesake.generated:
        warn(note.text, KIND)
    return replace(mechanism, notes=(*mechanism.notes, note))


def builtin_robots() -> dict[str, str]:
    """Return the one-line description of every built-in robot by name, sorted."""
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
    """Return 'file', 'pinocchio', or a list of names."""
    return words if isinstance(words, str) and words in (FILE, PINOCCHIO) else _names(words) or []


def _friction_speed(value: str | float | Fraction) -> Fraction:
    """Return the friction speed. Raises ArgumentError if it is invalid."""
    try:
        speed = value if isinstance(value, Fraction) else rational(str(value))
    except DescriptionError as error:
        raise ArgumentError(f"friction_speed: {error}") from None
    if (fault := speed_fault(speed)) is not None:
        raise ArgumentError("; ".join(fault))
    return speed


def is_text(robot: object) -> bool:
    """True for the text of a description: it starts with `<` or has several lines, which no name or
    path does.
    """
    if isinstance(robot, bytes | bytearray):
        return robot.startswith(_UTF16) or is_text(robot.decode("latin-1"))
    return isinstance(robot, str) and (_first_character(robot) == "<" or "\n" in robot.strip())


def _first_character(text: str) -> str:
    """Return the first character after blanks and a byte order mark, also one of UTF-8 that was
    read as Latin-1.
    """
    return text.removeprefix("\xef\xbb\xbf").lstrip("\ufeff \t\r\n")[:1]


def _fetch(robot: str | bytes | os.PathLike[str]) -> tuple[bytes, Path, str]:
    """Return the bytes of the description, its path, and its name in messages."""
    if is_text(robot) and isinstance(robot, bytes | bytearray):
        is_xml = robot.startswith(_UTF16) or _first_character(robot.decode("latin-1")) == "<"
        return _check_size(bytes(robot)), _path_of_text(is_xml), TEXT
    text = os.fsdecode(bytes(robot) if isinstance(robot, bytearray) else robot)
    if is_text(robot):
        return _encode(text), _path_of_text(_first_character(text) == "<"), TEXT
    if "\0" in text or not text.strip():
        raise ArgumentError(f"{quote(text)} is not a robot; give a built-in name or a path")
    builtin, colon, count = text.partition(":")
    if isinstance(robot, str | bytes | bytearray) and builtin in builtin_names():
        path = ROBOTS / f"{builtin}.toml"
        data = _with_count(_bytes(path, path.name), builtin, count if colon else None)
        return data, path, path.name
    return _file(Path(text), text)


def _path_of_text(is_xml: bool) -> Path:
    """Return the path of a file that would contain such a text."""
    return Path("robot.urdf" if is_xml else "robot.toml")


def _file(path: Path, text: str) -> tuple[bytes, Path, str]:
    """Return the bytes of a file, or of the description in a generated folder, its path, and its
    name in messages.
    """
    if _is_directory(path, text):
        path = _description_in_folder(path)
    file = str(path)
    if not _exists(path):
        raise UnknownName(missing_robot(text, builtin_robots(), suffixes()))
    if path.suffix.lower() not in suffixes():
        raise Location(file).error(*_unreadable_format(path))
    return _bytes(path, file), path, file


def _encode(text: str) -> bytes:
    """Return the bytes of the text of a description."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise Location(TEXT).error(
            f"character {error.start} is not valid Unicode", "read the file as UTF-8"
        ) from None
    return _check_size(data)


def _check_size(data: bytes) -> bytes:
    """Return `data`. Raises DescriptionError if it is too large for a description."""
    if len(data) > LARGEST_FILE:
        raise Location(TEXT).error(
            f"it is larger than {LARGEST_FILE // 10**6} MB", "give one without embedded geometry"
        )
    return data


def _unreadable_format(path: Path) -> tuple[str, str]:
    """Return (fault, remedy) of a file that no reader accepts."""
    endings = ", ".join(sorted(suffixes()))
    if not path.suffix:
        return (
            "its name has no suffix that shows the format",
            f"give it a name that ends in {endings}",
        )
    return by_suffix(path.suffix) or (
        f"the file type {quote(path.suffix)} is not supported",
        f"give a file that ends in {endings}",
    )


def _with_count(data: bytes, name: str, count: str | None) -> bytes:
    """Return a chain's description with its number of links replaced by `count`."""
    if count is None:
        return data
    if not _REPEAT.search(data):
        raise ArgumentError(
            f"robot '{name}' has a fixed number of links; leave out ':{count[:20]}'"
        )
    if not re.fullmatch(r"[0-9]{1,6}", count) or not 1 <= int(count) <= LARGEST_CHAIN:
        raise ArgumentError(
            f"{quote(count)} is not a number of links of '{name}'; give a whole number from 1 to"
            f" {LARGEST_CHAIN}"
        )
    return _REPEAT.sub(f"repeat = {int(count)}".encode(), data)


def _bytes(path: Path, file: str) -> bytes:
    """Return the bytes of a file. Raises DescriptionError if it cannot be read."""
    location = Location(file)
    try:
        if path.is_symlink() and not path.exists():
            raise location.error("this is a broken link", "repair it, or give the file itself")
        if path.exists() and not path.is_file():
            raise location.error("this is not a regular file", "give a description file")
        if path.stat().st_size > LARGEST_FILE:
            raise location.error(
                f"the file is larger than {LARGEST_FILE // 10**6} MB",
                "give one without embedded geometry",
            )
        return path.read_bytes()
    except PermissionError:
        raise location.error(
            "permission to read it is denied", "change its permissions or copy it"
        ) from None
    except OSError as error:
        raise location.error(f"it cannot be read ({error.strerror})", "check the path") from None


def _exists(path: Path) -> bool:
    """True if the name exists; broken links and unreadable files count as well."""
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
            f"{quote(text)} is not a valid path; give a built-in name or a path"
        ) from None


def _description_in_folder(folder: Path) -> Path:
    """Return the path of the canonical description in a generated folder, from its manifest."""
    location = Location(str(folder))
    hint = folder_remedy(folder, suffixes())
    manifest = folder / "manifest.json"
    if not os.path.lexists(manifest):
        if marks.functions_alone(folder):
            fault = (
                "it has only functions, without the description and the manifest that name robot,"
                " frame and options"
            )
            raise location.error(
                fault, "generate again without --functions-only and use that folder"
            )
        raise location.error("this is a directory without a manifest.json", hint)
    try:
        name = str(json.loads(_bytes(manifest, str(manifest)))["robot"])
    except DescriptionError as error:
        raise location.error(f"its manifest.json cannot be read: {error.what}", hint) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise location.error("its manifest.json is not one that symgen wrote", hint) from None
    path = folder / f"{name}.toml"
    if Path(name).name != name or not _is_file(path):
        raise location.error(
            f"its manifest.json names {quote(name + '.toml')}, which does not exist", hint
        )
    return path


# -- Python packages --


def in_distribution(
    name: str | os.PathLike[str], distribution: str, readable: Collection[str]
) -> Path:
    """Return the path of a description in an installed Python package; nothing is downloaded.

    `name` is that of a file, with or without its suffix and preceding folders; `readable` has the
    suffixes of descriptions. Raises UnknownName if there is no such package or file, ArgumentError
    if several files match or the package has no description.
    """
    paths = _descriptions_in(distribution, readable)
    beginning = f"package {quote(distribution)} holds"
    if not paths:
        raise ArgumentError(
            f"{beginning} no robot files; if it downloads them on demand, give the path that it"
            " reports"
        )
    parts = Path(os.fspath(name)).parts
    matching = [path for path in paths if parts and _ends_with(path, parts)]
    if not matching:
        raise UnknownName(f"{beginning} no robot {quote(name)}; {_nearest_stem(parts, paths)}")
    if len(matching) > 1:
        listed = shortened_list(_distinct_ends(matching, len(parts)), SHOWN)
        raise ArgumentError(
            f"{beginning} {len(matching)} files {quote(name)}; give one of {listed}"
        )
    return Path(str(matching[0].locate()))


def _descriptions_in(distribution: str, readable: Collection[str]) -> list[PackagePath]:
    """Return the files of an installed package that may be robots."""
    try:
        paths = files(distribution)
    except (PackageNotFoundError, ValueError):
        raise UnknownName(
            f"the package {quote(distribution)} is not installed in this Python; install it, or"
            " give the path of the file"
        ) from None
    likely = {suffix for suffix in readable if suffix not in _SELDOM_ROBOTS}
    return sorted(path for path in paths or () if path.suffix.lower() in likely)


def _ends_with(path: PackagePath, parts: tuple[str, ...]) -> bool:
    """True if a path ends with these parts, the last one with or without its suffix."""
    *folders, last = path.parts[-len(parts) :]
    return (*folders, last) == parts or (*folders, path.stem) == parts


def _nearest_stem(parts: tuple[str, ...], paths: Sequence[PackagePath]) -> str:
    """Return a hint with the file of the most similar name, or with the first files."""
    stems = sorted({path.stem for path in paths})
    close = difflib.get_close_matches(parts[-1] if parts else "", stems, cutoff=0.5)
    return (
        f"did you mean {quote(close[0])}?"
        if close
        else f"there are: {shortened_list(stems, SHOWN)}"
    )


def _distinct_ends(paths: Sequence[PackagePath], shortest: int) -> list[str]:
    """Return the shortest ends of the paths that distinguish them, of at least `shortest` parts."""
    longest = max(len(path.parts) for path in paths)
    endings_by_length = [
        [path.parts[-count:] for path in paths] for count in range(shortest, longest + 1)
    ]
    distinct = next(
        candidates for candidates in endings_by_length if len(set(candidates)) == len(paths)
    )
    return ["/".join(parts) for parts in distinct]
