"""The syntax tree of an .ane file: what the author wrote, with the place of everything."""

from __future__ import annotations

from typing import NamedTuple

from anedsl.source import Source, Span


class Identifier(NamedTuple):
    """A name where it is declared."""

    text: str
    span: Span


# ---- expressions ----


class Name(NamedTuple):
    text: str
    span: Span


class Literal(NamedTuple):
    """A number, boolean or string."""

    value: int | float | bool | str
    span: Span


class Group(NamedTuple):
    """An expression in parentheses."""

    inner: Expression
    span: Span


class Sequence(NamedTuple):
    """`(a, b)` or `[a, b]`."""

    items: tuple[Expression, ...]
    bracket: str
    span: Span


class Unary(NamedTuple):
    operator: str
    operand: Expression
    span: Span


class Binary(NamedTuple):
    operator: str
    left: Expression
    right: Expression
    span: Span
    operator_span: Span


class Conditional(NamedTuple):
    """`then if condition else otherwise`."""

    then: Expression
    condition: Expression
    otherwise: Expression
    span: Span


class Keyword(NamedTuple):
    """`name = value` among arguments."""

    name: str
    value: Expression
    span: Span


class Call(NamedTuple):
    function: Expression
    arguments: tuple[Expression | Keyword, ...]
    span: Span


class Slice(NamedTuple):
    start: Expression | None
    stop: Expression | None
    step: Expression | None
    span: Span


class Ellipsis(NamedTuple):
    span: Span


class Subscript(NamedTuple):
    target: Expression
    items: tuple[Expression | Slice | Ellipsis, ...]
    span: Span


class Attribute(NamedTuple):
    target: Expression
    name: str
    span: Span
    name_span: Span


Expression = Name | Literal | Group | Sequence | Unary | Binary | Conditional | Call | Subscript | Attribute


# ---- statements ----


class Type(NamedTuple):
    """`fp16[1, C, 1, S]`; `dimensions` is None where no brackets stand, `dtype` where a pattern has no element type."""

    dtype: Identifier | None
    dimensions: tuple[Expression, ...] | None
    span: Span


class Input(NamedTuple):
    names: tuple[Identifier, ...]
    type: Type
    range: Expression | None
    span: Span


class WeightName(NamedTuple):
    """`W`, or `W[SIZE]` for a family."""

    name: Identifier
    size: Expression | None


class Weight(NamedTuple):
    names: tuple[WeightName, ...]
    type: Type
    stored: Expression | None
    initialiser: Expression | None
    span: Span


class Output(NamedTuple):
    names: tuple[Identifier, ...]
    type: Type | None
    span: Span


class Pack(NamedTuple):
    name: Identifier
    members: tuple[Identifier, ...]
    axis: Expression
    span: Span


class State(NamedTuple):
    names: tuple[Identifier, ...]
    type: Type
    span: Span


class Assign(NamedTuple):
    targets: tuple[Identifier, ...]
    value: Expression
    span: Span


class Update(NamedTuple):
    """`state[...] := value`."""

    target: Identifier
    items: tuple[Expression | Slice | Ellipsis, ...] | None
    value: Expression
    span: Span


class Block(NamedTuple):
    statements: tuple[Statement, ...]
    span: Span


class For(NamedTuple):
    variable: Identifier
    iterable: Expression
    body: Block
    span: Span


class If(NamedTuple):
    condition: Expression
    then: Block
    otherwise: Block | If | None
    span: Span


class Assert(NamedTuple):
    condition: Expression
    message: Expression | None
    span: Span


class Return(NamedTuple):
    value: Expression
    span: Span


Statement = Input | Weight | Output | Pack | State | Assign | Update | For | If | Assert | Return


# ---- items ----


class ImportFile(NamedTuple):
    path: str
    span: Span


class ImportStd(NamedTuple):
    parts: tuple[Identifier, ...]
    span: Span


class Parameter(NamedTuple):
    """A parameter of a kernel (no pattern) or of a function."""

    name: Identifier
    pattern: Type | None
    default: Expression | None


class Function(NamedTuple):
    name: Identifier
    parameters: tuple[Parameter, ...]
    body: Expression | Block
    doc: str
    span: Span


class Kernel(NamedTuple):
    name: Identifier
    parameters: tuple[Parameter, ...]
    body: Block
    doc: str
    span: Span


class Derived(NamedTuple):
    """`kernel NAME = grad(...) { packs }`."""

    name: Identifier
    value: Expression
    body: Block | None
    doc: str
    span: Span


class Module(NamedTuple):
    """One file."""

    source: Source
    imports: tuple[ImportFile | ImportStd, ...]
    functions: tuple[Function, ...]
    kernels: tuple[Kernel | Derived, ...]
