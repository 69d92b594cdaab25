"""Peak memory of a process until the first result of a model with large weights, by format."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from dml.compiler.target import DeviceClass
from dml.runtime.devices import VulkanDevice

SIZE, LAYERS = 2048, 8
WEIGHTS = LAYERS * SIZE * SIZE * 4
#: Bytes allowed for temporary memory: a chunk of the weights in transit, and the compilers' memory.
PASSING = 64 << 20

#: Prints the peak memory before the large model and after its first result, and the result's sum.
PROGRAM = """
    import json
    import sys
    from pathlib import Path

    import numpy as np

    from dml.conformance.axes import open_as
    from dml.frontends.onnx import prepare
    from dml.frontends.openvino import read_model
    from dml.runtime.devices import choose


    def peak():
        # in bytes; getrusage's would be the parent's where that had more
        (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024


    def result(path, size):
        x = np.ones((1, size), np.float32)
        if Path(path).suffix == ".xml":
            (y,) = read_model(path).compile(device)({"x": x}).values()
        else:
            (y,) = prepare(path, device).run([x])
        return y


    small, large, index, axis = sys.argv[1:5]
    small_size, size = map(int, sys.argv[5:])
    device = open_as(choose(index), axis)
    result(small, small_size)
    before = peak()
    y = result(large, size)
    print(json.dumps([before, peak(), float(abs(y).sum())]))
"""


def matrices(size: int) -> Iterator[np.ndarray]:
    """Yield the random weights of each layer."""
    rng = np.random.default_rng(0)
    for _ in range(LAYERS):
        yield rng.standard_normal((size, size), np.float32) / np.float32(size**0.5)


def compressed_model(folder: Path, name: str, n: int, k: int) -> Path:
    """Write a product with weights {n, k} of 4 bits, in groups of 128 with a scale and a zero point each, and a gather
    of the weights' rows, as in a language model."""
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    o = pytest.importorskip("openvino.opset13")
    groups = k // 128

    def numbers(*sizes: int) -> Any:
        data = np.random.default_rng(0).integers(0, 256, math.prod(sizes) // 2, np.uint8)
        return o.convert(ov.op.Constant(ov.Tensor(data, list(sizes), ov.Type.u4), shared_memory=False), "f16")

    w = o.subtract(numbers(n, groups, 128), numbers(n, groups, 1))
    w = o.multiply(w, o.constant(np.full((n, groups, 1), 2**-10, np.float16)))
    w = o.convert(o.reshape(w, np.array([n, k]), False), "f32")
    x = o.parameter([1, -1], np.float32, name="x")
    rows = o.reduce_sum(o.gather(w, np.array([0, n - 1]), np.array(0)), np.array([0, 1]), False)
    y = o.add(o.matmul(x, w, False, True), rows)
    ov.save_model(ov.Model([o.result(y)], [x], "m"), folder / f"{name}.xml", compress_to_fp16=False)
    return folder / f"{name}.xml"


@cache
def result_of_ones(size: int) -> float:
    """Return the sum of the output for an input of ones: products with the matrices, each followed by ReLU."""
    expected = np.ones((1, size))
    for weights in matrices(size):
        expected = np.maximum(expected @ weights, 0)
    return float(expected.sum())


def onnx_model(folder: Path, name: str, size: int, *, external: bool = False) -> Path:
    path = folder / f"{name}.onnx"
    nodes, initializers, last = [], [], "x"
    for index, weights in enumerate(matrices(size)):
        initializers.append(numpy_helper.from_array(weights, f"w{index}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{index}"], [f"product{index}"]))
        last = f"r{index}"
        nodes.append(helper.make_node("Relu", [f"product{index}"], [last]))
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "large", entries[:1], entries[1:], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path, save_as_external_data=external, location=f"{path.stem}.data", size_threshold=0)
    return path


def openvino_model(folder: Path, name: str, size: int) -> Path:
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    x = last = opset.parameter([1, size], np.float32, name="x")
    for weights in matrices(size):
        last = opset.relu(opset.matmul(last, opset.constant(weights), False, False))
    ov.save_model(ov.Model([opset.result(last)], [x], "large"), folder / f"{name}.xml", compress_to_fp16=False)
    return folder / f"{name}.xml"


FORMATS = {"in the file": onnx_model, "external": partial(onnx_model, external=True), "OpenVINO": openvino_model}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    """Return a function that writes the small and the large model in a format, once."""

    @cache
    def written(kind: str) -> list[Path]:
        folder = tmp_path_factory.mktemp("models")
        return [FORMATS[kind](folder, name, size) for name, size in (("small", 64), ("large", SIZE))]

    return written


@pytest.mark.slow
@pytest.mark.no_validation
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("kind", FORMATS)
def test_weights_are_in_memory_once(
    vulkan: VulkanDevice, models: Callable[[str], list[Path]], kind: str, axis: str
) -> None:
    """On a CPU driver, device memory is the process's, so a second copy on either side would raise the peak."""
    if vulkan.device_class is not DeviceClass.CPU:
        pytest.skip("device memory is not the process's")
    small, large = models(kind)
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), small, large, str(vulkan.index), axis, "64", str(SIZE)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    before, peak, found = json.loads(run.stdout)
    # float32 products of 2,048 terms of either sign: 1e-5 of a sum of positive numbers is generous
    assert found == pytest.approx(result_of_ones(SIZE), rel=1e-5)
    assert peak - before < 1.2 * WEIGHTS + PASSING


@pytest.mark.slow
@pytest.mark.no_validation
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("axis", ["plain", "discrete"])
def test_256_mib_of_four_bits_raise_the_peak_by_at_most_300(vulkan: VulkanDevice, tmp_path: Path, axis: str) -> None:
    if vulkan.device_class is not DeviceClass.CPU:
        pytest.skip("device memory is not the process's")
    small, large = (
        compressed_model(tmp_path, "small", 2048, 64 * 128),
        compressed_model(tmp_path, "large", 16384, 32768),
    )
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), small, large, str(vulkan.index), axis, "8192", "32768"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    before, peak, found = json.loads(run.stdout)
    assert found > 0
    staging = PASSING if axis == "discrete" else 0
    assert peak - before <= (300 << 20) + staging
