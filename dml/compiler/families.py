"""Imports every family of operators, which register their lowerings."""

from dml.compiler import elementwise as elementwise
from dml.compiler import gemm as gemm
from dml.compiler import movement as movement
from dml.compiler import pooling as pooling
from dml.compiler import recurrent as recurrent
from dml.compiler import reduction as reduction
