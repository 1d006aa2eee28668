"""The logical inputs and outputs of an artifact, as its manifest lists them, and how arrays are packed into surfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from anedsl.codegen.manifest import FORMAT, FORMAT_VERSION
from anedsl.codegen.mil_types import typed
from anedsl.codegen.packs import Place, Surface
from anedsl.codegen.program import InFile
from anedsl.codegen.reader.weights import ROOT, Declared
from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Port
from anedsl.types import Shape, TensorType

_Json = Mapping[str, Any]


class Manifest:
    """A `kernel.json` that was read. Every method raises ANE0485 where it is not what a compile writes."""

    def __init__(self, content: Any, path: str) -> None:
        self.path = path
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            self.fail(f"its `format` is not `{FORMAT}`")
        if content.get("format_version") != FORMAT_VERSION:
            self.fail(f"its `format_version` is not {FORMAT_VERSION}")
        self.content = content

    def fail(self, reason: str) -> NoReturn:
        from anedsl.diagnostics.artifacts import MalformedManifest

        raise Failure(MalformedManifest(path=self.path, reason=reason))

    @property
    def kernel(self) -> str:
        name = self.content.get("kernel")
        if not isinstance(name, str) or not name:
            self.fail("`kernel` is no name")
        return name

    def file(self, kind: str) -> str | None:
        """The name of the program's text or package; None where it was not written."""
        files = self.content.get("files")
        name = files.get(kind) if isinstance(files, dict) else None
        if name is not None and (not isinstance(name, str) or "/" in name or "\\" in name or name in (".", "..")):
            self.fail(f"`{kind}` is no file beside it")
        return name

    def declared(self, package: bool) -> dict[InFile, Declared]:
        """By place in the weight files of the text or the package, what the author called the weight."""
        found = {}
        for item in self._list("weights"):
            name, declared = item.get("name"), item.get("declared")
            if not isinstance(name, str) or not isinstance(declared, bool):
                self.fail("an entry of `weights` has no `name`, or does not say whether it was `declared`")
            path = "weights/weight.bin" if package else item.get("file")
            offset = item.get("package_offset" if package else "offset")
            if isinstance(path, str) and type(offset) is int:
                found[InFile(ROOT + path, offset)] = Declared(name, declared, *self._stored(item.get("stored")))
        return found

    def _stored(self, stored: Any) -> tuple[str | None, float | None]:
        """How a weight is compressed, and its error; a part that does not bear the error has neither."""
        error = stored.get("error") if isinstance(stored, dict) else None
        if error is None:
            return None, None
        kind, largest = stored.get("as"), error.get("max_rel") if isinstance(error, dict) else None
        if not isinstance(kind, str) or not isinstance(largest, (int, float)):
            self.fail("the `stored` of a weight does not say `as` what, or has an `error` without `max_rel`")
        return kind, float(largest)

    def surfaces(self, side: str, graph: Graph) -> tuple[Surface, ...]:
        """The surfaces of `inputs` or `outputs`, with the ports in each, which must be those of the graph."""
        ports = self._list(side)
        found = []
        for port in graph.inputs if side == "inputs" else graph.outputs:
            places = [self._place(item) for item in ports if item.get("surface") == port.name]
            self._check(port, places)
            found.append(Surface(port.name, port.value.type, tuple(places)))
        if sum(len(surface.places) for surface in found) != len(ports):
            self.fail(f"an entry of `{side}` lies in no surface of the program")
        return tuple(found)

    def _list(self, key: str) -> list[_Json]:
        items = self.content.get(key)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            self.fail(f"`{key}` is no list")
        return items

    def _place(self, item: _Json) -> Place:
        name, dtype = item.get("name"), item.get("dtype")
        numbers = [item.get(key) for key in ("axis", "start", "size", "byte_offset")]
        shape = self._shape(item)
        if not isinstance(name, str) or not isinstance(dtype, str) or not all(type(number) is int for number in numbers):
            self.fail("an input or output lacks a field, or it is of a wrong type")
        bounds = item.get("range")
        if bounds is not None:
            try:
                low, high = bounds
                bounds = (float(low), float(high))
            except (TypeError, ValueError):
                self.fail(f"the `range` of `{name}` is no pair of numbers")
        axis, start, size, byte_offset = (int(number or 0) for number in numbers)
        # A state or a dict has its type here; one that there is not is not that of the surface.
        return Place(name, TensorType(typed(dtype).dtype, shape), bounds, axis, start, size, byte_offset)

    def _shape(self, item: _Json) -> Shape:
        shape = item.get("shape")
        if not isinstance(shape, list) or not all(type(dim) is int for dim in shape):
            self.fail("the `shape` of an input or output is no list of numbers")
        return tuple(shape)

    def _check(self, port: Port, places: Sequence[Place]) -> None:
        """The places fill the surface from its beginning to its end."""
        whole = port.value.type
        at = 0
        for place in places:
            dims = list(whole.shape)
            fits = place.start == at and place.type.dtype is whole.dtype and 0 <= place.axis < max(len(dims), 1)
            if dims and fits:
                dims[place.axis] = place.size
            if not fits or tuple(dims) != place.type.shape:
                self.fail(f"`{place.name}` is no part of `{port.name}`, which is `{whole}`")
            at += place.size
        if not places or (whole.shape and at != whole.shape[places[0].axis]):
            self.fail(f"its ports do not fill `{port.name}`, which is `{whole}`")


def packed(surfaces: Sequence[Surface], arrays: Mapping[str, Any]) -> dict[str, Array]:
    """Arrays by port as arrays by surface."""
    found = {}
    for surface in surfaces:
        parts = [np.asarray(arrays[place.name]) for place in surface.places]
        found[surface.name] = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=surface.places[0].axis)
    return found


def unpacked(surfaces: Sequence[Surface], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays by surface as arrays by port: views, nothing is copied."""
    found = {}
    for surface in surfaces:
        whole = arrays[surface.name]
        for place in surface.places:
            if len(surface.places) == 1:
                found[place.name] = whole
            else:
                index = [slice(None)] * whole.ndim
                index[place.axis] = slice(place.start, place.start + place.size)
                found[place.name] = whole[tuple(index)]
    return found
