#include "bench/conv/gpu/card_rates.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "bench/conv/gpu/regimes.hpp"

namespace shiftconv::gpu {
namespace {

/// The little of cuBLAS that is needed here, opened at run time; names and values of cublas_api.h.
class Cublas {
 public:
  Cublas(const std::string& path, CUstream stream) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) fail(dlerror());
    const auto create = symbol<int (*)(void**)>(library, "cublasCreate_v2");
    const auto setStream = symbol<int (*)(void*, CUstream)>(library, "cublasSetStream_v2");
    gemm_ = symbol<decltype(gemm_)>(library, "cublasGemmEx");
    if (create(&handle_) != 0 || setStream(handle_, stream) != 0) fail("cublasCreate failed");
  }

  /// f16 matrices of `size` rows and columns, f32 sums.
  void multiply(int size, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) const {
    constexpr int kTransposed = 1, kNot = 0, kF16 = 2, kComputeF32 = 68, kDefaultAlgorithm = -1;
    const float one = 1, zero = 0;
    if (gemm_(handle_, kTransposed, kNot, size, size, size, &one, reinterpret_cast<const void*>(a), kF16, size,
              reinterpret_cast<const void*>(b), kF16, size, &zero, reinterpret_cast<void*>(c), kF16, size, kComputeF32,
              kDefaultAlgorithm) != 0)
      fail("cublasGemmEx failed");
  }

 private:
  [[noreturn]] static void fail(const char* reason) {
    fmt::print(stderr, "cuBLAS: {}\n", reason);
    std::exit(2);
  }
  template <class Function>
  static Function symbol(void* library, const char* name) {
    void* address = dlsym(library, name);
    if (address == nullptr) fail(name);
    return reinterpret_cast<Function>(address);
  }

  void* handle_ = nullptr;
  int (*gemm_)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*, void*, int,
               int, int, int) = nullptr;
};

}  // namespace

CardRates measureCard(const std::string& cublasLibrary, int rounds, CUstream stream) {
  CardRates rates;
  const auto measure = [&](double amount, auto&& enqueue, double& rested, double& sustained) {
    enqueue(stream);  // whatever is set up at the first call
    SHIFTCONV_GPU(cuStreamSynchronize(stream));
    Replay replay(stream, 2, enqueue);
    std::vector<TimedSide> sides(1);
    sides[0].many = &replay;
    timeRested(sides, rounds);
    rested = amount / median(sides[0].times[Regime::Rested]) * 1e6;
    sustained = amount / replay.timeSustained(100) * 1e6;
  };
  {
    constexpr size_t kBytes = size_t{1} << 30;
    const Buffer from(kBytes), to(kBytes);
    measure(
        2.0 * kBytes, [&](CUstream s) { SHIFTCONV_GPU(cuMemcpyDtoDAsync(to.address(), from.address(), kBytes, s)); },
        rates.copyRested, rates.copySustained);
  }
  if (!cublasLibrary.empty()) {
    constexpr int kSize = 8192;
    const Cublas cublas(cublasLibrary, stream);
    const Buffer a(2 * size_t{kSize} * kSize), b(a.bytes()), c(a.bytes());
    for (const Buffer* operand : {&a, &b}) SHIFTCONV_GPU(cuMemsetD8Async(operand->address(), 0x2C, operand->bytes(), stream));
    measure(
        2.0 * kSize * kSize * kSize, [&](CUstream) { cublas.multiply(kSize, a.address(), b.address(), c.address()); },
        rates.gemmRested, rates.gemmSustained);
  }
  return rates;
}

}  // namespace shiftconv::gpu
