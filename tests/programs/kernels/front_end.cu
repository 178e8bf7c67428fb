// What compilers emit beside arithmetic: calls (also recursive and through structures), local arrays with run-time
// indices, dense switches, branch tables, constant and global variables, 64-bit division, early returns.
#include <cstdint>

__constant__ int32_t weights[8] = {3, -1, 4, 1, -5, 9, 2, -6};
__device__ uint32_t calls;  // zero when the module is loaded

struct Pair {
  int64_t quotient;
  int32_t remainder;
};

__noinline__ __device__ Pair divide(int64_t numerator, int32_t denominator) {
  return {numerator / denominator, static_cast<int32_t>(numerator % denominator)};
}

__noinline__ __device__ uint32_t ackermann(uint32_t m, uint32_t n) {
  atomicAdd(&calls, 1u);
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__noinline__ __device__ int32_t operate(int32_t code, int32_t a, int32_t b) {
  switch (code) {
    case 0:
      return a + b;
    case 1:
      return a - 3 * b;
    case 2:
      return a * b;
    case 3:
      return b == 0 ? -1 : a / b;
    case 4:
      return b == 0 ? -2 : a % b;
    case 5:
      return a & b;
    case 6:
      return a | ~b;
    case 7:
      return a ^ b;
    case 8:
      return a << (b & 31);
    case 9:
      return a >> (b & 31);
    case 10:
      return __popc(a) - __clz(b);
    case 11:
      return min(a, b);
    case 12:
      return __brev(a) ^ b;
    default:
      return 1000 + code;
  }
}

// A branch table whose lanes go different ways; nvcc 13 turns switches into trees of tests, other compilers do not.
__noinline__ __device__ int32_t lookUp(uint32_t index, int32_t a) {
  int32_t result;
  asm("{\n"
      "table: .branchtargets first, second, third, second;\n"
      "brx.idx %1, table;\n"
      "first: add.s32 %0, %2, 11;\n"
      "bra leave;\n"
      "second: mul.lo.s32 %0, %2, -5;\n"
      "bra leave;\n"
      "third: not.b32 %0, %2;\n"
      "leave:\n"
      "}"
      : "=r"(result)
      : "r"(index), "r"(a));
  return result;
}

// Sorts a local array by insertion and folds it with the constants.
__noinline__ __device__ int32_t sortedFold(const int32_t* values, int32_t count) {
  int32_t sorted[16];
  for (int32_t i = 0; i < count; ++i) {
    int32_t j = i;
    for (; j > 0 && sorted[j - 1] > values[i]; --j) sorted[j] = sorted[j - 1];
    sorted[j] = values[i];
  }
  int32_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += sorted[i] * weights[i % 8];
  return sum;
}

/// in: 18 words per thread: code, a, b, count, 14 values. out: 7 words per thread.
extern "C" __global__ void front_end(const int32_t* in, int32_t threads, int32_t* out) {
  const int32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const int32_t* mine = in + 18 * thread;
  int32_t* result = out + 7 * thread;
  result[0] = operate(mine[0], mine[1], mine[2]);
  const Pair pair = divide(static_cast<int64_t>(mine[1]) * mine[2] - 7, mine[3] + 1);
  result[1] = static_cast<int32_t>(pair.quotient);
  result[2] = static_cast<int32_t>(pair.quotient >> 32);
  result[3] = pair.remainder;
  result[4] = sortedFold(mine + 4, mine[3]);
  result[5] = static_cast<int32_t>(ackermann(thread % 3, thread % 5));
  result[6] = lookUp(static_cast<uint32_t>(mine[1]) % 4, mine[2]);
}

extern "C" __global__ void read_calls(uint32_t* out) { *out = calls; }
