"""Layers that OpenVINO's converters of PyTorch and TensorFlow emit, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

import dml
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")
o8, o14 = (pytest.importorskip(f"openvino.opset{n}") for n in (8, 14))
RNG = np.random.default_rng(22)


def test_elements(device, tmp_path):
    x = random(3, 5)
    odd = np.array([0.5, 1.5, -0.5, -2.5, np.inf, -np.inf, np.nan, 3], np.float32)
    bits = RNG.integers(-99, 99, (2, 4), np.int32)

    def make(a, b, i):
        return [
            o.asinh(a), o.acosh(o.add(o.abs(a), np.float32(1))), o.atanh(o.tanh(a)),
            o.is_nan(b), o.is_finite(b), o.is_inf(b),
            o.bitwise_and(i, np.int32(29)), o.bitwise_or(i, np.int32(29)), o.bitwise_xor(i, np.int32(29)),
            o.bitwise_not(i), o.bitwise_not(o.is_nan(b)),
            o.is_inf(b, {"detect_negative": False, "detect_positive": True}),
        ]  # fmt: skip

    both(device, tmp_path, make, x, odd, bits)


@pytest.mark.parametrize("mode", ["half_to_even", "half_away_from_zero"])
def test_round(device, tmp_path, mode):
    both(device, tmp_path, lambda a: o.round(a, mode), np.array([0.5, 1.5, -0.5, -2.5, 0.49, -7.2], np.float32))


@pytest.mark.parametrize("auto", ["explicit", "same_upper", "same_lower", "valid"])
def test_transposed_convolution(device, tmp_path, auto):
    x, w, g = random(1, 4, 4, 5), random(4, 3, 3, 2), random(2, 2, 3, 3, 2)

    def make(a):
        pads = ([1, 0], [0, 1])
        made = [
            o.convolution_backprop_data(a, w, [2, 3], None, *pads, [1, 2], auto, [1, 0]),
            o.group_convolution_backprop_data(a, g, [2, 3], None, *pads, [1, 2], auto),
        ]
        if auto.startswith("same"):
            made.append(o.convolution_backprop_data(a, w, [2, 3], o.constant([8, 14]), *pads, [1, 1], auto))
        return made

    both(device, tmp_path, make, x)


def test_transposed_convolution_of_one_dimension(device, tmp_path):
    w = random(2, 3, 4)
    both(device, tmp_path, lambda a: o.convolution_backprop_data(a, w, [2], None, [1], [1], [1]), random(2, 2, 5))


@pytest.mark.parametrize("rounding", ["floor", "ceil", "ceil_torch"])
def test_pooling_rounded_up(device, tmp_path, rounding):
    def make(a):
        return [
            o14.avg_pool(a, [3, 3], [1, 1], [1, 1], [3, 3], True, rounding),
            o14.max_pool(a, [3, 3], [1, 1], [1, 1], [1, 1], [3, 3], rounding).output(0),
        ]

    both(device, tmp_path, make, random(1, 2, 7, 9))


def test_counted_padding_of_rounded_up_sizes(device, tmp_path):
    """Where the output size is rounded up, elements beyond the padding do not count, as in PyTorch and the layer's
    documentation. (The CPU plugin is inconsistent.)"""
    x = o.parameter([1, 2, 7, 9], np.float32, name="x")
    array = random(1, 2, 7, 9)
    for rounding in ("ceil_torch", "ceil"):
        made = o14.avg_pool(x, [3, 3], [1, 1], [1, 1], [3, 3], False, rounding)
        ov.save_model(ov.Model([o.result(made)], [x], "m"), str(tmp_path / f"{rounding}.xml"))
    (found,) = read_model(tmp_path / "ceil_torch.xml").compile(device)({"x": array}).values()
    padded = np.pad(np.pad(array.astype(float), [(0, 0), (0, 0), (1, 1), (1, 1)]), [(0, 0), (0, 0), (0, 0), (0, 1)],
                    constant_values=np.nan)  # fmt: skip
    windows = padded.reshape(1, 2, 3, 3, 4, 3)
    np.testing.assert_allclose(found, np.nanmean(windows, (3, 5)), rtol=1e-5, atol=1e-6)
    with pytest.raises(dml.DMLError, match="rounding_type ceil is not supported with exclude-pad"):
        read_model(tmp_path / "ceil.xml").compile(device)


@pytest.mark.parametrize("axis", [0, 2])
def test_max_pooling_with_indices(device, tmp_path, axis):
    def make(a):
        pooled = o8.max_pool(a, [2, 2], [1, 1], [0, 0], [0, 0], [2, 3], "floor", "explicit", "i32", axis)
        return [pooled.output(0), pooled.output(1)]

    both(device, tmp_path, make, random(2, 3, 5, 6))


def test_adaptive_pooling(device, tmp_path):
    def make(a):
        return [
            o.adaptive_avg_pool(a, [3, 2]), o.adaptive_avg_pool(a, [1, 1]), o.adaptive_avg_pool(a, [4, 6]),
            o.adaptive_max_pool(a, o.constant([3, 4]), "i32").output(0),
        ]  # fmt: skip

    both(device, tmp_path, make, random(2, 3, 7, 8))


COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn"]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "linear_onnx", "cubic"])
def test_interpolate(device, tmp_path, mode, coordinates):
    def make(a):
        made = []
        for sizes in ([7, 9], [3, 2], [4, 12]):
            made.append(
                o.interpolate(a, np.array(sizes), mode, "sizes", [0, 0], [0, 0], coordinates, axes=np.array([2, 3]))
            )
        scales = np.array([1.5, 2.0], np.float32)
        given = {"coordinate_transformation_mode": coordinates, "axes": np.array([2, 3])}
        made.append(o.interpolate(a, scales, mode, "scales", [0, 0], [0, 0], **given))
        return made

    both(device, tmp_path, make, random(1, 2, 4, 6))


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"])
def test_nearest_modes(device, tmp_path, rounding):
    def make(a):
        axes = np.array([2, 3])
        return [
            o.interpolate(a, np.array(sizes), "nearest", "sizes", [0, 0], [0, 0], "half_pixel", rounding, axes=axes)
            for sizes in ([8, 12], [2, 3], [5, 5])
        ]

    both(device, tmp_path, make, random(1, 1, 4, 6))


def test_gathers(device, tmp_path):
    x = random(2, 3, 4, 5)
    along = RNG.integers(0, 4, (2, 3, 2, 5)).astype(np.int32)
    rows = np.array([[1, 2], [0, 0], [1, 1]], np.int32)
    each = np.array([[1, 0], [3, 3]], np.int64)

    def make(a):
        return [
            o.gather_elements(a, along, 2), o.gather_nd(a, rows), o.gather_nd(a, rows[:2, :1], 1),
            o.gather(a, each, 2, 1), o.gather(a, each % 3, o.constant(1), 0), o.gather(a, np.array(2), 3),
        ]  # fmt: skip

    both(device, tmp_path, make, x)


def test_scatters(device, tmp_path):
    x, updates = random(3, 4, 5), random(3, 2, 5)
    places = np.stack([RNG.permutation(4)[:2] for _ in range(15)]).reshape(3, 5, 2).swapaxes(1, 2).astype(np.int32)

    def make(a, u):
        return [
            o.scatter_elements_update(a, places, u, 1),
            o.scatter_update(a, np.array([2, 0], np.int32), u, 1),
            o.scatter_nd_update(a, np.array([[2], [0]], np.int32), random(2, 4, 5)),
        ]  # fmt: skip

    both(device, tmp_path, make, x, updates)


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("order", ["value", "index"])
def test_top_k(device, tmp_path, mode, order):
    def make(a):
        made = o.topk(a, np.int32(3), 1, mode, order, "i64")
        return [made.output(0), made.output(1)]

    both(device, tmp_path, make, random(2, 6, 3))


def test_sums_ranges_and_one_hot(device, tmp_path):
    ids = RNG.integers(0, 5, (2, 3)).astype(np.int64)

    def make(a, i):
        return [
            o.cum_sum(a, np.array(1), True, False), o.cum_sum(a, np.array(0), False, True),
            o.one_hot(i, np.array(5), np.array(2.5, np.float32), np.array(-1.0, np.float32), 1),
            o.one_hot(i, np.array(5), np.array(1), np.array(0), -1),
            o.add(a, o.range(np.array(0), np.array(4), np.array(1), "f32")),
        ]  # fmt: skip

    both(device, tmp_path, make, random(3, 4), ids)


def test_one_hot_ignores_negative_indices(device, tmp_path):
    ids = np.array([[-1, 0, -5], [4, 5, 2]], np.int64)
    both(device, tmp_path, lambda i: o.one_hot(i, np.array(5), np.array(2.5, np.float32), np.float32(-1), -1), ids)


def test_slices_backwards_from_before_the_first_element(device, tmp_path):
    def make(a):
        bounds = (np.array([-9, 1]), np.array([-99, -99]), np.array([-1, -1]))
        return [
            o8.slice(a, *bounds, np.array([1, 0])),
            o.strided_slice(a, *bounds, [0, 0], [0, 0]),
            o.strided_slice(o.shape_of(a), np.array([-9]), np.array([-99]), np.array([-2]), [0], [0]),
        ]

    both(device, tmp_path, make, random(2, 3))


def test_a_masked_begin_is_ignored_where_an_axis_is_removed(device, tmp_path):
    def make(a):
        bounds = (np.array([2, 1]), np.array([3, 2]), np.array([1, 1]))
        return o.strided_slice(a, *bounds, [1, 0], [0, 0], [0, 0], [1, 1], [0, 0])

    both(device, tmp_path, make, random(3, 4, 2))


def test_an_index_outside_an_axis_is_refused(device, tmp_path):
    x = o.parameter([-1], np.float32)
    bounds = (np.array([3]), np.array([4]), np.array([1]))
    path = tmp_path / "model.xml"
    ov.save_model(ov.Model([o.strided_slice(x, *bounds, [0], [0], [0], [1], [0])], [x]), str(path))
    with pytest.raises(dml.DMLError, match=r"index 3 lies outside dimension 0 of sizes \(2,\)"):
        read_model(path).compile(device)({x.friendly_name: random(2)})


def test_numbers_that_the_direct_ml_operator_lacks(device, tmp_path):
    whole = RNG.integers(0, 9, (2, 3)).astype(np.int32)
    flags = np.array([True, False])

    def make(a, f):
        return [
            o.squared_difference(o.convert(a, "i64"), np.int64(7)),
            o.power(a, np.int32(2)), o.reduce_l2(a, np.array(1)), o.reduce_mean(a, np.array([0])),
            o.pad(f, np.array([1]), np.array([2]), "constant", np.array(True)),
        ]  # fmt: skip

    both(device, tmp_path, make, whole, flags)


@pytest.mark.parametrize("sizes", [(2, 4), (2, 4, 5), (1, 4, 2, 3, 2)])
def test_response_normalization_of_any_rank(device, tmp_path, sizes):
    both(device, tmp_path, lambda a: o.lrn(a, np.array([1]), 0.5, 0.75, 1.0, 3), random(*sizes))


def test_constants_and_parts_without_elements(device, tmp_path):
    """A cache is empty at first, and so are the axes of a transposition of all."""

    def make(past, new):
        return [o.concat([past, new], 1), o.transpose(new, np.zeros(0, np.int64))]

    both(device, tmp_path, make, random(2, 0, 3), random(2, 4, 3))


@pytest.mark.parametrize("kind", ["u4", "i4", "nf4", "f8e4m3", "f8e5m2"])
@pytest.mark.parametrize("columns", [8, 7])
def test_compressed_weights(device, tmp_path, kind, columns):
    """Weights of 4 and 8 bits as NNCF stores them: converted, with scales, and zero points of unsigned ones."""
    count = 5 * columns
    data = RNG.integers(0, 256, count if kind.startswith("f8") else -(-count // 2)).astype(np.uint8)
    data &= 0x77 if kind.startswith("f8") else 0xFF  # no NaN or infinity
    weights = ov.Tensor(data, [5, columns], getattr(ov.Type, kind))
    scales = (0.01 * RNG.uniform(1, 2, (5, 1))).astype(np.float16)

    def make(a):
        w = o.convert(ov.op.Constant(weights), "f16")
        w = o.subtract(w, o.convert(o.constant(np.full((5, 1), 7, np.uint8)), "f16")) if kind == "u4" else w
        return o.matmul(a, o.convert(o.multiply(w, o.constant(scales)), "f32"), False, True)

    both(device, tmp_path, make, random(3, columns), tolerance=5e-3)


def test_fewer_indices_than_elements(device, tmp_path):
    def make(a, i, u):
        return o.scatter_elements_update(a, i, u, np.array(1), "none")

    both(device, tmp_path, make, random(3, 5, 4), np.array([[[1, 0], [4, 2]]]), random(1, 2, 2))


@pytest.mark.parametrize("mode", ["blocks_first", "depth_first"])
def test_depth_and_space(device, tmp_path, mode):
    x, volume = random(2, 8, 4, 6), random(1, 8, 2, 4, 2)

    def make(a, v):
        return [
            o.depth_to_space(a, mode, 2), o.space_to_depth(a, mode, 2),
            o.depth_to_space(v, mode, 2), o.space_to_depth(v, mode, 2),
        ]  # fmt: skip

    both(device, tmp_path, make, x, volume)


def test_batches_channels_and_turns(device, tmp_path):
    def make(a):
        return [
            o.space_to_batch(a, np.array([1, 1, 2, 3]), np.array([0, 0, 1, 0]), np.array([0, 0, 1, 0])),
            o.batch_to_space(a, np.array([1, 2, 1, 2]), np.array([0, 1, 0, 0]), np.array([0, 0, 0, 3])),
            o.shuffle_channels(a, 1, 3),
            o.roll(a, np.array([1, -2]), np.array([2, -1])),
        ]  # fmt: skip

    both(device, tmp_path, make, random(4, 6, 4, 6))


def test_attention(device, tmp_path):
    q, k, v = random(2, 3, 5, 8), random(2, 3, 6, 8), random(2, 3, 6, 4)
    shown = RNG.uniform(size=(2, 1, 5, 6)) < 0.7
    shown[..., 0] = True
    mask = random(5, 6)

    def make(a, b, c):
        attention = o.scaled_dot_product_attention
        return [
            attention(a, b, c), attention(a, b, c, causal=True), attention(a, b, c, o.constant(mask)),
            attention(a, b, c, o.constant(shown)),
            attention(a, b, c, o.constant(np.float32(0)), o.constant(np.float32(0.5))),
        ]  # fmt: skip

    both(device, tmp_path, make, q, k, v)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_a_sink(device, tmp_path, causal):
    """The sixth input, which OpenVINO's converters emit, is missing in its Python API: a factory creates the layer."""
    factory = pytest.importorskip("openvino.utils.node_factory").NodeFactory("opset13")
    sink, mask = random(1, 2, 1, 1), np.where(RNG.random((2, 1, 3, 5)) > 0.3, 0, -1e9).astype(np.float32)

    def make(q, k, v):
        inputs = [q, k, v, o.constant(mask), o.constant(np.float32(0.5)), o.constant(sink)]
        node = factory.create("ScaledDotProductAttention", [one.output(0) for one in inputs], {"causal": causal})
        return [node]

    both(device, tmp_path, make, random(2, 2, 3, 4), random(2, 2, 5, 4), random(2, 2, 5, 6))


@pytest.mark.parametrize("levels", [2, 16, 256])
def test_fake_quantize(device, tmp_path, levels):
    low = np.linspace(-2, -1, 3, dtype=np.float32).reshape(1, 3, 1)

    def make(a):
        numbers = (np.float32(-1.5), np.float32(1.25), np.float32(0.0), np.float32(10.0))
        return [o.fake_quantize(a, *map(o.constant, numbers), levels), o.fake_quantize(a, low, -low, low, -low, levels)]

    both(device, tmp_path, make, random(2, 3, 7))


@pytest.mark.parametrize("mode", ["add", "max"])
def test_normalizations(device, tmp_path, mode):
    def make(a):
        return [
            o.normalize_l2(a, np.array([1]), 1e-3, mode), o.normalize_l2(a, np.array([1, 2, 3]), 1e-3, mode),
            *(o.lrn(a, np.array(axes), 1e-1, 0.75, 1.0, size) for axes in ([1], [2, 3]) for size in (2, 3, 4)),
        ]  # fmt: skip

    both(device, tmp_path, make, random(2, 5, 4, 6))


def test_reductions_of_booleans(device, tmp_path):
    def make(a):
        positive = o.greater(a, np.float32(-0.5))
        return [o.reduce_logical_and(positive, [1], True), o.reduce_logical_or(positive, [0, 2], False)]

    both(device, tmp_path, make, random(3, 3, 2))


@pytest.mark.parametrize("aligned", ["asymmetric", "half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(device, tmp_path, aligned, ratio):
    rois = np.array([[0, 0, 9, 7], [2.5, 1.25, 6, 6.5], [3, 3, 3.25, 3.5]], np.float32)
    images = np.array([0, 1, 1], np.int32)

    def make(a):
        return o.roi_align(a, rois, images, 2, 3, ratio, 0.75, "avg", aligned)

    both(device, tmp_path, make, random(2, 3, 8, 8))


def test_slices_with_an_ellipsis(device, tmp_path):
    def make(a):
        zeros = [0, 0, 0]
        return o.strided_slice(
            a, np.array([1, 0, 1]), np.array([2, 0, 3]), np.array([1, 1, 1]), zeros, zeros, zeros, [1, 0, 0], [0, 1, 0]
        )

    both(device, tmp_path, make, random(3, 2, 4, 5))


def test_products_broadcast_in_many_dimensions(device, tmp_path):
    both(device, tmp_path, lambda a, b: o.matmul(a, b, True, False), random(2, 1, 3, 1, 4, 5), random(2, 1, 2, 4, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: o.interpolate(a, np.array([1, 9]), "linear", "sizes", [0, 0], [0, 0], antialias=True,
                                 axes=np.array([2, 3])), "one axis grows and another shrinks"),
        (lambda a: o.lrn(a, np.array([3]), 1.0, 1.0, 1.0, 3), "axes"),
    ],
)  # fmt: skip
def test_what_a_layer_asks_and_is_not_here(device, tmp_path, make, message):
    x = o.parameter([1, 2, 4, 4], np.float32, name="x")
    ov.save_model(ov.Model([o.result(make(x))], [x], "m"), str(tmp_path / "m.xml"))
    with pytest.raises(dml.DMLError, match=message):
        read_model(tmp_path / "m.xml").compile(device)


def test_products_of_vectors_that_repeat_an_element(device, tmp_path):
    def make(a, one):
        same = o.broadcast(one, np.int64([5]))
        return [o.matmul(same, a, False, False), o.matmul(o.transpose(a, np.int64([1, 0])), same, False, False)]

    both(device, tmp_path, make, random(5, 4), random(1))


def test_an_lstm_with_the_activations_of_both_directions(device, tmp_path):
    """Activations may be listed per direction, as in models converted from ONNX."""
    w, r, b = random(2, 12, 4), random(2, 12, 3), random(2, 12)
    h, lengths = np.zeros((2, 2, 3), np.float32), np.full(2, 5)

    def make(x):
        names = ["sigmoid", "tanh", "tanh"]
        return list(o.lstm_sequence(x, h, h, lengths, w, r, b, 3, "bidirectional", activations=names).outputs())

    both(device, tmp_path, make, x := random(2, 5, 4))
    path = tmp_path / "model.xml"
    text = path.read_text()
    assert text.count('activations="sigmoid, tanh, tanh"') == 1
    expected = read_model(path).compile(device)({"x0": x})
    path.write_text(text.replace("sigmoid, tanh, tanh", "sigmoid, tanh, tanh, sigmoid, tanh, tanh"))
    for name, found in read_model(path).compile(device)({"x0": x}).items():
        np.testing.assert_array_equal(found, expected[name])


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_padding_that_crops(device, tmp_path, mode):
    def make(a):
        return [
            o.pad(a, np.int64([0, 1, 0]), np.int64([0, -1, 2]), mode, np.float32(7)),
            o.pad(a, np.int64([-1, 0, -2]), np.int64([0, 0, -1]), mode, np.float32(7)),
        ]

    both(device, tmp_path, make, random(3, 4, 5))
