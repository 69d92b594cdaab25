"""Microsoft's DxDispatch models: JSON files of resources, dispatchables and commands, run on a Vulkan device.

    model = load("model.json")
    Session(model, device).run()

DirectML operators, serialized graphs and ONNX models run as in DxDispatch. HLSL belongs to Direct3D 12 and raises a
DMLError. Reference: DxDispatch's guide.
"""

from dml.frontends.dxdispatch.execute import Session
from dml.frontends.dxdispatch.model import DxModel, load

__all__ = ["DxModel", "Session", "load"]
