"""Writes a kernel's artifact: everything that `compile` leaves in `DIR/KERNEL/`, all of it or nothing."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anedsl.codegen import blob
from anedsl.codegen.folder import replaced_folder
from anedsl.codegen.foreign import check_literals
from anedsl.codegen.legalize import legalize
from anedsl.codegen.losses import WORTH_SAYING, Losses
from anedsl.codegen.manifest import FILE, manifest, to_json
from anedsl.codegen.mil_text import BlobPlace, mil_text
from anedsl.codegen.options import Options
from anedsl.codegen.packs import Lowered, lower_packs
from anedsl.codegen.program import Blob, Program, build
from anedsl.codegen.stored import MAIN_PARTS, PartData, expand_stored
from anedsl.diagnostics import Diagnostic
from anedsl.graph import Graph
from anedsl.passes import tidy

__all__ = ["Artifact", "Emission", "Options", "prepare", "write"]


class Artifact(NamedTuple):
    """What was written, and what the author should know about it.

    Artifacts of one `fingerprint` hold the same program; it is empty unless the options ask for it.
    """

    path: Path
    manifest: dict[str, Any]
    warnings: list[Diagnostic]
    fingerprint: str = ""


class Emission(NamedTuple):
    """A kernel ready to be written: nothing has been computed from its weights yet."""

    lowered: Lowered
    graph: Graph
    program: Program


def prepare(graph: Graph, options: Options) -> Emission:
    """Lowers packs, legalizes and flattens a logical graph. Raises ANE0430 to ANE0433."""
    lowered, legal = physical(graph, options)
    return Emission(lowered, legal, build(legal, options.dialect))


def physical(graph: Graph, options: Options) -> tuple[Lowered, Graph]:
    """A logical graph with its packs lowered, and the legal one that is written. Needs no data. Raises ANE0430 to ANE0433."""
    lowered = lower_packs(graph)
    # A slice of a pack, or a pack of slices, may meet the kernel's own slices and concats.
    legal = legalize(expand_stored(tidy(lowered.graph), options.dialect), options.dialect, options.route, options.chip)
    check_literals(legal, options.emit)
    if "mlpackage" in options.emit:
        from anedsl.codegen.features import check_types

        check_types(legal, options.dialect)
    return lowered, legal


def write(graph: Graph, source_text_sha: str, options: Options, out: Path) -> Artifact:
    """Writes the artifact of a logical graph to `out / graph.name`, and replaces the one that is there.

    `options.folder` gives another name below `out`.

    Raises ANE0430 to ANE0436; the folder is then as it was.
    """
    emission = prepare(graph, options)
    program = emission.program
    places = blob_places(program, options.single_weight_file)
    name = options.folder or graph.name
    with replaced_folder(out, name) as folder:
        written = _write_models(folder, graph, program, options, places)
        offsets = blob.offsets([item.type for item in program.blobs])
        content = manifest(emission.lowered, emission.graph, program, options, source_text_sha, places, offsets, written)
        if "header" in options.emit:
            from anedsl.codegen.header import header

            (folder / f"{graph.name}.h").write_text(header(content, mil_text(program, places)), encoding="utf-8")
        (folder / FILE).write_text(to_json(content), encoding="utf-8")
    same = ""
    if options.compared:
        from anedsl.codegen.sameness import fingerprint

        same = fingerprint(program, written)
    return Artifact(out / name, content, _warnings(program.blobs, written), same)


def blob_places(program: Program, single: bool) -> list[BlobPlace]:
    """Where the MIL text finds each blob: one file each, or all in `weight.bin`."""
    if not single:
        return [BlobPlace(f"weights/{item.file}.bin", blob.ALIGNMENT) for item in program.blobs]
    offsets = blob.offsets([item.type for item in program.blobs])
    return [BlobPlace("weights/weight.bin", offset) for offset in offsets]


def _write_models(
    folder: Path, graph: Graph, program: Program, options: Options, places: Sequence[BlobPlace]
) -> list[blob.Written]:
    mil = "mil" in options.emit
    shared: list[Path] = []
    if mil:
        (folder / "model.mil").write_text(mil_text(program, places), encoding="utf-8")
        if program.blobs:
            (folder / "weights").mkdir()
            if options.single_weight_file:
                shared.append(folder / "weights" / "weight.bin")
    if "mlpackage" in options.emit:
        from anedsl.codegen import mlpackage

        package = folder / f"{graph.name}.mlpackage"
        offsets = blob.offsets([item.type for item in program.blobs])
        mlpackage.write_package(package, mlpackage.model_bytes(program, offsets, graph.doc), bool(program.blobs))
        shared.append(package / mlpackage.DATA / mlpackage.WEIGHTS_PATH)
    own = [folder / place.path for place in places] if mil and not options.single_weight_file else None
    return _write_blobs(program.blobs, shared if program.blobs else [], own)


def _write_blobs(blobs: Sequence[Blob], shared: Sequence[Path], own: Sequence[Path] | None) -> list[blob.Written]:
    """Each blob into every shared file and into its own one, if it has one, in one go."""
    written = []
    with ExitStack() as stack:
        files = [stack.enter_context(blob.BlobFile(path, len(blobs))) for path in shared]
        for index, item in enumerate(blobs):
            if own is None:
                written.append(blob.write_blob(item.type, item.data, files))
                continue
            with blob.BlobFile(own[index], 1) as file:
                written.append(blob.write_blob(item.type, item.data, [*files, file]))
    return [_decompressed(item, done) for item, done in zip(blobs, written, strict=True)]


def _decompressed(item: Blob, done: blob.Written) -> blob.Written:
    """What a compressed weight loses shows in the numbers that come back, not in its parts.

    That small numbers become 0 is what compression does; that all of them do is a loss.
    """
    if not isinstance(item.data, PartData) or item.data.part not in MAIN_PARTS:
        return done
    losses = Losses()
    source, kept = item.data.stored.source.load().reshape(-1), item.data.stored.load().reshape(-1)
    for start in range(0, source.size, blob.PIECE):
        piece = slice(start, start + blob.PIECE)
        losses.add(source[piece].astype(np.float64), kept[piece].astype(np.float16))
    if losses.share_vanished(source.size) < 1:
        return done
    return done._replace(vanished=losses.vanished, largest_vanished=losses.largest_vanished, share_vanished=1.0)


def _warnings(blobs: Sequence[Blob], written: Sequence[blob.Written]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for item, done in zip(blobs, written, strict=True):
        if done.overflows or done.vanished or done.not_finite:
            found.extend(_lost(item, done))
    return found


def _lost(item: Blob, done: blob.Written) -> list[Diagnostic]:
    from anedsl.diagnostics.weights import WeightNotFinite, WeightOverflow, WeightUnderflow

    span = item.weight.span if item.weight else item.span
    name = item.weight.name if item.weight else item.name
    dtype = "fp16" if isinstance(item.data, PartData) else item.type.dtype.name
    found: list[Diagnostic] = []
    # A constant that an author writes is meant as it is.
    if done.not_finite and item.weight:
        found.append(WeightNotFinite(span=span, name=name, count=done.not_finite))
    if done.overflows:
        found.append(WeightOverflow(span=span, name=name, count=done.overflows, largest=done.largest, dtype=dtype))
    if done.share_vanished > WORTH_SAYING:
        share, largest = f"{done.share_vanished:.2%}", float(f"{done.largest_vanished:.3g}")
        found.append(WeightUnderflow(span=span, name=name, count=done.vanished, share=share, largest=largest, dtype=dtype))
    return found
