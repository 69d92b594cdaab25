"""Buffer sizes that keep llvmpipe from recompiling kernels with texel buffers.

Mesa 22.3.6's llvmpipe recompiles a kernel for each combination of two facts per texel buffer: whether the buffer's size
is a power of two, and whether bits 8 to 15 of the view's size are zero (which it takes for the last mipmap level).
"""

from dml.runtime.memory import PIECE_ALIGNMENT


def buffer_size(size: int) -> int:
    """Return the bytes to allocate for ``size``: no power of two, with PIECE_ALIGNMENT to spare for views."""
    size += PIECE_ALIGNMENT
    return size if size & (size - 1) else size + PIECE_ALIGNMENT


def view_size(size: int) -> int:
    """Return the smallest view size of at least ``size`` whose bits 8 to 15 are not all zero."""
    return size if size >> 8 & 0xFF else size + PIECE_ALIGNMENT
