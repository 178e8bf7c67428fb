// PyTorch's own declarations of its C ABI, and the glue's: where they differ, this does not compile.
#define USE_CUDA 1
#define TORCH_TARGET_VERSION 0x020b000000000000
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>

#include "conv/runtimes/torch/torch_abi.hpp"

static_assert(AOTI_TORCH_SUCCESS == 0);
