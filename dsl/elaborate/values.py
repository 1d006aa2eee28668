"""What an expression can stand for besides a tensor of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from anedsl.graph import Value
from anedsl.ops.record import Op
from anedsl.types import DType, Shape

if TYPE_CHECKING:
    from anedsl.elaborate.modules import LoadedModule
    from anedsl.syntax import tree

Array = np.ndarray[Any, np.dtype[Any]]


class ConstTensor:
    """A tensor known at compile time, in float64, int64 or bool.

    Like a number it has no element type of its own: it takes the type of the tensor it meets, and is rounded once.
    """

    __slots__ = ("array", "name", "placed")

    def __init__(self, array: Array, name: str = "") -> None:
        self.array = array
        self.name = name
        self.placed: dict[DType, Value] = {}

    @property
    def shape(self) -> Shape:
        shape: Shape = self.array.shape
        return shape


# None of these is a NamedTuple: a tuple is a list of the language.


class Family:
    """`weight W[COUNT]`: used as `W[i]`."""

    __slots__ = ("members", "name")

    def __init__(self, name: str, members: tuple[Value, ...]) -> None:
        self.name = name
        self.members = members


class Function:
    """A function of a file, with the file it sees its names in."""

    __slots__ = ("module", "tree")

    def __init__(self, tree: tree.Function, module: LoadedModule) -> None:
        self.tree = tree
        self.module = module


class Builtin:
    """A short name: `run` takes the bound arguments and returns a value.

    `parameters` are names and defaults; `variadic` is the parameter that takes all positional arguments.
    """

    __slots__ = ("doc", "name", "parameters", "run", "variadic")

    def __init__(
        self, name: str, parameters: tuple[tuple[str, Any], ...], run: Callable[..., Any], doc: str, variadic: str = ""
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.run = run
        self.doc = doc
        self.variadic = variadic


class Poison:
    """The value of a name whose definition failed: using it reports nothing more."""


POISON = Poison()


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def is_tensor(value: object) -> bool:
    return isinstance(value, (Value, ConstTensor))


def describe(value: object) -> str:
    """A value in words, for a diagnostic."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, (int, float)):
        return f"the number {shown(value)}"
    if isinstance(value, str):
        return f'the string "{value[:40]}"'
    if isinstance(value, Value):
        return f"a tensor `{value.type}`"
    if isinstance(value, ConstTensor):
        return f"a compile-time tensor of shape {list(value.shape)}"
    if isinstance(value, DType):
        return f"the element type `{value}`"
    if isinstance(value, (tuple, list)):
        return f"a list of {len(value)}"
    if isinstance(value, range):
        return "a range"
    if isinstance(value, Family):
        return f"the weight family `{value.name}`"
    if isinstance(value, (Op, Builtin)):
        return f"the op `{value.name}`"
    if isinstance(value, Function):
        return f"the function `{value.tree.name.text}`"
    return "a value"


def shown(number: int | float) -> str:
    """A number as a diagnostic prints it: long integers are cut."""
    if isinstance(number, int) and abs(number) >= 10**24:
        return f"about 2^{number.bit_length()}"
    return repr(number)
