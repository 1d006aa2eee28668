"""Reading MIL text: a text of 10,000 ops into a graph, against lark's lexer alone on the same text. In one process, in turn."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from lark import Lark

from anedsl import frontend, grammar
from anedsl.codegen.artifact import Options, write
from anedsl.codegen.reader import read_text
from anedsl.diagnostics import Sink
from tests.bench import large
from tests.bench.timing import ROUNDS, judge

OPS = 10_000
LIMIT = 4.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "large.ane")
        file.write_text(large.equations(OPS), encoding="utf-8")
        program = frontend.build(frontend.load_file(file), "large", {}, Sink())
        path = write(program.graph, "", Options(emit=frozenset({"mil"})), Path(folder)).path
        text = (path / "model.mil").read_text(encoding="utf-8")
        lexer = Lark(grammar.text("mil"), parser="lalr", lexer="basic", start="program")
        print(f"a text of {OPS} ops, {len(text) / 1e6:.2f} MB")
        pairs = [_pair(text, path, lexer) for _ in range(ROUNDS + 1)][1:]
    reads, lexes = zip(*pairs, strict=True)
    print(f"  read_text  {median(reads):.3f} s ({min(reads):.3f} to {max(reads):.3f})")
    print(f"  Lark.lex   {median(lexes):.3f} s ({min(lexes):.3f} to {max(lexes):.3f})")
    judge("ratio of times", median(read / lex for read, lex in pairs), LIMIT)


def _pair(text: str, folder: Path, lexer: Lark) -> tuple[float, float]:
    start = time.perf_counter()
    read_text(text, "large.mil", folder)
    middle = time.perf_counter()
    for _ in lexer.lex(text):
        pass
    return middle - start, time.perf_counter() - middle


if __name__ == "__main__":
    main()
