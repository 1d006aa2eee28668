"""`KERNEL.h`: the program and the layout of its memory as constants for C and Objective-C.

Everything is a macro, so that a host that uses half of them gets no warning about the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anedsl.codegen.names import legal

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\t": "\\t", "\r": "\\r", "?": "\\?"})


def header(manifest: dict[str, Any], mil: str) -> str:
    """The text of the header. Names of values keep their spelling after the kernel's prefix: `K_INPUT_dy_OFFSET`."""
    prefix = legal(manifest["kernel"]).upper()
    guard = f"ANEDSL_{prefix}_H"
    lines = [
        f"/* Kernel {_comment(manifest['kernel'])}, written by anedsl {manifest['compiler']['version']}. Sizes are in bytes. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *_general(prefix, manifest),
        "",
        "/* Tensors to bind, in binding order. */",
        *_side(prefix, "INPUT", manifest["surfaces"]["inputs"]),
        *_side(prefix, "OUTPUT", manifest["surfaces"]["outputs"]),
        "",
        "/* Where each input and output stands in its tensor: [START, START + SIZE) of AXIS, from byte OFFSET on. */",
        *_ports(prefix, "INPUT", manifest["inputs"]),
        *_ports(prefix, "OUTPUT", manifest["outputs"]),
        "",
        "/* Weight files, below the folder that @model_path stands for. */",
        *_weights(prefix, manifest["weights"]),
        "",
        "/* The MIL text; in Objective-C: @(" + f"{prefix}_MIL). */",
        *_text_macro(f"{prefix}_MIL", mil),
        f"#define {prefix}_MIL_LENGTH {len(mil.encode())}",
        "",
        f"#endif /* {guard} */",
        "",
    ]
    return "\n".join(lines)


def _general(prefix: str, manifest: dict[str, Any]) -> Iterator[str]:
    yield f"#define {prefix}_NAME {_string(manifest['kernel'])}"
    yield f"#define {prefix}_ROUTE {_string(manifest['target']['route'])}"
    yield f"#define {prefix}_SOURCE_SHA256 {_string(manifest['source']['sha256'])}"
    yield f"#define {prefix}_FLOPS {manifest['flops']}LL"


def _side(prefix: str, side: str, surfaces: Sequence[dict[str, Any]]) -> Iterator[str]:
    order = sorted(surfaces, key=lambda surface: surface["name"])
    yield f"#define {prefix}_{side}_COUNT {len(order)}"
    yield f"#define {prefix}_{side}_NAMES {_list(_string(surface['name']) for surface in order)}"
    yield f"#define {prefix}_{side}_BYTES {_list(str(surface['bytes']) for surface in order)}"
    yield f"#define {prefix}_{side}_ALLOCATION {max((surface['allocation'] for surface in order), default=0)}"
    for index, surface in enumerate(order):
        start = f"#define {prefix}_SURFACE_{surface['name']}"
        yield f"{start}_INDEX {index}"
        yield from _type(start, surface)


def _ports(prefix: str, side: str, ports: Sequence[dict[str, Any]]) -> Iterator[str]:
    for port in ports:
        start = f"#define {prefix}_{side}_{port['name']}"
        yield f"{start}_SURFACE {_string(port['surface'])}"
        yield from _type(start, port)
        yield f"{start}_AXIS {port['axis']}"
        yield f"{start}_START {port['start']}"
        yield f"{start}_SIZE {port['size']}"
        yield f"{start}_OFFSET {port['byte_offset']}"


def _weights(prefix: str, weights: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"#define {prefix}_WEIGHT_COUNT {len(weights)}"
    yield f"#define {prefix}_WEIGHT_NAMES {_list(_string(weight['name']) for weight in weights)}"
    yield f"#define {prefix}_WEIGHT_FILES {_list(_string(weight['file'] or '') for weight in weights)}"
    yield f"#define {prefix}_WEIGHT_OFFSETS {_list(str(weight['offset'] or 0) for weight in weights)}"
    yield f"#define {prefix}_WEIGHT_BYTES {_list(str(weight['bytes']) for weight in weights)}"


def _type(start: str, item: dict[str, Any]) -> Iterator[str]:
    yield f"{start}_DTYPE {_string(item['dtype'])}"
    yield f"{start}_RANK {len(item['shape'])}"
    yield f"{start}_SHAPE {_list(map(str, item['shape']))}"
    yield f"{start}_BYTES {item['bytes']}"


def _list(items: Iterable[str]) -> str:
    # An empty initialiser is not C99.
    return f"{{{', '.join(items) or '0'}}}"


def _text_macro(name: str, text: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    yield f"#define {name} \\"
    for index, line in enumerate(lines):
        yield f"    {_string(line)}" + (" \\" if index < len(lines) - 1 else "")


def _string(text: str) -> str:
    escaped = text.translate(_ESCAPES).replace("\n", "\\n")
    return f'"{escaped}"'


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
