"""Exceptions and warnings of symgen, under the names by which users import them."""

from symgen.support.errors import ArgumentError as ArgumentError
from symgen.support.errors import BuildError as BuildError
from symgen.support.errors import DescriptionError as DescriptionError
from symgen.support.errors import MechanismError as MechanismError
from symgen.support.errors import MethodRefusal as MethodRefusal
from symgen.support.errors import OutOfReach as OutOfReach
from symgen.support.errors import ProgramError as ProgramError
from symgen.support.errors import RequestError as RequestError
from symgen.support.errors import StateError as StateError
from symgen.support.errors import SymgenError as SymgenError
from symgen.support.errors import SymgenWarning as SymgenWarning
from symgen.support.errors import TextRefused as TextRefused
from symgen.support.errors import ToolMissing as ToolMissing
from symgen.support.errors import TooLong as TooLong
from symgen.support.errors import UnknownName as UnknownName
