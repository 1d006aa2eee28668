"""Diagnostics of names, declarations, calls and compile-time values (02xx, up to 0239)."""

from anedsl.diagnostics.base import Error, Warning


class UnknownName(Error):
    """A name must be defined above its use: as an input, weight, parameter or equation of the kernel, as a function of
    the file or of an import, or as an op of MIL (`anedsl ops` lists them)."""

    code = "ANE0201"
    title = "unknown name `{name}`"
    label = "not defined here"
    helps = ("did you mean `{nearest}`?", "{advice}")
    name: str
    nearest: str | None = None
    advice: str | None = None


class DefinedTwice(Error):
    """A name stands for one value. Only inside `for` may a name from outside be defined again: it is then carried from
    turn to turn."""

    code = "ANE0202"
    title = "`{name}` is defined twice"
    label = "defined again here"
    helps = ("choose another name",)
    name: str


class OutputUndefined(Error):
    """Every output needs an equation that defines it."""

    code = "ANE0204"
    title = "output `{name}` is never defined"
    label = "declared here"
    helps = ("add an equation `{name} = ...`",)
    name: str


class UnusedInput(Warning):
    """An input or weight that no output depends on still has to be bound by every caller."""

    code = "ANE0205"
    title = "{kind} `{name}` is never used"
    label = "declared here"
    helps = ("remove it, or use it in an equation",)
    kind: str
    name: str


class UnusedName(Warning):
    """An equation whose value is never used computes nothing: it is left out of the program."""

    code = "ANE0206"
    title = "`{name}` is never used"
    label = "defined here"
    helps = ("remove the equation, or begin the name with `_`",)
    name: str


class Recursion(Error):
    """Functions are inlined, so a function cannot call itself, directly or through others."""

    code = "ANE0207"
    title = "`{name}` calls itself"
    label = "this call would never end"
    notes = ("functions are inlined: {chain}",)
    helps = ("repeat with `for i in range(N) {{ ... }}`",)
    name: str
    chain: str


class ImportCycle(Error):
    """Files may not import each other in a circle."""

    code = "ANE0208"
    title = "import cycle: {chain}"
    label = "closes the cycle"
    helps = ("move what both need into a third file",)
    chain: str


class ImportOutside(Error):
    """An import stays inside the folder of the file that is compiled, so that a source tree can be trusted as a whole."""

    code = "ANE0209"
    title = "import `{path}` leaves the folder of the kernel"
    label = "outside of `{root}`"
    helps = ("move the file into that folder, and name it relative to this file",)
    path: str
    root: str


class MissingArgument(Error):
    """An operand, attribute or parameter without a default must be given."""

    code = "ANE0210"
    title = "`{op}` needs `{name}`"
    label = "`{name}` is missing here"
    helps = ("it is called as `{signature}`",)
    op: str
    name: str
    signature: str | None = None


class UnknownArgument(Error):
    """Arguments go by the names that `anedsl ops NAME` lists."""

    code = "ANE0211"
    title = "`{op}` has no parameter `{name}`"
    label = "unknown parameter"
    helps = ("did you mean `{nearest}`?", "it is called as `{signature}`")
    op: str
    name: str
    nearest: str | None = None
    signature: str | None = None


class TooManyArguments(Error):
    """More arguments are given than there are parameters."""

    code = "ANE0212"
    title = "`{op}` takes {expected}, found {found}"
    label = "not expected"
    helps = ("it is called as `{signature}`",)
    op: str
    expected: str
    found: int
    signature: str | None = None


class GivenTwice(Error):
    """Each parameter is given once, by its place or by its name."""

    code = "ANE0213"
    title = "`{name}` of `{op}` is given twice"
    label = "given again here"
    op: str
    name: str


class NotCallable(Error):
    """Only ops and functions can be called."""

    code = "ANE0214"
    title = "{what} cannot be called"
    label = "not an op or a function"
    helps = ("{advice}",)
    what: str
    advice: str | None = None


class NotCompileTime(Error):
    """Shapes, attributes, conditions and loop counts are decided at compile time; a tensor's values are known only when
    the kernel runs."""

    code = "ANE0215"
    title = "{use} must be known at compile time"
    label = "is known only when the kernel runs"
    helps = ("{advice}",)
    use: str
    advice: str | None = None


class WrongKind(Error):
    """A value of one kind is needed and another is given."""

    code = "ANE0216"
    title = "expected {expected}, found {found}"
    label = "{use}"
    helps = ("{advice}",)
    expected: str
    found: str
    use: str | None = ""
    advice: str | None = None


class InvalidOperation(Error):
    """The operator does not apply to these compile-time values, or has no result for them."""

    code = "ANE0217"
    title = "invalid operation: {problem}"
    label = "{detail}"
    helps = ("{advice}",)
    problem: str
    detail: str | None = ""
    advice: str | None = None


class IntegerTooLarge(Error):
    """Compile-time integers may grow to 4096 bits between operations, but what a parameter, dimension or attribute
    holds must fit 64 bits, and for MIL 32."""

    code = "ANE0218"
    title = "integer too large"
    label = "{detail}"
    detail: str


class RangeTooLong(Error):
    """Loops are unrolled: `for` runs at most 100,000 turns. A range or a list holds at most 1,000,000 values."""

    code = "ANE0219"
    title = "too many {what}: {count}"
    label = "the limit is {limit}"
    notes = ("{rule}",)
    what: str
    count: int
    limit: int
    rule: str | None = None


class ProgramTooLarge(Error):
    """Loops and functions are unrolled; a kernel may have 200,000 ops and run 150,000 compile-time
    statements, each turn of a loop counted as one and each call as eight. The compile-time tensors that it computes may have
    2^27 elements together, where 64 operations of a matrix product count as one more. A large constant is better given as a
    weight.
    """

    code = "ANE0220"
    title = "the kernel is too large: more than {limit} {what}"
    label = "reached here"
    limit: int
    what: str


class AssertionFailed(Error):
    """An `assert` of the author does not hold for these parameters."""

    code = "ANE0221"
    title = "{message}"
    label = "is false"
    notes = ("here {values}",)
    message: str
    values: str | None = None


class PatternMismatch(Error):
    """The argument of a function does not match the shape or type that its parameter asks for. Names in a pattern that
    are not yet known are bound to the argument's sizes."""

    code = "ANE0222"
    title = "`{function}` expects `{pattern}` for `{parameter}`, found {found}"
    label = "{detail}"
    notes = ("{bound}",)
    function: str
    parameter: str
    pattern: str
    found: str
    detail: str
    bound: str | None = None


class UnpackMismatch(Error):
    """`a, b = value` needs as many names as the value has parts."""

    code = "ANE0223"
    title = "cannot take {found} apart into {expected} names"
    label = "has {found}"
    expected: int
    found: str


class OutputType(Error):
    """An output that declares a type must be defined with a value of that type."""

    code = "ANE0224"
    title = "output `{name}` is declared `{declared}`, but its value is `{found}`"
    label = "declared here"
    helps = ("{advice}",)
    name: str
    declared: str
    found: str
    advice: str | None = None


class InvalidPack(Error):
    """A pack names inputs only or outputs only, each in one pack, of one element type and equal in every axis but the
    one they are concatenated along."""

    code = "ANE0225"
    title = "invalid pack `{name}`: {problem}"
    label = "{detail}"
    helps = ("{advice}",)
    name: str
    problem: str
    detail: str | None = ""
    advice: str | None = None


class UnknownDType(Error):
    """The element types are MIL's: bool, fp16, fp32, int8, int16, int32, uint8, uint16."""

    code = "ANE0226"
    title = "unknown element type `{name}`"
    label = "not an element type"
    helps = ("did you mean `{nearest}`?",)
    name: str
    nearest: str | None = None


class InvalidDimension(Error):
    """A dimension is a positive integer."""

    code = "ANE0227"
    title = "invalid dimension: {problem}"
    label = "is {found}"
    helps = ("{advice}",)
    problem: str
    found: str
    advice: str | None = None


class MissingParameter(Error):
    """A parameter without a default must be given for every compile."""

    code = "ANE0228"
    title = "parameter `{name}` of `{kernel}` has no value"
    label = "has no default"
    helps = ("give it with `-D {name}=VALUE`",)
    name: str
    kernel: str


class UnknownParameter(Error):
    """`-D NAME=VALUE`, or a file of variants, overrides a parameter of the kernel."""

    code = "ANE0229"
    title = "`{kernel}` has no parameter `{name}`"
    label = "has no such parameter"
    notes = ("it is given by {place}",)
    helps = ("did you mean `{nearest}`?", "its parameters are {known}")
    name: str
    kernel: str
    place: str | None = None
    nearest: str | None = None
    known: str | None = None


class NotYet(Error):
    """The language has this form, and this version of the compiler does not build it yet."""

    code = "ANE0230"
    title = "{form} is not supported yet"
    label = "this version does not compile it"
    helps = ("{advice}",)
    form: str
    advice: str | None = None


class Misplaced(Error):
    """Declarations stand in kernels, outside of loops; `return` stands in functions."""

    code = "ANE0231"
    title = "{what} is not allowed {where}"
    label = "not allowed here"
    helps = ("{advice}",)
    what: str
    where: str
    advice: str | None = None


class ConstantOverflow(Error):
    """A number becomes the tensor's element type where they meet; one that is too large would become infinite."""

    code = "ANE0232"
    title = "{number} does not fit {dtype}"
    label = "the range is {smallest} to {largest}"
    helps = ("{advice}",)
    number: str
    dtype: str
    smallest: str
    largest: str
    advice: str | None = None


class IndexOutOfRange(Error):
    """Indices count from 0, or from -1 backwards, and slices must lie inside the axis."""

    code = "ANE0233"
    title = "index {index} is out of range: {axis} has size {size}"
    label = "valid are {lowest} to {highest}"
    index: int
    axis: str
    size: int
    lowest: int
    highest: int


class EmptySlice(Error):
    """No axis of a tensor may be empty."""

    code = "ANE0234"
    title = "the slice is empty"
    label = "selects nothing of {size:element}"
    size: int


class UnknownKernel(Error):
    """The file has no kernel of this name."""

    code = "ANE0235"
    title = "`{path}` has no kernel `{name}`"
    helps = ("did you mean `{nearest}`?", "it has {known}")
    path: str
    name: str
    nearest: str | None = None
    known: str | None = None


class TooManySubscripts(Error):
    """A tensor takes one subscript for each axis; `...` stands for the axes that are not named."""

    code = "ANE0236"
    title = "too many subscripts: {found} for rank {rank}"
    label = "`{type}` has {rank} axes"
    found: int
    rank: int
    type: str


class UnknownMember(Error):
    """Tensors have `shape`, `dtype` and `rank`, and numbers `shape` and `rank`. There are no methods: what other languages
    write as `x.reshape(...)` is `reshape(x, ...)`."""

    code = "ANE0237"
    title = "{what} has no `{name}`"
    label = "unknown"
    helps = ("did you mean `{nearest}`?", "{advice}")
    what: str
    name: str
    nearest: str | None = None
    advice: str | None = None


class UnknownLibrary(Error):
    """`import std.NAME` takes a part of the library that comes with the package."""

    code = "ANE0238"
    title = "unknown library `{name}`"
    label = "not part of the package"
    helps = ("did you mean `{nearest}`?", "there is {known}")
    name: str
    nearest: str | None = None
    known: str | None = None


class AmbiguousImport(Error):
    """Two imported files define one name; a definition in the file itself would take precedence over both."""

    code = "ANE0239"
    title = "`{name}` is imported from two files"
    label = "also defined in `{first}`"
    helps = ("rename one, or define `{name}` in this file",)
    name: str
    first: str


class UnknownStorage(Error):
    """`stored` says how a weight is kept: int8, uint8, int4, palette, sparse or blockwise."""

    code = "ANE0280"
    title = "unknown storage `{name}`"
    label = "not a way to keep a weight"
    helps = ("did you mean `{nearest}`?", "there is {known}")
    name: str
    nearest: str | None = None
    known: str | None = None


class InvalidStorage(Error):
    """The weight cannot be kept in this way. `int8(axis = 0)`, `uint8(axis = 0)` and `int4(axis = 0)` keep a scale for each
    position of an axis (or one in all), `blockwise(bits = 4, block = 32, axis = 1)` one for each block, `palette(bits = 4)` a
    table of 2^bits numbers, `sparse(prune = 0.5)` what is not 0."""

    code = "ANE0281"
    title = "invalid storage `{kind}`: {problem}"
    label = "not possible"
    helps = ("{advice}",)
    kind: str
    problem: str
    advice: str


class StorageLost(Warning):
    """Compression belongs to the declared weight. A transpose of it, a slice or a part, and a reshape that leaves the axis of
    the scales stay compressed. All else that is computed from it at compile time is a new tensor, and so is a slice that
    cuts through a block: it is computed from the numbers that were given, and kept as fp16."""

    code = "ANE0282"
    title = "`{name}` is stored as {storage}, but `{op}` changes it at compile time"
    label = "the result is kept as fp16, and loses nothing to compression"
    helps = ("declare the weight in the form that the kernel uses",)
    name: str
    storage: str
    op: str


class NoOutput(Error):
    """A kernel computes something: it declares at least one output."""

    code = "ANE0283"
    title = "kernel `{name}` has no output"
    label = "declares none"
    helps = ("declare one, `output y`, and define it, `y = ...`",)
    name: str


class ConstantVanishes(Warning):
    """A number becomes the tensor's element type where they meet; one that is too small becomes 0. An epsilon of 1e-8 does
    so in fp16, and then protects from nothing."""

    code = "ANE0284"
    title = "{number} becomes 0 in {dtype}"
    label = "the smallest positive {dtype} number is {smallest}"
    helps = ("use a larger number, or scale the tensor first",)
    number: str
    dtype: str
    smallest: str


class KernelsDifferInCase(Error):
    """Each kernel's artifact is a folder of the kernel's name. On a file system that does not tell upper from lower case, as
    most Macs have, two such kernels would overwrite each other."""

    code = "ANE0285"
    title = "kernels `{name}` and `{other}` differ in upper and lower case only"
    label = "would overwrite the artifact of `{other}` on a Mac"
    helps = ("choose another name",)
    name: str
    other: str


class ReducesInstead(Warning):
    """`max` and `min` reduce a tensor over axes, and their second argument is the axis: `max(x, 0)` is the largest element
    over axis 0. The larger of two values is `maximum(x, 0)`, the smaller `minimum(x, 0)`.

    It is said of a number that is written by its place, if it is 0 or the axis has size 1, so that there is nothing to
    reduce. With its name, as in `max(x, axis = 0)`, it is taken as meant.
    """

    code = "ANE0286"
    title = "`{op}` reduces over axis {axis}: it does not compare with {axis}"
    label = "is an axis here"
    notes = ("{alone}",)
    helps = ("{instead}", "if the axis is meant, write `{op}({written}, axis = {axis})`")
    op: str
    axis: int
    instead: str
    written: str
    alone: str | None = None


class AlignedAtLast(Warning):
    """Elementwise ops broadcast as numpy does: shapes are aligned at the last axis. A weight `[C]` goes along the last axis of an
    activation `[1, C, 1, S]`, which are the positions, and not along the channels. Where C and S are equal both would fit, and
    nothing else tells that the channels were meant, as they mostly are for a bias or a gain.

    A weight that is declared as `[1, C, 1, 1]` goes along the channels, and one of `[1, 1, 1, C]` along the last axis; a vector
    of a checkpoint fits either declaration.
    """

    code = "ANE0287"
    title = "`{op}` applies `{written}` along the last axis of `{other}`, and axis 1 is as long"
    label = "has type `{type}`"
    notes = ("shapes are aligned at the last axis",)
    helps = (
        "for the channels, declare or reshape it as `[1, {size}, 1, 1]`",
        "for the last axis, declare or reshape it as `[1, 1, 1, {size}]`",
    )
    op: str
    written: str
    type: str
    other: str
    size: int
