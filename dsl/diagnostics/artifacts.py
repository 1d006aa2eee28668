"""Diagnostics of code generation, of writing the artifact (0430 to 0459), and of reading it back (0460 to 0499)."""

from anedsl.diagnostics.base import Error


class NeedsNewerOpset(Error):
    """Every op and every attribute of an op exists from a certain opset on.

    Dialect 1.0 is written for opset ios16 (it is the one that M1 and M2 accept), dialect 1.3 for ios18. An op that came
    later than the opset cannot be written in that dialect.
    """

    code = "ANE0430"
    title = "{what} needs opset {since}, but dialect {dialect} has {opset}"
    label = "not in opset {opset}"
    helps = ("{advice}",)
    what: str
    since: str
    dialect: str
    opset: str
    advice: str | None = None


class LiteralNotFinite(Error):
    """A number that is written into the program must be finite in the element type of its tensor.

    A compile-time number is rounded once, where it meets a tensor. In fp16 the largest finite number is 65504: a mask of
    `-1e9`, for example, would become minus infinity, and a row that is masked everywhere would become NaN.
    """

    code = "ANE0431"
    title = "{value} is not a finite number in {dtype}"
    label = "{value} becomes {rounded} here"
    notes = ("the largest finite {dtype} number is {largest}",)
    helps = ("{advice}",)
    value: str
    dtype: str
    rounded: str
    largest: str
    advice: str | None = None


class ReservedName(Error):
    """Inputs, outputs and packs keep their names in the program: a host binds its memory by them.

    They must therefore be names in MIL: letters, digits and `_`, not beginning with a digit, and none of MIL's own words
    (`tensor`, `fp16`, `program` and the like).
    """

    code = "ANE0432"
    title = "`{name}` cannot be the name of {kind}"
    label = "{reason}"
    helps = ("rename it, for example to `{proposal}`",)
    name: str
    kind: str
    reason: str
    proposal: str


class PackageType(Error):
    """Core ML passes multi-arrays in fp16, fp32 and int32 only.

    The MIL text of the in-memory route has no such limit; only the `.mlpackage` cannot be written.
    """

    code = "ANE0433"
    title = "Core ML takes no {dtype} {side}"
    label = "`{name}` has type `{type}`"
    helps = ("make it fp16, fp32 or int32 and `cast` inside, or leave out the package with `--emit mil`",)
    name: str
    side: str
    dtype: str
    type: str


class NotWritable(Error):
    """A program of another compiler may hold what an artifact cannot say: an op in the form of an older opset, a text with a
    quotation mark or a line end (no escapes are known of MIL text), an input of unknown sizes, whose limits only the model's
    description knows.
    """

    code = "ANE0439"
    title = "{what} cannot be written {where}: {reason}"
    what: str
    where: str
    reason: str


class CannotWrite(Error):
    """The artifact could not be written. An artifact that was there before is unchanged."""

    code = "ANE0434"
    title = "cannot write `{path}`: {reason}"
    helps = ("give another folder with `-o DIR`",)
    path: str
    reason: str


class NotAnArtifact(Error):
    """`compile` replaces the folder of an earlier compile, and nothing else.

    It knows such a folder by its `kernel.json`. What it did not write it does not delete.
    """

    code = "ANE0435"
    title = "`{path}` exists and is not an artifact of anedsl"
    notes = ("{found}",)
    helps = ("remove it yourself, or give another folder with `-o DIR`",)
    path: str
    found: str


class NoPackageFormat(Error):
    """The `.mlpackage` is written with the message classes that come with coremltools 9.0 or later.

    MIL text and weight files need no such thing.
    """

    code = "ANE0436"
    title = "cannot write an mlpackage: {reason}"
    helps = ("install it with `pip install coremltools`, or leave out the package with `--emit mil`",)
    reason: str


class LiteralOutOfRange(Error):
    """An integer that is written into the program must fit its element type.

    Compile-time integers have no limit; in the program axes, sizes and positions are int32.
    """

    code = "ANE0437"
    title = "{value} does not fit {dtype}"
    label = "{dtype} holds {lowest} to {highest}"
    value: int
    dtype: str
    lowest: int
    highest: int


# Reading MIL text, packages and weight files (0460 to 0499).


class UnexpectedMil(Error):
    """The MIL text does not follow its grammar here.

    A statement is `TYPE NAME = OP(PARAMETER = VALUE, ...)[name = string("NAME")];`, a literal `TYPE(VALUE)`.
    """

    code = "ANE0460"
    title = "unexpected {found}"
    label = "expected {expected}"
    helps = ("{advice}",)
    found: str
    expected: str
    advice: str | None = None


class UnexpectedMilCharacter(Error):
    """No word of MIL begins with this character."""

    code = "ANE0461"
    title = "unexpected character {character}"
    label = "not part of MIL"
    helps = ("{advice}",)
    character: str
    advice: str | None = None


class UnclosedMilString(Error):
    """A text in MIL begins and ends with `"` on one line."""

    code = "ANE0462"
    title = "the string is not closed"
    label = 'no closing `"` on this line'


class NestedLiteral(Error):
    """Lists, tuples, dicts and types may nest 64 deep. No tensor has so many axes."""

    code = "ANE0463"
    title = "MIL {what} nested too deep"
    label = "the limit is {limit} levels"
    what: str
    limit: int


class InvalidSize(Error):
    """The size of an axis is a number from 1, or `?` where it is not known; a const may also have an axis of size 0."""

    code = "ANE0464"
    title = "invalid size in a MIL type: {reason}"
    label = "in this type"
    reason: str


class UndefinedName(Error):
    """A MIL program is a list: what an op takes is an input, or the result of an earlier statement."""

    code = "ANE0465"
    title = "undefined name `{name}`"
    label = "not defined before"
    helps = ("did you mean `{nearest}`?",)
    name: str
    nearest: str | None = None


class Redefined(Error):
    """A name in a MIL program stands for one value, and a function for one block."""

    code = "ANE0466"
    title = "`{name}` is defined twice"
    label = "defined again here"
    name: str


class UnknownArgument(Error):
    """Every argument of an op in MIL goes by the name of one of its parameters."""

    code = "ANE0467"
    title = "`{op}` has no parameter `{name}`"
    label = "unknown parameter"
    notes = ("its parameters are {known}",)
    helps = ("did you mean `{nearest}`?",)
    op: str
    name: str
    known: str
    nearest: str | None = None


class DuplicateArgument(Error):
    """A parameter is given once."""

    code = "ANE0468"
    title = "`{name}` of `{op}` is given twice"
    label = "given again here"
    op: str
    name: str


class WrongLiteral(Error):
    """The value between the parentheses of a literal is of the type before them: numbers for `fp16`, integers for `int32`,
    `true` or `false` for `bool`, a text for `string`, lists for tensors with axes."""

    code = "ANE0469"
    title = "wrong literal for `{type}`: expected {expected}, found {found}"
    label = "expected {expected}"
    type: str
    expected: str
    found: str


class LiteralCount(Error):
    """A literal has exactly as many elements as its type."""

    code = "ANE0470"
    title = "literal of `{type}` needs {expected:element}, found {found}"
    label = "{found:element}"
    type: str
    expected: int
    found: int


class UnevenLiteral(Error):
    """A tensor is written as one flat list of all elements, or with one level of brackets for each axis."""

    code = "ANE0471"
    title = "the lists of a literal do not have the shape of `{type}`"
    label = "{found}"
    type: str
    found: str


class LiteralOverflow(Error):
    """A number in MIL text must fit its element type."""

    code = "ANE0472"
    title = "{value} does not fit `{dtype}`"
    label = "`{dtype}` holds {lowest} to {highest}"
    value: str
    dtype: str
    lowest: str
    highest: str


class NotConstant(Error):
    """Some parameters of an op must be known when the program is compiled: they are given as a literal, or as the result
    of a `const`."""

    code = "ANE0473"
    title = "`{name}` of `{op}` must be a const, but `{value}` is computed"
    label = "known only at run time"
    op: str
    name: str
    value: str


class SeveralValues(Error):
    """Only a few parameters, such as `values` of `concat`, take several values in parentheses."""

    code = "ANE0474"
    title = "`{name}` takes one value, found {found}"
    label = "{found:value}"
    name: str
    found: int


class WrongArgument(Error):
    """A parameter that is known at compile time has a type of its own: `axis` is a scalar of integers, for example."""

    code = "ANE0475"
    title = "`{name}` of `{op}` takes {expected}, found `{found}`"
    label = "expected {expected}"
    helps = ("{advice}",)
    op: str
    name: str
    expected: str
    found: str
    advice: str | None = None


class DeclaredType(Error):
    """A statement declares the type of each result. It must be the type that the op gives for its operands."""

    code = "ANE0476"
    title = "`{name}` is declared as `{declared}`, but is `{inferred}`"
    label = "declared here"
    op: str
    name: str
    declared: str
    inferred: str


class ResultCount(Error):
    """A statement declares every result of its op, each with a type and a name."""

    code = "ANE0477"
    title = "`{op}` has {expected:result}, found {found}"
    label = "{found} declared"
    op: str
    expected: int
    found: int


class WeightPath(Error):
    """Weight files stand in the model's folder, which `@model_path` stands for. A program cannot name any other file."""

    code = "ANE0478"
    title = "invalid path of a weight file `{path}`"
    label = "{reason}"
    helps = ('write `string("@model_path/weights/NAME.bin")`',)
    path: str
    reason: str


class MissingWeightFile(Error):
    """The numbers of a const stand in a file that is missing or cannot be read."""

    code = "ANE0479"
    title = "cannot read weight file `{path}`: {reason}"
    label = "its numbers are needed for this const"
    path: str
    reason: str


class MalformedWeightFile(Error):
    """A weight file is little-endian: 64 bytes of header (number of chunks, version 2), then for each chunk 64 bytes of
    metadata (sentinel 0xdeadbeef, element type, size, position, padding bits) and its data, both on 64-byte boundaries."""

    code = "ANE0480"
    title = "weight file `{file}` is malformed: {field}"
    file: str
    field: str
    others: tuple[str, ...] = ()

    @property
    def note_texts(self) -> list[str]:
        """What is wrong with further fields, a note each."""
        return list(self.others)


class WeightMismatch(Error):
    """The chunk that a const names has the element type and the number of elements of the const."""

    code = "ANE0481"
    title = "weight file `{path}` does not hold a `{type}` at {offset}"
    label = "it holds {found}"
    path: str
    offset: int
    type: str
    found: str


class OpaqueOpComputed(Error):
    """An op that the compiler has no record of is read and written again as it is. It cannot be computed."""

    code = "ANE0482"
    title = "cannot compute `{op}`: {reason}"
    label = "needed for the outputs"
    helps = ("did you mean `{nearest}`?",)
    op: str
    reason: str
    nearest: str | None = None


class TextTooLarge(Error):
    """MIL text may have 64 million characters: large numbers belong into weight files."""

    code = "ANE0483"
    title = "`{path}` is too large: {size} bytes"
    label = "the limit is {limit} bytes"
    path: str
    size: int
    limit: int


class UnreadableModel(Error):
    """A model is a `.mil` file, the folder of an artifact with `kernel.json` and `model.mil`, an `.mlpackage`, or a weight
    file that ends in `.bin`."""

    code = "ANE0484"
    title = "cannot read `{path}`: {reason}"
    helps = ("{advice}",)
    path: str
    reason: str
    advice: str | None = None


class MalformedManifest(Error):
    """`kernel.json` says which inputs and outputs share a surface, and where each stands in it. It belongs to the program
    beside it: the two must agree."""

    code = "ANE0485"
    title = "`{path}` is no manifest of this program: {reason}"
    helps = ("compile the kernel again",)
    path: str
    reason: str


class MalformedPackage(Error):
    """An `.mlpackage` holds a Core ML model with an ML program, in Apple's protobuf format."""

    code = "ANE0486"
    title = "cannot read the model in `{path}`: {reason}"
    path: str
    reason: str


class UnknownElementType(Error):
    """MIL's element types are bool, string, fp16, fp32, fp64, the integers int4 to int64 and uint1 to uint64, and bf16."""

    code = "ANE0487"
    title = "unknown element type `{name}`"
    label = "not an element type"
    helps = ("did you mean `{nearest}`?",)
    name: str
    nearest: str | None = None


class InvalidBlobFile(Error):
    """Numbers in a weight file are named by its path and the position of the chunk's metadata."""

    code = "ANE0488"
    title = "`BLOBFILE` takes a path and an offset"
    label = "{reason}"
    helps = ('write `BLOBFILE(path = string("@model_path/weights/NAME.bin"), offset = uint64(64))`',)
    reason: str


class InvalidConst(Error):
    """A const has one result, and its value as the attribute `val`."""

    code = "ANE0489"
    title = "`const` needs one result and `val`"
    label = "not of this form"
    helps = ('write `fp16 c = const()[name = string("c"), val = fp16(0x1p-1)];`',)


class NotAnOperand(Error):
    """Ops compute with tensors of numbers. Texts, lists, dicts and tuples are attributes only."""

    code = "ANE0490"
    title = "`{type}` cannot be an operand"
    label = "has this type"
    type: str


class MissingArguments(Error):
    """Parameters of an op that have no default must be given."""

    code = "ANE0491"
    title = "`{op}` needs {names}"
    label = "not given"
    op: str
    names: str


class MissingSemicolon(Error):
    """Every statement in MIL ends with `;`, also the last one of a block, and the list of a function's outputs."""

    code = "ANE0492"
    title = "the statement does not end with `;`"
    label = "a `;` is missing here"


class NotExpressible(Error):
    """`import` writes a program as text of the language, which has no words for everything that MIL can say: for ops
    that the compiler has no record of (those on states, lists and tensors of unknown sizes among them), inputs and outputs
    of other types than its own, and tensors made of nothing (`fill`, `range_1d`) that are too large to be computed when
    the text is compiled."""

    code = "ANE0440"
    title = "{what} cannot be written in the language: {reason}"
    label = "{place}"
    helps = ("look at the program with `anedsl inspect`, and write the kernel by hand",)
    what: str
    reason: str
    place: str = "made here"
