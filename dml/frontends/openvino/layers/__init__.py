"""The mappings of layers, one module per family. Each mapping implements the layer's page in OpenVINO's operation
sets."""

from dml.frontends.openvino.layers import attention as attention
from dml.frontends.openvino.layers import blocks as blocks
from dml.frontends.openvino.layers import control as control
from dml.frontends.openvino.layers import detection as detection
from dml.frontends.openvino.layers import einsum as einsum
from dml.frontends.openvino.layers import elementwise as elementwise
from dml.frontends.openvino.layers import gemm as gemm
from dml.frontends.openvino.layers import grid as grid
from dml.frontends.openvino.layers import indexing as indexing
from dml.frontends.openvino.layers import movement as movement
from dml.frontends.openvino.layers import normalization as normalization
from dml.frontends.openvino.layers import quantization as quantization
from dml.frontends.openvino.layers import recurrent as recurrent
from dml.frontends.openvino.layers import sampling as sampling
from dml.frontends.openvino.layers import scatter as scatter
from dml.frontends.openvino.layers import spectrum as spectrum
from dml.frontends.openvino.layers import windows as windows
