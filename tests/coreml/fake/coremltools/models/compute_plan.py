"""A plan whose rows the scenario has: `[name, op, device, supported, cost]`, device None where nothing is known."""

from types import SimpleNamespace

from coremltools import ComputeUnit, scenario
from coremltools.models.compute_device import DEVICES


class MLComputePlan:
    @property
    def model_structure(self):
        rows = [] if scenario.SCENARIO["plan"] is None else scenario.SCENARIO["plan"]
        block = SimpleNamespace(operations=[_Operation(*row) for row in rows])
        functions = {"main": SimpleNamespace(block=block)}
        program = None if scenario.SCENARIO["plan"] is None else SimpleNamespace(functions=functions)
        return SimpleNamespace(program=program)

    def get_compute_device_usage_for_mlprogram_operation(self, operation):
        if operation.device is None:
            return None
        supported = [DEVICES[name]() for name in operation.supported]
        return SimpleNamespace(preferred_compute_device=DEVICES[operation.device](), supported_compute_devices=supported)

    def get_estimated_cost_for_mlprogram_operation(self, operation):
        return None if operation.cost is None else SimpleNamespace(weight=operation.cost)

    @classmethod
    def load_from_path(cls, path, compute_units=ComputeUnit.ALL):
        assert path.endswith(".mlmodelc"), "the real one aborts the process"
        scenario.enter("plan", units=compute_units.name)
        return cls()


class _Operation:
    def __init__(self, name, op, device, supported, cost):
        self.operator_name = op
        self.outputs = [SimpleNamespace(name=name)]
        self.blocks = []
        self.device, self.supported, self.cost = device, supported, cost
