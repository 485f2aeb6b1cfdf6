"""What gfx942 has and the emulator has not: names only, so that the error can say which instruction was met.

Graphics (typed buffers, cube maps, whole-quad forks), video (sums of differences over 64 bits), scalar atomics, traps
and debuggers, and half arithmetic that no compiler forms on gfx942. Source of names and opcodes: LLVM 22; a test finds
by LLVM's disassembler that every instruction is either in the table or here.
"""

ATOMICS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")
SIZES = ("ubyte", "sbyte", "ushort", "sshort", "dword")
CHANNELS = ("x", "xy", "xyz", "xyzw")
TYPED = [f"{kind}_format_{d16}{c}" for d16 in ("", "d16_") for kind in ("load", "store") for c in CHANNELS]
NAMES = {
    "SOP1": {31: "s_rfe_b64", 42: "s_movrels_b32", 43: "s_movrels_b64", 44: "s_movreld_b32", 45: "s_movreld_b64",
             46: "s_cbranch_join"},
    "SOP2": {41: "s_cbranch_g_fork", 43: "s_rfe_restore_b64"},
    "SOPC": {16: "s_setvskip"},
    "SOPK": {16: "s_cbranch_i_fork"},
    "SOPP": {11: "s_setkill", 17: "s_sendmsghalt", 23: "s_cbranch_cdbgsys", 24: "s_cbranch_cdbguser",
             25: "s_cbranch_cdbgsys_or_user", 26: "s_cbranch_cdbgsys_and_user", 27: "s_endpgm_saved",
             30: "s_endpgm_ordered_ps_done"},
    "SMEM": {5: "s_scratch_load_dword", 6: "s_scratch_load_dwordx2", 7: "s_scratch_load_dwordx4",
             21: "s_scratch_store_dword", 22: "s_scratch_store_dwordx2", 23: "s_scratch_store_dwordx4",
             24: "s_buffer_store_dword", 25: "s_buffer_store_dwordx2", 26: "s_buffer_store_dwordx4",
             38: "s_atc_probe", 39: "s_atc_probe_buffer", 40: "s_dcache_discard", 41: "s_dcache_discard_x2"}
    | {base + i: f"{prefix}_{name}{suffix}" for first, prefix in ((64, "s_buffer_atomic"), (128, "s_atomic"))
       for base, suffix in ((first, ""), (first + 32, "_x2")) for i, name in enumerate(ATOMICS)},
    "VOP1": {55: "v_screen_partition_4se_b32", 77: "v_cvt_norm_i16_f16", 78: "v_cvt_norm_u16_f16"},
    "VOP2": {35: "v_mac_f16", 36: "v_madmk_f16", 37: "v_madak_f16", 60: "v_pk_fmac_f16"},
    "VOP3": {452: "v_cubeid_f32", 453: "v_cubesc_f32", 454: "v_cubetc_f32", 455: "v_cubema_f32",
             485: "v_qsad_pk_u16_u8", 486: "v_mqsad_pk_u16_u8", 487: "v_mqsad_u32_u8", 490: "v_mad_legacy_f16",
             494: "v_fma_legacy_f16", 495: "v_div_fixup_legacy_f16", 496: "v_cvt_pkaccum_u8_f32", 515: "v_mad_f16",
             658: "v_trig_preop_f64", 665: "v_cvt_pknorm_i16_f16", 666: "v_cvt_pknorm_u16_f16"},
    "DS": {46: "ds_wrxchg2_rtn_b32", 47: "ds_wrxchg2st64_rtn_b32", 110: "ds_wrxchg2_rtn_b64",
           111: "ds_wrxchg2st64_rtn_b64"},
    "MUBUF": {i: f"buffer_{name}" for i, name in enumerate(TYPED)}
    | {38: "buffer_load_format_d16_hi_x", 39: "buffer_store_format_d16_hi_x"},
    "MTBUF": {i: f"tbuffer_{name}" for i, name in enumerate(TYPED)},
    "SCRATCH": {38 + i: f"scratch_load_lds_{size}" for i, size in enumerate(SIZES)},
}
