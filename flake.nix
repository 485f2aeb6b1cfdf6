# What Nix reads: kernel-builder turns build.toml into one package a build variant. Update it with `nix flake update`.
{
  description = "FP8 (e4m3fnuz) block-scaled GEMM for AMD Instinct MI300X";

  inputs.kernel-builder.url = "github:huggingface/kernels";

  outputs =
    { self, kernel-builder, ... }:
    kernel-builder.lib.genKernelFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
