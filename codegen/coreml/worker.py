"""The process that calls Core ML: `python -m anedsl.codegen.coreml.worker FOLDER`.

It is a process of its own because Core ML can end the one that calls it: a load may succeed although the ANE's compiler
failed, and the first prediction is then killed (rule C9); a damaged model aborts the compute plan. The folder holds

    request.json   parent (process id), package, compiled, fresh, units, fast, placement, warm_up, runs, inputs (names)
    inputs.npz     the arrays, by their number in `inputs`
    stage          what is being done, written before it is done
    reply.json     outputs (names), hints, placement, times and seconds; or `error`
    outputs.npz    the arrays, by their number in `outputs`

Written against coremltools 9.0; not run on hardware.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anedsl.codegen.parent import follow_parent

STAGES = ("import", "compile", "load", "plan", "predict", "time", "save")


class Worker:
    """One request, stage by stage."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        self.reply: dict[str, Any] = {"seconds": {}}

    def stage(self, name: str, work: Callable[[], Any]) -> Any:
        """Does one stage and notes how long it took."""
        (self.folder / "stage").write_text(name, encoding="utf-8")
        began = time.perf_counter()
        result = work()
        self.reply["seconds"][name] = time.perf_counter() - began
        return result

    def run(self) -> None:
        request = self.request
        ct = self.stage("import", _coremltools)
        units = ct.ComputeUnit[request["units"]]
        if not Path(request["compiled"]).is_dir():
            self.stage("compile", lambda: self.compile(ct))
        model = self.stage("load", lambda: self.load(ct, units))
        if request["placement"]:
            self.reply["placement"] = self.stage("plan", lambda: placement(request["compiled"], units))
        inputs = self.inputs()
        outputs = self.stage("predict", lambda: model.predict(dict(inputs)))
        if request["runs"]:
            times = self.stage("time", lambda: measure(model, inputs, request["warm_up"], request["runs"]))
            self.reply["times"] = times
        self.stage("save", lambda: self.save(outputs))

    def compile(self, ct: Any) -> None:
        from anedsl.codegen.coreml.cache import keep

        # compile_model moves its result *into* a folder that exists: the destination must be a new name.
        fresh = ct.models.utils.compile_model(self.request["package"], self.request["fresh"])
        # Before the load: Core ML keeps what it derives from a model under the model's path.
        keep(Path(fresh), Path(self.request["compiled"]))

    def load(self, ct: Any, units: Any) -> Any:
        hints = None
        if self.request["fast"]:
            hints = {"specializationStrategy": ct.SpecializationStrategy.FastPrediction}
        self.reply["hints"] = hints is not None
        return ct.models.CompiledMLModel(self.request["compiled"], compute_units=units, optimization_hints=hints)

    def inputs(self) -> dict[str, Any]:
        with np.load(self.folder / "inputs.npz", allow_pickle=False) as arrays:
            found = {name: arrays[str(number)] for number, name in enumerate(self.request["inputs"])}
        # coremltools does the same at every call: done here, it is not part of the measured time.
        return {name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in found.items()}

    def save(self, outputs: dict[str, Any]) -> None:
        arrays = {name: np.asarray(value) for name, value in outputs.items()}
        for name, array in arrays.items():
            if array.dtype.kind not in "fiub":
                raise TypeError(f"output {name} is of type {type(outputs[name]).__name__}, not an array of numbers")
        self.reply["outputs"] = list(arrays)
        np.savez(self.folder / "outputs.npz", **numbered(arrays))


def numbered(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by their number: one that is called `file` would be taken for a parameter of savez."""
    return {str(number): array for number, array in enumerate(arrays.values())}


def _coremltools() -> Any:
    import coremltools

    return coremltools


def measure(model: Any, inputs: dict[str, Any], warm_up: int, runs: int) -> dict[str, Any]:
    """Nanoseconds of each run: by the clock around `predict`, and as Core ML itself gives them (None where it does not)."""
    for _ in range(warm_up):
        model.predict(dict(inputs))
    wall, own = [], []
    for _ in range(runs):
        began = time.perf_counter_ns()
        model.predict(dict(inputs))
        wall.append(time.perf_counter_ns() - began)
        own.append(_own_duration(model))
    return {"wall": wall, "coreml": own if all(duration is not None for duration in own) else None}


def _own_duration(model: Any) -> int | None:
    # CompiledMLModel has no public property for it in coremltools 9.0.
    ask = getattr(getattr(model, "_proxy", None), "get_last_predict_duration_in_nano_seconds", None)
    return None if ask is None else ask()


def placement(compiled: str, units: Any) -> dict[str, Any]:
    """The compute plan as rows; `error` in its place where coremltools raises."""
    try:
        from coremltools.models.compute_plan import MLComputePlan

        plan = MLComputePlan.load_from_path(path=compiled, compute_units=units)
        program = plan.model_structure.program
        if program is None:
            return {"error": "the model is no ML program"}
        function = program.functions.get("main") or next(iter(program.functions.values()))
        return {"ops": [row for op in _operations(function.block) if (row := _row(plan, op)) is not None]}
    # A plan is a service: the outputs are worth having without it.
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _operations(block: Any) -> Iterator[Any]:
    for op in block.operations:
        yield op
        for inner in op.blocks or ():
            yield from _operations(inner)


def _row(plan: Any, op: Any) -> dict[str, Any] | None:
    kind = op.operator_name.rpartition(".")[2]
    usage = plan.get_compute_device_usage_for_mlprogram_operation(op)
    if kind == "const" or (usage is None and kind.startswith("constexpr_")):
        return None
    cost = plan.get_estimated_cost_for_mlprogram_operation(op)
    return {
        "name": op.outputs[0].name if op.outputs else "",
        "op": kind,
        "device": None if usage is None else type(usage.preferred_compute_device).__name__,
        "supported": [] if usage is None else [type(device).__name__ for device in usage.supported_compute_devices],
        "cost": None if cost is None else cost.weight,
    }


def main(folder: Path) -> int:
    worker = Worker(folder)
    follow_parent(worker.request["parent"])
    code = 0
    try:
        worker.run()
    # Whatever Python can catch is said in the reply; the parent makes a diagnostic of it.
    except Exception as error:
        worker.reply["error"] = {"type": type(error).__name__, "text": str(error)}
        code = 1
    beside = folder / "reply.part"
    beside.write_text(json.dumps(worker.reply), encoding="utf-8")
    beside.replace(folder / "reply.json")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
