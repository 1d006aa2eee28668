"""Diagnostics of code generation and of writing the artifact (0430 to 0459)."""

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
