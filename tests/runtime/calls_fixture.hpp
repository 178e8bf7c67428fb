// Calls of both CUDA APIs from the test's own process: device code as PTX text, and what is expected of every call.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/emulator/cuda_runtime/core/error_names.hpp"

namespace shiftconv::tests {

/// `shift` adds 7 and `by` to the numbers of its threads, and has as much static memory and as few threads as its tables say;
/// `pair` asks for clusters of two.
inline constexpr const char* kCallsPtx = R"(
.version 9.0
.target sm_100a
.address_size 64
.global .align 4 .u32 offset = 7;
.global .align 4 .b8 twelve[12];
.visible .entry shift(.param .u64 memory, .param .u32 by)
.maxntid 96, 1, 1
.maxnreg 40
{
  .shared .align 4 .b8 rows[400];
  .local .align 8 .b8 depot[32];
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
.visible .entry pair() .reqnctapercluster 2, 1, 1
{
  ret;
}
)";

inline cudaError_t codeOf(cudaError_t code) { return code; }
inline cudaError_t codeOf(CUresult code) { return static_cast<cudaError_t>(code); }  // the same numbers for the same reasons

inline testing::AssertionResult gives(const char* call, cudaError_t got, cudaError_t expected) {
  (void)cudaGetLastError();
  if (got == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << call << " gave " << runtime::errorName(got) << " instead of "
                                     << runtime::errorName(expected);
}

#define EXPECT_CODE(call, code) EXPECT_TRUE(gives(#call, codeOf(call), codeOf(code)))
#define EXPECT_DONE(call) EXPECT_CODE(call, cudaSuccess)

/// A test leaves as much memory as it has found, but for what its graphs keep.
class Calls : public testing::Test {
 protected:
  Calls() : before_(freeBytes()) {}
  ~Calls() override { EXPECT_EQ(freeBytes(), before_) << "bytes of memory"; }

  static uint64_t freeBytes() {
    size_t free = 0;
    uint64_t ofGraphs = 0;
    EXPECT_DONE(cudaMemGetInfo(&free, nullptr));
    EXPECT_DONE(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &ofGraphs));
    return free + ofGraphs;
  }

  /// What `shift` leaves in `count` numbers.
  static std::vector<int> shifted(int count, int by) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(7 + by + i);
    return numbers;
  }
  template <class Value>
  static std::vector<Value> fromDevice(const void* memory, size_t count) {
    std::vector<Value> values(count);
    EXPECT_DONE(cudaMemcpy(values.data(), memory, count * sizeof(Value), cudaMemcpyDeviceToHost));
    return values;
  }
  template <class Value = void>
  static Value* allocated(size_t bytes, int byte = 0) {
    void* memory = nullptr;
    EXPECT_DONE(cudaMalloc(&memory, bytes));
    EXPECT_DONE(cudaMemset(memory, byte, bytes));
    return static_cast<Value*>(memory);
  }
  static std::string ptxFile() {
    const std::string path = testing::TempDir() + "calls.ptx";
    std::ofstream(path) << kCallsPtx;
    return path;
  }
  /// Has the size of nothing that the device knows.
  static inline std::array<uint64_t, 64> nobody{};

 private:
  const uint64_t before_;
};

}  // namespace shiftconv::tests
