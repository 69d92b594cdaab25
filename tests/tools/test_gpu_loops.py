"""tools/gpu_compile --loops: counts multiply-adds in machine code printed by Mesa's drivers."""

from __future__ import annotations

import pytest

from tools.gpu_compilation import record, shares
from tools.gpu_compilation.compiling import Report, compile_chip
from tools.gpu_compilation.drivers import NoDriverError, vendor_of
from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.loops import NO_LOOP, Loop, hottest
from tools.gpu_compilation.workloads import workloads

#: A loop with two inner loops, the second with more products, and code around them.
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
    assert hottest(NESTED, "amd") == Loop(products=2, instructions=5)
    assert str(hottest(NESTED, "amd")) == "2 / 5"


#: A loop whose body precedes the block that enters and leaves it.
ROTATED = """BB0:
\tv_mad_u32_u24 v0, v1, v2, v3                                ; d5430000
\tv_mad_u32_u24 v0, v1, v2, v3                                ; d5430000
\ts_branch BB2                                                ; bf82fffa
BB1:
\tv_fmac_f32_e32 v0, v1, v2                                   ; 56000501
BB2:
\ts_cmp_lt_u32 s0, s1                                         ; bf0a0100
\ts_cbranch_scc1 BB1                                          ; bf85fffe
BB3:
\ts_endpgm                                                    ; bf810000
"""


def test_a_loop_that_is_entered_at_its_end() -> None:
    assert hottest(ROTATED, "amd") == Loop(products=1, instructions=3)


def test_kernels_without_a_loop() -> None:
    straight = (
        "BB0:\n\tv_fma_f32 v0, v1, v2, v3 ; d54b0000\n\ts_cbranch_scc1 BB2 ; bf850001\nBB2:\n\ts_endpgm ; bf810000\n"
    )
    assert hottest(straight, "amd") == hottest("", "amd") == NO_LOOP
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
    assert hottest(loop, "amd") == Loop(products + 1, 3)


#: Code after the loop (block 2, which ends the program) is listed inside it.
NVIDIA = """block.u 0 L0 [] -> {{
      r0        = ffma r1 r2 r3                                   // delay=1
}} -> [1]
block.u 1 L1 [0, 3] -> {{
                  bra p0 L3                                       // delay=1
}} -> [2, 3]
block.u 2 L2 [1] -> {{
      r9        = ffma r1 r2 r3                                   // delay=1
                  exit                                            // delay=1
}} -> []
block 3 L3 [1] -> {{
      {}                                   // delay=4 wt=000001
                  bra pT L1                                       // delay=1
}} -> [1]
"""


@pytest.mark.parametrize(
    ("code", "products"),
    [
        ("r0        = ffma r1 r2 r0", 1),
        ("r0        = hfma2 r1 r2 r0", 2),
        ("r0..4     = hmma.m16n8k16.f32 r136..140 r156..158 r0..4", 64),
        ("r0..4     = imma.m16n8k32.s8.s8 r136..140 r156..158 r0..4", 128),
        ("r0        = idp4.s8.s8 r1 r2 r0", 4),
    ],
)
def test_nvidias_listing(code: str, products: int) -> None:
    assert hottest(NVIDIA.format(code), "nvidia") == Loop(products, 3)


def test_nvidias_integers_are_no_products() -> None:
    assert hottest(NVIDIA.format("r0        = imad r1 r2 r0"), "nvidia") == NO_LOOP


INTEL = """mad(8)          g9<1>F          g9<8,8,1>F      g5<8,8,1>F      g69<1,1,1>F {{ align1 1Q }};
LABEL9:
cmp.l.f0.0(16)  null<1>UD       g3<8,8,1>UD     g9<8,8,1>UD     {{ align1 1H }};
(+f0.0) break(16) JIP:  LABEL6         UIP:  LABEL6              {{ align1 1H }};
sync nop(1)                     null<0,1,0>UB                   {{ align1 WE_all 1N $6.src }};
{}
                slm MsgDesc: ( load, a32, d32, V4, dst_len = 4, src0_len = 1, src1_len = 0 flat )  base_offset 0
while(16)       JIP:  LABEL9                                    {{ align1 1H }};
LABEL6:
mad(8)          g9<1>F          g9<8,8,1>F      g5<8,8,1>F      g69<1,1,1>F {{ align1 1Q }};
"""


@pytest.mark.parametrize(
    ("code", "loop"),
    [
        ("mad(16)  g95<1>F  g120<8,8,1>F  g9<8,8,1>F  g69<1,1,1>F { align1 1H };", Loop(1, 4)),
        # Each instruction handles half of a subgroup
        (
            "mad(8)  g95<1>F  g120<8,8,1>F  g9<8,8,1>F  g69<1,1,1>F { align1 1Q };\n"
            "mad(8)  g96<1>F  g121<8,8,1>F  g9<8,8,1>F  g70<1,1,1>F { align1 2Q };",
            Loop(1, 5),
        ),
        ("mad(16)  g95<1>D  g120<8,8,1>D  g9<8,8,1>W  g69<1,1,1>D { align1 1H };", NO_LOOP),
        ("dp4a(16)  g95<1>D  g120<8,8,1>D  g9<8,8,1>D  g69<1,1,1>D { align1 1H };", Loop(4, 4)),
        # 8 x 16 results with 16 products of 16-bit numbers each, by 16 invocations
        ("dpas.8x8(16)  g95<1>F  g120<1,1,0>F  g9<1,1,0>HF  g69<1,1,0>HF { align1 1H $4 };", Loop(128, 4)),
        ("dpas.8x8(16)  g95<1>D  g120<1,1,0>D  g9<1,1,0>B  g69<1,1,0>B { align1 1H $4 };", Loop(256, 4)),
    ],
)
def test_intels_listing(code: str, loop: Loop) -> None:
    assert hottest(INTEL.format(code), "intel") == loop


def test_a_loop_of_intels_after_another() -> None:
    """Intel's "while" instruction falls through to the code after the loop, which may contain another loop."""
    loop = INTEL.format("mad(16)  g95<1>F  g120<8,8,1>F  g9<8,8,1>F  g69<1,1,1>F { align1 1H };")
    assert hottest(INTEL.format("") + loop.replace("LABEL", "LABEL1"), "intel") == Loop(1, 4)


ADRENO = """mad.f32 r0.x, r1.x, r2.x, r0.x
l633:
(ss)cmps.s.ge p0.x, r0.w, c4.y
(ss)br p0.x, #l1353
{}
(sy)(ss)jump #l633
l1353:
(jp)mad.f32 r0.x, r1.x, r2.x, r0.x
end
"""


@pytest.mark.parametrize(
    ("code", "loop"),
    [
        ("mad.f32 r0.x, r1.x, r2.x, r0.x", Loop(1, 4)),
        ("(ss)(rpt2)mad.f16 hr0.x, (r)hr1.x, hr2.x, (r)(last)hr0.x", Loop(3, 6)),
        ("(nop3) mad.f32 r0.x, r1.x, r2.x, r0.x", Loop(1, 7)),
        ("(rpt1)nop\ndp4acc.mixed.low r0.x, r1.x, r2.x, r0.x", Loop(4, 6)),
        ("(rpt2)madsh.m16 r13.z, c2.z, (r)r13.z, (r)r14.y", NO_LOOP),
    ],
)
def test_adrenos_listing(code: str, loop: Loop) -> None:
    assert hottest(ADRENO.format(code), "qualcomm") == loop


def test_a_vendor_without_a_listing() -> None:
    assert hottest(NESTED, "apple") == NO_LOOP


@pytest.mark.parametrize("chip", ["navi21", "dg2", "ampere", "a740"])
def test_the_compilers_tell_of_them(chip: str) -> None:
    try:
        vendor = vendor_of(chip)
        (gemm,) = (workload for workload in workloads() if workload.name == "GEMM 4096x4096x4096")
        report = compile_chip(vendor, vendor.find(), chip, [gemm], loops=True)
    except NoDriverError as error:
        pytest.skip(str(error))
    (figures,) = report.kernels.values()
    assert figures.loop.products >= 64
    assert figures.loop.products < figures.loop.instructions < figures.instructions


def test_the_table_leaves_out_kernels_that_changed_since(tmp_path) -> None:
    file = tmp_path / "shares.json"
    figures = {
        "GEMM 2048: gemm/shared": Figures(100, loop=Loop(48, 64)),
        "GEMM 4096: gemm/shared 2": Figures(100, loop=Loop(60, 64)),
        "GEMM padded: movement/copy": Figures(50, loop=Loop(1, 9)),
        "RELU: elementwise/map": Figures(20),
    }
    shares.save([Report("amd", "navi31", "26.1.6", figures), Report("apple", "m1", "26.1.6", {})], file)
    recorded = record.renewed(record.Record(), [Report("amd", "navi31", "26.1.6", figures)])
    assert shares.load(file) == {
        "navi31": {"GEMM 2048: gemm/shared": (48, 64, 100), "GEMM 4096: gemm/shared 2": (60, 64, 100)}
    }
    assert shares.markdown({"amd": recorded}, shares.load(file)).endswith(
        "| shader | navi31 |\n| --- | ---: |\n| gemm/shared | 0.84 (2) |\n"
    )
    recorded.figures["navi31"]["GEMM 4096: gemm/shared 2"] = record.row(Figures(101))
    assert shares.markdown({"amd": recorded}, shares.load(file)).endswith("| gemm/shared | 0.75 (1) |\n")
    shares.save([Report("amd", "navi31", "26.1.6", {})], file)
    assert shares.load(file) == {}
