import shutil
from pathlib import Path

from coremltools import scenario


def compile_model(model, destination_path=None):
    """Leaves a folder that knows which package it came from; like the real one it moves into a folder that exists."""
    assert isinstance(model, str)
    assert model.endswith(".mlpackage")
    assert destination_path.endswith(".mlmodelc")
    scenario.enter("compile", package=model)
    made = Path(destination_path).with_name("made-by-core-ml")
    made.mkdir()
    (made / "model.mil").write_text(model)
    (made / "weights").mkdir()
    (made / "weights" / "weight.bin").write_bytes(b"\0" * scenario.SCENARIO["bytes"])
    shutil.move(str(made), destination_path)
    return destination_path
