"""The record of an op: everything the compiler knows about it, in one place.

An op carries MIL's name; its operands and attributes carry MIL's parameter names. An operand is a tensor, possibly one
known only at run time. An attribute is known at compile time and takes part in the type rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from anedsl.types import BOOL, FP16, FP32, INT8, INT16, INT32, UINT8, UINT16, DType, TensorType

if TYPE_CHECKING:
    from anedsl.ops.call import Call

Array = np.ndarray[Any, np.dtype[Any]]
AttributeValue = Any  # int, float, bool, str, DType, or a tuple of these
Types = TensorType | tuple[TensorType, ...]


class Domain(NamedTuple):
    """Element types an operand takes. All operands of one domain share one element type.

    `follows` is the attribute of kind dtype that tells it where no tensor does: a number takes the type it names.
    """

    name: str
    dtypes: tuple[DType, ...]
    follows: str = ""

    def __str__(self) -> str:
        names = [dtype.name for dtype in self.dtypes]
        return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


FLOAT = Domain("T", (FP16, FP32))
NUMBER = Domain("T", (FP16, FP32, INT32))
ANY = Domain("T", (FP16, FP32, INT32, BOOL, INT8, UINT8, INT16, UINT16))
BOOLS = Domain("B", (BOOL,))
INDEX = Domain("I", (INT32, INT16, UINT16, INT8, UINT8))


class Operand(NamedTuple):
    """A tensor that an op takes."""

    name: str
    domain: Domain
    doc: str = ""
    optional: bool = False
    variadic: bool = False  # several tensors: `values = (a, b)`
    const: bool = False  # MIL wants a compile-time tensor here
    positive: bool = False  # numbers that are known when the call is read have to be above 0


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


class Attribute(NamedTuple):
    """A compile-time value that an op takes.

    `kind` is int, ints, float, floats, bool, bools, string or dtype; an opaque op has literal, for a value with its type as
    it was written, and listed, for one that stood in the attribute list. `default` is a value, REQUIRED, None (left out of
    the MIL text), or a function of the call, for defaults that depend on a shape. A float follows the element type of
    the operand in `domain`, or is fp32 where there is none; an int is int32, or the one type in `domain`. `since` is the
    first opset that has the attribute. `infinite` says that an infinity means something there, such as a bound that is none.
    """

    name: str
    kind: str
    default: AttributeValue = REQUIRED
    doc: str = ""
    choices: tuple[str, ...] = ()
    domain: Domain | None = None
    since: str = "ios15"
    infinite: bool = False


def flops_per_element(call: Call, results: Sequence[TensorType]) -> int:
    """One operation for each element of the first result."""
    return results[0].size


def no_flops(call: Call, results: Sequence[TensorType]) -> int:
    """Only moves data."""
    return 0


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Op:
    """One op.

    - `infer(call)` is the type rule: the result type, or a tuple of them; it reports what is wrong with `call.fail`.
    - `reference(*operands, **attributes)` computes the op in numpy, in the floating type of its operands (float64 or
      float32), without rounding to fp16 inside. Operands come in the record's order; an absent optional one is None; a
      variadic one is a tuple. Integers are int32 arrays, booleans bool arrays.
    - `flops(call, results)` counts arithmetic operations, a multiply-add as two.
    - `since` is the first opset that has the op, in this form.
    - `until` is the last opset that has the op in this form, None where the newest one has it.
    - `effect` says that the op does more than make its results, or depends on what others did: it reads or writes a state.
      It stays, in its place, also where nothing uses its results.
    - `constexpr` says that the op stays in the program where all its operands are consts: Core ML computes it when it
      loads the program, and the file holds the small operands instead of the large result.
    """

    name: str
    doc: str
    operands: tuple[Operand, ...]
    infer: Callable[[Call], Types]
    reference: Callable[..., Any]
    attributes: tuple[Attribute, ...] = ()
    flops: Callable[[Call, Sequence[TensorType]], int] = flops_per_element
    since: str = "ios15"
    example: str = ""
    family: str = ""
    constexpr: bool = False
    until: str | None = None
    effect: bool = False
    operand_index: Mapping[str, Operand] = field(init=False)
    attribute_index: Mapping[str, Attribute] = field(init=False)
    opaque: ClassVar[bool] = False
    """Whether this stands for one use of an op that the compiler does not know: passes leave it alone."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "operand_index", {operand.name: operand for operand in self.operands})
        object.__setattr__(self, "attribute_index", {attribute.name: attribute for attribute in self.attributes})

    @property
    def moves_data(self) -> bool:
        """Whether every element of the result is an element of an operand, or a constant: then there is nothing to round."""
        return self.flops is no_flops and not self.constexpr and self.name != "cast"

    def __repr__(self) -> str:
        return f"Op({self.name})"
