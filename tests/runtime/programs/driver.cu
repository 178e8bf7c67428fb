// The driver API beside the runtime: entry points by name, modules from PTX text, launches, and the checks of tensor-map encoding.
#include <cuda.h>

#include "tests/runtime/programs/check.hpp"

#define EXPECT_DRIVER(call, code) EXPECT((call) == (code))

constexpr const char* kPtx = R"(
.version 9.0
.target sm_100a
.address_size 64
.global .u32 offset = 7;
.visible .entry shift(.param .u64 memory, .param .u32 by)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [memory];
  ld.param.u32 %r1, [by];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r3, [offset];
  add.s32 %r4, %r1, %r3;
  add.s32 %r5, %r4, %r2;
  st.global.u32 [%d3], %r5;
  ret;
}
)";

template <class Function>
Function* entryPoint(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
  EXPECT(status == cudaDriverEntryPointSuccess && found != nullptr);
  return reinterpret_cast<Function*>(found);
}

void modules() {
  CUmodule module = nullptr;
  CUfunction shift = nullptr;
  EXPECT_DRIVER(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  EXPECT_DRIVER(cuModuleGetFunction(&shift, module, "shift"), CUDA_SUCCESS);
  EXPECT_DRIVER(cuModuleGetFunction(&shift, module, "nothing"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr offset = 0, memory = 0;
  size_t bytes = 0;
  EXPECT_DRIVER(cuModuleGetGlobal(&offset, &bytes, module, "offset"), CUDA_SUCCESS);
  EXPECT(bytes == 4);
  EXPECT_DRIVER(cuMemsetD32(offset, 9, 1), CUDA_SUCCESS);
  EXPECT_DRIVER(cuMemAlloc(&memory, 33 * 4), CUDA_SUCCESS);
  EXPECT_DRIVER(cuMemsetD32(memory, 0xdeadbeef, 33), CUDA_SUCCESS);
  int by = 100;
  void* parameters[] = {&memory, &by};
  EXPECT_DRIVER(cuModuleGetFunction(&shift, module, "shift"), CUDA_SUCCESS);
  EXPECT_DRIVER(cuLaunchKernel(shift, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  std::vector<int> got(33), expected(33, static_cast<int>(0xdeadbeef));
  EXPECT_DRIVER(cuMemcpyDtoH(got.data(), memory, 33 * 4), CUDA_SUCCESS);
  for (int i = 0; i < 32; ++i) expected[i] = 109 + i;
  EXPECT_SAME(got, expected);

  struct {
    CUdeviceptr memory;
    int by;
  } block{memory, 200};
  size_t blockBytes = sizeof block;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &blockBytes, CU_LAUNCH_PARAM_END};
  EXPECT_DRIVER(cuLaunchKernel(shift, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  blockBytes = sizeof(CUdeviceptr) + sizeof(int) - 1;
  EXPECT_DRIVER(cuLaunchKernel(shift, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuMemcpyDtoH(got.data(), memory, 33 * 4), CUDA_SUCCESS);
  for (int i = 0; i < 32; ++i) expected[i] = 209 + i;
  EXPECT_SAME(got, expected);
  EXPECT_DRIVER(cuModuleLoadData(&module, "no device code at all"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_DRIVER(cuModuleLoad(&module, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
}

/// Host memory is the device's, too, from when it is registered until it is not.
void registeredMemory() {
  static int words[64];
  CUdeviceptr pointer = 0;
  EXPECT_DRIVER(cuMemHostRegister(words, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuMemHostGetDevicePointer(&pointer, words, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuMemHostRegister(words, sizeof words, 0), CUDA_SUCCESS);
  EXPECT_DRIVER(cuMemHostRegister(words, sizeof words, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_DRIVER(cuMemHostGetDevicePointer(&pointer, words, 0), CUDA_SUCCESS);
  EXPECT_DRIVER(cuMemsetD32(pointer + 4, 77, 62), CUDA_SUCCESS);
  EXPECT_DRIVER(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT(words[0] == 0 && words[1] == 77 && words[62] == 77 && words[63] == 0);
  EXPECT_DRIVER(cuMemsetD32(pointer + 4, 77, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(cuMemHostUnregister(words), CUDA_SUCCESS);
  EXPECT_DRIVER(cuMemHostUnregister(words), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

void tensorMaps() {
  auto* const encode = entryPoint<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  CUdeviceptr memory = 0;
  EXPECT_DRIVER(cuMemAlloc(&memory, 1 << 16), CUDA_SUCCESS);
  alignas(64) CUtensorMap map;
  const cuuint64_t dims[2] = {64, 128}, strides[1] = {128};
  const cuuint32_t steps[2] = {1, 1};
  const auto encoded = [&](cuuint32_t rank, cuuint64_t pitch, cuuint32_t boxRows, CUtensorMapSwizzle swizzle, uint64_t shift) {
    const cuuint32_t box[2] = {64, boxRows};
    return encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, reinterpret_cast<void*>(memory + shift), dims, &pitch, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  (void)strides;
  EXPECT_DRIVER(encoded(2, 128, 128, CU_TENSOR_MAP_SWIZZLE_128B, 0), CUDA_SUCCESS);
  EXPECT_DRIVER(encoded(0, 128, 128, CU_TENSOR_MAP_SWIZZLE_128B, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(encoded(6, 128, 128, CU_TENSOR_MAP_SWIZZLE_128B, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DRIVER(encoded(2, 120, 128, CU_TENSOR_MAP_SWIZZLE_128B, 0), CUDA_ERROR_INVALID_VALUE);  // pitch
  EXPECT_DRIVER(encoded(2, 128, 257, CU_TENSOR_MAP_SWIZZLE_128B, 0), CUDA_ERROR_INVALID_VALUE);  // box
  EXPECT_DRIVER(encoded(2, 128, 128, CU_TENSOR_MAP_SWIZZLE_64B, 0), CUDA_ERROR_INVALID_VALUE);   // inner box > swizzle
  EXPECT_DRIVER(encoded(2, 128, 128, CU_TENSOR_MAP_SWIZZLE_128B, 8), CUDA_ERROR_INVALID_VALUE);  // address
  EXPECT_DRIVER(encoded(2, 128, 128, static_cast<CUtensorMapSwizzle>(77), 0), CUDA_ERROR_INVALID_VALUE);
}

int main() {
  int count = 0, capability = 0;
  char name[64];
  EXPECT_DRIVER(cuInit(0), CUDA_SUCCESS);
  EXPECT_DRIVER(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT(count == 1);
  EXPECT_DRIVER(cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT(std::string(name) == "emulated sm_100a");
  EXPECT_DRIVER(cuDeviceGetAttribute(&capability, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT(capability == 10);
  modules();
  registeredMemory();
  tensorMaps();
  void* missing = &count;
  cudaDriverEntryPointQueryResult status{};
  CHECK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &missing, 12000, cudaEnableDefault, &status));
  EXPECT(status == cudaDriverEntryPointSymbolNotFound && missing == nullptr);
  const char* text = nullptr;
  EXPECT_DRIVER(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT(std::string(text) == "CUDA_ERROR_INVALID_VALUE");
  return program::finish();
}
