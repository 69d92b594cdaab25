"""torch.compile(model, backend="dml") gives the results of eager PyTorch; some graphs keep running in PyTorch."""

from __future__ import annotations

import contextlib
import copy
import gc
import warnings
from importlib.metadata import entry_points

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import fx  # noqa: E402
from torch.onnx._internal.exporter import _fx_passes  # noqa: E402

import dml as dml_package  # noqa: E402
import dml.frontends.torch as front  # noqa: E402
from dml.frontends.onnx import prepare  # noqa: E402
from dml.frontends.torch import backend, export, modules, weights  # noqa: E402
from dml.graph import compile as compile_module  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]

#: Tolerance of float32 sums of about a hundred products, in another order than PyTorch's.
NEAR = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module", autouse=True)
def _frozen():
    """Exclude the modules' objects, also those that a first compilation imports, from garbage collection, which would
    take a quarter of a second after each test."""
    torch.compile(torch.relu, backend=front.dml)(torch.ones(3))
    torch._dynamo.reset()
    gc.collect()
    gc.freeze()  # for good, as tests/conftest.py does: thawing would undo that


@pytest.fixture(autouse=True)
def _fresh():
    """Reset dynamo after each test, and turn EagerWarning into an error."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", front.EagerWarning)
        yield
    torch._dynamo.reset()
    gc.collect()


@pytest.fixture
def compiled(device):
    def compile_model(model, dynamic=None, **options):
        return torch.compile(model, backend=front.dml, dynamic=dynamic, options={"device": device, **options})

    return compile_model


@contextlib.contextmanager
def stays(*words):
    """Assert that the body warns, with these words, that a graph keeps running in PyTorch."""
    with pytest.warns(front.EagerWarning) as caught:
        yield
    for word in words:
        assert any(word in str(each.message) for each in caught), [str(each.message) for each in caught]


def check(model, run, *inputs, **tolerance):
    """Assert that the compiled model's outputs equal eager PyTorch's."""
    with torch.no_grad():
        torch.testing.assert_close(run(*inputs), model(*inputs), **{**NEAR, **tolerance})


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8, batch_first=True, bidirectional=True)
        self.lstm = nn.LSTM(16, 5)

    def forward(self, x):
        return self.lstm(self.gru(x)[0])


class Block(nn.Module):
    """A residual block with several outputs of different types."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.down = nn.Conv2d(3, 8, 1)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)) + self.down(x))
        return {"features": y, "pooled": y.mean((2, 3)), "largest": y.flatten(1).argmax(1)}


MODELS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(7, 16), nn.GELU(), nn.Linear(16, 3), nn.Softmax(-1)), (5, 7)),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(1)),
        (2, 3, 15, 15),
    ),
    "outputs": (Block, (2, 3, 8, 8)),
    "transposed": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 3, 4, 2, 1), nn.Upsample(scale_factor=2)), (1, 4, 5, 5)),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu"), (2, 5, 16)),
    "encoder, norm first": (lambda: nn.TransformerEncoderLayer(16, 4, 24, norm_first=True), (5, 2, 16)),
}


@pytest.mark.parametrize("name", MODELS)
def test_modules(compiled, name):
    make, sizes = MODELS[name]
    model = make().eval()
    check(model, compiled(model, fallback=False), torch.randn(sizes))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.second = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x, mask, padding):
        y = self.first(x, src_mask=mask, src_key_padding_mask=padding)
        z = self.second(x, src_mask=mask, src_key_padding_mask=padding)
        return y, z, self.attention(y, z, y, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]


def test_masks_of_encoders(compiled):
    """The reference is PyTorch without its fast paths, which return NaN for numbers added to the scores."""
    model = Masked().eval()
    x, causal = torch.randn(2, 5, 16), torch.ones(5, 5, dtype=torch.bool).triu(1)
    padding = torch.arange(5) >= torch.tensor([[3], [5]])
    for mask, padded in ((causal, None), (None, padding), (causal, padding), (torch.randn(5, 5), None)):
        with torch.no_grad():
            found = compiled(model, fallback=False)(x, mask, padded)
            torch.backends.mha.set_fastpath_enabled(False)
            try:
                expected = model(x, mask, padded)
            finally:
                torch.backends.mha.set_fastpath_enabled(True)
        torch.testing.assert_close(found, expected, **NEAR)


def test_recurrences(compiled, device):
    """Recurrent layers run on the device. (Dynamo used to skip a model of one LSTM silently.)"""
    model = Recurrent().eval()
    check(model, compiled(model, fallback=False), torch.randn(3, 5, 6))
    lstm, seen = nn.LSTM(6, 5, num_layers=2).eval(), []
    run = torch.compile(lstm, backend=lambda *given: seen.append(0) or front.dml(*given, options={"device": device}))
    check(lstm, run, torch.randn(4, 2, 6))
    assert seen


def test_half_precision(compiled):
    """Results agree within float16's last bits: both round each layer's result to float16."""
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval().half()
    check(model, compiled(model, fallback=False), torch.randn(3, 8).half(), rtol=4e-3, atol=4e-3)


def test_bfloat16_is_stored_as_float32(compiled):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval().bfloat16()
    check(model, compiled(model, fallback=False), torch.randn(3, 8).bfloat16(), rtol=2e-2, atol=2e-2)


def test_integers(compiled):
    def model(*pairs):
        return [(torch.where(x == y, x, y), x.flip(-1), x[:, 1:].to(torch.float32) * 2) for x, y in pairs]

    kinds = (torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)
    pairs = [torch.randint(0, 2, (2, 3, 5)).to(kind).unbind() for kind in kinds]
    check(model, compiled(model, fallback=False), *pairs)


class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x):
        return self.linear(x).reshape(x.shape[0] * 2, -1) + x.shape[0]


def test_a_marked_dimension_is_a_symbol(compiled):
    """Another size uses the same graph."""
    model = Sized().eval()
    run = compiled(model, fallback=False)
    graphs = []
    for batch in (8, 3, 5, 16):
        x = torch.randn(batch, 4)
        torch._dynamo.mark_dynamic(x, 0)
        check(model, run, x)
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert len(set(graphs)) == 1


def test_sizes_that_change_become_symbols(compiled):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh()).eval()
    run = compiled(model, fallback=False)
    for sizes in ((2, 3, 4), (2, 5, 4), (4, 7, 4), (6, 2, 4)):
        check(model, run, torch.randn(sizes))


def exports(monkeypatch):
    """Return a list that grows with each export."""
    made = []
    monkeypatch.setattr(backend, "exported", lambda *given: made.append(0) or export.exported(*given))
    return made


@pytest.mark.parametrize("wide", [4, 300])
def test_changed_weights_are_uploaded_again(compiled, monkeypatch, wide):
    """Any kind of write is noticed, and the graph is exported once. wide: weights around the largest size whose bytes
    are all hashed."""
    made = exports(monkeypatch)
    model = nn.Linear(wide, wide).eval()
    run = compiled(model, fallback=False)
    x = torch.randn(2, wide)
    check(model, run, x)
    with torch.no_grad():
        model.weight.mul_(3)
    check(model, run, x)
    model.load_state_dict({name: value + 1 for name, value in model.state_dict().items()})
    check(model, run, x)
    model.weight.data.mul_(-2)
    check(model, run, x)
    check(model, run, x)
    model.bias.detach().numpy()[-1] = 50
    check(model, run, x)
    check(model, run, x)
    model.weight.detach().numpy()[wide // 3, wide // 2] += 8
    check(model, run, x)
    model.weight.data[[0, 1]] = model.weight.data[[1, 0]]
    check(model, run, x)
    assert len(made) == 1


def test_weights_that_change_before_each_run_become_inputs(compiled, monkeypatch):
    made = exports(monkeypatch)
    prepared = []
    monkeypatch.setattr(weights, "prepare", lambda *given, **more: prepared.append(0) or prepare(*given, **more))
    model = nn.Linear(4, 4).eval()
    run = compiled(model, fallback=False)
    for _ in range(8):
        check(model, run, torch.randn(2, 4))
        model.weight.data.add_(1)
    assert len(made) == 1
    assert len(prepared) == 4  # the first, then one for each of three changes in succession


def test_frozen_weights_stay(compiled):
    model = nn.Linear(4, 4).eval()
    run = compiled(model, fallback=False, freeze=True)
    x = torch.randn(2, 4)
    before = model(x).detach()
    with torch.no_grad():
        run(x)
        model.weight.mul_(3)
        torch.testing.assert_close(run(x), before, **NEAR)


def test_random_numbers_are_drawn_by_pytorch(compiled):
    """The rest of the graph runs on the device, and a seed gives eager PyTorch's numbers."""

    def model(x):
        y = torch.tanh(x * 2)
        return torch.sigmoid(y + torch.randn_like(y) * torch.rand(3)) * 3

    run, x = compiled(model), torch.randn(2, 3)
    torch.manual_seed(5)
    with stays("aten.rand.default, aten.randn_like.default run with PyTorch, the rest in 2 parts on the device"):
        found = run(x)
    torch.manual_seed(5)
    torch.testing.assert_close(found, model(x), **NEAR)


class Broken(nn.Module):
    """A layer that dynamo compiles by itself, once for all modules of its structure."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        torch._dynamo.graph_break()
        return torch.tanh(self.linear(x))


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("most", [2, 3])
def test_modules_that_share_a_graph_keep_their_weights(compiled, monkeypatch, freeze, most):
    """most: below and at the number of modules. Replaced tensors take the place of those that are gone."""
    monkeypatch.setattr(weights, "_MOST_SETS", most)
    made, prepared = exports(monkeypatch), []
    monkeypatch.setattr(weights, "prepare", lambda *given, **more: prepared.append(0) or prepare(*given, **more))
    model = nn.Sequential(*[Broken() for _ in range(3)]).eval()
    run = compiled(model, fallback=False, freeze=freeze)
    for _ in range(3):
        check(model, run, torch.randn(2, 4))
    assert len(made) == 1
    assert most == 2 or len(prepared) == 3
    model[1].linear.weight = nn.Parameter(torch.randn(4, 4))
    for _ in range(2):
        check(model, run, torch.randn(2, 4))
    assert most == 2 or len(prepared) == 4


@pytest.mark.parametrize("model", [nn.LayerNorm(4), nn.BatchNorm1d(4), nn.Sequential(nn.Linear(4, 4), nn.RMSNorm(4))])
def test_normalizations_of_dynamic_graphs(device, monkeypatch, model):
    """dynamic=True makes epsilon an argument."""
    made = exports(monkeypatch)
    model = copy.deepcopy(model).eval()
    run = torch.compile(model, backend=front.dml, dynamic=True, options={"device": device, "fallback": False})
    for size in (2, 5, 7):
        check(model, run, torch.randn(size, 4))
    assert len(made) == 1


def stepped(x, step):
    return x * step + torch.arange(step).sum(), x[step:], torch.zeros(step, 2), step * 2


@pytest.mark.parametrize(("make", "shape", "dynamic", "half"), [
    (lambda: nn.BatchNorm1d(3), (8, 3), True, False),
    (lambda: nn.BatchNorm2d(3, affine=False), (4, 3, 5, 6), False, False),
    (lambda: nn.Sequential(nn.Conv1d(2, 3, 1), nn.BatchNorm1d(3, momentum=0.3)), (4, 2, 5), False, True),
])  # fmt: skip
def test_batch_normalization_in_training_mode(compiled, make, shape, dynamic, half):
    """The batch's own statistics normalize it, and the running ones change, as in PyTorch."""
    torch.manual_seed(4)
    model = make().train().to(torch.float16 if half else torch.float32)
    twin = copy.deepcopy(model)
    run = compiled(model, fallback=False, dynamic=dynamic)
    near = {"rtol": 2e-3, "atol": 4e-3} if half else NEAR
    for rows in (shape[0], shape[0] + 1):
        x = (torch.randn(rows, *shape[1:]) * 3 + 1).to(torch.float16 if half else torch.float32)
        with torch.no_grad():
            torch.testing.assert_close(run(x), twin(x), **near)
        for (name, found), (_, expected) in zip(model.named_buffers(), twin.named_buffers(), strict=True):
            torch.testing.assert_close(found, expected, **near, msg=name)


def test_instance_normalization_with_running_statistics(compiled):
    """Export drops the writes of running statistics, so PyTorch runs the graph, and a warning says so."""
    model = nn.InstanceNorm1d(3, track_running_stats=True).train()
    twin, x = copy.deepcopy(model), torch.randn(4, 3, 5)
    with stays("updates its running statistics"), torch.no_grad():
        torch.testing.assert_close(compiled(model)(x), twin(x))
    torch.testing.assert_close(model.running_mean, twin.running_mean)
    check(model.eval(), compiled(model, fallback=False), x)


def test_dropout_of_attention_stays_with_pytorch(compiled):
    """The exporter drops it without an error."""

    def model(q):
        return F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    with stays("scaled_dot_product_attention has a dropout"), torch.no_grad():
        run, q = compiled(model), torch.randn(1, 2, 16, 8)
        assert not torch.equal(run(q), run(q))


def test_ints_that_change_are_inputs(compiled, monkeypatch):
    """From the second value of a timestep or start position on, one graph serves all."""
    made = exports(monkeypatch)
    run = compiled(stepped, fallback=False)
    for step in (2, 3, 4, 5, 7):
        check(stepped, run, torch.randn(8, 4), step)
    assert len(made) == 2


def test_floats_that_change_become_inputs(compiled, monkeypatch):
    made = exports(monkeypatch)

    def model(x, i, scale):
        return x * scale + 1, i * scale, x.sum() * (scale + 1)

    run = compiled(model, fallback=False)
    x, i = torch.randn(3, 4), torch.arange(4)
    for scale in (0.5, 0.25, -1.75, 3.5, 8.125):
        check(model, run, x, i, scale)
    assert len(made) <= 3


def test_floats_that_have_to_be_constants(device, monkeypatch):
    """Each value, minus zero included, gets a graph; beyond the maximum number of values, here three, PyTorch runs the
    graph."""
    monkeypatch.setattr(backend, "_MOST_VALUES", 3)
    made = exports(monkeypatch)

    def model(x, slope):
        return F.leaky_relu(x, slope)

    run = torch.compile(model, backend=front.dml, dynamic=True, options={"device": device})
    x = torch.tensor([-1.0, 2.0, -3.0])
    for slope in (0.5, 0.0):
        check(model, run, x, slope)
    before = len(made)
    assert before <= 4  # one export for each value, and possibly one that tries the float as an input and fails
    with torch.no_grad():
        for slope in (-0.0, 0.0, -0.0, 0.5):
            assert torch.signbit(run(x, slope)).tolist() == torch.signbit(model(x, slope)).tolist()
            check(model, run, x, slope)
    assert len(made) <= before + 2
    with stays("more than 3 values"):
        check(model, run, x, 9.25)


def exhausted(*_, **__):
    raise dml_package.DMLError("the device has no memory for 1 byte", dml_package.HRESULT.E_OUTOFMEMORY)


def test_a_device_that_ran_out_of_memory_is_tried_again(compiled, monkeypatch):
    model = nn.Linear(4, 4).eval()
    run = compiled(model)
    x = torch.randn(2, 4)
    ran = []
    real = weights.WeightedModel.run
    monkeypatch.setattr(weights.WeightedModel, "run", lambda *given: ran.append(0) or real(*given))
    with monkeypatch.context() as patch:
        patch.setattr(weights, "prepare", exhausted)
        with stays("the device has no memory"):
            for _ in range(6):  # prepare is tried on calls 1, 3 and 6 (backoff of 1, 2, then 4 calls)
                check(model, run, x)
    assert not ran
    for _ in range(6):
        check(model, run, x)
    assert len(ran) == 2, "after the last pause"


def test_weights_that_changed_while_memory_was_short_are_taken_later(compiled, monkeypatch):
    model = nn.Linear(4, 4).eval()
    run = compiled(model)
    x = torch.randn(2, 4)
    check(model, run, x)
    model.weight.data.mul_(3)
    with monkeypatch.context() as patch:
        patch.setattr(weights, "prepare", exhausted)
        with stays("the device has no memory"):
            check(model, run, x)
    for _ in range(3):  # the first call runs in PyTorch, the others on the device
        check(model, run, x)


def graphs(monkeypatch):
    """Return a list that gets each graph that dynamo finds."""
    found = []
    made = backend._DynamoGraph.__init__

    def init(self, graph, settings):
        found.append(graph)
        made(self, graph, settings)

    monkeypatch.setattr(backend._DynamoGraph, "__init__", init)
    return found


def test_sizes_that_are_counted(compiled, monkeypatch):
    """Sizes come from nonzero(), which is in the graph even if its size is unknown."""
    found = graphs(monkeypatch)

    def model(x):
        found = x.nonzero()
        return found * 2, torch.ones(found.shape[0]), x.sum() + found.shape[0]

    run = compiled(model, dynamic=True, fallback=False)
    for size in (5, 8, 13, 9):
        check(model, run, torch.randn(size).relu())
    check(model, run, torch.zeros(4))
    assert len(found) == 1


def test_elements_chosen_by_a_mask(compiled, monkeypatch):
    found = graphs(monkeypatch)

    def model(x, mask):
        return x[mask] * 2

    run = compiled(model, fallback=False)
    for mask in ([True, False, True, True], [False, True, False, False], [False] * 4):
        check(model, run, torch.randn(4, 3), torch.tensor(mask))
    assert len(found) == 1


def test_branches_on_counted_sizes(compiled):
    """Dynamo ends its graph at the branch; the results of both branches are PyTorch's."""

    def model(x):
        found = x.nonzero()
        return found * 2 if found.shape[0] > 3 else found + 1

    run = compiled(model, fallback=False)  # the branch's condition is an output of its graph
    for count in (5, 2, 0, 4):
        check(model, run, (torch.arange(9) < count).float())


def test_a_graph_that_returns_its_inputs(compiled):
    """The exporter gives such inputs another name."""

    def model(x, y):
        torch._dynamo.graph_break()
        return y, x

    def with_results(x, y):
        return [y, torch.relu(x), x][:: -1 if x.shape[0] else 1]

    check(model, compiled(model, fallback=False), torch.randn(3), torch.randn(2))
    check(with_results, compiled(with_results, fallback=False), torch.randn(3), torch.randn(2))


@pytest.mark.parametrize("dynamic", [None, True])
def test_chunks_of_a_symbolic_size(compiled, dynamic):
    def model(x):
        a, b = x.chunk(2, 1)
        return torch.cat([b, a], 1) * 2

    run = compiled(model, dynamic=dynamic, fallback=False)
    for width in (4, 5, 7):
        check(model, run, torch.randn(3, width))


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 1, 3)])
def test_attention_of_any_rank(compiled, lead):
    def model(q, k, v, mask):
        masked = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.7)
        return masked, F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.7)

    q, k, v = torch.randn(*lead, 5, 4), torch.randn(*lead, 6, 4), torch.randn(*lead, 6, 3)
    mask = torch.randn(*lead[:-1], *(1,) * len(lead[-1:]), 5, 6)
    check(model, compiled(model, fallback=False), q, k, v, mask)


@pytest.mark.skipif(torch.__version__ < (2, 9), reason="the exporter writes Attention from PyTorch 2.9 on")
def test_attention_of_shared_heads_is_one_operator(compiled, monkeypatch):
    made = []
    monkeypatch.setattr(modules, "to_onnx", lambda program: made.append(export.to_onnx(program)) or made[-1])

    def model(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)

    q, k, v = torch.randn(2, 6, 5, 8), torch.randn(2, 2, 7, 8), torch.randn(2, 2, 7, 8)
    mask = torch.rand(2, 1, 5, 7) < 0.7
    mask[:, :, 0] = False  # a query without keys
    check(model, compiled(model, fallback=False), q, k, v, mask)
    assert [node.op_type for node in made[0].graph.node] == ["Attention"]


@pytest.mark.parametrize("how", ["expand", "repeat_interleave"])
@pytest.mark.parametrize("eager", [True, False])
def test_repeated_keys_are_not_copied(compiled, monkeypatch, how, eager):
    programs = []
    compile_graph = compile_module._Compiler.compile
    monkeypatch.setattr(
        compile_module._Compiler, "compile", lambda self: programs.append(compile_graph(self)) or programs[-1]
    )

    def repeated(x):
        if how == "repeat_interleave":
            return x.repeat_interleave(16, 1)
        batch, heads, total, size = x.shape
        return x[:, :, None].expand(batch, heads, 16, total, size).reshape(batch, heads * 16, total, size)

    def model(q, k, v):
        keys, values = repeated(k), repeated(v)
        if not eager:
            return F.scaled_dot_product_attention(q, keys, values)
        return torch.softmax(q @ keys.transpose(2, 3) * 0.3, -1) @ values

    check(model, compiled(model, fallback=False), torch.randn(1, 32, 1, 8), *torch.randn(2, 1, 2, 256, 8))
    (program,) = programs
    assert program.temporary_size < 4 * 32 * 256 * 8 // 2


class Decomposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = torch.relu(self.first(x)) + 1
        values = torch.linalg.svdvals(y)
        return torch.sigmoid(self.last(y)) * values.sum() + 1


def test_operators_that_onnx_has_no_word_for_stay_with_pytorch(compiled):
    model = Decomposed().eval()
    run = compiled(model)
    x = torch.randn(3, 4)
    with stays("_linalg_svd", "2 parts on the device"):
        check(model, run, x)
    check(model, run, torch.randn(3, 4))  # warned once
    with pytest.raises(Exception, match="_linalg_svd"), torch.no_grad():
        compiled(copy.deepcopy(model), fallback=False)(x)


def test_a_graph_that_writes_to_its_input(compiled):
    def model(x, y):
        x.add_(1)
        y[:, 1] = x[0]
        return x * 2

    ones, others = [torch.ones(3), torch.zeros(2, 3, 3)], [torch.ones(3), torch.zeros(2, 3, 3)]
    run = compiled(model, fallback=False)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(run(*ones), model(*others))
            torch.testing.assert_close(ones, others)


class Mixed(nn.Module):
    """Writes to an input and a buffer; operations between these writes stay in PyTorch and split the graph into
    parts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.ones(3, 3))

    def forward(self, cache, x):
        before = torch.sin(cache) * 3
        cache.mul_(2).add_(x)
        self.seen.add_(cache)
        values = torch.linalg.svdvals(torch.cos(cache) * 2)
        values = torch.linalg.svdvals(torch.relu(before + values) + 1)
        return torch.sigmoid(values + 1) * 2, cache.sum() + values


@pytest.mark.parametrize("broken", [None, 1, 2, 3])
def test_parts_write_to_inputs_once(compiled, monkeypatch, broken):
    """Writes happen once even if a part fails: PyTorch then runs the whole graph on the original inputs."""
    model = Mixed().eval()
    other = copy.deepcopy(model)
    run = compiled(model, freeze=True)
    calls = []
    real = modules.OnDevice.__call__

    def call(self, *given):
        calls.append(0)
        if len(calls) == broken:
            raise dml_package.DMLError("a part is broken")
        return real(self, *given)

    monkeypatch.setattr(modules.OnDevice, "__call__", call)
    caches = [torch.arange(9.0).reshape(3, 3) / 10 for _ in range(2)]
    with torch.no_grad(), stays("_linalg_svd", *(["a part is broken"] if broken else [])):
        for _ in range(3):
            x = torch.rand(3, 3)
            torch.testing.assert_close(run(caches[0], x), other(caches[1], x), **NEAR)
            torch.testing.assert_close([caches[0], model.seen], [caches[1], other.seen], **NEAR)
    assert len(calls) == (broken or 9)


def test_operators_that_check_errors(compiled):
    """A program with them has a token among its outputs, which only orders them and is not returned."""

    def model(x, y):
        inverse = torch.linalg.inv(torch.relu(x) * 2)
        y.copy_(torch.relu(inverse @ y) * 2)
        return torch.relu(inverse) + 1, y.sum()

    x = torch.rand(2, 4, 4) + 3 * torch.eye(4)
    ones, others = [x, torch.ones(2, 4, 3)], [x, torch.ones(2, 4, 3)]
    run = compiled(model)
    with torch.no_grad(), stays("linalg_inv_ex", "2 parts on the device"):
        torch.testing.assert_close(run(*ones), model(*others), **NEAR)
        torch.testing.assert_close(ones, others, **NEAR)
        with pytest.raises(torch.linalg.LinAlgError, match="singular"):
            run(torch.zeros(2, 4, 4), torch.ones(2, 4, 3))


NAN = float("nan")


def test_numbers_that_are_nan(compiled):
    def model(x):
        return (
            *(torch.where(x > 0, NAN, x).masked_fill(x < -1, 2.0), x * torch.tensor(NAN) + 1),
            *(F.pad(x, (1, 1), value=NAN), x**NAN),
            torch.clamp(x, min=NAN) + torch.clamp(x, -1, NAN) + F.hardtanh(x, NAN, 1.0),
            F.leaky_relu(x, NAN) + F.elu(x, NAN) + F.celu(x, NAN),
            *(torch.addmm(x, x, x, alpha=NAN), torch.sign(torch.where(x > 0, NAN, x))),
        )

    check(model, compiled(model, fallback=False), torch.randn(4, 4), equal_nan=True)


def test_losses_with_smoothed_labels_or_probabilities(compiled):
    """The exporter ignores label_smoothing."""

    def losses(x, y):
        smoothed = F.cross_entropy(x, y, label_smoothing=0.1, ignore_index=1)
        weighted = F.cross_entropy(x, y, x[0].abs(), label_smoothing=0.2, ignore_index=1)
        each = F.cross_entropy(x[None].mT, y[None], label_smoothing=0.1, reduction="none")
        one = F.cross_entropy(x[0], y[1], label_smoothing=0.1, reduction="sum")
        probable = F.cross_entropy(x, x.softmax(1), x[0].abs(), label_smoothing=0.1)
        infinite = x.masked_fill((y[:, None] == 1) & (torch.arange(5) == 0), -torch.inf)
        ignored = F.cross_entropy(infinite, y, label_smoothing=0.1, ignore_index=1)
        return smoothed, weighted, ignored, each, one, probable, F.cross_entropy(x, x.softmax(1), reduction="none")

    check(losses, compiled(losses, fallback=False), torch.randn(4, 5), torch.tensor([0, 1, 4, 2]))


def test_shifts_of_bytes(compiled):
    """The exporter returns INT8."""

    def shifts(x, by):
        return x << by, x >> by, x << 1, 3 << by, x >> 9, x.int() << by.int(), x.to(torch.int8) >> 1

    x, by = torch.tensor([7, 249, 5, 128], dtype=torch.uint8), torch.tensor([1, 2, 3, 7], dtype=torch.uint8)
    check(shifts, compiled(shifts, fallback=False), x, by)


def test_copies_broadcast(compiled):
    def copies(x, y):
        z = x.clone()
        z[1:].copy_(y)
        return z, torch.zeros(2, 3, 4, dtype=torch.int32).copy_(x), torch.linspace(y[0], y[1], 1)

    check(copies, compiled(copies, fallback=False), torch.randn(3, 4), torch.randn(4))


@pytest.mark.parametrize(
    ("rows", "ends", "dynamic"),
    [(40, [0, 17, 37], None), (3, [0, 1, 1, 3, 3], None), (40, [0, 17, 37], True), (16, [16, 16, 16], None)],
)
def test_grouped_products_of_transformers(compiled, rows, ends, dynamic):
    """Mixtures of experts; rows beyond the last group are 0."""
    pytest.importorskip("transformers.integrations.moe")
    weight = torch.randn(len(ends), 6, 5)

    def product(x, ends):
        return torch.ops.transformers.grouped_mm_fallback(x, weight, ends) + 1

    check(product, compiled(product, dynamic, fallback=False), torch.randn(rows, 6), torch.tensor(ends))


@pytest.mark.parametrize("dynamic", [False, True])
def test_average_pooling_with_a_divisor(compiled, dynamic):
    def pool(x, y):
        plain = F.avg_pool2d(x, 3, 2, 1, divisor_override=5)
        ended = F.avg_pool2d(x, (4, 3), (3, 2), (0, 1), ceil_mode=True, count_include_pad=False, divisor_override=-2)
        return plain, ended, F.avg_pool3d(y, (2, 3, 4), (1, 2, 2), (0, 1, 2), True, True, 2)

    check(pool, compiled(pool, dynamic, fallback=False), torch.randn(2, 3, 10, 11), torch.randn(2, 5, 6, 5))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "trilinear"])
def test_resizing_by_scales_with_aligned_corners(compiled, mode):
    """10 * 0.77 elements are 7; PyTorch aligns the last of them, ONNX the fraction behind it."""

    def resize(x):
        return F.interpolate(x, scale_factor=0.77, mode=mode, align_corners=True)

    check(resize, compiled(resize, fallback=False), torch.randn(1, 2, *(10,) * (3 if mode == "trilinear" else 2)))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resizing_with_antialiasing(compiled, mode):
    def resize(x):
        def resized(**options):
            return F.interpolate(x, mode=mode, antialias=True, **options)

        return resized(scale_factor=(0.6, 1.5)), resized(size=(1, 5), align_corners=True), resized(size=(12, 5))

    run = compiled(resize, fallback=False)
    check(resize, run, torch.randn(2, 3, 10, 11))
    # PyTorch's weights of bytes are fixed-point numbers
    check(resize, run, torch.randint(0, 256, (2, 3, 10, 11), dtype=torch.uint8), atol=1)


def test_scatters_that_onnx_does_not_have(compiled):
    def scatter(x, index, source, n):
        mean, own = (x.scatter_reduce(0, index, source, "mean", include_self=own) for own in (True, False))
        largest = x.scatter_reduce(0, index, source[:2] - torch.inf, "amax", include_self=False)
        return mean, own, largest, n.scatter_reduce(0, index, -n, "mean")

    index = torch.tensor([[0, 1, 0, 2], [4, 1, 0, 2]])
    n = torch.randint(-9, 9, (5, 4))
    check(scatter, compiled(scatter, fallback=False), torch.randn(5, 4), index, torch.randn(3, 4), n)


def test_tails_of_normal_distributions(compiled):
    """1 - erf(x) is 0 from 4 on."""

    def tails(x):
        return torch.special.erfcx(x), torch.special.log_ndtr(-x)

    check(tails, compiled(tails, fallback=False), torch.linspace(-8, 40, 97))


def test_reductions_that_the_exporter_mistakes(compiled):
    """It refuses extrema of all dimensions, and returns sums and products of FLOAT16 as FLOAT32."""

    def reduce(x):
        y = x.half()
        running = y.cumsum(1), y[0, 0].cumsum(0), y.amax(0), y.amin()
        return x.amax(), x.amin(keepdim=True), y.sum(), y.sum((0, 1), keepdim=True), y.prod(), y.prod(1), *running

    check(reduce, compiled(reduce, fallback=False), torch.randn(3, 4), rtol=1e-3)


def test_results_that_are_inputs(compiled):
    """The exporter names such an input after its result."""

    def means(x):
        return x.mean(), x.mean((), keepdim=True)

    check(means, compiled(means, fallback=False), torch.randn(()))


def test_complex_numbers(compiled):
    rotation = torch.polar(torch.ones(5, 4), torch.randn(5, 4))

    def rotate(x, y):
        return torch.view_as_complex(x.unflatten(-1, (4, 2))) * rotation, torch.fft.rfft(x), y.conj() * y, y[:0] * 2

    check(rotate, compiled(rotate, fallback=False), torch.randn(2, 5, 8), torch.randn(3, dtype=torch.complex64))


def test_conjugated_views(compiled):
    def conjugate(x):
        return x.conj(), x[1:], x.conj()[:2]

    check(conjugate, compiled(conjugate, fallback=False), torch.randn(3, dtype=torch.complex64))


def test_the_exporters_messages_are_not_shown(compiled, capsys):
    export._registry.cache_clear()  # to create a registry, too, has messages
    bags = nn.EmbeddingBag(10, 4, mode="sum")
    check(bags, compiled(bags, fallback=False), torch.arange(8), torch.tensor([0, 4, 4]))
    assert capsys.readouterr().err == ""


def test_transforms_of_functions(compiled):
    """vmap runs on the device. Where the export fails inside a transform, later code does not run in it."""
    batched = torch.vmap(lambda x, y: (x @ y).sum())
    check(batched, compiled(batched, fallback=False), torch.randn(3, 2, 4), torch.randn(3, 4, 5))
    gradients = torch.vmap(torch.func.grad(lambda x: x.sin().sum()))
    with stays("torch.export"):
        check(gradients, compiled(gradients), torch.randn(3, 2))


class Counting(nn.Module):
    """Writes to its own buffer, like a static cache."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(2, 8, 4))

    def forward(self, x, position):
        self.cache.index_copy_(1, position, self.linear(x))
        return self.cache.sum(1)


def test_a_cache_that_is_written_step_by_step(compiled):
    model = Counting().eval()
    other = copy.deepcopy(model)
    run = compiled(model, fallback=False)
    with torch.no_grad():
        for index in range(5):
            x, position = torch.randn(2, 1, 4), torch.tensor([index])
            torch.testing.assert_close(run(x, position), other(x, position), **NEAR)
            torch.testing.assert_close(model.cache, other.cache, **NEAR)
    assert not model.cache[:, 5:].any()


def test_a_warning_comes_once_however_often_dynamo_compiles(compiled):
    def model(x):
        return torch.linalg.svdvals(x + 1) * 2 + 1

    run = compiled(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", front.EagerWarning)
        for size in (3, 4, 5, 6):
            check(model, run, torch.randn(size, 4))
    assert len([each for each in caught if each.category is front.EagerWarning]) == 1


def test_integers_overflow_as_in_pytorch(compiled):
    kinds = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
    limits = [(kind, torch.iinfo(kind)) for kind in kinds]
    given = [torch.randint(max(of.min, -(2**62)), min(of.max, 2**62), (4, 4)).to(kind) for kind, of in limits]

    def model(*given):
        return [each for x in given for each in (x @ x, x * x, torch.pow(x, 3), torch.square(x))]

    for found, expected in zip(compiled(model, fallback=False)(*given), model(*given), strict=True):
        assert torch.equal(found, expected)


def ordered(x):
    boundaries = torch.tensor([0, 1, 2, 2, 4]).to(x.dtype)
    return (
        *(torch.sort(x, stable=True, dim=1), torch.sort(x, stable=True, dim=0, descending=True)),
        *(x.argsort(stable=True, dim=1), x.median(1).values, x.median(0, keepdim=True).values, x.median()),
        *(x.kthvalue(3, 1).values, torch.searchsorted(boundaries, x, right=True), torch.bucketize(x, boundaries)),
        *(torch.searchsorted(boundaries.expand(5, 5).contiguous(), x), torch.isin(x, x[1, :3])),
        *(torch.fmax(x, x.flip(0)), torch.fmin(x, x.flip(0)), x.cumprod(1)),
        *(torch.copysign(x, x.flip(0)), torch.copysign(x, -2.0)),
        *(x.ceil(), x.floor(), x.round(), x.trunc(), x.isnan(), x.isfinite()),
    )


def test_orders(compiled):
    """Elements repeat; among floats are NaN, infinities and both zeros."""
    torch.manual_seed(3)
    x, *integers = (torch.randint(0, 5, (5, 9)).to(kind) for kind in (torch.float32, torch.int64, torch.uint8))
    x -= 2
    x[0, 3] = x[1, 1] = x[1, 5] = torch.nan
    x[2, 2], x[2, 3], x[3, 0], x[3, 1] = torch.inf, -torch.inf, 0.0, -0.0

    def model(*given):
        return [ordered(x) for x in given]

    check(model, compiled(model, fallback=False), x, *integers, equal_nan=True, rtol=1e-6, atol=0)


def test_orders_of_any_size(compiled):
    def model(x):
        return torch.sort(x, stable=True, dim=1), x.median(1).values

    run = compiled(model, fallback=False, dynamic=True)
    for rows, columns in ((3, 5), (2, 9)):
        x = torch.randn(rows, columns)
        torch.testing.assert_close(run(x), model(x), rtol=0, atol=0)


def test_operators_that_the_exporter_lacks(compiled):
    def model(x, images, index, flags):
        bytes_ = (images * 50).abs().to(torch.uint8)
        return (
            *(F.adaptive_max_pool2d(images, (2, 1)), F.adaptive_max_pool1d(x, 3)),
            *(F.adaptive_max_pool3d(images, (1, 2, 3)), F.adaptive_avg_pool3d(images, (3, 2, 2))),
            F.adaptive_max_pool2d(images, (4, 3), return_indices=True)[1],
            *(x.scatter(1, index, x[:, :2], reduce="add"), x.scatter(0, index, 2.5, reduce="multiply")),
            *(torch.hypot(x, x.flip(1)), torch.isclose(flags, flags.flip(0))),
            F.interpolate(bytes_, (8, 18), mode="bilinear").float() / 255,
        )

    torch.manual_seed(5)
    x, images, flags = torch.randn(4, 9), torch.randn(2, 3, 4, 6), torch.tensor([[True], [False], [False]])
    x[0, 0], x[0, 8], x[1, 0], x[1, 8] = 3e30, -4e30, 0.0, torch.inf
    index = torch.tensor([[0, 3], [1, 1], [2, 0], [3, 2]])
    found = compiled(model, fallback=False)(x, images, index, flags)
    # PyTorch rounds resized bytes after each axis.
    torch.testing.assert_close(found[:-1], model(x, images, index, flags)[:-1], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found[-1], model(x, images, index, flags)[-1], rtol=0, atol=1.01 / 255)


def test_gradients_are_pytorchs(compiled):
    model = nn.Linear(3, 2)
    run = compiled(model)
    x = torch.randn(4, 3)
    with stays("gradients"):
        run(x).sum().backward()
    assert model.weight.grad is not None
    torch.testing.assert_close(model.weight.grad, x.sum(0).expand(2, 3))
    check(model, run, x)  # without gradients it runs on the device


def test_results_are_not_overwritten(compiled):
    """Later runs do not overwrite earlier results."""
    model = nn.Sequential(nn.Linear(4, 4)).eval()
    run = compiled(model, fallback=False)
    with torch.no_grad():
        first = run(torch.ones(2, 4))
        kept = first.clone()
        run(torch.zeros(2, 4))
        first.add_(1)
    torch.testing.assert_close(first, kept + 1)


def test_tensors_that_are_views(compiled):
    model = nn.Linear(4, 4).eval()
    x = torch.randn(4, 6)[:, 1:5].t()
    check(model, compiled(model, fallback=False), x)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[1:],
        lambda x: (x.t(), x * 2),
        lambda x: (x.add_(1), x[:, 1]),
        lambda x: (lambda y: (y[0], y))(x + 1),
        lambda x: x.diagonal(),
    ],
    ids=["slice", "transposed", "written", "outputs", "diagonal"],
)
def test_views_share_memory(compiled, function, dynamic):
    """Writes to outputs reach the input and the other outputs of which they are views, and only these elements."""
    run = compiled(function, dynamic=dynamic)
    for rows in (3, 5):
        found = []
        for call in (function, run):
            memory = torch.arange(4.0 * rows + 2)
            x = memory[2:].reshape(rows, 4)  # the input does not begin at the start of its storage
            with torch.no_grad():
                outputs = call(x)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            outputs[0].add_(5)
            outputs[-1].mul_(2)
            found.append([memory, *outputs])
        for eager, here in zip(*found, strict=True):
            assert torch.equal(eager, here)


def test_options():
    graph = torch.fx.symbolic_trace(nn.ReLU())
    with pytest.raises(dml_package.DMLError, match="no option 'devise'"):
        front.dml(graph, [], options={"devise": 0})
    with pytest.raises(dml_package.DMLError, match="no mode 'max-autotune'"):
        front.dml(graph, [], mode="max-autotune")
    with pytest.raises(dml_package.DMLError, match="no Vulkan device"):
        front.dml(graph, [], options={"device": "no such device"})


def test_the_entry_point_names_it():
    (found,) = [entry for entry in entry_points(group="torch_dynamo_backends") if entry.name == "dml"]
    assert found.load() is front.dml


def test_arrays_share_memory_and_types():
    from dml.frontends.torch.arrays import to_array, to_tensor

    x = torch.arange(6.0).reshape(2, 3)
    array = to_array(x.t())
    array[0, 0] = 7
    assert x[0, 0] == 7
    brain = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    assert to_array(brain).astype(np.float32).tolist() == [1.5, -2.0]
    assert torch.equal(to_tensor(to_array(brain)), brain)
    assert to_tensor(np.zeros((), np.float32)).shape == ()


def test_a_transformers_model(compiled):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=99, **sizes)).eval()

    def model(ids):
        return bert(ids).last_hidden_state

    run = compiled(model, fallback=False)
    for sizes in ((2, 7), (3, 7), (5, 9)):
        check(model, run, torch.randint(0, 99, sizes))


def test_generation_with_a_static_cache(compiled, monkeypatch):
    """The cache is written step by step; no step runs in PyTorch, and all steps share one graph."""
    made = exports(monkeypatch)
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = transformers.LlamaConfig(vocab_size=101, intermediate_size=64, max_position_embeddings=64, **sizes)
    model = transformers.LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 101, (1, 5))
    given = {"max_new_tokens": 6, "do_sample": False, "cache_implementation": "static", "disable_compile": True}
    with torch.no_grad():
        expected = model.generate(ids, **given, pad_token_id=0, eos_token_id=None)
        model.forward = compiled(model.forward, fallback=False)
        found = model.generate(ids, **given, pad_token_id=0, eos_token_id=None)
    assert torch.equal(found, expected)
    assert len(made) == 2  # one graph for the prompt, and one for all single tokens


@pytest.mark.parametrize("family", ["Gemma3", "T5"])
def test_static_caches_of_other_families(compiled, family):
    """A cache with sliding windows, and a decoder with an encoder's keys: the same tokens."""
    transformers = pytest.importorskip("transformers")
    ends = {"pad_token_id": 0, "eos_token_id": None}
    sizes = {
        "vocab_size": 97,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    if family == "T5":
        config = transformers.T5Config(
            vocab_size=97, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, **ends
        )
        model = transformers.T5ForConditionalGeneration(config).eval()
    else:
        config = transformers.Gemma3TextConfig(**sizes, num_key_value_heads=2, head_dim=8, sliding_window=8, **ends)
        model = transformers.Gemma3ForCausalLM(config).eval()
    ids = torch.randint(2, 97, (1, 7))
    given = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False}
    with torch.no_grad():
        expected = model.generate(ids, **given)
        model.forward = compiled(model.forward, fallback=False)
        found = model.generate(ids, **given, cache_implementation="static", disable_compile=True)
    assert torch.equal(found, expected)


def test_a_mixture_of_experts_from_onnx(device):
    """The router, its best experts and their batched products as torch.onnx exports them, all on the device."""
    transformers = pytest.importorskip("transformers", minversion="5.0")
    config = transformers.MixtralConfig(
        vocab_size=97,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_local_experts=4,
        num_experts_per_tok=2,
    )
    model = transformers.MixtralForCausalLM(config).eval()
    model.set_experts_implementation("batched_mm")  # torch.onnx cannot export the other implementations
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(input_ids=ids, use_cache=False).logits

    whole = Logits().eval()
    program = torch.onnx.export(whole, (torch.zeros(2, 5, dtype=torch.int64),), dynamo=True, verbose=False)
    prepared = prepare(program.model_proto, device, fallback=False)
    for seed in range(2):  # each input chooses other experts
        ids = torch.randint(0, 97, (2, 5), generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            expected = whole(ids).numpy()
        (found,) = prepared.run([ids.numpy()])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_the_exporter_decomposes_what_is_left(monkeypatch):
    """And leaves the program as it was."""
    seen = []
    decompose = _fx_passes.decompose_with_registry
    monkeypatch.setattr(_fx_passes, "decompose_with_registry", lambda *given: seen.append(0) or decompose(*given))
    program = torch.export.export(fx.symbolic_trace(nn.Sequential(nn.Tanh(), nn.Softmax(-1))), (torch.randn(2, 3),))
    text = str(program.graph)
    model = export.to_onnx(program)
    assert (seen, str(program.graph), [node.op_type for node in model.graph.node]) == ([], text, ["Tanh", "Softmax"])

    class Deviation(nn.Module):
        def forward(self, x):
            return x.std()

    assert export.to_onnx(torch.export.export(Deviation(), (torch.randn(2, 3),))).graph.node
    assert seen == [0]


@pytest.mark.parametrize("failure", [torch.onnx.OnnxExporterError, ValueError])
def test_a_refused_program_is_not_tried_again_without_optimizer(monkeypatch, failure):
    tried = []

    def fail(*_, opset_version, optimize, **__):
        tried.append((opset_version, optimize))
        raise failure("not taken")

    monkeypatch.setattr(torch.onnx, "export", fail)
    program = torch.export.export(nn.ReLU(), (torch.randn(2),))
    with pytest.raises(export.NotTaken, match="not taken"):
        export.to_onnx(program)
    choices = (True,) if failure is torch.onnx.OnnxExporterError else (True, False)
    assert tried == [(opset, optimize) for opset in export._OPSETS for optimize in choices]


def test_other_versions_exporters_decompose_every_program(monkeypatch):
    """Where PyTorch does not tell what the exporter decomposes, it decomposes all."""
    from torch.onnx._internal.exporter import _decomp

    monkeypatch.delattr(_decomp, "create_onnx_friendly_decomposition_table")
    export._exporters_table.cache_clear()
    program = export.exported(fx.symbolic_trace(lambda x: x + 1), [torch.ones(2)], [{}])
    assert not export._is_decomposed(program, export._OPSETS[0])
    export._exporters_table.cache_clear()
    monkeypatch.undo()
    assert export._is_decomposed(program, export._OPSETS[0])
