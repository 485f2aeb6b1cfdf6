"""Every instruction that real gfx942 kernels were found to use is in the table, with a handler in the core.

The list: what clang 22 at -O3 makes of HIP kernels, Triton 3.9 of FP8 GEMMs, and two public submissions of the FP8 GEMM
contest hold. A family is written as its members; "{a,b}" stands for each.
"""

import re
from itertools import product

import pytest

from fp8lab.gfx942.core import generate
from fp8lab.gfx942.isa import BY_NAME

SCALAR = """
s_{mov,not}_{b32,b64} s_movk_i32 s_addk_i32 s_mulk_i32 s_cmpk_{eq,lg,gt,ge,lt,le}_{i32,u32}
s_{add,sub}_{i32,u32} s_addc_u32 s_subb_u32 s_mul_i32 s_mul_hi_{i32,u32}
s_{and,or,xor,andn2}_{b32,b64} s_{lshl,lshr}_{b32,b64}
s_ashr_{i32,i64} s_bfe_{i32,u32,i64,u64} s_{min,max}_{i32,u32} s_abs_i32
s_cselect_{b32,b64} s_cmp_{eq,lg,gt,ge,lt,le}_{i32,u32}
s_cmp_{eq,lg}_u64 s_{and,or,xor,andn2}_saveexec_b64 s_ff1_i32_{b32,b64} s_flbit_i32_{b32,b64} s_bcnt1_i32_{b32,b64}
s_pack_{ll,lh,hh}_b32_b16 s_getpc_b64 s_swappc_b64 s_setpc_b64
"""
CONTROL = """
s_branch s_cbranch_{scc0,scc1,vccz,vccnz,execz,execnz} s_barrier s_waitcnt s_nop s_endpgm
s_load_dword{,x2,x4,x8,x16} s_buffer_load_dword{,x2,x4,x8,x16}
s_setreg_b32 s_setreg_imm32_b32 s_getreg_b32 s_sendmsg s_trap s_sleep s_setprio
"""
VECTOR = """
v_mov_b{32,64} v_{and,or,xor}_b32 v_{lshlrev_b32,lshrrev_b32,ashrrev_i32,lshlrev_b64,lshrrev_b64,ashrrev_i64}
v_{add,sub,subrev}_u32 v_{add,addc,sub,subb,subrev,subbrev}_co_u32 v_mul_lo_u32 v_mul_hi_{u32,i32}
v_mul_{u32_u24,i32_i24} v_mad_{u32_u24,i32_i24} v_mad_{u64_u32,i64_i32} v_lshl_add_{u32,u64} v_lshl_or_b32 v_and_or_b32
v_or3_b32 v_add3_u32 v_add_lshl_u32 v_xad_u32 v_bfe_{u32,i32} v_bfi_b32 v_perm_b32 v_alignbit_b32 v_alignbyte_b32
v_cndmask_b32 v_readfirstlane_b32 v_readlane_b32 v_writelane_b32 v_mbcnt_{lo,hi}_u32_b32 v_accvgpr_{read,write}_b32
v_cmp_{lt,eq,le,gt,ne,ge}_{i16,u16,i32,u32,i64,u64} v_cmp_{lt,eq,le,gt,lg,ge,o,u,nge,nlg,ngt,nle,neq,nlt}_{f16,f32,f64}
v_{add,sub,subrev,mul,min,max,fma,fmac,med3,min3,max3,rcp,rsq,exp,log,sqrt}_f32 v_pk_{fma,mul,add}_f32 v_rcp_iflag_f32
v_pk_{fma,mul,add,min,max}_f16 v_{add,mul,fma,fmac,min,max}_f64 v_{add,sub,mul,fma,min,max}_f16
v_cvt_{f32_i32,f32_u32,i32_f32,u32_f32,f32_f16,f16_f32,f64_f32,f32_f64,f64_i32,f64_u32,i32_f64,u32_f64,pkrtz_f16_f32}
v_cvt_f32_ubyte{0,1,2,3} v_cvt_f32_{fp8,bf8} v_cvt_pk_f32_{fp8,bf8} v_cvt_pk_{fp8,bf8}_f32 v_cvt_sr_{fp8,bf8}_f32
"""
MEMORY = """
{global,flat,scratch,buffer}_load_{ubyte,sbyte,ushort,sshort,dword,dwordx2,dwordx3,dwordx4}
{global,flat,scratch,buffer}_load_{ubyte,sbyte,short}_d16{,_hi}
{global,flat,scratch,buffer}_store_{byte,short,dword,dwordx2,dwordx3,dwordx4} {global,buffer}_store_{byte,short}_d16_hi
global_load_lds_{ubyte,ushort,dword} buffer_load_dword_lds
{global,flat,buffer}_atomic_{add,swap,cmpswap,add_f32,pk_add_f16}
ds_read_{b32,b64,b96,b128,u8,i8,u16,i16,u16_d16,u16_d16_hi} ds_write_{b8,b16,b32,b64,b96,b128,b8_d16_hi,b16_d16_hi}
ds_{read,write}2{,st64}_{b32,b64} ds_{bpermute,permute,swizzle}_b32 ds_add_{u32,f32} ds_add_rtn_{u32,f32}
"""
MATRIX = """
v_mfma_f32_{32x32x16,16x16x32}_{fp8,bf8}_{fp8,bf8} v_mfma_f32_{32x32x8,16x16x16}_{f16,bf16}
v_mfma_f32_{32x32x2,16x16x4}_f32
v_mfma_f32_{32x32x4_2b,16x16x4_4b,4x4x4_16b}_{f16,bf16} v_mfma_f32_{32x32x1_2b,16x16x1_4b,4x4x1_16b}_f32
v_mfma_i32_{32x32x16,16x16x32,32x32x4_2b,16x16x4_4b,4x4x4_16b}_i8 v_mfma_f32_{32x32x4,16x16x8}_xf32
v_mfma_f64_{16x16x4,4x4x4_4b}_f64 v_smfmac_f32_{32x32x16,16x16x32}_{f16,bf16} v_smfmac_i32_{32x32x32,16x16x64}_i8
v_smfmac_f32_{32x32x32,16x16x64}_{fp8,bf8}_{fp8,bf8}
"""


def spelt_out(pattern):
    parts = [part[1:-1].split(",") if part[0] == "{" else [part] for part in re.findall(r"{[^}]*}|[^{]+", pattern)]
    return ["".join(chosen) for chosen in product(*parts)]


FAMILIES = {"scalar": SCALAR, "control": CONTROL, "vector": VECTOR, "memory": MEMORY, "matrix": MATRIX}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_instruction_of_real_kernels_is_in_the_table(family):
    names = [name for pattern in FAMILIES[family].split() for name in spelt_out(pattern)]
    assert not [name for name in names if name not in BY_NAME]


def test_every_row_of_the_table_has_a_handler():
    text = "\n".join(generate.sources().values())
    assert not [name for name in BY_NAME if f"void op_{name}(Wave* w, const Ins* in) {{" not in text]
