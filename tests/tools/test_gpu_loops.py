"""tools/gpu_compile --loops: multiply-adds in machine code as RADV prints it."""

from __future__ import annotations

import pytest

from tools.gpu_compilation.compiling import compile_chip
from tools.gpu_compilation.drivers import NoDriverError, vendor_of
from tools.gpu_compilation.loops import NO_LOOP, Loop, hottest
from tools.gpu_compilation.workloads import workloads

#: A loop around two others, of which the second has more products; code around them.
NESTED = """BB0:
\tv_fma_f32 v0, v1, v2, v3                                    ; d54b0000
BB1:
\tv_fmac_f32_e32 v9, v9, v9                                   ; 56121309
BB2:
\tv_fmac_f32_e32 v0, v1, v2                                   ; 56000501
\ts_cbranch_scc1 BB2                                          ; bf85fffe
BB3:
\ts_cbranch_execz BB5                                         ; bf880002
BB4:
\tv_mad_u32_u24 v0, v1, v2, v3                                ; d5430000
\tv_fmac_f32_e32 v0, v1, v2                                   ; 56000501
\tv_fmac_f32_e32 v0, v1, v2                                   ; 56000501
BB5:
\ts_branch BB3                                                ; bf82fffa
BB6:
\ts_cbranch_vccnz BB1                                         ; bf87fff0
\ts_endpgm                                                    ; bf810000
"""


def test_the_innermost_loop_with_the_most_products() -> None:
    assert hottest(NESTED) == Loop(products=2, instructions=5)
    assert str(hottest(NESTED)) == "2 / 5"


def test_where_there_is_none() -> None:
    straight = (
        "BB0:\n\tv_fma_f32 v0, v1, v2, v3 ; d54b0000\n\ts_cbranch_scc1 BB2 ; bf850001\nBB2:\n\ts_endpgm ; bf810000\n"
    )
    assert hottest(straight) == hottest("") == NO_LOOP
    assert str(NO_LOOP) == ""


@pytest.mark.parametrize(
    ("code", "products"),
    [
        ("v_fma_mix_f32 v0, v1, 1.0, v2 op_sel_hi:[1,0,0]", 1),
        ("v_fmaak_f32 v0, v1, v2, 0x3f800000", 1),
        ("v_dual_fmac_f32 v60, v40, v44 :: v_dual_fmac_f32 v61, v41, v44", 2),
        ("v_dual_fmac_f32 v60, v40, v44 :: v_dual_mov_b32 v61, v41", 1),
        ("v_pk_fma_f16 v0, v1, v2, v0", 2),
        ("v_dot4_i32_iu8 v0, v1, v2, v0", 4),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", 64),
        ("v_mad_u64_u32 v[0:1], s[0:1], v2, v3, v[4:5]", 0),
        ("ds_read_b128 v[0:3], v4 offset:16", 0),
    ],
)
def test_products_of_an_instruction(code: str, products: int) -> None:
    loop = f"BB1:\n\t{code} ; 00000000\n\tv_fmac_f32_e32 v0, v1, v2 ; 56000501\n\ts_branch BB1 ; bf82fffe\n"
    assert hottest(loop) == Loop(products + 1, 3)


def test_amds_compiler_tells_of_them() -> None:
    try:
        amd = vendor_of("navi21")
        installation = amd.find()
        (gemm,) = (workload for workload in workloads() if workload.name == "GEMM 4096x4096x4096")
        report = compile_chip(amd, installation, "navi21", [gemm], loops=True)
    except NoDriverError as error:
        pytest.skip(str(error))
    (figures,) = report.kernels.values()
    assert figures.loop.products >= 64
    assert figures.loop.instructions < figures.instructions
