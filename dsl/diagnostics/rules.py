"""Diagnostics of what the ANE allows (0301 to 0359): one class for each kind of message.

`anedsl.rules` fills them in: the rule with its evidence, the chips it holds on, and whether it is an error or a warning
for the target.
"""

from anedsl.diagnostics.base import Error


class RuleBroken(Error):
    """The base of all diagnostics that come from a rule.

    `on` is empty or " on M1 to M3", `of` empty or " of M1 to M3"; `where`, `elsewhere` and `doubt` are notes that apply to
    some targets only.
    """

    notes = ("rule {rule}: {says} (evidence {confidence}: {evidence})", "{where}", "{elsewhere}", "{doubt}")
    helps = ("{fix}",)
    rule: str = ""
    says: str = ""
    confidence: str = ""
    evidence: str = ""
    fix: str | None = None
    on: str = ""
    of: str = ""
    where: str | None = None
    elsewhere: str | None = None
    doubt: str | None = None


class RankTooHigh(RuleBroken):
    """The ANE's tensors have five axes: batch, channels, depth, height, width. No chip and no route takes a sixth, and
    matrix products take four.

    Merge axes that are not used apart with `reshape`: `[2, 3, 8, 8, 16, 16]` holds the same numbers as `[6, 8, 8, 256]`.
    """

    code = "ANE0301"
    title = "{what} has {rank} axes, {taker} takes at most {limit}"
    label = "has type `{type}`"
    what: str
    rank: int
    taker: str
    limit: int
    type: str


class AxisTooLong(RuleBroken):
    """Every axis of a tensor has a limit: 65536 for batch and channels (axes 0 and 1), and for height and width 16384 up to M3
    and 65536 from M4 on. The tensor is reported where such a length first occurs, which may be a pack: packing along the
    last axis adds the lengths up.

    Put the long axis on the channels, pack along axis 1, or split the work into several kernels.
    """

    code = "ANE0302"
    title = "axis {axis} of {what} is {length} long, the ANE takes at most {limit}{on}"
    label = "has type `{type}`"
    what: str
    axis: int
    length: int
    limit: int
    type: str


class EmptyAxis(RuleBroken):
    """A tensor with an axis of length 0 holds nothing, and the ANE's compiler refuses it.

    Such a length often comes from a parameter (`DIM - 768`) or an empty slice (`x[:, 4:4]`): leave the tensor out.
    """

    code = "ANE0303"
    title = "axis {axis} of {what} has length 0"
    label = "has type `{type}`"
    what: str
    axis: int
    type: str


class OpNotOnAne(RuleBroken):
    """MIL has this op, but the ANE has nothing to run it with, or one route does not reach it. In memory the whole kernel is
    then refused; through Core ML an op that the ANE has not runs on the CPU or GPU, and the data travels there and back.

    Write it with other ops, compile for the route that takes it, or compute it on the host. `anedsl ops NAME` shows which
    chips and routes have an op.
    """

    code = "ANE0304"
    title = "`{op}` does not run on the ANE{via}{of}"
    label = "not on the ANE{via}"
    op: str
    via: str = ""


class OpDisputed(RuleBroken):
    """Public sources contradict each other about this op: it runs in one and is refused in another, perhaps on another chip,
    route or version of the system.

    Try it on the machine that it is for; where it fails, write it with other ops. `anedsl ops NAME` shows what is known.
    """

    code = "ANE0305"
    title = "`{op}` may not run on the ANE{of}"
    label = "runs in some reports only"
    op: str


class StateNotOnRoute(RuleBroken):
    """A state is kept by Core ML between two predictions; MIL text compiled in memory has no place for it.

    Compile for Core ML, or give the state in and out as an ordinary input and output.
    """

    code = "ANE0306"
    title = "`{op}` works on the Core ML route only"
    label = "a state is used here"
    op: str


class WrongIoType(RuleBroken):
    """The tensors that the caller binds are fp16, fp32 or bool on the in-memory route.

    Declare an input fp16 and convert on the host. Convert an output in the kernel: `cast(y, fp16)`, and from int32 by way of
    int16, or ask for indices in uint16. fp16 holds every int8 and uint8, and integers up to 2048 exactly.
    """

    code = "ANE0307"
    title = "{direction} `{name}` is {dtype}, the in-memory route takes fp16, fp32 and bool"
    label = "has type `{type}`"
    direction: str
    name: str
    dtype: str
    type: str


class WrongElementType(RuleBroken):
    """The ANE's arithmetic is fp16. An op on fp32 or int32 is refused in memory, and runs on the CPU or GPU through Core ML.

    An input may be fp32 where it is cast first: `h = cast(x, fp16)`. Where fp16 is too narrow, scale by a power of two before
    the op and back after it.
    """

    code = "ANE0308"
    title = "`{op}` in {dtype} does not run on the ANE"
    label = "its operands are {dtype}"
    op: str
    dtype: str


class CastNotOnAne(RuleBroken):
    """The ANE converts between fp16 and fp32, bool, int8, uint8 and int16, but not between fp16 and int32; M1 and M2 were seen to
    refuse every `cast` of a program compiled in memory.

    Convert on the host, or through int16 where the numbers fit.
    """

    code = "ANE0309"
    title = "`cast` from {source} to {dtype} does not run on the ANE{of}"
    label = "converts {source} to {dtype}"
    source: str
    dtype: str


class TooManyWeights(RuleBroken):
    """One program holds about 2 GB of weights: 1.5 GB has been compiled, 3.4 GB has not.

    Split the kernel in two, or give some weights as inputs, which also spares the compile when they change.
    """

    code = "ANE0310"
    title = "the weights take {size}, one program holds about 2 GB"
    label = "this kernel"
    size: str


class KernelTooWide(RuleBroken):
    """The last axis of a `conv` weight, its width, is at most 13 on M1 and 15 on the other chips. The height may be larger.

    Put the long axis of a one-dimensional convolution on the height, or add up several narrower convolutions.
    """

    code = "ANE0311"
    title = "the kernel of `conv` is {width} wide, the ANE takes at most {limit}{on}"
    label = "the weight has type `{type}`"
    width: int
    limit: int
    type: str


class GroupsDoNotDivide(RuleBroken):
    """A `conv` with groups splits the channels of its input, and of its output, into so many equal parts.

    Choose a number of groups that divides both.
    """

    code = "ANE0312"
    title = "`groups = {groups}` does not divide the {channels} {side} channels of `conv`"
    label = "{channels} channels cannot be split into {groups} groups"
    groups: int
    channels: int
    side: str


class RuntimeWeight(RuleBroken):
    """The ANE's convolution keeps its weight in the compiled program. A weight that is computed or passed in works at batch 1
    without groups, if at all; with a larger batch the compiler crashes.

    Declare it with `weight`, or write the product with `matmul`, which takes any two tensors.
    """

    code = "ANE0313"
    title = "`conv` has a weight that is not constant{and_}"
    label = "the weight arrives at run time"
    and_: str


class ArgAxisTooLong(RuleBroken):
    """Finding the place of the largest or smallest element works over at most 2048 elements.

    Reduce parts of at most 2048 and compare the results, or do this on the host.
    """

    code = "ANE0314"
    title = "`{op}` runs over {length} elements, the ANE takes at most 2048"
    label = "the axis is {length} long"
    op: str
    length: int


class ScaleBetweenReshapes(RuleBroken):
    """M1 and M2 refuse a multiplication by a weight `[1, D, 1, 1]`, D of 1024 or more, on a tensor that was reshaped before and
    is reshaped again after it.

    Multiply before the first `reshape` or after the second; or fold the factor into the weight of a neighbouring `conv`.
    """

    code = "ANE0315"
    title = "a scale of {length} channels stands between two reshapes, which is refused{on}"
    label = "multiplied by a `{type}`"
    length: int
    type: str


class SoftmaxOfChannels(RuleBroken):
    """One project could compile `softmax` over the channel axis only for powers of two; others use any length.

    If the compile fails, pad the axis to a power of two with -65504, or bring it to the last axis with `transpose`.
    """

    code = "ANE0316"
    title = "`softmax` over {length} channels, which is not a power of two, may be refused"
    label = "runs over axis 1"
    length: int


class MaskIgnored(RuleBroken):
    """`scaled_dot_product_attention` compiles with a mask and then ignores it: the result is unmasked attention, with no error.

    Write it out: `p = softmax(matmul(q, k, transpose_y = true) * scale + mask)`, then `matmul(p, v)`.
    """

    code = "ANE0317"
    title = "`scaled_dot_product_attention` ignores its mask on the ANE"
    label = "the mask has no effect"


class PadNotOnAne(RuleBroken):
    """The ANE pads the last two axes, height and width. Padding by reflection or repetition needs M2 or newer.

    For another axis use `concat` with a constant, or `transpose` it to the end and back.
    """

    code = "ANE0318"
    title = "`pad` {problem} does not run on the ANE{of}"
    label = "not on the ANE"
    problem: str


class TopkNotOnAne(RuleBroken):
    """`topk` is refused for k = 3 and k = 4, and on M1 altogether.

    Ask for 5 and take the first ones of the result.
    """

    code = "ANE0319"
    title = "`topk` with k = {k} does not run on the ANE"
    label = "k is {k}"
    k: int


class ConcatOfSlices(RuleBroken):
    """On M1, M2 and M3 a `concat` of two or more slices that begin inside the last axis returns the wrong elements, without an
    error.

    Move the axis away from the end (`transpose`), slice and concatenate there, and move it back. Or put an op behind each slice
    that stays: `clip(x[..., 8:16], -65504, 65504)` keeps every finite number, while `* 1` and `identity` are folded away.
    """

    code = "ANE0320"
    title = "`concat` of {count} slices of the last axis returns wrong elements{on}"
    label = "{count} of these slices do not begin at 0"
    count: int


class SliceSaturates(RuleBroken):
    """M1 and M2 copy a slice that begins inside the last axis in a format that ends at 4094: larger values become infinity, with
    no error. Packing along the last axis makes such slices of all members but the first.

    Pack along axis 1; promise that the values of an input are small (`input x: fp16[1, 64, 1, 128] in [-100, 100]`, in a pack
    of all members but the first); bound what is computed (`clip(h, -4094, 4094)`); or move the axis away from the end with
    `transpose` before the slice.
    """

    code = "ANE0321"
    title = "a slice of {what} that begins at {begin} on the last axis turns values above 4094 into infinity{on}"
    label = "begins at {begin}"
    what: str
    begin: int


class RaggedSurface(RuleBroken):
    """The rows of a surface (its last axis) begin at multiples of 64 bytes, 32 fp16 elements. With other lengths a caller that
    ignores the gaps reads and writes the wrong places.

    Pad the last axis to a multiple of 32, or lay the tensor out so that the axis with such a length is the last.
    """

    code = "ANE0322"
    title = "the last axis of {direction} `{name}` has {length} elements, which is not a multiple of {multiple}"
    label = "has type `{type}`"
    direction: str
    name: str
    length: int
    multiple: int
    type: str


class SeveralInputs(RuleBroken):
    """A program with one input surface always works. With several, some projects saw the evaluation fail and others did not; the
    surfaces then need one allocation size at least.

    Pack the inputs: the mathematics still speaks of each by its name, and the manifest says where each one lies.
    """

    code = "ANE0323"
    title = "{count} input surfaces may fail at run time"
    label = "{names} are bound apart"
    count: int
    names: str


class SilentZeros(RuleBroken):
    """On M1 a program with several inputs was seen to return zeros, with no error, unless its inputs were bound in ascending
    order of size, its outputs in descending order, and the inner dimension of `matmul` was a multiple of 32. Surfaces are
    bound in the alphabetical order of their names.

    Pack the inputs into one, and so the outputs; or rename them, or pad the inner dimension.
    """

    code = "ANE0324"
    title = "the results may be zero{on}: {problem}"
    label = "not as a program with several inputs needs it"
    problem: str


class LoneOp(RuleBroken):
    """A program that consists of one `reshape`, `tile` or `slice_by_index` was refused; the same op in a larger program was not.

    Such a kernel moves data only: do this on the host, or as a part of the kernel that uses it.
    """

    code = "ANE0325"
    title = "a kernel of nothing but one `{op}`{emitted} may be refused"
    label = "the only op"
    op: str
    emitted: str = ""


class SliceOfInput(RuleBroken):
    """Slicing an input by index was refused in a program with norms, convolutions and attention.

    If the input holds several tensors, declare them apart and `pack` them: the slices that a pack makes are known to work.
    """

    code = "ANE0326"
    title = "`slice_by_index` of input `{name}` may be refused"
    label = "slices `{name}`"
    name: str


class UnknownTarget(Error):
    """The chips are m1 to m5; the Pro, Max and Ultra variants of a chip have the same generation of Neural Engine. A route is how
    a program reaches it: `inmemory` is MIL text compiled in memory, `coreml` an mlpackage.
    """

    code = "ANE0330"
    title = "unknown {kind} `{found}`"
    notes = ("the {kind}s are {known}",)
    helps = ("did you mean `{nearest}`?",)
    kind: str
    found: str
    known: str
    nearest: str | None = None
