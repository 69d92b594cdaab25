"""Imports every family of operators, which register their lowerings."""

from dml.compiler import attention as attention
from dml.compiler import cast as cast
from dml.compiler import convolution as convolution
from dml.compiler import elementwise as elementwise
from dml.compiler import fill as fill
from dml.compiler import fold as fold
from dml.compiler import gather as gather
from dml.compiler import gemm as gemm
from dml.compiler import movement as movement
from dml.compiler import nonzero as nonzero
from dml.compiler import normalization as normalization
from dml.compiler import padding as padding
from dml.compiler import pooling as pooling
from dml.compiler import quantization as quantization
from dml.compiler import random as random
from dml.compiler import recurrent as recurrent
from dml.compiler import reduce as reduce
from dml.compiler import resample as resample
from dml.compiler import roi as roi
from dml.compiler import scan as scan
from dml.compiler import scatter as scatter
from dml.compiler import softmax as softmax
from dml.compiler import top_k as top_k
from dml.compiler import training as training
