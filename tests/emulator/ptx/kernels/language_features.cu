// What ordinary device code makes nvcc emit: relocated initialisers, indirect and recursive calls, jump tables, local
// arrays, structures by value, and the instruction sequences of the math library.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Record {
  char tag;
  const double* value;
  short numbers[3];
};

__device__ double target = 2.5;
__device__ Record record = {'r', &target, {7, -8, 9}};
__device__ int grid[3][4] = {{1, 2}, {3}, {4, 5, 6, 7}};
__device__ const char* words[2] = {"first", "second"};
__constant__ float weights[4] = {0.5f, -1.25f, 3.0f, 1e-3f};

typedef int (*Operation)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ Operation operations[2] = {sum, product};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct Arguments {
  char first;
  double factor;
  int table[5];
};

extern "C" __global__ void features(double* out, Arguments arguments, int n) {
  const int i = threadIdx.x;
  int local[8];
  for (int k = 0; k < 8; ++k) local[k] = i * k + arguments.table[k % 5];
  double result = 0;
  switch (i % 7) {
    case 0:
      result = *record.value * arguments.factor;
      break;
    case 1:
      result = record.numbers[i % 3] + record.tag;
      break;
    case 2:
      result = grid[i % 3][i % 4];
      break;
    case 3:
      result = words[i & 1][i % 5];
      break;
    case 4:
      result = weights[i % 4];
      break;
    case 5:
      result = operations[(i / 7) & 1](i, n);
      break;
    default:
      result = fibonacci(i % 10) + arguments.first;
  }
  out[i] = result + local[n & 7];
}

extern "C" __global__ void single_math(float* out, const float* in) {
  const int i = threadIdx.x;
  const float x = in[i];
  float* o = out + i * 24;
  o[0] = sinf(x), o[1] = cosf(x), o[2] = tanf(x), o[3] = expf(x), o[4] = logf(fabsf(x)), o[5] = sqrtf(fabsf(x));
  o[6] = powf(fabsf(x), 1.7f), o[7] = atan2f(x, 2.0f), o[8] = fmodf(x, 0.7f), o[9] = cbrtf(x), o[10] = erff(x), o[11] = tanhf(x);
  o[12] = floorf(x), o[13] = rintf(x), o[14] = roundf(x), o[15] = remainderf(x, 0.7f), o[16] = ldexpf(x, 5),
  o[17] = hypotf(x, 3.0f);
  o[18] = exp2f(x), o[19] = log10f(fabsf(x)), o[20] = x / 3.0f, o[21] = 1.0f / x, o[22] = lgammaf(fabsf(x)),
  o[23] = fmaf(x, x, -1.0f);
}

extern "C" __global__ void double_math(double* out, const double* in) {
  const int i = threadIdx.x;
  const double x = in[i];
  double* o = out + i * 12;
  o[0] = sin(x), o[1] = exp(x), o[2] = log(fabs(x)), o[3] = sqrt(fabs(x)), o[4] = pow(fabs(x), 1.7), o[5] = x / 3.0;
  o[6] = cbrt(x), o[7] = fmod(x, 0.7), o[8] = erf(x), o[9] = rint(x), o[10] = 1.0 / x, o[11] = atan2(x, 2.0);
}

extern "C" __global__ void integer_math(long long* out, const long long* in) {
  const int i = threadIdx.x;
  const long long a = in[i];
  const long long b = in[(i + 1) % 32];
  const int c = static_cast<int>(a);
  const int d = static_cast<int>(b);
  long long* o = out + i * 12;
  o[0] = a / (b | 1), o[1] = a % (b | 1), o[2] = c / 7, o[3] = static_cast<unsigned>(c) % 13u;
  o[4] = __mul64hi(a, b), o[5] = __popcll(a) + 64 * __clzll(b), o[6] = __ffs(c), o[7] = __byte_perm(c, d, 0x2143);
  o[8] = __funnelshift_l(c, d, d), o[9] = min(c, d) + max(a, b), o[10] = __brev(c),
  o[11] = static_cast<unsigned long long>(a) / (static_cast<unsigned long long>(b) | 1);
}

extern "C" __global__ void half_math(float* out, const float* in) {
  const int i = threadIdx.x;
  const __half2 x = __floats2half2_rn(in[i], in[(i + 1) % 32]);
  const __nv_bfloat162 y = __floats2bfloat162_rn(in[i], in[(i + 1) % 32]);
  float* o = out + i * 12;
  const __half2 f = __hfma2(x, x, x);
  const __nv_bfloat162 g = __hfma2(y, y, y);
  o[0] = __low2float(f), o[1] = __high2float(f), o[2] = __low2float(g), o[3] = __high2float(g);
  o[4] = __half2float(__hdiv(__low2half(x), __high2half(x))), o[5] = __half2float(hsqrt(__habs(__low2half(x))));
  o[6] = __half2float(hexp(__low2half(x))), o[7] = __bfloat162float(hexp(__low2bfloat16(y)));
  o[8] = __half2int_rn(__low2half(x)), o[9] = __hgt(__low2half(x), __high2half(x)) ? 1.0f : 0.0f;
  o[10] = __low2float(__hmax2(x, __hneg2(x))), o[11] = __high2float(__hadd2_sat(x, x));
}
