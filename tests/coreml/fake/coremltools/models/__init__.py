from coremltools.models import compute_plan, utils
from coremltools.models._compiled_model import CompiledMLModel

__all__ = ["CompiledMLModel", "compute_plan", "utils"]
