"""Diagnostics of types, shapes and op attributes (02xx, from 0240 on)."""

from anedsl.diagnostics.base import Error, Warning


class WrongRank(Error):
    """An op takes tensors of certain ranks only. Activations on the ANE are `[batch, channels, 1, positions]`."""

    code = "ANE0240"
    title = "`{op}` takes {expected} for {operand}, found rank {rank}"
    label = "has type `{type}`"
    helps = ("{advice}",)
    op: str
    operand: str
    expected: str
    rank: int
    type: str
    advice: str | None = None


class InnerDimensions(Error):
    """`matmul` and `linear` contract one axis of each operand; both must be equally long."""

    code = "ANE0203"
    title = "`{op}` operands have incompatible inner dimensions"
    label = "expected inner dimension {expected}, found {found}"
    notes = ("{rule}",)
    helps = ("{advice}",)
    op: str
    expected: int
    found: int
    rule: str | None = None
    advice: str | None = None


class NotBroadcastable(Error):
    """Elementwise ops broadcast as numpy does: shapes are aligned at the last axis; each pair of sizes is equal or one is 1."""

    code = "ANE0241"
    title = "`{op}` cannot broadcast `{left}` with `{right}`"
    label = "axis {axis} is {found} here, {expected} in the other operand"
    notes = ("axes are compared from the last to the first; two sizes fit when they are equal or one of them is 1",)
    helps = ("{advice}",)
    op: str
    left: str
    right: str
    axis: int
    found: int
    expected: int
    advice: str | None = None


class WrongDType(Error):
    """Each operand of an op takes certain element types, and nothing is converted silently."""

    code = "ANE0242"
    title = "`{op}` takes {expected} for {operand}, found {found}"
    label = "has type `{type}`"
    helps = ("convert it: `cast({written}, {first})`", "{advice}")
    op: str
    operand: str
    written: str
    expected: str
    found: str
    type: str
    first: str | None = None
    advice: str | None = None


class MixedDTypes(Error):
    """Operands of one op must have one element type; nothing is converted silently.

    Activations are fp16, because the ANE computes in fp16 only (rule Q1). Weights that are not used as they are need one
    element type as well; what is computed from weights alone is not rounded in between.
    """

    code = "ANE0243"
    title = "`{op}` operands have different element types"
    label = "{subject}is {found}, but `{other}` is {expected}"
    notes = ("{reason}",)
    helps = ("convert one: `cast({converted}, {target})`", "{advice}")
    op: str
    subject: str
    other: str
    found: str
    expected: str
    converted: str | None
    target: str
    reason: str | None = None
    advice: str | None = None


class AxisOutOfRange(Error):
    """An axis counts from 0, or from -1 backwards."""

    code = "ANE0244"
    title = "axis {axis} is out of range for rank {rank}"
    label = "`{type}` has axes {lowest} to {highest}"
    helps = ("{advice}",)
    axis: int
    rank: int
    type: str
    lowest: int
    highest: int
    advice: str | None = None


class RepeatedAxis(Error):
    """Each axis may be named once (negative axes count from the end)."""

    code = "ANE0245"
    title = "axis {axis} is named twice"
    label = "names the same axis again"
    axis: int


class WrongAttribute(Error):
    """An attribute of an op has a value that the op does not take."""

    code = "ANE0246"
    title = "invalid `{attribute}` of `{op}`: {reason}"
    label = "{found}"
    helps = ("{advice}",)
    op: str
    attribute: str
    reason: str
    found: str | None = ""
    advice: str | None = None


class ShapeMismatch(Error):
    """The shapes of an op's operands, or of an operand and an attribute, do not fit."""

    code = "ANE0247"
    title = "{problem}"
    label = "{detail}"
    notes = ("{rule}",)
    helps = ("{advice}",)
    problem: str
    detail: str
    rule: str | None = None
    advice: str | None = None


class TensorTooLarge(Error):
    """A tensor may have at most 2^31 - 1 elements, and a compile-time tensor 2^27; so may one that a compiled program makes
    of consts, if that is run on the reference executor."""

    code = "ANE0248"
    title = "tensor `{type}` is too large"
    label = "{count} elements; the limit is {limit}"
    type: str
    count: int
    limit: int


class ElementCount(Error):
    """`reshape` keeps all elements: the sizes before and after have one product.

    One size may be -1: it is computed from the others. A size of 0 copies the size at the same place of the operand,
    which asks for as many sizes as the operand has axes.
    """

    code = "ANE0249"
    title = "cannot reshape `{type}` to `{shape}`"
    label = "{detail}"
    helps = ("{advice}",)
    type: str
    shape: str
    detail: str
    advice: str | None = None


class SliceOutOfRange(Error):
    """A slice begins and ends inside the axis.

    Numpy would clip such a slice in silence; here it is an error, because sizes are known and the slice is shorter than
    it says. Negative positions count from the end.
    """

    code = "ANE0250"
    title = "slice of axis {axis} is out of range"
    label = "`{attribute}` is {found}, the axis has size {size}"
    helps = ("{advice}",)
    axis: int
    attribute: str
    found: int
    size: int
    advice: str | None = None


class EmptySlice(Error):
    """A slice keeps at least one element: tensors without elements cannot reach the ANE."""

    code = "ANE0251"
    title = "slice of axis {axis} is empty"
    label = "from {begin} to {end} in steps of {stride}"
    helps = ("{advice}",)
    axis: int
    begin: int
    end: str
    stride: int
    advice: str | None = None


class BatchDimensions(Error):
    """The axes over which an op is repeated have equal sizes in all operands; for `matmul` and `einsum` one may be 1."""

    code = "ANE0252"
    title = "`{op}` operands have incompatible batch dimensions"
    label = "axis {axis} is {found} here, {expected} in {other}"
    notes = ("{rule}",)
    op: str
    axis: int
    found: int
    expected: int
    other: str
    rule: str | None = None


class ChannelMismatch(Error):
    """A convolution's weight is `[out, in / groups, kernel...]`; axis 1 of the input must have `in` channels."""

    code = "ANE0253"
    title = "`{op}` weight does not fit the channels of `{x}`"
    label = "expected {expected} input channels at axis 1, found {found}"
    notes = ("`{x}` has {channels} channels in {groups}, and the weight is `[out, in / groups, kernel...]`",)
    helps = ("{advice}",)
    op: str
    x: str
    expected: int
    found: int
    channels: int
    groups: str
    advice: str | None = None


class IndivisibleGroups(Error):
    """`groups` divides both the input and the output channels of a convolution."""

    code = "ANE0254"
    title = "`{op}` cannot divide {channels} {side} channels into {groups} groups"
    label = "does not divide {channels}"
    op: str
    side: str
    channels: int
    groups: int


class KernelTooLarge(Error):
    """A convolution's kernel, spread by its dilation, fits at least once into the padded input."""

    code = "ANE0255"
    title = "`{op}` kernel is larger than its input"
    label = "spans {kernel} positions at axis {axis}, the padded input has {size}"
    helps = ("{advice}",)
    op: str
    axis: int
    kernel: int
    size: int
    advice: str | None = None


class AttributeLength(Error):
    """A list attribute has one value for each axis that it describes, or two where it has a before and an after."""

    code = "ANE0256"
    title = "`{attribute}` of `{op}` needs {expected:value}, found {found}"
    label = "{found} given"
    notes = ("{rule}",)
    op: str
    attribute: str
    expected: int
    found: int
    rule: str | None = None


class DifferentShapes(Error):
    """`concat` joins tensors that are equally large in all axes but one; `stack` joins tensors of one shape."""

    code = "ANE0257"
    title = "`{op}` operands have different {what}"
    label = "`{type}` does not fit `{first}`"
    notes = ("{rule}",)
    op: str
    what: str
    type: str
    first: str
    rule: str | None = None


class OperandShape(Error):
    """Some operands have a shape that follows from others: a bias has one element an output channel, for example."""

    code = "ANE0258"
    title = "`{op}` takes `{operand}` of shape `{expected}`, found `{found}`"
    label = "has type `{type}`"
    notes = ("{rule}",)
    helps = ("{advice}",)
    op: str
    operand: str
    expected: str
    found: str
    type: str
    rule: str | None = None
    advice: str | None = None


class UncoveredSplit(Error):
    """The parts of a split together are as long as the axis; a split by number gives parts of equal size."""

    code = "ANE0259"
    title = "cannot split axis {axis} of size {size} into {parts}"
    label = "{detail}"
    axis: int
    size: int
    parts: str
    detail: str


class NotSqueezable(Error):
    """`squeeze` removes axes of size 1, and nothing else."""

    code = "ANE0260"
    title = "cannot squeeze axis {axis} of size {size}"
    label = "`{x}` is `{type}`"
    helps = ("only axes of size 1 can be squeezed; `reshape` merges others",)
    x: str
    axis: int
    size: int
    type: str


class UnsupportedEinsum(Error):
    """MIL's `einsum` multiplies matrices that lie in the axes -3 and -1; all other axes are batch.

    With other letters, and with spaces, the two equations mean the same.
    """

    code = "ANE0261"
    title = "MIL has no `einsum` for `{equation}`"
    label = "{detail}"
    notes = ("it takes `nchw,nwhu->nchu` and `chw,whu->chu`, whatever the letters",)
    equation: str
    detail: str = "not one of the supported equations"


class AttentionShapes(Error):
    """Attention of queries `[B..., L, E]`, keys `[B..., S, E]` and values `[B..., S, V]`; a mask broadcasts to `[B..., L, S]`."""

    code = "ANE0262"
    title = "`{op}` operands do not fit: `{operand}` and `{other}` differ in {what}"
    label = "expected {expected}, found {found}"
    notes = ("query is `[B..., L, E]`, key `[B..., S, E]`, value `[B..., S, V]`, attn_mask broadcasts to `[B..., L, S]`",)
    op: str
    operand: str
    other: str
    what: str
    expected: str
    found: str


class NeedsCompanion(Error):
    """Core ML takes some optional operands only together with another."""

    code = "ANE0263"
    title = "`{op}` takes `{operand}` only together with `{companion}`"
    label = "given without `{companion}`"
    helps = ("give `{companion}` as well: {advice}",)
    op: str
    operand: str
    companion: str
    advice: str


class ScaleAxis(Error):
    """Quantization has one scale for the whole tensor, and then no `axis`; or one for each position of `axis`."""

    code = "ANE0264"
    title = "`{op}` {problem}"
    label = "`scale` is `{scale}`"
    helps = ("{advice}",)
    op: str
    problem: str
    scale: str
    advice: str


class Indivisible(Error):
    """Ops that move blocks of positions to channels or batches, and back, need sizes that are multiples of the block."""

    code = "ANE0265"
    title = "`{op}` cannot divide {what} by {divisor}"
    label = "axis {axis} of `{x}` has size {size}"
    op: str
    x: str
    what: str
    divisor: int
    axis: int
    size: int


class TransposedShape(Error):
    """A transposed convolution runs a convolution backwards: a convolution of its result has the shape of `x`.

    With a stride several result shapes fit, and `output_shape` chooses one.
    """

    code = "ANE0266"
    title = "`conv_transpose` cannot give size {found} at axis {axis}"
    label = "a convolution of it gives {given} positions there, `{x}` has {wanted}"
    helps = ("{advice}",)
    x: str
    axis: int
    found: int
    given: int
    wanted: int
    advice: str | None = None


class RoundedUp(Error):
    """`ceil_mode` adds a window that begins inside the input and ends behind it. Core ML has it for one or two spatial
    axes, with equal padding on both sides."""

    code = "ANE0267"
    title = "`{op}` has no `ceil_mode` {where}"
    label = "{detail}"
    op: str
    where: str
    detail: str = ""


class EmptyWindow(Error):
    """Each window of a pooling op must hold an element of the input: there is no largest number in nothing."""

    code = "ANE0268"
    title = "`{op}` has a window of padding only at axis {axis}"
    label = "pads {pad} positions, the kernel has {kernel}"
    helps = ("pad less than the size of the kernel",)
    op: str
    axis: int
    pad: int
    kernel: int


class TooManyTaken(Error):
    """An op that picks the best elements of an axis cannot pick more than there are."""

    code = "ANE0269"
    title = "`{op}` cannot take {taken} of {size:element}"
    label = "axis {axis} of `{type}` has size {size}"
    op: str
    taken: int
    size: int
    axis: int
    type: str


class PaletteSize(Error):
    """A palette has an entry for every value that an index can have: 16 for `uint4` indices."""

    code = "ANE0270"
    title = "`{op}` needs {expected} entries in `lut` for {dtype} indices, found {found}"
    label = "has type `{type}`"
    notes = ("`lut` is `[groups..., entries, vector]`: its second last axis holds the entries",)
    op: str
    expected: int
    dtype: str
    found: int
    type: str


class UnevenBlocks(Error):
    """Scales and palettes are shared by blocks of equal size: along each axis their number divides the size of the data."""

    code = "ANE0271"
    title = "`{op}` cannot divide axis {axis} of size {size} into {blocks} blocks"
    label = "`{operand}` has shape {shape}"
    op: str
    axis: int
    size: int
    blocks: int
    operand: str
    shape: str


class NeedsVectorAxis(Error):
    """A palette of vectors puts each along one axis of the result; `vector_axis` says along which."""

    code = "ANE0272"
    title = "`{op}` needs `vector_axis` for vectors of {size} numbers"
    label = "has type `{type}`"
    op: str
    size: int
    type: str


class IndexDepth(Error):
    """The last axis of the indices holds one position for each axis that is addressed, after the batch axes."""

    code = "ANE0273"
    title = "`{op}` indices address {depth} axes of {left}"
    label = "`{type}` has {depth} positions in its last axis"
    op: str
    depth: int
    left: str
    type: str


class OffsetType(Error):
    """The offset of quantized data has the element type of the data, or is a float."""

    code = "ANE0274"
    title = "`{op}` takes {expected}, fp16 or fp32 for `offset`, found {found}"
    label = "has type `{type}`"
    op: str
    expected: str
    found: str
    type: str


class WrongCount(Error):
    """Sparse data lists the elements where the mask is 1, in order: as many as the mask has ones."""

    code = "ANE0275"
    title = "sparse data has {found:element} for {places:place}"
    label = "{detail}"
    found: int
    places: int
    detail: str


class NotPositive(Error):
    """A step of quantization is a distance: with 0 all numbers are lost, and a sign belongs to the numbers themselves."""

    code = "ANE0276"
    title = "`{operand}` of `{op}` has to be above 0, found {found}"
    label = "is not above 0"
    op: str
    operand: str
    found: str


class DroppedAxis(Warning):
    """Elementwise ops align shapes at the last axis. A reduction that drops its axis moves the axes before it one place back:
    the means of `[1, 64, 64]` over axis 2 are `[1, 64]`, and their axis of 64 then meets axis 2 and not axis 1, which it
    was. Where both are equally long nothing else tells.

    Keep the axis, which then has size 1: `mean`, `sum`, `max` and `min` do so unless `keep_dims = false` is given; MIL's own
    `reduce_mean` and the like do with `keep_dims = true`.
    """

    code = "ANE0277"
    title = "`{op}` applies what was axis {axis} along axis {place} of `{other}`"
    label = "has type `{type}`: an axis was dropped"
    notes = ("shapes are aligned at the last axis, and both axes are equally long",)
    helps = ("`keep_dims = true` in the reduction keeps the axis, with size 1; if axis {place} is meant, `reshape` says so",)
    op: str
    axis: int
    place: int
    type: str
    other: str
