"""An image filter on the Vulkan device: turns a photograph into a drawing of its edges.

    python examples/image_filter.py [input.png] output.png [--device llvmpipe]

Blurs each channel (a depthwise convolution), takes horizontal and vertical differences (Sobel), and darkens the image
where they are large. Without an input it filters a generated picture. Needs Pillow.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder


def picture(size: int = 256) -> np.ndarray:
    """Return discs on a gradient, {H, W, 3} from 0 to 1."""
    y, x = np.mgrid[0:size, 0:size] / size
    image = np.stack([x, y, 1 - x], -1)
    for cx, cy, radius, colour in ((0.3, 0.35, 0.2, (1, 0.8, 0.1)), (0.65, 0.6, 0.27, (0.1, 0.5, 0.9))):
        image[(x - cx) ** 2 + (y - cy) ** 2 < radius**2] = colour
    return image.astype(np.float32)


def drawing(device: dml.Device, height: int, width: int) -> Any:
    """Return the compiled filter; its input and output are an image {H, W, 3} in the array's layout."""
    graph = Builder(device)
    pixels = graph.input("image", (1, height, width, 3))
    x = pixels.transpose(0, 3, 1, 2)  # channels last, by strides: nothing is moved
    line = np.array([1, 4, 6, 4, 1], np.float32) / 16
    blur = np.broadcast_to(np.outer(line, line), (3, 1, 5, 5))
    soft = op.convolution(x, blur, start_padding=(2, 2), end_padding=(2, 2), groups=3)
    sobel = np.outer([1, 2, 1], [-1, 0, 1]).astype(np.float32)
    edges = np.zeros((2, 3, 3, 3), np.float32)
    edges[0], edges[1] = sobel, sobel.T
    slopes = op.convolution(soft, edges, start_padding=(1, 1), end_padding=(1, 1))
    strength = op.reduce(slopes, dml.DML_REDUCE_FUNCTION_L2, [1])
    result = op.clip(soft * (1.0 - op.clip(strength, min=0.0, max=1.0)), min=0.0, max=1.0)
    return graph.compile({"image": result.transpose(0, 2, 3, 1)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="[input] output")
    parser.add_argument("--device", help="index of the Vulkan device, or part of its name")
    options = parser.parse_args()
    try:
        from PIL import Image
    except ImportError:
        print("this example needs Pillow: pip install pillow", file=sys.stderr)
        return 1
    *given, output = options.files
    if len(given) > 1:
        parser.error("at most one input")
    image = np.asarray(Image.open(given[0]).convert("RGB"), np.float32) / 255 if given else picture()
    device = dml.create_device(options.device)
    compiled = drawing(device, *image.shape[:2])
    result = compiled.dispatch({"image": image[None]})["image"][0]
    Image.fromarray(np.rint(result * 255).astype(np.uint8)).save(output)
    print(f"{device.vulkan.name}: {image.shape[1]} x {image.shape[0]} pixels, {output} written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
