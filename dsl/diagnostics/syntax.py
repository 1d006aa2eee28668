"""Diagnostics of the text itself (01xx)."""

from anedsl.diagnostics.base import Error


class UnexpectedToken(Error):
    """The text does not follow the grammar here. Statements end at a line end or `;`; a line goes on inside `()` and
    `[]` and after a binary operator, a comma or `=`."""

    code = "ANE0101"
    title = "unexpected {found}"
    label = "expected {expected}"
    helps = ("{advice}",)
    found: str
    expected: str
    advice: str | None = None


class UnexpectedCharacter(Error):
    """No word of the language begins with this character."""

    code = "ANE0102"
    title = "unexpected character {character}"
    label = "not part of the language"
    helps = ("{advice}",)
    character: str
    advice: str | None = None


class UnterminatedString(Error):
    """A string begins and ends with `"` on one line; `\\"` stands for a quotation mark inside."""

    code = "ANE0103"
    title = "the string is not closed"
    label = 'no closing `"` on this line'


class NestedTooDeep(Error):
    """Brackets, operators and calls may nest 200 deep. Deeper nesting is a generator's accident: name the parts."""

    code = "ANE0104"
    title = "nested too deep"
    label = "the limit is {limit} levels"
    helps = ("give the inner parts names of their own",)
    limit: int


class EmptyFile(Error):
    """A file must hold a kernel, or functions for other files to import."""

    code = "ANE0105"
    title = "`{path}` holds no kernel"
    helps = ("{advice}",)
    path: str
    # A text of its own: braces would be fields of a template.
    advice: str = "a kernel looks like `kernel double(N = 64) { input x: fp16[1, N, 1, 64]; output y; y = x * 2 }`"


class NotUtf8(Error):
    """Source files are UTF-8 text."""

    code = "ANE0106"
    title = "`{path}` is not UTF-8 text"
    label = "byte {byte} at offset {offset}"
    helps = ("save the file as UTF-8",)
    path: str
    byte: str
    offset: int


class UnreadableFile(Error):
    """The file is missing, is a folder, or may not be read."""

    code = "ANE0107"
    title = "cannot read `{path}`: {reason}"
    label = "{asked}"
    helps = ("did you mean `{nearest}`?",)
    path: str
    reason: str
    asked: str | None = None
    nearest: str | None = None


class FileTooLarge(Error):
    """A source file has at most 2 MiB and 300,000 words, numbers and signs: some thousand kernels. Numbers in such amounts
    belong into a file of weights, and repetition into `for` and functions."""

    code = "ANE0108"
    title = "`{path}` is too large: {size}"
    label = "the limit of {limit} is reached here"
    helps = ("keep numbers in a file of weights, and repeat with `for`",)
    path: str
    size: str
    limit: str


class MissingNewline(Error):
    """Two statements on one line need a `;` between them."""

    code = "ANE0109"
    title = "expected the end of the statement, found {found}"
    label = "begins here"
    helps = ("begin a new line, or write `;` between two statements",)
    found: str


class TooManyErrors(Error):
    """After 20 errors the rest of a kernel is not looked at: mend the first ones, the others often follow from them."""

    code = "ANE0110"
    title = "more than {limit} errors"
    label = "stopped here"
    helps = ("mend the first errors, and try again",)
    limit: int
