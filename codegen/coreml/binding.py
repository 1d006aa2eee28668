"""Packs logical inputs into the tensors that travel, and unpacks what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anedsl.codegen.coreml.interface import Interface, port_graph
from anedsl.codegen.packs import Place, Surface
from anedsl.data import Array
from anedsl.diagnostics import Failure, Sink
from anedsl.graph import Graph
from anedsl.running import check_inputs, check_whole


def pack_inputs(interface: Interface, given: Mapping[str, Any], sink: Sink, graph: Graph | None = None) -> dict[str, Array]:
    """The arrays of all input surfaces, in their own element types.

    `given` goes by logical names or by surface names. `graph` is the kernel, if it is at hand: problems are then shown at
    the author's lines. Raises ANE0501 to ANE0504.
    """
    logical = _split(interface.inputs, given)
    arrays = check_inputs(graph or port_graph(interface), logical, "fp16", sink)
    return {surface.name: _pack(surface, arrays) for surface in interface.inputs}


def _split(surfaces: Sequence[Surface], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays that were given for a whole surface, cut into its ports."""
    ports = {place.name for surface in surfaces for place in surface.places}
    whole = {surface.name: surface for surface in surfaces if surface.name not in ports}
    found: dict[str, Any] = {}
    for name, value in given.items():
        surface = whole.get(name)
        if surface is None:
            found[name] = value
            continue
        array = np.asarray(value)
        check_whole(name, array.shape, {place.name: place.type.shape for place in surface.places}, surface.places[0].axis)
        found.update({place.name: _cut(array, place) for place in surface.places})
    return found


def _pack(surface: Surface, arrays: Mapping[str, Array]) -> Array:
    dtype = surface.type.dtype.numpy
    with np.errstate(over="ignore"):
        parts = [np.ascontiguousarray(arrays[place.name]).astype(dtype) for place in surface.places]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=surface.places[0].axis)
    # Core ML has no multi-array of rank 0.
    return whole.reshape(surface.type.shape or (1,))


def unpack_outputs(interface: Interface, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs by logical name, in the element types that the manifest declares. Raises ANE0529."""
    found: dict[str, Array] = {}
    for surface in interface.outputs:
        array = _checked(surface, arrays)
        for place in surface.places:
            found[place.name] = array if len(surface.places) == 1 else _cut(array, place)
    return found


def _checked(surface: Surface, arrays: Mapping[str, Array]) -> Array:
    from anedsl.diagnostics.running import UnexpectedOutput

    type = surface.type
    array = arrays.get(surface.name)
    if array is None:
        got = ", ".join(f"`{name}`" for name in arrays) or "nothing"
        raise Failure(UnexpectedOutput(name=surface.name, expected=f"`{type}`", found=f"no such output, but {got}"))
    if array.shape != type.shape and not (type.shape == () and array.size == 1):
        found = f"an array of shape {list(array.shape)}"
        raise Failure(UnexpectedOutput(name=surface.name, expected=f"`{type}`", found=found))
    if (array.dtype.kind == "f") != type.dtype.is_float:
        raise Failure(UnexpectedOutput(name=surface.name, expected=f"`{type}`", found=f"{array.dtype} values"))
    # coremltools gives fp16 outputs as float32 of the same values.
    with np.errstate(over="ignore"):
        return array.astype(type.dtype.numpy).reshape(type.shape)


def _cut(array: Array, place: Place) -> Array:
    if not place.type.shape:
        return array
    where = (*(slice(None),) * place.axis, slice(place.start, place.start + place.size))
    return np.ascontiguousarray(array[where])
