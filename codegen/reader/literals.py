"""From a literal as it is written to numbers, texts or a place in a weight file, each checked against its type."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from typing import Any, NamedTuple, NoReturn

import numpy as np
from lark import Token

from anedsl.codegen.mil_types import STRING, is_tensor
from anedsl.codegen.program import Constant, InFile
from anedsl.codegen.reader.places import Places
from anedsl.codegen.reader.written import BlobFile, Entries, Grouped, Listed, Literal, Numbers, Texts
from anedsl.data import Array
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.source import Span
from anedsl.types import BOOL, FP32, INT32, DType, TensorType

LONGEST_NUMBER = 400
"""Characters of one number: more than any that Apple's printer writes."""


LARGEST_OFFSET = (1 << 63) - 1
"""The last position that a file can have."""


class Resolved(NamedTuple):
    """A literal that was read.

    `value` is an array of the type's shape (float64, int64 or bool: as exact as it is written), a text, a tuple of
    texts, or a place in a weight file. For a list, dict or tuple it is a tuple of its parts as `Constant`s, keys and values
    in turn; for a tensor that the graph cannot hold a flat array.
    """

    type: TensorType
    value: Any


def resolve(literal: Literal, places: Places) -> Resolved:
    """Raises 0469 to 0472 where a literal is none of its type."""
    type = bare_type(literal.payload) if literal.type is None else places.type(literal.type)
    return resolve_as(type, literal.payload, places, literal)


def constant_of(resolved: Resolved) -> Constant:
    """A const without a name."""
    return Constant("", *resolved)


def resolve_as(type: TensorType, payload: Any, places: Places, literal: Any) -> Resolved:
    """As `resolve`, for a payload in a literal whose type is known."""
    if isinstance(payload, BlobFile):
        return Resolved(type, _in_file(payload, places))
    if isinstance(payload, Numbers) and is_tensor(type):
        _check_count(payload.array.size, type, places, literal)
        return Resolved(type, payload.array.reshape(type.shape))
    if isinstance(payload, Texts) and type.dtype is STRING:
        _check_count(len(payload.items), type, places, literal)
        return Resolved(type, tuple(payload.items) if type.shape else payload.items[0])
    if type.dtype is STRING:
        return Resolved(type, texts(payload, type, places, literal))
    if not is_tensor(type):
        from anedsl.codegen.reader.compounds import compound_value

        return Resolved(type, compound_value(type, payload, places, literal))
    reader = ElementReader(type, places)
    if payload.__class__ is Token and type.shape == ():
        return Resolved(type, np.array(reader.scalar(payload)))
    return Resolved(type, reader.array(payload, literal))


def bare_type(payload: Any) -> TensorType:
    """The type of a value that is written without one."""
    kind = getattr(payload, "type", "")
    dtype = {"TRUE": BOOL, "FALSE": BOOL, "STRING": STRING, "INTEGER": INT32}.get(kind, FP32)
    return TensorType(dtype, ())


def plain(payload: Any) -> Any:
    """A value of an attribute in Python's terms: numbers, texts, lists, tuples and dicts."""
    if isinstance(payload, Literal):
        return plain(payload.payload)
    if isinstance(payload, (Listed, Grouped)):
        items = [plain(item) for item in payload.items]
        return items if isinstance(payload, Listed) else tuple(items)
    if isinstance(payload, Entries):
        return {_key(plain(key)): plain(value) for key, value in payload.items}
    if isinstance(payload, Numbers):
        return payload.array.tolist() if payload.array.size != 1 else payload.array.item()
    if isinstance(payload, Texts):
        return payload.items[0] if len(payload.items) == 1 else list(payload.items)
    if isinstance(payload, Token):
        return _plain_token(payload)
    return payload


def _key(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, bool)) else str(key)


def _plain_token(token: Token) -> Any:
    if token.type == "STRING":
        return str(token[1:-1])
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    try:
        if token.type == "NUMBERS":
            return [_number(text) for text in _split(token)]
        return _number(token)
    except (ValueError, OverflowError):
        return str(token)


def _number(text: str) -> float | int:
    if "x" in text:
        return float.fromhex(text)
    try:
        return int(text)
    except ValueError:
        return float(text)


def _split(token: str) -> list[str]:
    return [text.strip() for text in token.strip()[1:-1].split(",")]


def _in_file(payload: BlobFile, places: Places) -> InFile:
    found = dict(zip(map(str, payload.arguments[::2]), payload.arguments[1::2], strict=True))
    path, offset = found.get("path"), found.get("offset")
    if len(payload.arguments) == 4 and isinstance(path, Literal) and isinstance(offset, Literal):
        text, number = plain(path), plain(offset)
        if isinstance(text, str) and type(number) is int:
            if 0 <= number <= LARGEST_OFFSET:
                return InFile(text, number)
            _no_place(places.span(offset), "the offset is negative" if number < 0 else f"the largest offset is {LARGEST_OFFSET}")
    _no_place(places.span(payload), "not of this form")


def _no_place(span: Span, reason: str) -> NoReturn:
    from anedsl.diagnostics.artifacts import InvalidBlobFile

    raise Failure(InvalidBlobFile(span=span, reason=reason))


def texts(payload: Any, type: TensorType, places: Places, literal: Literal) -> str | tuple[str, ...]:
    if type.shape == ():
        if isinstance(payload, Token) and payload.type == "STRING":
            return str(payload[1:-1])
        raise Failure(wrong_literal(payload, "a string", type, places, literal))
    items = list(flat_items(payload))
    for item in items:
        if not isinstance(item, Token) or item.type != "STRING":
            raise Failure(wrong_literal(item, "strings", type, places, literal))
    _check_count(len(items), type, places, literal)
    return tuple(str(item[1:-1]) for item in items)


def flat_items(payload: Any) -> Any:
    """What stands in the innermost brackets."""
    if isinstance(payload, (Listed, Grouped)):
        for item in payload.items:
            yield from flat_items(item)
    elif payload is not None:
        yield payload


class ElementReader:
    """Reads the numbers of one literal."""

    def __init__(self, type: TensorType, places: Places) -> None:
        self.type = type
        self.places = places
        self.dtype = type.dtype

    def array(self, payload: Any, literal: Literal) -> Array:
        """All elements, from one flat list or from one level of brackets for each axis."""
        if payload is not None and not isinstance(payload, (Listed, Grouped)) and getattr(payload, "type", "") != "NUMBERS":
            raise Failure(wrong_literal(payload, "a list", self.type, self.places, literal))
        shape, numbers = self._collected(payload)
        if shape is not None and len(shape) > 1 and shape != self.type.shape:
            self._uneven(literal, shape)
        _check_count(len(numbers), self.type, self.places, literal)
        if shape is None:
            self._uneven(literal, None)
        return self._held(numbers).reshape(self.type.shape)

    def flat(self, payload: Any) -> Array:
        """The elements of a literal whose shape is not known."""
        return self._held(self._collected(payload)[1])

    def _held(self, numbers: list[Any]) -> Array:
        if self.dtype.name == "uint64":
            return np.array(numbers, np.uint64)
        return np.array(numbers, np.float64 if self.dtype.is_float else np.bool_ if self.dtype is BOOL else np.int64)

    def _uneven(self, literal: Literal, shape: tuple[int, ...] | None) -> NoReturn:
        from anedsl.diagnostics.artifacts import UnevenLiteral

        found = "lists of different lengths" if shape is None else f"lists of shape {list(shape)}"
        raise Failure(UnevenLiteral(span=self.places.span(literal), found=found, type=str(self.type)))

    def _collected(self, payload: Any) -> tuple[tuple[int, ...] | None, list[Any]]:
        """The shape of nested lists (None where they are uneven), and the numbers in them."""
        if payload is None:
            return (0,), []
        if isinstance(payload, Token):
            if payload.type == "NUMBERS":
                numbers = self.numbers(payload)
                return (len(numbers),), numbers
            return (), [self.scalar(payload)]
        if not isinstance(payload, (Listed, Grouped)):
            raise Failure(wrong_literal(payload, "numbers", self.type, self.places, payload))
        parts = [self._collected(item) for item in payload.items]
        shapes = {shape for shape, _ in parts}
        shape = shapes.pop() if len(shapes) == 1 else None if parts else ()
        numbers = [number for _, some in parts for number in some]
        return None if shape is None else (len(parts), *shape), numbers

    def numbers(self, token: Token) -> list[Any]:
        """A flat list of numbers that is one token."""
        texts = _split(token)
        try:
            if self.dtype.is_float:
                found: list[Any] = [float.fromhex(text) if "x" in text else float(text) for text in texts]
            elif self.dtype is BOOL:
                found = []
            else:
                found = [int(text) for text in texts]
        except (ValueError, OverflowError):
            found = []
        if len(found) != len(texts) or (found and not self._in_range(min(found), max(found))):
            # Only now is it worth knowing which one it is.
            return [self.scalar(item) for item in own_tokens(token)]
        return found

    def scalar(self, token: Any) -> Any:
        kind = getattr(token, "type", "")
        if self.dtype is BOOL and kind in ("TRUE", "FALSE"):
            return kind == "TRUE"
        value = _parsed(token, kind, self.dtype) if len(token) <= LONGEST_NUMBER else None
        if value is None:
            expected = {"bool": "`true` or `false`", "float": "a number"}.get(self.dtype.kind, "an integer")
            raise Failure(wrong_literal(token, expected, self.type, self.places, token))
        if token.lstrip("-") not in ("inf", "nan") and not self._in_range(value, value):
            raise Failure(out_of_range(token, str(token), self.dtype, self.places))
        return value

    def _in_range(self, least: float, greatest: float) -> bool:
        if not self.dtype.is_float:
            return self.dtype.smallest <= least and greatest <= self.dtype.largest
        # What lies between the largest number and the middle to the next one is rounded down to it.
        limit = _FLOAT_LIMITS[self.dtype.name]
        return -limit < least and greatest < limit


_FLOAT_LIMITS = {"fp16": 65520.0, "fp32": 2.0**128 - 2.0**103, "fp64": float("inf")}


def _parsed(token: Any, kind: str, dtype: DType) -> Any:
    try:
        if dtype.is_float and kind in ("INTEGER", "FLOAT"):
            return float.fromhex(token) if "x" in token else float(token)
        if dtype.is_integer and kind == "INTEGER":
            return int(token)
    except (ValueError, OverflowError):
        pass
    return None


def own_tokens(token: Token) -> Any:
    """The numbers of a NUMBERS token as tokens of their own, each with its place."""
    at = (token.start_pos or 0) + 1
    for text in token[1:-1].split(","):
        stripped = text.strip()
        start = at + len(text) - len(text.lstrip())
        kind = "INTEGER" if stripped.lstrip("-").isdigit() else "FLOAT"
        yield Token(kind, stripped, start, end_pos=start + len(stripped))
        at += len(text) + 1


def _check_count(found: int, type: TensorType, places: Places, literal: Any) -> None:
    if found != type.size:
        from anedsl.diagnostics.artifacts import LiteralCount

        raise Failure(LiteralCount(span=places.span(literal), type=str(type), expected=type.size, found=found))


def wrong_literal(item: Any, expected: str, type: TensorType, places: Places, within: Any) -> Diagnostic:
    from anedsl.diagnostics.artifacts import WrongLiteral

    span = places.span(item)
    if span.end == 0:
        span = places.span(within)
    return WrongLiteral(span=span, type=str(type), expected=expected, found=_shown(item))


def _shown(item: Any) -> str:
    if item is None:
        return "nothing"
    if isinstance(item, Listed):
        return "a list"
    if isinstance(item, (Grouped, Entries)):
        return "a tuple" if isinstance(item, Grouped) else "a dict"
    if isinstance(item, Literal):
        return f"a value of type `{item.type}`"
    return f"`{item if len(str(item)) <= 40 else str(item)[:37] + '...'}`"


def out_of_range(item: Any, shown: str, dtype: DType, places: Places) -> Diagnostic:
    """ANE0472 for a number that its element type does not hold."""
    from anedsl.diagnostics.artifacts import LiteralOverflow

    lowest, highest = f"{dtype.smallest:.9g}", f"{dtype.largest:.9g}"
    if not dtype.is_float:
        lowest, highest = str(int(dtype.smallest)), str(int(dtype.largest))
    return LiteralOverflow(span=places.span(item), value=shown[:40], dtype=dtype.name, lowest=lowest, highest=highest)
