// What the test programs share: they check themselves, say "ok" and leave with 0, or say what is wrong and leave with 3.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace program {

constexpr unsigned kSeed = 20261121;

[[noreturn]] inline void fail(const std::string& why, int line) {
  std::printf("line %d: %s (seed %u)\n", line, why.c_str(), kSeed);
  std::exit(3);
}

inline void expectCode(cudaError_t got, cudaError_t expected, const char* what, int line) {
  if (got != expected)
    fail(std::string(what) + " gave " + cudaGetErrorName(got) + ", expected " + cudaGetErrorName(expected), line);
}

template <class Value>
void expectSame(const std::vector<Value>& got, const std::vector<Value>& expected, const char* what, int line) {
  if (got.size() != expected.size()) fail(std::string(what) + " has another size", line);
  for (size_t i = 0; i < got.size(); ++i)
    if (std::memcmp(&got[i], &expected[i], sizeof(Value)) != 0)
      fail(std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) + ", expected " +
               std::to_string(expected[i]),
           line);
}

template <class Value>
Value* onDevice(const std::vector<Value>& values) {
  Value* memory = nullptr;
  expectCode(cudaMalloc(&memory, values.size() * sizeof(Value)), cudaSuccess, "cudaMalloc", __LINE__);
  expectCode(cudaMemcpy(memory, values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice), cudaSuccess, "cudaMemcpy",
             __LINE__);
  return memory;
}

template <class Value>
std::vector<Value> fromDevice(const Value* memory, size_t count) {
  std::vector<Value> values(count);
  expectCode(cudaMemcpy(values.data(), memory, count * sizeof(Value), cudaMemcpyDeviceToHost), cudaSuccess, "cudaMemcpy", __LINE__);
  return values;
}

/// Marsaglia's xorshift32. The standard's generators take the compiler half a second in each program.
class Random {
 public:
  explicit Random(unsigned salt = 0) : state_(kSeed + salt) {}
  uint32_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    return state_ ^= state_ << 5;
  }

 private:
  uint32_t state_;
};

/// Small integers, so that sums are exact in any order.
inline std::vector<float> randomIntegers(size_t count, unsigned salt = 0) {
  Random random(salt);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
  return values;
}

inline int finish() {
  expectCode(cudaDeviceSynchronize(), cudaSuccess, "cudaDeviceSynchronize", __LINE__);
  std::puts("ok");
  return 0;
}

}  // namespace program

#define CHECK(call) program::expectCode(call, cudaSuccess, #call, __LINE__)
#define EXPECT_CODE(call, code) program::expectCode(call, code, #call, __LINE__)
#define EXPECT(condition) ((condition) ? (void)0 : program::fail("not so: " #condition, __LINE__))
#define EXPECT_SAME(got, expected) program::expectSame(got, expected, #got, __LINE__)
