"""Diagnostics of weights and the files they come from (04xx, up to 0429, and 0438).

Diagnostics of a file have no place in a source; their headlines name the file. `bind` moves them to the declaration of
the weight that the file was read for.
"""

from anedsl.diagnostics.base import Error, Warning


class WeightError(Error):
    """A declared weight and the data it was given do not fit.

    `more` tells that other members of the same family have the same problem: a family is reported once.
    """

    name: str
    more: str | None = None


class MissingWeight(WeightError):
    """A weight needs numbers: from a file, or from an initialiser in the kernel.

    Data is looked up under the weight's own name. The member `W[2]` of a family is also found under `W_2`, `W2` and `W.2`,
    or as part 2 of one array `W` that stacks all members along a new first axis. `--map NAME=KEY` gives another key,
    `--map "W=layers.{i}.w"` one for each member of a family, and `--map "w*=mlp.*.weight"` those of many weights.
    """

    code = "ANE0401"
    title = "weight `{name}` has no data and no initialiser"
    several = "weights `{name}`, {others} have no data and no initialiser"
    label = "declared here as `{type}`"
    notes = ("{more}", "{searched}", "{available}")
    helps = (
        "the key `{nearest}` is similar; to use it: `--map {mapping}`",
        "{general}",
        "{supply}",
    )
    with_files = "a weight that is in no file needs an initialiser `= ones`; to try or measure the kernel, `--random 0` draws it"
    type: str
    supply: str = "give it with `--weights FILE`, or an initialiser `= ones`; to try or measure the kernel, `--random 0` draws it"
    general: str | None = None
    searched: str | None = None
    available: str | None = None
    nearest: str | None = None
    mapping: str | None = None
    others: str | None = None

    @property
    def headline(self) -> str:
        return self._filled(self.several) or super().headline


class WrongWeightShape(WeightError):
    """The array in the file has another shape than the declared weight.

    Axes of size 1 may be added or left out, because checkpoints store a vector as `[768]` and a matrix as `[out, in]`; the
    other axes must have the same sizes in the same order. A square matrix that is stored transposed cannot be noticed.
    """

    code = "ANE0402"
    title = "weight `{name}` has another shape in `{file}`"
    label = "declared as `{expected}`"
    notes = ("the key `{array}` has the shape {found}", "{rule}", "{more}")
    helps = ("{advice}",)
    expected: str
    found: str
    file: str
    array: str
    rule: str | None = None
    advice: str | None = None


class WrongWeightDType(WeightError):
    """Numbers may become floats of any size and integers may become floats or other integers.

    Floats never become integers, and booleans are only given for booleans: either would change the values silently.
    """

    code = "ANE0403"
    title = "weight `{name}` cannot take {found} numbers"
    label = "declared as {expected}"
    notes = ("the key `{array}` of `{file}` holds {found}", "{more}")
    helps = ("convert the array to {expected} before it is saved, or declare the weight as {suggested}",)
    expected: str
    found: str
    file: str
    array: str
    suggested: str | None = None


class UnknownMapName(Error):
    """`--map NAME=KEY` begins with the name of a weight of the kernel; KEY is the name in the file."""

    code = "ANE0404"
    title = "`--map {mapping}` names no weight of the kernel"
    notes = ("{available}",)
    helps = ("did you mean `{nearest}`?", "{advice}")
    mapping: str
    available: str | None = None
    nearest: str | None = None
    advice: str | None = None


class UnknownKey(WeightError):
    """The key that `--map NAME=KEY` names is in none of the files that were given.

    With a pattern `--map 'w*=mlp.*.weight'` this is said of a weight that has no data under its own name either, and no
    initialiser.
    """

    code = "ANE0405"
    title = "no file has the key `{array}`"
    label = "`{name}` is to be read from it"
    notes = ("{shard}", "{available}", "{more}")
    helps = ("{folder}", "did you mean `{nearest}`?")
    array: str
    shard: str | None = None
    folder: str | None = None
    available: str | None = None
    nearest: str | None = None


class AmbiguousKey(WeightError):
    """Data for one weight was found twice, in two files or under two spellings of its name."""

    code = "ANE0406"
    title = "weight `{name}` is found twice"
    label = "`{first}` and `{second}` both fit"
    notes = ("`{first}` is in `{file}`, `{second}` in `{other}`", "{more}")
    helps = ("{advice}",)
    first: str
    second: str
    file: str
    other: str
    advice: str | None = None


class WeightOutOfRange(WeightError):
    """An integer of the file does not fit the declared integer type; it would wrap around."""

    code = "ANE0407"
    title = "weight `{name}` has values that do not fit {expected}"
    label = "takes {lowest} to {highest}"
    notes = ("the key `{array}` of `{file}` holds {found} from {smallest} to {largest}", "{more}")
    expected: str
    found: str
    lowest: int
    highest: int
    smallest: int
    largest: int
    file: str
    array: str


class UnusedArray(Error):
    """A single `.npy` file has no name inside: it goes to the only weight of the kernel, or to the one called like the file."""

    code = "ANE0408"
    title = "no weight takes the array in `{file}`"
    notes = ("the kernel has {weights:weight}, and none is called `{array}`",)
    helps = ("say which weight it is for: `--map {mapping}`",)
    file: str
    array: str
    weights: int
    mapping: str | None = None


class UnreadableFile(Error):
    """A file of weights or inputs could not be opened or read.

    Only regular files and folders are read: a pipe cannot be read twice, and weights are.
    """

    code = "ANE0410"
    title = "cannot read `{file}`: {reason}"
    helps = ("{advice}",)
    file: str
    reason: str
    advice: str | None = None


class UnknownFileKind(Error):
    """Arrays are read from `.npz` and `.safetensors` files, from one `.npy` file, from a folder of `.npy` files, and from a
    checkpoint: a folder of `.safetensors` files, or the index of one.
    """

    code = "ANE0411"
    title = "`{file}` is no kind of file that arrays are read from"
    notes = ("arrays are read from `.npz`, `.safetensors` and `.npy` files, and from folders of `.npy` or `.safetensors` files",)
    helps = ("{advice}",)
    file: str
    advice: str | None = None


class MalformedFile(Error):
    """A file breaks the rules of its format: it is cut short, damaged, or was not written by a sound program.

    Nothing is guessed from such a file. `.safetensors`: each tensor's byte range must have the size that its type and shape
    give, and the ranges must cover the data without gap or overlap. `.npy` and the members of `.npz`: header and data must
    together be as long as the file or the member.
    """

    code = "ANE0412"
    title = "`{file}` is damaged: {problem}"
    notes = ("{detail}",)
    helps = ("write the file again",)
    file: str
    problem: str
    detail: str | None = None


class UnsupportedElements(Error):
    """Arrays hold floats of 16, 32 or 64 bits, bfloat16 (in `.safetensors`), integers of 8 to 64 bits, or booleans.

    Python objects are never unpickled: that would run code from the file.
    """

    code = "ANE0413"
    title = "the array `{array}` in `{file}` holds {found}"
    notes = ("{reason}",)
    helps = ("{advice}",)
    file: str
    array: str
    found: str
    reason: str | None = None
    advice: str | None = None


class UnsupportedMember(Error):
    """Members of a `.npz` file may be stored plainly or deflated, as `numpy.savez` and `numpy.savez_compressed` do."""

    code = "ANE0414"
    title = "the member `{member}` of `{file}` is {how}"
    helps = ("write the file with `numpy.savez` or `numpy.savez_compressed`",)
    file: str
    member: str
    how: str


class UnsafeName(Error):
    """A name may not lead out of the folder or archive it belongs to: not by `..`, an absolute path or a symbolic link."""

    code = "ANE0415"
    title = "the name `{name}` leads out of `{file}`"
    notes = ("{reason}",)
    helps = ("{advice}",)
    name: str
    file: str
    reason: str | None = None
    advice: str | None = None


class FileChanged(Error):
    """A file was written to after its header was read, so the numbers in it may no longer be what the header says."""

    code = "ANE0416"
    title = "`{file}` changed while it was being read"
    helps = ("run the command again when nothing writes to the file",)
    file: str


class TooLarge(Error):
    """Arrays that are loaded as a whole, such as the inputs of `anedsl run`, may take 8 GiB together."""

    code = "ANE0417"
    title = "the arrays in `{file}` need {bytes} bytes of memory"
    notes = ("{reason}",)
    file: str
    bytes: int
    reason: str | None = None


class InvalidIndex(Error):
    """The index of a checkpoint is a JSON object whose member `weight_map` maps the name of each tensor to the name of the
    `.safetensors` file that holds it, beside the index or in a folder there. It is usually called
    `model.safetensors.index.json`.
    """

    code = "ANE0418"
    title = "`{file}` is no index of a checkpoint: {problem}"
    notes = ("{detail}",)
    file: str
    problem: str
    detail: str | None = None


class UnclearFolder(Error):
    """A folder that is given with `--weights` holds one kind of weights: `.npy` files, one checkpoint with its index, or
    `.safetensors` files without an index. Nothing is guessed where it holds more.
    """

    code = "ANE0419"
    title = "`{folder}` holds {holds}"
    helps = ("{advice}",)
    folder: str
    holds: str
    advice: str | None = None


class WeightOverflow(Warning):
    """Values of a weight are too large for its element type and became infinite.

    fp16 ends at 65504. An infinity in a weight makes results infinite or NaN.
    """

    code = "ANE0420"
    title = "weight `{name}` does not fit {dtype}"
    label = "values that become infinite: {count}; largest magnitude: {largest}"
    helps = ("scale the weight down and multiply the result, or declare it fp32 if the target allows it",)
    name: str
    count: int
    largest: float
    dtype: str = "fp16"


class WeightUnderflow(Warning):
    """Values of a weight are not zero, but too small for its element type, and became zero.

    The smallest fp16 number is 2^-24, about 6e-8; half of it and all below becomes zero. A few such values are ordinary:
    this is said where more than 0.1 % of a weight's nonzero values are lost. The manifest counts them for every weight,
    as `vanished`.
    """

    code = "ANE0421"
    title = "weight `{name}` loses small values in {dtype}"
    label = "values that become zero: {count}, {share} of those that were not; largest magnitude: {largest}"
    helps = ("scale the weight up and divide the result, or declare it fp32 if the target allows it",)
    name: str
    count: int
    share: str
    largest: float
    dtype: str = "fp16"


class MissingShard(Error):
    """The index of a checkpoint names a file that is not there. Checkpoints are read as a whole or not at all: the download
    may not be complete.
    """

    code = "ANE0422"
    title = "the file `{shard}` of `{file}` is missing"
    notes = ("{tensors} to be read from it",)
    helps = ("did you mean `{nearest}`?", "copy or download it to the folder of the index")
    shard: str
    file: str
    tensors: str
    nearest: str | None = None


class MissingTensor(Error):
    """The index of a checkpoint says which file holds a tensor, and the file does not hold it: index and files do not belong
    together. Tensors that a file holds beyond those of the index are not seen.
    """

    code = "ANE0423"
    title = "`{file}` has no tensor `{array}`"
    notes = ("`{index}` says that it is there", "{more}")
    helps = ("did you mean `{nearest}`?", "take index and files from the same checkpoint")
    file: str
    array: str
    index: str
    more: str | None = None
    nearest: str | None = None


class RepeatedTensor(Error):
    """In a folder of `.safetensors` files without an index every tensor is in one file: nothing says which one counts."""

    code = "ANE0424"
    title = "the tensor `{array}` is in two files of `{folder}`"
    notes = ("they are `{first}` and `{second}`", "{more}")
    helps = ("give the file that is meant, instead of the folder",)
    array: str
    folder: str
    first: str
    second: str
    more: str | None = None


class UnevenPattern(Error):
    """In `--map 'w*=layers.3.mlp.*.weight'` each `*` stands for the same text on both sides, in the order they stand: both
    sides have equally many.
    """

    code = "ANE0425"
    title = "`--map {mapping}` has {left} `*` on the left and {right} on the right"
    helps = ("write as many on the right as on the left",)
    mapping: str
    left: int
    right: int


class UnusedPattern(Error):
    """A pattern in `--map 'w*=layers.3.mlp.*.weight'` leads at least one weight of the kernel to a key that a file has.

    `*` stands for one or more characters, as few as possible from the left on. A pattern with `[` speaks of the members of
    a family (`W[*]=layers.*.w`); any other of whole families, and of weights that are in none.
    """

    code = "ANE0426"
    title = "`--map {mapping}` finds no weight"
    notes = ("{reason}", "{available}")
    helps = ("did you mean the key `{nearest}`?", "{folder}", "write NAME=KEY the other way round: `--map {turned}`")
    mapping: str
    reason: str
    available: str | None = None
    nearest: str | None = None
    folder: str | None = None
    turned: str | None = None


class AmbiguousPattern(WeightError):
    """A weight may be named by one pattern of `--map`. A name without `*` wins over every pattern."""

    code = "ANE0427"
    title = "two patterns speak of weight `{name}`"
    label = "named by `--map {first}` and `--map {second}`"
    notes = ("{more}",)
    helps = ("name the weight itself as well: `--map {example}`",)
    first: str
    second: str
    example: str


class UnusedFile(Warning):
    """A file of weights was given, and no weight of a kernel is read from it.

    Weights that have an initialiser need no data, so that a file whose keys have other names than the weights is passed
    over: the kernel then has the numbers of the initialisers, and none of the file. `--map NAME=KEY` leads to a key.
    """

    code = "ANE0428"
    title = "no array of `{file}` is used"
    notes = ("{available}", "{state}")
    helps = ("the key `{nearest}` is similar; to use it: `--map {mapping}`", "{general}")
    file: str
    available: str
    state: str
    nearest: str | None = None
    mapping: str | None = None
    general: str | None = None


class SimilarKey(Warning):
    """A weight was not found in the files that were given, and one of them has an unused key with nearly its name.

    Nothing is wrong if the weight is to have its initialiser, or is to be drawn at random.
    """

    code = "ANE0429"
    title = "weight `{name}` is not in `{file}`, which has a similar key"
    label = "its numbers are {instead}"
    notes = ("no weight takes the key `{array}`",)
    helps = ("if it is meant: `--map {mapping}`",)
    name: str
    file: str
    array: str
    instead: str
    mapping: str


class WeightNotFinite(Warning):
    """Values that were given for a weight are infinite or NaN. They are written as they are.

    In a trained checkpoint they are the trace of a training run that went wrong. In a mask, infinity gives NaN where a whole
    row is masked, and the Neural Engine has no NaN: it computes on with infinity or 0.
    """

    code = "ANE0409"
    title = "weight `{name}` holds values that are not finite"
    label = "values that are infinite or NaN: {count}"
    helps = ("look at where the file comes from; in a mask, -65504 does what -inf is meant for",)
    name: str
    count: int


class CompressedNotFinite(WeightError):
    """A weight that is `stored` in a compressed form has values that fp16 cannot hold: NaN, infinity, or magnitudes of 65520
    and more.

    Compression chooses scales and palettes by the values: one that is not finite would change all others of its channel, its
    block or the whole weight. A weight that is not compressed may hold such values (ANE0409, ANE0420).
    """

    code = "ANE0438"
    title = "weight `{name}` cannot be compressed: it holds values that are not finite in fp16"
    label = "{counts}"
    notes = ("the largest finite magnitude is {largest}", "{more}")
    helps = ("clean or scale the data, or leave out `stored {storage}`",)
    counts: str
    storage: str
    largest: str | None = None
