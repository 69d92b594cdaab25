"""Pooling of regions of interest: maxima of cells, interpolated samples, and gradients of these samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml import descriptors as d
from dml import enums
from dml.conformance.layouts import Tensor
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, flags, sizes, tensor
from dml.conformance.references.regions import Sampling, pool
from dml.conformance.references.rounded import HALF, Rounded
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, filled
from dml.conformance.variety import exact
from dml.shapes import with_rank
from dml.tensors import DML_SIZE_2D

Array = npt.NDArray[Any]

#: Every image has several channels or batches, which the broadcast layout repeats. Repeated pixels would make all
#: samples of a region equal except for rounding.
_IMAGES = sizes("2x3x7x8", "1x2x1x1", "3x1x5x13", "2x2x23x9")
_REGIONS = {"5": 5, "1": 1, "17": 17}
_POOLED = {"2x3": (2, 3), "1x1": (1, 1), "7x7": (7, 7), "1x5": (1, 5)}


def _pooled(choice: Choice) -> Tensor:
    return tensor(choice.type, (choice.regions, choice.sizes[1], *choice.pooled))


def _inputs(desc: Any, values: Values) -> Inputs:
    """Return regions within, across and beyond the image, inverted and empty ones; ROI_POOLING's have integral
    corners."""
    image = desc.InputTensor or desc.OutputGradientTensor
    batch, _, height, width = image.Sizes
    whole = isinstance(desc, d.DML_ROI_POOLING_OPERATOR_DESC)

    def make(name: str, given: Tensor) -> Array:
        if name == "BatchIndicesTensor":
            return values.integers(given, 0, batch - 1)
        if name != "ROITensor":
            return values.between(given, -4, 4)
        rois = values.between(given, -3, 3 + max(height, width))
        if whole:
            rois = np.rint(rois)
            rois[..., 0] = values.rng.integers(0, batch, rois.shape[:-1])
            rois[..., 1:3], rois[..., 3:] = (
                np.minimum(rois[..., 1:3], rois[..., 3:]),
                np.maximum(rois[..., 1:3], rois[..., 3:]),
            )
        elif given.Sizes[-2] > 2:
            rois[..., 1, 2:] = rois[..., 1, :2]  # empty
            rois[..., 2, :] += 40  # outside
        return np.asarray(rois)

    return filled(desc, make)


# --- cells ------------------------------------------------------------------------------------------------------------


def _describe_pooling(choice: Choice) -> dict[str, Any]:
    height, width = choice.pooled
    return {
        "ROITensor": tensor(choice.type, (1, 1, choice.regions, 5)),
        "OutputTensor": _pooled(choice),
        "SpatialScale": choice.scale,
        "PooledSize": DML_SIZE_2D(Width=width, Height=height),
    }


def _pooling(desc: Any, inputs: Inputs) -> Expected:
    rois = inputs["ROITensor"].reshape(-1, 5)
    size = desc.PooledSize
    return exact(pool(inputs["InputTensor"], rois, desc.SpatialScale, size.Height, size.Width))


subject(
    d.DML_ROI_POOLING_OPERATOR_DESC,
    parameters={
        "sizes": _IMAGES,
        "regions": _REGIONS,
        "pooled": _POOLED,
        # products with these scales are exact: halves round away from zero
        "scale": {"1": 1.0, "0.5": 0.5, "2": 2.0},
    },
    describe=_describe_pooling,
    reference=_pooling,
    inputs=_inputs,
    values=("ordinary",),
)

# --- samples ----------------------------------------------------------------------------------------------------------


def _sampling(desc: Any) -> Sampling:
    return Sampling(
        mean=desc.ReductionFunction == enums.DML_REDUCE_FUNCTION_AVERAGE,
        nearest=desc.InterpolationMode == enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
        scale_x=desc.SpatialScaleX,
        scale_y=desc.SpatialScaleY,
        input_offset=getattr(desc, "InputPixelOffset", 0.5),
        output_offset=getattr(desc, "OutputPixelOffset", -0.5),
        outside=getattr(desc, "OutOfBoundsInputValue", 0.0),
        minimum=desc.MinimumSamplesPerOutput,
        maximum=desc.MaximumSamplesPerOutput,
        align=getattr(desc, "AlignRegionsToCorners", False),
    )


def _moved(rois: Array, sampling: Sampling, image: Tensor) -> list[Array]:
    """Return the regions, and copies with their corners moved by the error of float32 coordinates, in each direction.

    A sample near an element's edge may be on either side of it, and a size near an integer may have one sample more.
    """
    rois = rois.astype(np.float64)
    scales = np.array([sampling.scale_x, sampling.scale_y] * 2)
    reach = float(np.max(np.abs(rois * scales))) + max(image.Sizes[2:]) + 2
    step = 8 * HALF * reach / scales
    return [rois + step * ends for ends in ([0] * 4, [1] * 4, [-1] * 4, [1, 1, -1, -1], [-1, -1, 1, 1])]


def _expected(found: list[Array], terms: Array, count: int, output: Tensor, why: str) -> Expected:
    """Return the expected output with its error bound. found: the exact results for the regions and for each copy with
    moved corners; their differences are part of the bound. terms: for each element, the sum of the magnitudes of its at
    most ``count`` summands."""
    jumps = np.max([np.abs(other - found[0]) for other in found], axis=0)
    result = Rounded(found[0], 1.5 * jumps + (count + 16) * HALF * terms)
    return result.expected(output, f"coordinates in float32, {why}")


def _align(desc: Any, inputs: Inputs) -> Expected:
    sampling, x = _sampling(desc), inputs["InputTensor"]
    batches = inputs["BatchIndicesTensor"].ravel()
    rois = inputs["ROITensor"].reshape(-1, 4)
    sizes = desc.OutputTensor.Sizes[2:]
    moved = _moved(rois, sampling, desc.InputTensor)
    found = [sampling.align_regions(x, each, batches, *sizes) for each in moved]
    terms = np.full(desc.OutputTensor.Sizes, float(max(np.max(np.abs(x)), abs(sampling.outside))))
    return _expected(found, terms, 4, desc.OutputTensor, "and a mean of float32 samples in any order")


def _align_grad(desc: Any, inputs: Inputs) -> Outputs:
    sampling = _sampling(desc)
    image = desc.InputTensor or desc.OutputGradientTensor
    x = inputs.get("InputTensor", np.zeros(image.Sizes))
    gradient, batches = inputs["InputGradientTensor"], inputs["BatchIndicesTensor"].ravel()
    moved = _moved(inputs["ROITensor"].reshape(-1, 4), sampling, image)
    found = [sampling.grad(x, gradient, rois, batches) for rois in moved]
    terms = sampling.grad(x, gradient, moved[0], batches, terms=True)
    outputs: dict[str, Any] = {}
    for index, name in enumerate(("OutputGradientTensor", "OutputROIGradientTensor")):
        output = getattr(desc, name)
        if output is not None:
            parts = [each[index].reshape(output.Sizes) for each in found]
            outputs[name] = _expected(
                parts, terms[index].reshape(output.Sizes), 64, output, "float32 sums in any order"
            )
    return outputs


def _fields(choice: Choice, pooled: str) -> dict[str, Any]:
    """Return the fields that the operators share, and those that ROI_ALIGN lacks if the choice has them."""
    found = {
        pooled: _pooled(choice),
        "ROITensor": tensor(choice.type, with_rank((choice.regions, 4), choice.roi_rank)),
        "BatchIndicesTensor": tensor(choice.indices, with_rank((choice.regions,), choice.index_rank)),
        "ReductionFunction": choice.reduce,
        "InterpolationMode": choice.mode,
        "SpatialScaleX": choice.scale[0],
        "SpatialScaleY": choice.scale[1],
        "MinimumSamplesPerOutput": choice.samples[0],
        "MaximumSamplesPerOutput": choice.samples[1],
    }
    if getattr(choice, "offsets", None) is not None:
        found["InputPixelOffset"], found["OutputPixelOffset"] = choice.offsets
        found["AlignRegionsToCorners"] = choice.align
    return found


_PARAMETERS: dict[str, Any] = {
    "sizes": _IMAGES,
    "regions": _REGIONS,
    "pooled": _POOLED,
    "reduce": {"AVERAGE": enums.DML_REDUCE_FUNCTION_AVERAGE, "MAX": enums.DML_REDUCE_FUNCTION_MAX},
    "mode": {
        "LINEAR": enums.DML_INTERPOLATION_MODE_LINEAR,
        "NEAREST": enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
    },
    "scale": {"1": (1.0, 1.0), "0.75_1.3": (0.75, 1.3)},
    "samples": {"1+": (1, 2**32 - 1), "1": (1, 1), "2_3": (2, 3), "5+": (5, 2**32 - 1)},
    "indices": "BatchIndicesTensor",
    "roi_rank": {"2": 2, "4": 4},
    "index_rank": {"1": 1, "4": 4},
}
_OUTSIDE: dict[str, Any] = {"outside": {"0": 0.0, "-3.5": -3.5}}
_OFFSETS: dict[str, Any] = {"offsets": {"0.5_-0.5": (0.5, -0.5), "0_0": (0.0, 0.0)}, "align": flags()}

for _operator, _more in ((d.DML_ROI_ALIGN_OPERATOR_DESC, {}), (d.DML_ROI_ALIGN1_OPERATOR_DESC, _OFFSETS)):
    subject(
        _operator,
        parameters={**_PARAMETERS, **_OUTSIDE, **_more},
        describe=lambda choice: {**_fields(choice, "OutputTensor"), "OutOfBoundsInputValue": choice.outside},
        reference=_align,
        inputs=_inputs,
        values=("ordinary",),
    )


def _describe_grad(choice: Choice) -> dict[str, Any]:
    found = _fields(choice, "InputGradientTensor")
    image = tensor(choice.type, choice.sizes)
    needed = choice.wanted != "image" or choice.reduce == enums.DML_REDUCE_FUNCTION_MAX
    if needed and not choice.input:
        raise Skip("the input is needed for the gradient of regions, and for a maximum")
    return {
        **found,
        "InputTensor": image if choice.input else None,
        "OutputGradientTensor": None if choice.wanted == "regions" else image,
        "OutputROIGradientTensor": None if choice.wanted == "image" else found["ROITensor"],
    }


subject(
    d.DML_ROI_ALIGN_GRAD_OPERATOR_DESC,
    parameters={
        **_PARAMETERS,
        **_OFFSETS,
        "wanted": {"both": "both", "image": "image", "regions": "regions"},
        "input": {"yes": True, "no": False},
    },
    describe=_describe_grad,
    reference=_align_grad,
    inputs=_inputs,
    values=("ordinary",),
)
