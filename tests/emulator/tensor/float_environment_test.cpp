// The floating-point environment of the caller neither reaches results nor is changed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <random>
#if defined(__SSE__)
#include <immintrin.h>
#endif

#include "tests/emulator/tensor/operand_placement.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::float_environment_test {
namespace {

using namespace emulator;

constexpr uint32_t kLeading = 128, kStride = 256, kOperandB = 4096, kColumns = 16, kScalars = 12;

/// Rounding upward, subnormals flushed to zero in and out, an exception flag that is raised already.
class HostileEnvironment {
 public:
  HostileEnvironment() {
    std::fegetenv(&saved_);
    std::fesetround(FE_UPWARD);
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_UNDERFLOW);
  }
  ~HostileEnvironment() { std::fesetenv(&saved_); }
  HostileEnvironment(const HostileEnvironment&) = delete;
  HostileEnvironment& operator=(const HostileEnvironment&) = delete;

  static unsigned state() {
#if defined(__SSE__)
    return _mm_getcsr();
#else
    return static_cast<unsigned>(std::fegetround() | std::fetestexcept(FE_ALL_EXCEPT) << 8);
#endif
  }

 private:
  std::fenv_t saved_{};
};

/// Numbers below 2, many of them subnormal, so that rounding and flushing show.
std::vector<std::byte> operands(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(8192);
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const auto bits = static_cast<uint16_t>(random() & (random() % 4 == 0 ? 0x83ff : 0xbfff));
    std::memcpy(&bytes[i], &bits, 2);
  }
  return bytes;
}

std::string body() {
  std::string text = fmt::format(
      "  add.u64 %rd1, %desc, {:#x};\n  add.u64 %rd2, %desc, {:#x};\n  setp.ne.u32 %p1, 0, 0;\n  setp.eq.u32 %p2, 0, 0;\n"
      "  @%issuer tcgen05.mma.cta_group::1.kind::f16 [%tmem], %rd1, %rd2, {:#x}, %p1;\n"
      "  @%issuer tcgen05.mma.cta_group::1.kind::tf32 [%tmem], %rd1, %rd2, {:#x}, %p2;\n",
      descriptorBits(0, kLeading, kStride), descriptorBits(kOperandB, kLeading, kStride), IdescFields{.n = kColumns}.word(),
      IdescFields{.a = 2, .b = 2, .n = kColumns}.word());
  text += commitAndWait(0) + dumpColumns(0, kColumns);
  // Two f32, their halves as f16x2, and an f64 made of both.
  text += "  mad.lo.u32 %r1, %thread, 16, %tile;\n  ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r1];\n";
  const std::vector<std::string> operations = {"add.rn.f32 %r40, %r20, %r21",
                                               "mul.rn.f32 %r41, %r20, %r21",
                                               "fma.rn.f32 %r42, %r20, %r21, %r22",
                                               "div.rn.f32 %r43, %r20, %r21",
                                               "abs.f32 %r2, %r20; sqrt.rn.f32 %r44, %r2",
                                               "add.rm.f32 %r45, %r20, %r21",
                                               "add.rn.f16x2 %r46, %r20, %r21",
                                               "cvt.rn.f16x2.f32 %r47, %r20, %r21",
                                               "ex2.approx.f32 %r48, %r20",
                                               "cvt.rn.bf16x2.f32 %r49, %r20, %r21"};
  for (const std::string& operation : operations) text += "  " + operation + ";\n";
  text +=
      "  mov.b64 %rd3, {%r20, %r21};\n  mov.b64 %rd4, {%r22, %r23};\n  fma.rn.f64 %rd3, %rd3, %rd4, %rd4;\n"
      "  mov.b64 {%r50, %r51}, %rd3;\n  mul.lo.u32 %r3, %thread, 48;\n  cvt.u64.u32 %rd5, %r3;\n  add.u64 %rd5, %rd5, %out;\n";
  for (uint32_t i = 0; i < kScalars; ++i)
    text += fmt::format("  st.global.u32 [%rd5+{}], %r{};\n", 128 * kColumns * 4 + 4 * i, 40 + i);
  return text;
}

TEST(FloatEnvironment, OfTheCallerHasNoEffectAndIsLeftAlone) {
  constexpr uint64_t kSeed = 20261121;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const TensorKernel kernel{.body = body(), .input = operands(kSeed), .outputWords = 128 * (kColumns + kScalars), .ctas = 4};
  for (const Numerics numerics : {Numerics::Hardware, Numerics::Fast}) {
    Options options;
    options.numerics = numerics;
    options.hostThreads = 2;
    Emulator machine;
    const std::vector<uint32_t> expected = kernel.run(machine, options);
    std::vector<uint32_t> result;
    unsigned before, after;
    {
      const HostileEnvironment hostile;
      before = HostileEnvironment::state();
      result = kernel.run(machine, options);
      after = HostileEnvironment::state();
    }
    EXPECT_EQ(before, after) << "the state of the caller";
    EXPECT_EQ(result, expected) << "numerics " << static_cast<int>(numerics);
  }
}

}  // namespace
}  // namespace shiftconv::tests::float_environment_test
