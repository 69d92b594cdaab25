"""A worker process for one driver and chip: sends its device, receives kernels, answers with the figures of each.

Messages are pickles: the worker sends the VulkanDevice, receives a list of kernels, and sends the Figures or the error
of each. The first argument is the vendor. With --loops, the figures include the kernel's innermost loop.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

import vulkan as vk

from dml.runtime.devices import list_devices
from tools.gpu_compilation.figures import figures
from tools.gpu_compilation.pipelines import pipeline_compiler


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps the driver's output separate from the answers

    def answer(message: Any) -> None:
        pickle.dump(message, answers)
        answers.flush()

    devices = list_devices()
    if not devices:
        sys.exit("no device")
    with pipeline_compiler(devices[0], assembly="--loops" in sys.argv) as compiler:
        answer(devices[0])
        for kernel in pickle.load(sys.stdin.buffer):
            try:
                answer(figures(sys.argv[1], *compiler.compile(kernel)))
            except vk.VkError as error:
                answer(f"{type(error).__name__}")


if __name__ == "__main__":
    main()
