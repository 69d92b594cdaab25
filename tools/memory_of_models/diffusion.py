"""The networks of Stable Diffusion 1.5 with random weights: the UNet and the autoencoder's decoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from tools.memory_of_models.writer import Made, ModelWriter, layers_of, to_multiple

_TOKENS, _CONTEXT = 77, 768  # sizes of the encoded text
_EMBEDDED = 320  # sines and cosines that embed a time step


class _Diffusion(ModelWriter):
    """Layers that both networks use."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self.constant("double", [1, 1, 2, 2], np.float32)
        self.constant("rows", [0, 0, -1])

    def conv(self, x: str, inputs: int, outputs: int, y: str, *, size: int = 3, stride: int = 1) -> str:
        weights = [self.floats(f"{y}.w", outputs, inputs, size, size), self.floats(f"{y}.b", outputs, size=0.01)]
        return self.node("Conv", [x, *weights], y, pads=[size // 2] * 4, strides=[stride] * 2)

    def group_norm(self, x: str, channels: int, y: str) -> str:
        parameters = [self.weight(f"{y}.g", np.ones(channels, np.float32)), self.floats(f"{y}.b", channels, size=0.01)]
        return self.node("GroupNormalization", [x, *parameters], y, num_groups=min(32, channels // 2), epsilon=1e-5)

    def silu(self, x: str, y: str) -> str:
        return self.node("Mul", [x, self.node("Sigmoid", [x], f"{y}.s")], y)

    def residual(self, x: str, inputs: int, outputs: int, y: str, time: tuple[str, int] | None = None) -> str:
        """Add two 3 x 3 convolutions, each after a group normalization and SiLU. time: a value {batch, width} to add
        between them, and its width."""
        h = self.conv(self.silu(self.group_norm(x, inputs, f"{y}.n0"), f"{y}.a0"), inputs, outputs, f"{y}.c0")
        if time is not None:
            shift = self.linear(time[0], time[1], outputs, f"{y}.time")
            shift = self.node("Unsqueeze", [shift, self.constant(f"{y}.axes", [2, 3])], f"{y}.shift")
            h = self.node("Add", [h, shift], f"{y}.timed")
        h = self.conv(self.silu(self.group_norm(h, outputs, f"{y}.n1"), f"{y}.a1"), outputs, outputs, f"{y}.c1")
        if inputs != outputs:
            x = self.conv(x, inputs, outputs, f"{y}.skip", size=1)
        return self.node("Add", [x, h], y)

    def larger(self, x: str, channels: int, y: str) -> str:
        """Double the height and width, then convolve."""
        wide = self.node("Resize", [x, "", "double"], f"{y}.wide", mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
        return self.conv(wide, channels, channels, y)

    def flat(self, x: str, y: str) -> str:
        """Turn {batch, channel, height, width} into {batch, position, channel}."""
        return self.node("Transpose", [self.node("Reshape", [x, "rows"], f"{y}.rows")], y, perm=[0, 2, 1])

    def image(self, rows: str, like: str, y: str) -> str:
        """Reverse ``flat``, to the shape of ``like``."""
        turned = self.node("Transpose", [rows], f"{y}.t", perm=[0, 2, 1])
        return self.node("Reshape", [turned, self.node("Shape", [like], f"{y}.shape")], y)

    def attention(self, x: str, source: str, width: int, heads: int, y: str, given: int | None = None) -> str:
        """Add attention of x {batch, position, width} over source {batch, position, given}, by default of
        the same width."""
        shape = self.constant(f"{y}.heads", [0, 0, heads, -1])
        parts = []
        inputs = (("q", x, width, [0, 2, 1, 3]), ("k", source, given, [0, 2, 3, 1]), ("v", source, given, [0, 2, 1, 3]))
        for part, values, columns, order in inputs:
            made = self.linear(values, columns or width, width, f"{y}.{part}")
            split = self.node("Reshape", [made, shape], f"{y}.{part}.split")
            parts.append(self.node("Transpose", [split], f"{y}.{part}.t", perm=order))
        root = self.constant(f"{y}.root", float((width // heads) ** 0.5), np.float32)
        scores = self.node("Div", [self.node("MatMul", parts[:2], f"{y}.qk"), root], f"{y}.scores")
        weights = self.node("Softmax", [scores], f"{y}.weights", axis=-1)
        context = self.node("MatMul", [weights, parts[2]], f"{y}.context")
        joined = self.node("Transpose", [context], f"{y}.together", perm=[0, 2, 1, 3])
        return self.linear(self.node("Reshape", [joined, "rows"], f"{y}.joined"), width, width, y)

    def transformer(self, x: str, width: int, context: str, y: str) -> str:
        """Add self-attention of 8 heads, cross-attention over the text, and a gated feed-forward layer."""
        heads = 8
        rows = self.conv(self.group_norm(x, width, f"{y}.n"), width, width, f"{y}.in", size=1)
        h = self.flat(rows, f"{y}.flat")
        n = self.normalized(h, width, f"{y}.n1")
        h = self.node("Add", [h, self.attention(n, n, width, heads, f"{y}.self")], f"{y}.h1")
        n = self.normalized(h, width, f"{y}.n2")
        h = self.node("Add", [h, self.attention(n, context, width, heads, f"{y}.cross", _CONTEXT)], f"{y}.h2")
        n = self.normalized(h, width, f"{y}.n3")
        gate = self.node("Gelu", [self.linear(n, width, 4 * width, f"{y}.gate")], f"{y}.gelu")
        gated = self.node("Mul", [self.linear(n, width, 4 * width, f"{y}.up"), gate], f"{y}.gated")
        h = self.node("Add", [h, self.linear(gated, 4 * width, width, f"{y}.down")], f"{y}.h3")
        made = self.conv(self.image(h, rows, f"{y}.image"), width, width, f"{y}.out", size=1)
        return self.node("Add", [x, made], y)


def unet(folder: Path, scale: float) -> Made:
    """Write the UNet for 32 x 32."""
    w = _Diffusion(folder, "unet")
    widths = [to_multiple(width * scale, 32) for width in (320, 640, 1280, 1280)]
    sample = w.input("sample", ["batch", 4, 32, 32])
    step = w.input("timestep", ["batch", 1])
    text = w.input("encoder_hidden_states", ["batch", _TOKENS, _CONTEXT])
    frequencies = 1e4 ** -(np.arange(_EMBEDDED // 2) / (_EMBEDDED // 2))
    angles = w.node("Mul", [step, w.weight("frequencies", frequencies.astype(np.float32)[None])], "angles")
    embedded = w.node("Concat", [w.node("Cos", [angles], "cos"), w.node("Sin", [angles], "sin")], "embedded", axis=1)
    wide = 4 * widths[0]
    hidden = w.silu(w.linear(embedded, _EMBEDDED, wide, "time1"), "time1.a")
    time = w.silu(w.linear(hidden, wide, wide, "time2"), "time2.a"), wide
    x, last = w.conv(sample, 4, widths[0], "first"), widths[0]
    kept = [(x, last)]
    blocks = layers_of(2, scale)
    for level, width in enumerate(widths):
        for block in range(blocks):
            x, last = w.residual(x, last, width, f"down{level}.{block}", time), width
            if level < 3:
                x = w.transformer(x, width, text, f"down{level}.{block}.t")
            kept.append((x, width))
        if level < 3:
            x = w.conv(x, width, width, f"halved{level}", stride=2)
            kept.append((x, width))
    x = w.residual(x, last, last, "middle0", time)
    x = w.residual(w.transformer(x, last, text, "middle.t"), last, last, "middle1", time)
    for level, width in reversed([*enumerate(widths)]):
        for block in range(blocks + 1):
            skip, more = kept.pop()
            joined = w.node("Concat", [x, skip], f"up{level}.{block}.joined", axis=1)
            x, last = w.residual(joined, last + more, width, f"up{level}.{block}", time), width
            if level < 3:
                x = w.transformer(x, width, text, f"up{level}.{block}.t")
        if level:
            x = w.larger(x, width, f"larger{level}")
    x = w.silu(w.group_norm(x, last, "norm"), "norm.a")
    w.output(w.conv(x, last, 4, "y"), ["batch", 4, 32, 32])
    rng = np.random.default_rng(1)
    feeds = {
        "sample": rng.standard_normal((1, 4, 32, 32), np.float32),
        "timestep": np.array([[500]], np.float32),
        "encoder_hidden_states": rng.standard_normal((1, _TOKENS, _CONTEXT), np.float32),
    }
    return w.finish(feeds)


def vae_decoder(folder: Path, scale: float) -> Made:
    """Write the autoencoder's decoder, from 32 x 32 to 256 x 256."""
    w = _Diffusion(folder, "vae")
    widths = [to_multiple(width * scale, 16) for width in (512, 512, 256, 128)]
    latent = w.input("latent_sample", ["batch", 4, 32, 32], TensorProto.FLOAT)
    last = widths[0]
    x = w.conv(w.conv(latent, 4, 4, "post", size=1), 4, last, "first")
    x = w.residual(x, last, last, "middle0")
    rows = w.flat(w.group_norm(x, last, "middle.n"), "middle.flat")
    attended = w.image(w.attention(rows, rows, last, 1, "middle.a"), x, "middle.image")
    x = w.residual(w.node("Add", [x, attended], "middle.x"), last, last, "middle1")
    for level, width in enumerate(widths):
        for block in range(layers_of(3, scale)):
            x, last = w.residual(x, last, width, f"up{level}.{block}"), width
        if level < 3:
            x = w.larger(x, width, f"larger{level}")
    x = w.silu(w.group_norm(x, last, "norm"), "norm.a")
    w.output(w.conv(x, last, 3, "y"), ["batch", 3, 256, 256])
    return w.finish({"latent_sample": np.random.default_rng(1).standard_normal((1, 4, 32, 32), np.float32)})
