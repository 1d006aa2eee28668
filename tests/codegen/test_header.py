"""The C header: it compiles without a remark, and says what the manifest and the text say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from anedsl.codegen.artifact import Options, write
from anedsl.codegen.header import _string
from anedsl.graph import Graph
from tests.codegen.kernels import Builder, everything, fp16, rmsnorm_bwd

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
STRICT = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror"]


def header_of(graph: Graph, out: Path) -> Path:
    return write(graph, "0" * 64, Options(emit=frozenset({"mil", "header"})), out).path / f"{graph.name}.h"


def without_weights() -> Graph:
    b = Builder("plain")
    b.output("y", b.op("relu", x=b.input("x", fp16(4))))
    return b.graph()


@needs_gcc
@pytest.mark.parametrize("graph", [rmsnorm_bwd(), everything(), without_weights()], ids=lambda graph: graph.name)
def test_the_header_compiles_alone_and_twice(graph: Graph, tmp_path: Path) -> None:
    header = header_of(graph, tmp_path)
    subprocess.run([*STRICT, "-fsyntax-only", "-x", "c", str(header)], check=True)
    (tmp_path / "main.c").write_text(f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n')
    subprocess.run([*STRICT, "-fsyntax-only", str(tmp_path / "main.c")], check=True)


PRINTS = """
#include "{header}"
#include <stdio.h>
static const char *names[] = EVERYTHING_OUTPUT_NAMES;
static const long sizes[] = EVERYTHING_OUTPUT_BYTES;
static const int shape[EVERYTHING_INPUT_y_RANK] = EVERYTHING_INPUT_y_SHAPE;
static const char *files[EVERYTHING_WEIGHT_COUNT] = EVERYTHING_WEIGHT_FILES;
int main(void) {{
    fputs(EVERYTHING_MIL, stdout);
    for (int i = 0; i < EVERYTHING_OUTPUT_COUNT; ++i) fprintf(stderr, "%s %ld\\n", names[i], sizes[i]);
    fprintf(stderr, "%d %d %d %d\\n", shape[0], shape[1], shape[2], shape[3]);
    fprintf(stderr, "%s %d %d\\n", EVERYTHING_INPUT_y_SURFACE, EVERYTHING_INPUT_y_OFFSET, EVERYTHING_OUTPUT_rest_START);
    fprintf(stderr, "%s %d\\n", files[0], EVERYTHING_INPUT_ALLOCATION);
    return sizeof(EVERYTHING_MIL) - 1 == EVERYTHING_MIL_LENGTH ? 0 : 1;
}}
"""


@needs_gcc
def test_a_program_prints_the_text_and_the_layout(tmp_path: Path) -> None:
    header = header_of(everything(), tmp_path)
    (tmp_path / "main.c").write_text(PRINTS.format(header=header))
    subprocess.run([*STRICT, str(tmp_path / "main.c"), "-o", str(tmp_path / "main")], check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    assert done.stdout == (header.parent / "model.mil").read_text(encoding="utf-8")
    assert done.stderr.splitlines() == [
        "out 1024",
        "same 1024",
        "y_wide 4096",
        "1 16 1 64",
        "xy 64 4",
        "weights/W_0.bin 49152",
    ]


@needs_gcc
@pytest.mark.parametrize("text", ['a"b\\c', "tab\tend", "what??/now??=", "line\nend\r"])
def test_any_text_survives_in_a_c_string(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(f"#include <stdio.h>\nint main(void) {{ fputs({_string(text)}, stdout); return 0; }}\n")
    subprocess.run([*STRICT, str(tmp_path / "main.c"), "-o", str(tmp_path / "main")], check=True)
    assert subprocess.run([str(tmp_path / "main")], capture_output=True, check=True).stdout == text.encode()
