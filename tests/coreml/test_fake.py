"""The fake has the names and parameters of the real coremltools: what the worker relies on is there in 9.0."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.coreml.scenario import FAKE


def parameters_of(path: Path, name: str) -> list[str]:
    """The parameters of a function or method of the fake, which cannot be imported beside the real one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    *owner, function = name.split(".")
    body: Any = tree.body
    for part in owner:
        (found,) = (node for node in body if isinstance(node, ast.ClassDef) and node.name == part)
        body = found.body
    (definition,) = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == function)
    return [argument.arg for argument in definition.args.args]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("utils.py", "compile_model"),
        ("_compiled_model.py", "CompiledMLModel.__init__"),
        ("_compiled_model.py", "CompiledMLModel.predict"),
        ("compute_plan.py", "MLComputePlan.load_from_path"),
        ("compute_plan.py", "MLComputePlan.get_compute_device_usage_for_mlprogram_operation"),
        ("compute_plan.py", "MLComputePlan.get_estimated_cost_for_mlprogram_operation"),
    ],
)
def test_the_fake_takes_the_parameters_of_the_real_one(coremltools: Any, file: str, name: str) -> None:
    real: Any = getattr(coremltools.models, file.removesuffix(".py"))
    for part in name.split("."):
        real = getattr(real, part)
    signature = inspect.signature(getattr(real, "__func__", real))
    assert parameters_of(FAKE / "coremltools" / "models" / file, name) == list(signature.parameters)


def test_the_names_that_the_worker_uses(coremltools: Any) -> None:
    units = coremltools.ComputeUnit
    assert {"ALL", "CPU_AND_GPU", "CPU_ONLY", "CPU_AND_NE"} == {unit.name for unit in units}
    assert "FastPrediction" in coremltools.SpecializationStrategy.__members__
    devices = coremltools.models.compute_device
    for name in ("MLCPUComputeDevice", "MLGPUComputeDevice", "MLNeuralEngineComputeDevice"):
        assert inspect.isclass(getattr(devices, name))


def test_the_fields_that_the_worker_reads(coremltools: Any) -> None:
    plan = coremltools.models.compute_plan
    wanted = {
        plan.MLModelStructure: {"program"},
        plan.MLModelStructureProgram: {"functions"},
        plan.MLModelStructureProgramFunction: {"block"},
        plan.MLModelStructureProgramBlock: {"operations"},
        plan.MLModelStructureProgramOperation: {"operator_name", "outputs", "blocks"},
        plan.MLModelStructureProgramNamedValueType: {"name"},
        plan.MLComputePlanDeviceUsage: {"preferred_compute_device", "supported_compute_devices"},
        plan.MLComputePlanCost: {"weight"},
    }
    for record, fields in wanted.items():
        assert fields <= set(record.__dataclass_fields__), record


def test_a_compiled_model_asks_its_proxy_for_durations(coremltools: Any) -> None:
    model = coremltools.models.MLModel
    assert "get_last_predict_duration_in_nano_seconds" in inspect.getsource(model.last_predict_duration_in_nano_seconds.fget)
    assert "self._proxy = _MLModelProxy(" in inspect.getsource(coremltools.models.CompiledMLModel.__init__)
