"""Diagnostics of compiling many variants at once (0450 to 0459)."""

from anedsl.diagnostics.base import Error


class InvalidVariants(Error):
    """A file of variants is TOML with a table `[variants]`. `[variants.NAME]` gives the parameters of one variant, and
    `[variants.product]` lists of values, each combination of which is a variant. A value is a number, a boolean, a text or
    a list of such.
    """

    code = "ANE0450"
    title = "`{path}` describes no variants: {problem}"
    notes = ("{detail}",)
    helps = ("{advice}",)
    path: str
    problem: str
    detail: str | None = None
    advice: str | None = None


class TooManyVariants(Error):
    """Lists of values give a variant for each combination: three parameters with ten values each are a thousand variants."""

    code = "ANE0451"
    title = "there are {count} variants to compile, more than {limit}"
    helps = ("compile them in several runs",)
    count: int
    limit: int


class ProcessEnded(Error):
    """With `-j N` variants are compiled in N processes. The system may end one of them, usually for want of memory.

    Artifacts that were there before are unchanged, and those that are written already are whole.
    """

    code = "ANE0452"
    title = "a process ended while it was compiling variants"
    helps = ("compile fewer at the same time: `-j 1`",)
