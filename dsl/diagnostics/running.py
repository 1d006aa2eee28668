"""Diagnostics of running a kernel (05xx)."""

from anedsl.diagnostics.base import Error, Warning


class MissingInput(Error):
    """Every input of a kernel needs an array: by `--inputs FILE.npz`, by `-i NAME=FILE.npy`, or `--random SEED` for all
    that are not given."""

    code = "ANE0501"
    title = "input `{name}` has no data"
    label = "is `{type}`"
    helps = (
        "the inputs hold `{nearest}`: did you mean that?",
        "give it with `-i {name}=FILE.npy` or `--inputs FILE.npz`, or use `--random 0`",
    )
    name: str
    type: str
    nearest: str | None = None


class UnknownInput(Error):
    """The data names an input that the kernel does not have. Inputs go by their own names, also when they are packed."""

    code = "ANE0502"
    title = "`{kernel}` has no input `{name}`"
    helps = ("did you mean `{nearest}`?", "its inputs are {known}")
    kernel: str
    name: str
    nearest: str | None = None
    known: str | None = None


class WrongInputShape(Error):
    """An input's array has the declared shape, exactly. Inputs that are packed may be given one by one, or as the whole pack:
    one array that holds them in their order."""

    code = "ANE0503"
    title = "{kind} `{name}` has shape {found}, the kernel wants {expected}"
    label = "declared here"
    notes = ("{holds}",)
    helps = ("{advice}",)
    kind: str = "input"
    name: str
    found: str
    expected: str
    holds: str | None = None
    advice: str | None = None


class WrongInputType(Error):
    """Floats are given for float inputs, integers for integer inputs, booleans for bool inputs."""

    code = "ANE0504"
    title = "input `{name}` has {found} values, the kernel wants {expected}"
    label = "declared here"
    name: str
    found: str
    expected: str


class NotFinite(Warning):
    """An output holds values that are infinite or not a number. In fp16 everything above 65504 becomes infinite; compare
    with `--numerics fp32` or `fp64` to see whether the range is the cause. Where ANE0510 names the op that overflows, this is
    not said as well."""

    code = "ANE0505"
    title = "output `{name}` has {count:non-finite value}"
    label = "computed here"
    notes = ("the first value out of range is the result of `{op}`",)
    helps = ("run it with `--numerics fp64` to see whether it is the range of fp16",)
    name: str
    count: int
    op: str | None = None


class InputOverflow(Warning):
    """A number of the input data that is too large for the input's element type becomes infinite."""

    code = "ANE0506"
    title = "input `{name}` has {count:value} too large for {dtype}"
    label = "declared here"
    notes = ("what is too large becomes infinite",)
    name: str
    count: int
    dtype: str


class UnknownNumerics(Error):
    """The reference executor computes in fp16, fp32 or fp64."""

    code = "ANE0507"
    title = "unknown numerics `{name}`"
    helps = ("choose {known}",)
    name: str
    known: str


class UnsupportedTarget(Error):
    """`run` takes an `.ane` file, a `.mil` file, an `.mlpackage`, or the folder of one artifact: `compile` writes a folder
    for each kernel, below the one that `-o` names."""

    code = "ANE0508"
    title = "cannot run `{path}`: {reason}"
    helps = ("{advice}",)
    path: str
    reason: str
    advice: str | None = None


class CannotSave(Error):
    """The outputs could not be written."""

    code = "ANE0509"
    title = "cannot write `{path}`: {reason}"
    path: str
    reason: str


class Overflow(Warning):
    """Numbers of fp16 end at 65504, and what is above becomes infinite: rule N1. The squares of numbers above 256 are.

    It is said where an output is far from the one that fp64 gives, of the first op it depends on that has infinite values or
    values that are not a number in fp16 where fp64 has finite ones. The output itself may look harmless: `1 / inf` is 0.
    """

    code = "ANE0510"
    title = "`{op}`{place} {what} {count:value}"
    label = "the first result that is finite in fp64 and not in fp16"
    notes = ("the largest number of fp16 is 65504 (rule N1); {effect}",)
    helps = ("scale the operands down before it and the result up after it, take a `mean` for a sum, or use `std.norms`",)
    op: str
    place: str
    what: str
    count: int
    effect: str


class OutOfRange(Warning):
    """`in [low, high]` after an input promises its range, and what is known of overflow rests on it.

    The kernel runs on any values all the same.
    """

    code = "ANE0511"
    title = "{count} of input `{name}` {are} not in [{low}, {high}]"
    label = "its range is promised here; the farthest value is {worst}"
    helps = ("give it other data, or declare the range that it has",)
    name: str
    count: str
    are: str
    low: str
    high: str
    worst: str


class InvalidOption(Error):
    """Options of the Python interface have the same values as those of the command line."""

    code = "ANE0512"
    title = "invalid {option} {found}"
    helps = ("did you mean `{nearest}`?", "choose {known}")
    option: str
    found: str
    known: str
    nearest: str | None = None


class SeveralKernels(Error):
    """Where a file has several kernels, the one that is meant is named: `anedsl.load("f.ane", "NAME")`."""

    code = "ANE0513"
    title = "`{path}` has several kernels"
    helps = ("name one of {known}",)
    path: str
    known: str


class GivenTwice(Error):
    """A pack is given whole, by its own name, or by the inputs in it, but not both at once.

    An array that `-i` names takes the place of one in the file of `--inputs`; within one of them there is no such order.
    """

    code = "ANE0514"
    title = "pack `{pack}` is given whole, and {members} in it once more"
    label = "declared here"
    helps = ("leave out one of the two",)
    pack: str
    members: str


class NoCoreML(Error):
    """Core ML runs on a Mac only, and is called by coremltools, whose wheel for macOS has a native library for it.

    Everything else works on any machine: compiling, checking, and running on the reference executor, which computes the
    same kernel in numpy. `anedsl doctor` lists what a machine can do.
    """

    code = "ANE0520"
    title = "Core ML cannot run here: {reason}"
    helps = ("{advice}", "run it with `--backend reference`: it computes the same kernel on any machine")
    reason: str
    advice: str | None = None


class NeedsNewerMacOS(Error):
    """A program is written for an opset, and a macOS takes those that were known when it came out.

    Dialect 1.3 is written for opset ios18, which macOS 15 takes; dialect 1.0 for ios16, which macOS 13 takes.
    """

    code = "ANE0521"
    title = "`{path}` needs macOS {needed}, and this is macOS {found}"
    helps = ("{advice}",)
    path: str
    needed: int
    found: str
    advice: str | None = None


class NoProgram(Error):
    """Core ML runs an `.mlpackage`: the one in an artifact's folder, or one by itself."""

    code = "ANE0522"
    title = "`{path}` cannot be run by Core ML: {reason}"
    helps = ("{advice}",)
    path: str
    reason: str
    advice: str | None = None


class AneCompileFailed(Error):
    """The ANE's compiler refused a part of the program, and Core ML did not go on without the ANE.

    It gives no reason. Core ML may load such a model without an error and then end the process at the first prediction;
    that is why it runs in a process of its own. What is publicly known of the hardware's limits is in the rules that
    `anedsl check` applies.
    """

    code = "ANE0523"
    title = "the ANE's compiler refuses `{kernel}`: the run {how}"
    notes = ("it wrote: {lines}",)
    helps = (
        "see what `anedsl check FILE --route coreml --strict` says of the kernel, with `--chip` for your chip",
        "halve the kernel until it compiles: the op that makes the difference is the one to write differently",
    )
    kernel: str
    how: str
    lines: str | None = None


class AneFallback(Warning):
    """The ANE's compiler refused a part of the program, and Core ML computed that part elsewhere.

    The outputs are those of the CPU (or in part of it), and so are the times.
    """

    code = "ANE0524"
    title = "the ANE's compiler refused a part of `{kernel}`: the outputs were computed at least in part elsewhere"
    notes = ("it wrote: {lines}",)
    helps = ("see which ops are planned elsewhere with `--placement`",)
    kernel: str
    lines: str | None = None


class CoreMLCrashed(Error):
    """The process that called Core ML was ended, or ended without a reply. anedsl itself is not affected.

    SIGKILL at the first prediction is known from programs that the ANE's compiler refused, and from a lack of memory;
    SIGABRT from damaged models.
    """

    code = "ANE0525"
    title = "Core ML's process {how} {stage}"
    notes = ("it wrote: {lines}",)
    helps = ("{advice}",)
    how: str
    stage: str
    lines: str | None = None
    advice: str | None = None


class CoreMLTimeout(Error):
    """Core ML did not finish in time, and its process was ended.

    Compiling for the ANE may take minutes for a large program, and has been reported never to end for some.
    """

    code = "ANE0526"
    title = "Core ML did not finish within {seconds} s: it was stopped {stage}"
    notes = ("it wrote: {lines}",)
    helps = ("give it more time with `--timeout {longer}`", "see whether it is the ANE: `--units cpu_only` keeps off it")
    seconds: str
    longer: str
    stage: str
    lines: str | None = None


class CoreMLRefused(Error):
    """Core ML, or coremltools, raised an error."""

    code = "ANE0527"
    title = "Core ML refuses `{kernel}` {stage}: {reason}"
    notes = ("it wrote: {lines}",)
    kernel: str
    stage: str
    reason: str
    lines: str | None = None


class CannotKeep(Error):
    """A run needs a folder for its files: in the cache (`ANEDSL_CACHE`), or for temporary files (`TMPDIR`)."""

    code = "ANE0528"
    title = "cannot write what a run by Core ML needs: {reason}"
    helps = ("set `ANEDSL_CACHE` to a folder with enough room, or to nothing for no cache",)
    reason: str


class UnexpectedOutput(Error):
    """What Core ML gave back is not what the program declares. The outputs are not shown, because they cannot be right."""

    code = "ANE0529"
    title = "Core ML gave for output `{name}` {found}; the program declares {expected}"
    helps = ("please report it with the kernel, the macOS and the coremltools version that `anedsl doctor` shows",)
    name: str
    found: str
    expected: str


class NoPlacement(Warning):
    """Where each op is planned comes from Core ML's compute plan, which macOS has from 14.4 on.

    Plans name no device at all for programs that were written for an early opset.
    """

    code = "ANE0530"
    title = "there is no placement report: {reason}"
    helps = ("{advice}",)
    reason: str
    advice: str | None = None


class UnknownUnits(Error):
    """Core ML may be told to keep off the GPU, off the Neural Engine, or off both."""

    code = "ANE0531"
    title = "unknown compute units `{name}`"
    helps = ("did you mean `{nearest}`?", "choose {known}")
    name: str
    known: str
    nearest: str | None = None
