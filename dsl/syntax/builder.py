"""From reductions of the grammar to the syntax tree: one method a rule, called while the text is parsed."""

from __future__ import annotations

from typing import Any

from lark import Token

from anedsl.source import Source, Span
from anedsl.syntax import tree

Children = list[Any]


class TreeBuilder:
    """Makes the tree of one source. Every method takes the children of its rule: tokens, trees, or None for an absent part."""

    def __init__(self, source: Source) -> None:
        self.source = source

    # ---- places ----

    def span(self, first: Any, last: Any) -> Span:
        return Span(self.source, _start(first), _end(last))

    def identifier(self, token: Token) -> tree.Identifier:
        return tree.Identifier(str(token), self.span(token, token))

    # ---- items ----

    def start(self, c: Children) -> tree.Module:
        items = [item for item in c if item is not None and not isinstance(item, Token)]
        return tree.Module(
            self.source,
            tuple(item for item in items if isinstance(item, (tree.ImportFile, tree.ImportStd))),
            tuple(item for item in items if isinstance(item, tree.Function)),
            tuple(item for item in items if isinstance(item, (tree.Kernel, tree.Derived))),
        )

    def import_file(self, c: Children) -> tree.ImportFile:
        return tree.ImportFile(unquoted(c[1]), self.span(c[1], c[1]))

    def import_std(self, c: Children) -> tree.ImportStd:
        parts = tuple(self.identifier(token) for token in c[1::2])
        return tree.ImportStd(parts, parts[0].span.to(parts[-1].span))

    def function(self, c: Children) -> tree.Function:
        body = c[-1] if isinstance(c[-1], tree.Block) else c[6]
        return tree.Function(self.identifier(c[1]), c[3] or (), body, self._doc(c[0]), self.span(c[0], body))

    def function_parameters(self, c: Children) -> tuple[tree.Parameter, ...]:
        return tuple(item for item in c if isinstance(item, tree.Parameter))

    def function_parameter(self, c: Children) -> tree.Parameter:
        name, _, pattern, _, default = c
        return tree.Parameter(self.identifier(name), pattern, default)

    def pattern(self, c: Children) -> tree.Type:
        return self.type(c)

    def kernel(self, c: Children) -> tree.Kernel:
        return tree.Kernel(self.identifier(c[1]), c[2] or (), c[3], self._doc(c[0]), self.span(c[0], c[3]))

    def kernel_parameters(self, c: Children) -> tuple[tree.Parameter, ...]:
        return tuple(item for item in c if isinstance(item, tree.Parameter))

    def kernel_parameter(self, c: Children) -> tree.Parameter:
        name, _, default = c
        return tree.Parameter(self.identifier(name), None, default)

    def derived(self, c: Children) -> tree.Derived:
        return tree.Derived(self.identifier(c[1]), c[3], c[4], self._doc(c[0]), self.span(c[0], c[4] or c[3]))

    # ---- statements ----

    def block(self, c: Children) -> tree.Block:
        statements = tuple(item for item in c[1:-1] if item is not None and not isinstance(item, Token))
        return tree.Block(statements, self.span(c[0], c[-1]))

    def input(self, c: Children) -> tree.Input:
        keyword, names, _, type, _, range = c
        return tree.Input(names, type, range, self.span(keyword, range or type))

    def weight(self, c: Children) -> tree.Weight:
        *head, type, _, stored, _, initialiser = c
        names = tuple(item for item in head if isinstance(item, tree.WeightName))
        return tree.Weight(names, type, stored, initialiser, self.span(c[0], initialiser or stored or type))

    def weight_name(self, c: Children) -> tree.WeightName:
        return tree.WeightName(self.identifier(c[0]), c[2])

    def output(self, c: Children) -> tree.Output:
        keyword, names, _, type = c
        return tree.Output(names, type, self.span(keyword, type or names[-1]))

    def pack(self, c: Children) -> tree.Pack:
        return tree.Pack(self.identifier(c[1]), c[4], c[-1], self.span(c[0], c[-1]))

    def state(self, c: Children) -> tree.State:
        keyword, names, _, type = c
        return tree.State(names, type, self.span(keyword, type))

    def names(self, c: Children) -> tuple[tree.Identifier, ...]:
        return tuple(self.identifier(token) for token in c[::2])

    def type(self, c: Children) -> tree.Type:
        name = self.identifier(c[0]) if c[0] is not None else None
        if len(c) == 1 or c[1] is None:
            return tree.Type(name, None, self.span(c[0], c[0]))
        return tree.Type(name, c[2], self.span(c[0] or c[1], c[3]))

    def dimensions(self, c: Children) -> tuple[tree.Expression, ...]:
        return _items(c)

    def assign(self, c: Children) -> tree.Assign:
        targets, _, value = c
        return tree.Assign(targets, value, targets[0].span.to(value.span))

    def update(self, c: Children) -> tree.Update:
        name, _, items, _, _, value = c
        return tree.Update(self.identifier(name), items, value, self.span(name, value))

    def for_loop(self, c: Children) -> tree.For:
        return tree.For(self.identifier(c[1]), c[3], c[4], self.span(c[0], c[4]))

    def if_else(self, c: Children) -> tree.If:
        keyword, condition, then, _, otherwise = c
        return tree.If(condition, then, otherwise, self.span(keyword, otherwise or then))

    def assertion(self, c: Children) -> tree.Assert:
        keyword, condition, _, message = c
        return tree.Assert(condition, message, self.span(keyword, message or condition))

    def return_value(self, c: Children) -> tree.Return:
        values = _items(c[1:])
        span = self.span(c[0], values[-1])
        if len(values) == 1:
            return tree.Return(values[0], span)
        return tree.Return(tree.Sequence(values, "(", values[0].span.to(values[-1].span)), span)

    # ---- expressions ----

    def conditional(self, c: Children) -> tree.Conditional:
        then, _, condition, _, otherwise = c
        return tree.Conditional(then, condition, otherwise, then.span.to(otherwise.span))

    def binary(self, c: Children) -> tree.Binary:
        left, operator, right = c
        span = Span(self.source, left.span.start, right.span.end)
        return tree.Binary(operator.value, left, right, span, self.span(operator, operator))

    def unary(self, c: Children) -> tree.Unary:
        return tree.Unary(c[0].value, c[1], self.span(c[0], c[1]))

    def call(self, c: Children) -> tree.Call:
        function, _, arguments, close = c
        return tree.Call(function, arguments or (), self.span(function, close))

    def arguments(self, c: Children) -> tuple[tree.Expression | tree.Keyword, ...]:
        return _items(c)

    def keyword(self, c: Children) -> tree.Keyword:
        name, _, value = c
        return tree.Keyword(str(name), value, self.span(name, value))

    def argument_name(self, c: Children) -> Token:
        token: Token = c[0]
        return token

    def subscript(self, c: Children) -> tree.Subscript:
        target, _, items, close = c
        return tree.Subscript(target, items, self.span(target, close))

    def subscripts(self, c: Children) -> tuple[Any, ...]:
        return _items(c)

    def ellipsis(self, c: Children) -> tree.Ellipsis:
        return tree.Ellipsis(self.span(c[0], c[0]))

    def slice(self, c: Children) -> tree.Slice:
        start, colon, stop, colon2, step = c
        return tree.Slice(start, stop, step, self.span(start or colon, step or colon2 or stop or colon))

    def attribute(self, c: Children) -> tree.Attribute:
        target, _, name = c
        return tree.Attribute(target, str(name), self.span(target, name), self.span(name, name))

    def name(self, c: Children) -> tree.Name:
        token = c[0]
        return tree.Name(token.value, Span(self.source, token.start_pos, token.end_pos))

    def integer(self, c: Children) -> tree.Literal:
        text = c[0].value
        # Python refuses to read very long decimal numbers; the elaborator reports them by their size.
        value = int(text, 16) if text[:2] in ("0x", "0X") else _long_integer(text)
        return tree.Literal(value, self.span(c[0], c[0]))

    def float(self, c: Children) -> tree.Literal:
        return tree.Literal(float(c[0].value), self.span(c[0], c[0]))

    def string(self, c: Children) -> tree.Literal:
        return tree.Literal(unquoted(c[0]), self.span(c[0], c[0]))

    def boolean(self, c: Children) -> tree.Literal:
        return tree.Literal(c[0].value == "true", self.span(c[0], c[0]))

    def group(self, c: Children) -> tree.Group:
        return tree.Group(c[1], self.span(c[0], c[2]))

    def tuple(self, c: Children) -> tree.Sequence:
        return tree.Sequence(_items(c[1:-1]), "(", self.span(c[0], c[-1]))

    def list(self, c: Children) -> tree.Sequence:
        return tree.Sequence(_items(c[1:-1]), "[", self.span(c[0], c[-1]))

    def _doc(self, keyword: Token) -> str:
        """The comment lines directly above a declaration."""
        line = (keyword.line or 1) - 1
        lines: list[str] = []
        while line >= 1 and (text := self.source.line(line).strip()).startswith("#"):
            lines.append(text.lstrip("#").strip())
            line -= 1
        return "\n".join(reversed(lines))


_ESCAPES: dict[str, str] = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unquoted(token: Token) -> str:
    """The text of a string literal."""
    pieces = str(token)[1:-1].split("\\\\")
    return "\\".join(_unescaped(piece) for piece in pieces)


def _unescaped(text: str) -> str:
    for letter, meaning in _ESCAPES.items():
        text = text.replace(f"\\{letter}", meaning) if letter != "\\" else text
    return text


_LONGEST_INTEGER = 1000


def _long_integer(text: str) -> int:
    return int(text) if len(text) <= _LONGEST_INTEGER else 10**_LONGEST_INTEGER


def _items(children: Children) -> tuple[Any, ...]:
    """The trees among the children: without commas and absent parts."""
    return tuple(child for child in children if child is not None and not isinstance(child, Token))


def _start(part: Any) -> int:
    return int(part.start_pos or 0) if isinstance(part, Token) else int(part.span.start)


def _end(part: Any) -> int:
    return int(part.end_pos or 0) if isinstance(part, Token) else int(part.span.end)
