"""Numbers from files: what a user gives with `--weights` and `--inputs`, read lazily and in bounded memory.

`open_source` opens a file or folder, `bind` finds the data of every declared weight in such sources, `read_arrays` loads
a whole file. `anedsl.weights.arrays` does the same for arrays that are in memory.
"""

from anedsl.weights.binding import Declared, bind
from anedsl.weights.entry import Entry, Source
from anedsl.weights.opening import open_source, read_arrays

__all__ = ["Declared", "Entry", "Source", "bind", "open_source", "read_arrays"]
