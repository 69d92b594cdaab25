"""Train a small classifier on scikit-learn's handwritten digits entirely on the Vulkan device.

    python examples/train_digits.py [--epochs 20] [--plot loss.png] [--device llvmpipe]

One compiled graph does a whole step: two GEMMs forward, softmax and its gradient, three GEMMs backward, RELU_GRAD, and
four ADAM_OPTIMIZERs. Needs scikit-learn for the data, and matplotlib for the plot.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from rich.progress import Progress

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor

CLASSES, PIXELS, HIDDEN, BATCH = 10, 64, 64, 128
SHAPES = {"w1": (PIXELS, HIDDEN), "b1": (1, HIDDEN), "w2": (HIDDEN, CLASSES), "b2": (1, CLASSES)}


def adam(graph: Builder, weights: Tensor, m: Tensor, v: Tensor, gradient: Tensor, step: Tensor) -> list[Tensor]:
    """Return the updated weights and moments."""

    def four(t: Tensor) -> Tensor:
        return t.view((1, 1, *t.sizes))

    desc = four(weights).desc
    outputs = ("OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor")
    made = graph.node(
        dml.DML_ADAM_OPTIMIZER_OPERATOR_DESC,
        dict.fromkeys(outputs, desc),
        InputParametersTensor=four(weights),
        InputFirstMomentTensor=four(m),
        InputSecondMomentTensor=four(v),
        GradientTensor=four(gradient),
        TrainingStepTensor=step,
        LearningRate=0.01,
        Beta1=0.9,
        Beta2=0.999,
        Epsilon=1e-8,
    )
    return [made[name].view(weights.sizes) for name in outputs]


def forward(x: Tensor, p: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return pre-activation and activation of the hidden layer, and the class scores."""
    before = op.gemm(x, p["w1"], p["b1"])
    hidden = op.relu(before)
    return before, hidden, op.gemm(hidden, p["w2"], p["b2"])


def training_step(device: dml.Device) -> Any:
    """Compile the graph of one step: images, labels, parameters and moments in; loss and new parameters and moments
    out."""
    graph = Builder(device)
    x, labels = graph.input("x", (BATCH, PIXELS)), graph.input("labels", (BATCH, CLASSES))
    step = graph.input("step", (1, 1, 1, 1), dml.DML_TENSOR_DATA_TYPE_UINT32)
    state = {
        kind: {name: graph.input(f"{kind}{name}", shape) for name, shape in SHAPES.items()} for kind in ("p", "m", "v")
    }
    p = state["p"]
    before, hidden, scores = forward(x, p)
    log_probabilities = op.log_softmax(scores, axes=[1])
    loss = op.reduce(log_probabilities * labels, dml.DML_REDUCE_FUNCTION_SUM) * (-1 / BATCH)
    d_scores = (op.exp(log_probabilities) - labels) * (1 / BATCH)
    d_hidden = op.gemm(d_scores, p["w2"], transpose_b=True)
    d_before = graph.one(
        dml.DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC,
        before.sizes,
        InputTensor=before,
        InputGradientTensor=d_hidden,
    )
    gradients = {
        "w1": op.gemm(x, d_before, transpose_a=True),
        "b1": op.reduce(d_before, dml.DML_REDUCE_FUNCTION_SUM, [0]),
        "w2": op.gemm(hidden, d_scores, transpose_a=True),
        "b2": op.reduce(d_scores, dml.DML_REDUCE_FUNCTION_SUM, [0]),
    }
    outputs = {"loss": loss}
    for name in SHAPES:
        moments = state["m"][name], state["v"][name]
        updated = adam(graph, p[name], *moments, gradients[name], step)
        outputs |= {f"{kind}{name}": tensor for kind, tensor in zip("pmv", updated, strict=True)}
    return graph.compile(outputs)


def classifier(device: dml.Device, count: int) -> Any:
    graph = Builder(device)
    x = graph.input("x", (count, PIXELS))
    return graph.compile({"scores": forward(x, {name: graph.input(f"p{name}", SHAPES[name]) for name in SHAPES})[2]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--plot", help="write the loss over time as a picture")
    parser.add_argument("--device", help="index of the Vulkan device, or part of its name")
    options = parser.parse_args()
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        print("this example needs scikit-learn: pip install scikit-learn", file=sys.stderr)
        return 1

    device = dml.create_device(options.device)
    images, classes = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(images))
    images, classes = (images[order] / 16).astype(np.float32), classes[order]
    labels = np.eye(CLASSES, dtype=np.float32)[classes]
    examples = 1408  # a whole number of batches; the rest is held out

    step = training_step(device)
    state = {f"{kind}{name}": np.zeros(shape, np.float32) for kind in "pmv" for name, shape in SHAPES.items()}
    for name in ("w1", "w2"):
        state[f"p{name}"] = rng.normal(0, SHAPES[name][0] ** -0.5, SHAPES[name]).astype(np.float32)

    losses: list[float] = []
    with Progress() as progress:
        task = progress.add_task(f"training on {device.vulkan.name}", total=options.epochs)
        for _ in range(options.epochs):
            order = rng.permutation(examples)
            for start in range(0, examples, BATCH):
                batch = order[start : start + BATCH]
                number = np.full((1, 1, 1, 1), len(losses) + 1, np.uint32)
                outputs = step.dispatch({"x": images[batch], "labels": labels[batch], "step": number, **state})
                losses.append(float(np.ravel(outputs.pop("loss"))[0]))
                state = outputs
            progress.update(task, advance=1, description=f"loss {losses[-1]:.4f}")
    weights = {name: array for name, array in state.items() if name.startswith("p")}
    held_out = images[examples:]
    scores = classifier(device, len(held_out)).dispatch({"x": held_out, **weights})["scores"]
    accuracy = float((scores.argmax(1) == classes[examples:]).mean())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; {accuracy:.1%} of {len(held_out)} unseen digits right")
    if options.plot:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        pyplot.plot(losses)
        pyplot.xlabel("step")
        pyplot.ylabel("loss")
        pyplot.savefig(options.plot)
        print(f"wrote {options.plot}")
    return 0 if accuracy > 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
