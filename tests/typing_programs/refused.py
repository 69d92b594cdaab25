"""Lines that type checkers refuse: those that end in "# refused", and no others."""

import dml
from dml.graph import Builder
from dml.graph import operations as op

x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 2))

device = dml.creat_device()  # refused
opened = dml.DMLCreateDevice()  # refused
level = dml.DML_NOPE  # refused
operator = dml.DML_ACTIVATION_RELUU_OPERATOR_DESC(x, x)  # refused
relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(Input=x)  # refused
elu = dml.DML_ACTIVATION_ELU_OPERATOR_DESC(x, x)  # refused
tensor = dml.DML_BUFFER_TENSOR_DESC("FLOAT32")  # refused
shape = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", 3)  # refused
x.Sizes = (3,)  # refused
mode = dml.DML_REDUCE_OPERATOR_DESC(1.5, x, x, [1])  # refused
made = dml.create_device()
made.CreateOperator(relu)  # refused
made.compile_operator(relu)  # refused
graph = Builder(made)
y = op.leaky_relu(graph.input("x", (2,)), Alpha=0.1)  # refused
z = op.softmax(y, "1")  # refused
graph.compile({"y": y}).dispach({})  # refused
