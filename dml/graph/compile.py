"""Compilation of a checked graph to one Program: places values, moves work to initialization, and removes operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from dml.compiler.apply import apply
from dml.compiler.builder import EpilogueTooWideError, OperandOrArray, ProgramBuilder
from dml.compiler.kernels.epilogue import epilogue_of
from dml.compiler.lowering import copy_owned, lower
from dml.compiler.memory import are_mostly_traced, place_temporaries
from dml.compiler.operators.activation.softmax import SOFTMAX
from dml.compiler.order import order_and_place
from dml.compiler.parts import crop
from dml.compiler.program import Access, Operand, Program, Region, Space
from dml.compiler.repeated import add, every, expression_key, lowered, repeated
from dml.compiler.scalar import Expression, Leaf
from dml.compiler.target import Target
from dml.descriptors.base import OperatorDesc
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.descriptors.movement import DML_JOIN_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.graph.blocks import StoredWeights, blocks_of, widens_scales
from dml.graph.fusion import fuse
from dml.graph.joins import JoinPlan, has_own_words, is_readable, plan_joins
from dml.graph.kept import computed_once, copies_late
from dml.graph.model import Graph, Node, Port, Value
from dml.graph.scores import Scores, many_scores
from dml.graph.stacks import Stack, dequantized_stack, gathers_read_in_place, stack_of
from dml.graph.views import join_views, read_views, reshaped, same_places, seen_through
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_tensor

UINT32 = DML_TENSOR_DATA_TYPE_UINT32


def compile_graph(graph: Graph, target: Target, *, optimize: bool = True) -> Program:
    """Compile a graph, rewriting it in the process.

    optimize: fuse, remove views and compute constants once; otherwise each operator is lowered separately.
    """
    if optimize:
        fuse(graph, target)
    return _Compiler(graph, target, optimize).compile()


class _Compiler:
    def __init__(self, graph: Graph, target: Target, optimize: bool) -> None:
        self.graph = graph
        self.target = target
        self.optimize = optimize
        self.program = Program()
        self.regions: dict[Value, Region] = {}
        #: Results of removed operators: the view that replaces each, and its description.
        self.views: dict[Value, tuple[Operand, DML_BUFFER_TENSOR_DESC]] = {}
        #: Values that no kernel computes: weights that readers dequantize themselves, and matrices that products read
        #: directly from a stack.
        self.blocks: dict[Value, StoredWeights | Stack] = {}
        #: Widened scales -> the FLOAT16 scales that readers of stored weights read instead.
        self.scales: dict[Value, Operand] = {}
        #: Gathers that need no kernel, because products read the chosen matrices directly from the stack; and the stack
        #: of each gather's result.
        self.gathers: set[Node] = set()
        self.stacks: dict[Value, Stack] = {}
        #: Attentions whose scores are computed in parts, by the last node of each; and the other nodes of these
        #: attentions.
        self.scores: dict[Node, Scores] = {}
        self.in_parts: set[Node] = set()
        #: Nodes that initialization computes.
        self.once: set[Node] = set()
        #: Values inside joined tensors.
        self.joins = JoinPlan()
        #: Values of ``joins.copied`` already copied.
        self.moved: set[Value] = set()
        #: Copies to graph outputs: a value that is several outputs is written to the first and copied to the others.
        self.copies: list[tuple[Value, int, DML_BUFFER_TENSOR_DESC]] = []

    def compile(self) -> Program:
        program, graph = self.program, self.graph
        program.compared = graph.compared
        for index, value in enumerate(graph.inputs):
            program.inputs.append(value.size or None)
            if index in graph.owned:
                self.regions[value] = program.reserve_owned(index, value.size)
            elif value.size:
                self.regions[value] = Region(Space.INPUT, index, 0, value.size)
        for _, tensor in graph.output_fields:
            assert tensor is not None
            program.outputs.append(tensor.TotalTensorSizeInBytes)
        copy_owned(program, self.target)
        if self.optimize:
            self.once = computed_once(graph, self.target)
            graph.nodes = copies_late(graph, self.once)
            self.gathers = gathers_read_in_place(graph)
            self.scores = {node: of for node, of in many_scores(graph, self.target).items() if node not in self.once}
            self.in_parts = {node for of in self.scores.values() for node in (of.product, of.softmax)}
            scratch = ProgramBuilder(program, self.target)
            self.joins = plan_joins(graph, lambda port, value: self._written(port, value, scratch))
            self.views |= self.joins.places
        for node in graph.nodes:
            self._node(node)
        for index, value in graph.constant_outputs:
            tensor = graph.output_fields[index][1]
            assert tensor is not None
            self.copies.append((value, index, packed_tensor(UINT32, (tensor.TotalTensorSizeInBytes // 4,))))
        builder = ProgramBuilder(program, self.target)
        for value, index, tensor in self.copies:
            with self._labelled(builder, f"copy to output {index}"):
                source = self._read(value, tensor)
                result = Operand.of(tensor, Region(Space.OUTPUT, index, 0, tensor.TotalTensorSizeInBytes))
                self._apply(builder, Leaf(0), result, [source])
        if not self.optimize:
            program.dispatches, program.temporary_size = place_temporaries(program.dispatches)
        elif are_mostly_traced(program.dispatches):
            program.is_placed = False
        else:
            order_and_place(program)
        return program

    @contextmanager
    def _labelled(self, builder: ProgramBuilder, label: str) -> Iterator[None]:
        before = builder.node, builder.nodes
        builder.node, builder.nodes = label, ()
        yield
        builder.node, builder.nodes = before

    # Values

    def _read(self, value: Value, tensor: DML_BUFFER_TENSOR_DESC) -> Operand:
        """Return the value's operand for a reader with this description."""
        if value in self.views:
            view = seen_through(*self.views[value], tensor)
            assert view is not None
            return crop(view, 0)
        if value not in self.regions:
            assert isinstance(value.source, DML_CONSTANT_DATA_GRAPH_NODE_DESC)
            self.regions[value] = self._constant(value.source)
        return Operand.of(tensor, self.regions[value])

    def _constant(self, constant: DML_CONSTANT_DATA_GRAPH_NODE_DESC) -> Region:
        self.program.constants.append(constant)
        return Region(Space.CONSTANT, len(self.program.constants) - 1, 0, -(-constant.DataSize // 4) * 4)

    def _written(self, port: Port, value: Value, builder: ProgramBuilder) -> Operand:
        """Return where a node writes a value: a graph output, a place in a joined tensor, or scratch memory."""
        if value in self.joins.places:
            return crop(self.joins.places[value][0], 0)
        if value not in self.regions:
            self.regions[value] = self._new_region(value, builder)
        return Operand.of(port.tensor, self.regions[value])

    def _new_region(self, value: Value, builder: ProgramBuilder) -> Region:
        if not value.outputs:
            return builder.scratch(value.size)
        first, *more = value.outputs
        for index in more:
            tensor = self.graph.output_fields[index][1]
            assert tensor is not None
            self.copies.append((value, index, tensor))
        return Region(Space.OUTPUT, first, 0, value.size)

    # Nodes

    def _node(self, node: Node) -> None:
        if node in self.in_parts:
            return  # computed with the attention's last node
        if node in self.scores:
            self._attention(self.scores[node])
            return
        builder = ProgramBuilder(self.program, self.target)
        once = node in self.once
        if once:
            builder = builder.initialization()
        builder.node, builder.nodes = node.label, node.numbers
        if self.optimize and self._became_view(node):
            return
        if not once and widens_scales(node, self.once):
            ((source, narrow),), ((_, wide),) = filter(None, node.inputs), filter(None, node.outputs)
            self.scales[wide] = self._read(narrow, source.tensor)
            return
        blocks = None if once else self._read_in_place(node, builder)
        if blocks is not None:
            self.blocks[node.result[1]] = blocks
            return
        if node.desc is not None and isinstance(node.desc, DML_JOIN_OPERATOR_DESC):
            self._join(node, node.desc, builder)
        elif node.expression is not None:
            inputs = [self._read(value, port.tensor) for port, value in filter(None, node.inputs)]
            self._apply(builder, node.expression, self._written(*node.result, builder), inputs)
        else:
            self._operator(node, builder)

    def _became_view(self, node: Node) -> bool:
        if len(node.inputs) != 1 or node.inputs[0] is None:
            return False
        port, value = node.inputs[0]
        views = read_views(node, self._read(value, port.tensor))
        if views is None:
            return False
        outputs = [entry for entry in node.outputs if entry is not None]
        for view, (written, result) in zip(views, outputs, strict=True):
            if result.outputs or result in self.joins.places or not is_readable(result, view, written.tensor):
                return False
        for view, (written, result) in zip(views, outputs, strict=True):
            self.views[result] = view, written.tensor
        return True

    def _read_in_place(self, node: Node, builder: ProgramBuilder) -> StoredWeights | Stack | None:
        """Return the stored weights or the stack that all readers of a node's result read instead of it; None if the
        result must be computed."""
        if node in self.gathers:
            stack = self.stacks[node.result[1]] = stack_of(node, self._read, self._indices(node, builder))
            return stack
        return dequantized_stack(node, self.stacks, self._read_stored) or blocks_of(node, self._read_stored)

    def _read_stored(self, value: Value, tensor: DML_BUFFER_TENSOR_DESC) -> Operand:
        """Like ``_read``, but return FLOAT16 scales without widening them."""
        if value in self.scales:
            return self.scales[value].view(tensor.Sizes, tensor.strides)
        return self._read(value, tensor)

    def _indices(self, node: Node, builder: ProgramBuilder) -> Operand:
        """Return a gather's indices as {P}."""
        port, value = node.input(1)
        indices = self._read(value, port.tensor)
        flat = reshaped(indices, (indices.count,))
        if flat is None:
            copy = builder.temporary(indices.data_type, indices.sizes)
            self._apply(builder, Leaf(0), copy, [indices])
            flat = copy.view((copy.count,), (1,))
        return flat

    def _join(self, node: Node, desc: DML_JOIN_OPERATOR_DESC, builder: ProgramBuilder) -> None:
        port, value = node.result
        places, copied = self.joins.places, self.joins.copied
        whole = places[value][0] if value in places else self._written(port, value, builder)
        for (port, value), view in zip(filter(None, node.inputs), join_views(desc, whole), strict=True):
            if value in places and same_places(places[value][0], view):
                continue
            if value in copied and same_places(copied[value][0], view):
                if value in self.moved:
                    continue
                self.moved.add(value)
            to = crop(view, 0) if has_own_words(view) else view
            self._apply(builder, Leaf(0), to, [self._read(value, port.tensor)])

    def _operator(self, node: Node, builder: ProgramBuilder) -> None:
        assert node.desc is not None
        operands = self._operands(node, builder)
        if node.epilogue is None:
            self._lower(node.desc, builder, operands)
            return
        ((port, value),) = filter(None, node.outputs)
        written = self._written(port, value, builder)
        output = next(tensor for _, tensor in node.desc.outputs() if tensor is not None)
        assert isinstance(output, DML_BUFFER_TENSOR_DESC)
        self._with_epilogue(node, builder, operands, output, written, self._extra_operands(node))

    def _extra_operands(self, node: Node) -> list[Operand]:
        """Return the operands of a node's epilogue."""
        return [self._read(value, port.tensor) for port, value in filter(None, node.inputs[node.own_inputs :])]

    def _with_epilogue(
        self,
        node: Node,
        builder: ProgramBuilder,
        operands: dict[str, OperandOrArray],
        output: DML_BUFFER_TENSOR_DESC,
        written: Operand,
        extra_operands: Sequence[Operand],
    ) -> None:
        """Lower an operator and its epilogue. output: description of the operator's own result. written: operand of the
        epilogue's result."""
        assert node.desc is not None
        assert node.epilogue is not None
        ((port, _),) = filter(None, node.outputs)
        epilogue = epilogue_of(node.epilogue, written, extra_operands, output.DataType)
        as_made = reshaped(written, output.Sizes)
        if epilogue is not None and as_made is not None:
            fused = {**operands, port.name: as_made.ends_in(epilogue)}
            if self._only_stored(node.desc, builder, fused, written.region):
                return
        between = Operand.of(output, builder.scratch(output.TotalTensorSizeInBytes))
        self._lower(node.desc, builder, {**operands, port.name: between})
        seen = reshaped(between, written.sizes)
        assert seen is not None
        self._apply(builder, node.epilogue, written, [seen, *extra_operands])

    def _attention(self, attention: Scores) -> None:
        """Compute an attention for some matrices of its scores at a time."""
        nodes = (attention.product, attention.softmax, attention.mixed)
        builders = [ProgramBuilder(self.program, self.target) for _ in nodes]
        for node, builder in zip(nodes, builders, strict=True):
            builder.node, builder.nodes = node.label, node.numbers
        if any(entry is not None and entry[1] in self.blocks for node in nodes for entry in node.inputs):
            for node, builder in zip(nodes, builders, strict=True):
                self._operator(node, builder)
            return
        product, softmax, mixed = (node.desc for node in nodes)
        assert isinstance(product, DML_GEMM_OPERATOR_DESC)
        assert isinstance(softmax, SOFTMAX)
        assert isinstance(mixed, DML_GEMM_OPERATOR_DESC)
        ends = [self._operands(node, builder) for node, builder in zip(nodes, builders, strict=True)]
        extra = self._extra_operands(attention.product)
        whole = packed_tensor(attention.tensor.DataType, attention.sizes(attention.tensor.Sizes))

        def part(operand: OperandOrArray, batch: tuple[int, ...], first: int) -> Operand | None:
            assert not isinstance(operand, tuple)
            return None if operand is None else attention.part(operand, batch, first)

        for first in attention.firsts():
            scores, weights = (Operand.of(whole, b.scratch(whole.TotalTensorSizeInBytes)) for b in builders[:2])
            batch = product.OutputTensor.Sizes[:-2]
            own: dict[str, OperandOrArray] = {}
            own = {name: part(operand, batch, first) for name, operand in ends[0].items() if name != "OutputTensor"}
            output = packed_tensor(product.OutputTensor.DataType, attention.sizes(product.OutputTensor.Sizes))
            if attention.product.epilogue is None:
                self._lower(product, builders[0], own | {"OutputTensor": reshaped(scores, output.Sizes)})
            else:
                added = [attention.part(operand, attention.tensor.Sizes[:-2], first) for operand in extra]
                self._with_epilogue(attention.product, builders[0], own, output, scores, added)
            sizes = attention.sizes(softmax.InputTensor.Sizes)
            seen = {"InputTensor": reshaped(scores, sizes), "OutputTensor": reshaped(weights, sizes)}
            self._lower(softmax, builders[1], seen)
            batch = mixed.OutputTensor.Sizes[:-2]
            own = {name: part(operand, batch, first) for name, operand in ends[2].items() if name != "ATensor"}
            own["ATensor"] = reshaped(weights, attention.sizes(mixed.ATensor.Sizes))
            self._lower(mixed, builders[2], own)

    def _lower(self, desc: OperatorDesc, builder: ProgramBuilder, operands: Mapping[str, OperandOrArray]) -> None:
        repeated(builder, (lower, desc.key), operands, lambda inner: lower(desc, inner))

    def _apply(
        self, builder: ProgramBuilder, expression: Expression, result: Operand, inputs: Sequence[Operand]
    ) -> None:
        named = {f"x{index}": operand for index, operand in enumerate(inputs)}

        def work(inner: ProgramBuilder) -> None:
            apply(inner, expression, inner["result"], [inner[name] for name in named])

        repeated(builder, (apply, expression_key(expression)), {"result": result, **named}, work)

    def _only_stored(
        self, desc: OperatorDesc, builder: ProgramBuilder, operands: dict[str, OperandOrArray], written: Region
    ) -> bool:
        """Lower an operator with an epilogue; return False if the operator rereads its result or cannot bind the
        epilogue's operands."""
        if sum(operand.region.overlaps(written) for operand in every(operands)) == 1:
            try:
                found = lowered(builder, (lower, desc.key), operands, lambda inner: lower(desc, inner))
            except EpilogueTooWideError:
                return False
            if found is not None:
                fits = found.only_writes(written)
                if fits:
                    add(builder, found)
                return fits
        try:
            if self._comes_back(desc, builder, operands, written):
                return False
            with builder.attempt():
                self._lower(desc, builder, operands)
            return True
        except EpilogueTooWideError:
            return False

    def _comes_back(
        self, desc: OperatorDesc, builder: ProgramBuilder, operands: dict[str, OperandOrArray], written: Region
    ) -> bool:
        """Whether an operator's kernels read ``written`` after they have written it, apart from inputs in the same
        region."""
        aside = ProgramBuilder(Program(), builder.target)
        aside = aside.initialization() if builder.initializes else aside
        separate = written._replace(index=-1)
        result = {
            name: replace(operand, region=separate)
            for name, operand in operands.items()
            if isinstance(operand, Operand) and operand.region == written
        }
        self._lower(desc, aside, {**operands, **result})
        bound = (binding for dispatch in aside.dispatches for binding in dispatch.bindings)
        return any(binding.region.overlaps(separate) and binding.access is not Access.WRITE for binding in bound)

    def _operands(self, node: Node, builder: ProgramBuilder) -> dict[str, OperandOrArray]:
        assert node.desc is not None
        operands: dict[str, OperandOrArray] = {}
        entries = iter(node.inputs)
        for name, tensor in node.desc.inputs():
            if isinstance(tensor, tuple):
                operands[name] = tuple(self._read(e[1], e[0].tensor) for e in (next(entries) for _ in tensor) if e)
            else:
                entry = next(entries)
                if entry is not None and entry[1] in self.blocks:
                    operands.update(self.blocks[entry[1]].operands(name, entry[0].tensor))
                else:
                    operands[name] = None if entry is None else self._read(entry[1], entry[0].tensor)
        entries = iter(node.outputs)
        for name, tensor in node.desc.outputs():
            if isinstance(tensor, tuple):
                operands[name] = tuple(self._written(*e, builder) for e in (next(entries) for _ in tensor) if e)
            else:
                entry = next(entries)
                operands[name] = None if entry is None else self._written(*entry, builder)
        return operands
