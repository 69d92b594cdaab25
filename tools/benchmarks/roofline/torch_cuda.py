"""Measure the same work in PyTorch on CUDA (cuBLAS, cuDNN, its own kernels), and print JSON: name -> seconds.

Any Python with PyTorch and CUDA can run this script; it uses nothing of this project.

TF32 stays off, so that FLOAT32 products have full precision.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

RUNS, TIMES = 20, 7
HALF, SINGLE = torch.float16, torch.float32


def random(*sizes: int, dtype: torch.dtype = SINGLE) -> torch.Tensor:
    return torch.randn(sizes, device="cuda", dtype=dtype)


def elementwise(dtype: torch.dtype) -> Callable[[], Any]:
    a, b = random(1 << 26, dtype=dtype), random(1 << 26, dtype=dtype)
    out = torch.empty_like(a)
    return lambda: torch.add(a, b, out=out)


def product(m: int, k: int, n: int, dtype: torch.dtype, *, transposed: bool = False) -> Callable[[], Any]:
    a = random(m, k, dtype=dtype)
    b = random(n, k, dtype=dtype).t() if transposed else random(k, n, dtype=dtype)
    out = torch.empty(m, n, device="cuda", dtype=dtype)
    return lambda: torch.matmul(a, b, out=out)


def rows(function: Callable[[torch.Tensor], Any], sizes: tuple[int, ...], dtype: torch.dtype) -> Callable[[], Any]:
    x = random(*sizes, dtype=dtype)
    return lambda: function(x)


def layer_norm(dtype: torch.dtype) -> Callable[[], Any]:
    scale, bias = random(4096, dtype=dtype), random(4096, dtype=dtype)
    return rows(lambda x: functional.layer_norm(x, (4096,), scale, bias), (16384, 4096), dtype)


def group_norm(dtype: torch.dtype) -> Callable[[], Any]:
    scale, bias = random(320, dtype=dtype), random(320, dtype=dtype)
    return rows(lambda x: functional.group_norm(x, 32, scale, bias), (32, 320, 64, 64), dtype)


def convolution(channels: int, outputs: int, side: int, window: int, dtype: torch.dtype, groups: int = 1) -> Any:
    x = random(32, channels, side, side, dtype=dtype)
    w, b = random(outputs, channels // groups, window, window, dtype=dtype), random(outputs, dtype=dtype)
    return lambda: functional.conv2d(x, w, b, padding=window // 2, groups=groups)


def attention(queries: int, keys: int, size: int, dtype: torch.dtype, batch: int = 4) -> Callable[[], Any]:
    q = random(batch, 32, queries, size, dtype=dtype)
    k, v = (random(batch, 32, keys, size, dtype=dtype) for _ in range(2))
    return lambda: functional.scaled_dot_product_attention(q, k, v)


def recurrent(kind: Any, hidden: int) -> Callable[[], Any]:
    network = kind(hidden, hidden).cuda()
    network.flatten_parameters()
    x = random(64, 32, hidden)
    return lambda: network(x)


def cases() -> dict[str, Callable[[], Callable[[], Any]]]:
    found: dict[str, Callable[[], Callable[[], Any]]] = {}
    for name, dtype in (("float32", SINGLE), ("float16", HALF)):
        found |= {
            f"add 64 Mi {name}": lambda d=dtype: elementwise(d),
            f"transpose 8192 x 8192 {name}": lambda d=dtype: rows(lambda x: x.t().contiguous(), (8192, 8192), d),
            f"softmax 16384 x 4096 {name}": lambda d=dtype: rows(lambda x: x.softmax(1), (16384, 4096), d),
            f"layer norm 16384 x 4096 {name}": lambda d=dtype: layer_norm(d),
            f"group norm 32 x 320 x 64 x 64 {name}": lambda d=dtype: group_norm(d),
            f"sum of rows 16384 x 4096 {name}": lambda d=dtype: rows(lambda x: x.sum(1), (16384, 4096), d),
            f"sum of columns 16384 x 4096 {name}": lambda d=dtype: rows(lambda x: x.sum(0), (16384, 4096), d),
            f"product 4096 {name}": lambda d=dtype: product(4096, 4096, 4096, d),
            f"product 1024 {name}": lambda d=dtype: product(1024, 1024, 1024, d),
            f"product 512 {name}": lambda d=dtype: product(512, 512, 512, d),
            f"vector by matrix 4096 x 11008 {name}": lambda d=dtype: product(1, 4096, 11008, d),
            f"vector by transposed 4096 x 11008 {name}": lambda d=dtype: product(1, 4096, 11008, d, transposed=True),
            f"8 rows by transposed 4096 x 11008 {name}": lambda d=dtype: product(8, 4096, 11008, d, transposed=True),
            f"convolution 3 x 3 64 at 56 {name}": lambda d=dtype: convolution(64, 64, 56, 3, d),
            f"convolution 3 x 3 256 at 14 {name}": lambda d=dtype: convolution(256, 256, 14, 3, d),
            f"convolution 1 x 1 256-1024 at 14 {name}": lambda d=dtype: convolution(256, 1024, 14, 1, d),
            f"depthwise 3 x 3 384 at 28 {name}": lambda d=dtype: convolution(384, 384, 28, 3, d, 384),
            f"attention 2048 of 64 {name}": lambda d=dtype: attention(2048, 2048, 64, d),
            f"attention 2048 of 128 {name}": lambda d=dtype: attention(2048, 2048, 128, d),
            f"attention 1 by 4096 of 128 {name}": lambda d=dtype: attention(1, 4096, 128, d, batch=8),
        }
    for hidden in (256, 512, 1024):
        found[f"GRU 64 x 32 x {hidden} float32"] = lambda h=hidden: recurrent(torch.nn.GRU, h)
        found[f"LSTM 64 x 32 x {hidden} float32"] = lambda h=hidden: recurrent(torch.nn.LSTM, h)
    return found


def seconds(run: Callable[[], Any]) -> float:
    """Return the median of several runs in a row, by CUDA events."""
    for _ in range(3):
        run()
    taken = []
    for _ in range(TIMES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(RUNS):
            run()
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end) / 1e3 / RUNS)
    return statistics.median(taken)


def main() -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    wanted = sys.argv[1:]
    found = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
    times = {}
    with torch.no_grad():
        for name, make in cases().items():
            if not wanted or name in wanted:
                times[name] = seconds(make())
                torch.cuda.empty_cache()
    print(json.dumps(found | {"seconds": times}))


if __name__ == "__main__":
    main()
