"""Diagnostics of running a kernel (05xx)."""

from anedsl.diagnostics.base import Error, Warning


class MissingInput(Error):
    """Every input of a kernel needs an array: by `--inputs FILE.npz`, by `-i NAME=FILE.npy`, or `--random SEED` for all
    that are not given."""

    code = "ANE0501"
    title = "input `{name}` has no data"
    label = "is `{type}`"
    helps = ("the inputs hold `{nearest}`: did you mean that?", "give it with `-i {name}=FILE.npy` or `--inputs FILE.npz`, or use `--random 0`")
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
    """An input's array has the declared shape, exactly."""

    code = "ANE0503"
    title = "input `{name}` has shape {found}, the kernel wants {expected}"
    label = "declared here"
    helps = ("{advice}",)
    name: str
    found: str
    expected: str
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
    with `--numerics fp32` or `fp64` to see whether the range is the cause."""

    code = "ANE0505"
    title = "output `{name}` has {count} values that are not finite"
    label = "computed here"
    notes = ("the first value out of range is the result of `{op}`",)
    helps = ("run it with `--numerics fp64` to see whether it is the range of fp16",)
    name: str
    count: int
    op: str | None = None


class InputOverflow(Warning):
    """A number of the input data is too large for the input's element type and becomes infinite."""

    code = "ANE0506"
    title = "{count} values of input `{name}` become infinite in {dtype}"
    label = "declared here"
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
    """`run` takes an `.ane` file."""

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
