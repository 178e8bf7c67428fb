#include "common/emulator/forms/scalar/approximations.hpp"

namespace shiftconv::emulator::isa {

const std::vector<Approximation>& approximations() {
  constexpr std::string_view kRounded = "correctly rounded", kNear = "the host's f64 function, rounded",
                             kUpperWord = "the upper word of the correctly rounded value",
                             kUnstated = "none stated; only the upper 32 bits of operand and result count";
  static const std::vector<Approximation> rows = {
      {"div.approx{.ftz}.f32", "2 ulp for divisors from 2^-126 to 2^126; 0 (or NaN for infinity) beyond", kRounded},
      {"div.full{.ftz}.f32", "2 ulp", kRounded},
      {"rcp.approx{.ftz}.f32", "1 ulp", kRounded},
      {"rcp.approx.ftz.f64", kUnstated, kUpperWord},
      {"sqrt.approx{.ftz}.f32", "2^-23 relative", kRounded},
      {"rsqrt.approx{.ftz}.f32", "2^-22.9 relative", kNear},
      {"rsqrt.approx.f64", "none stated", "within 1 ulp"},
      {"rsqrt.approx.ftz.f64", kUnstated, kUpperWord},
      {"sin.approx{.ftz}.f32", "2^-20.5 absolute near zero, larger beyond 2 pi", kNear},
      {"cos.approx{.ftz}.f32", "2^-20.5 absolute near zero, larger beyond 2 pi", kNear},
      {"lg2.approx{.ftz}.f32", "2^-22, absolute from 0.5 to 2 and relative elsewhere", kNear},
      {"ex2.approx{.ftz}.f32", "2^-22 relative", kNear},
      {"tanh.approx.f32", "2^-11 relative", kNear},
      {"tanh.approx.(f16|f16x2|bf16|bf16x2)", "f16: 2^-10.987 absolute; bf16: 2^-8 relative", kNear},
      {"ex2.approx.(f16|f16x2)", "2^-9.9 relative", kNear},
      {"ex2.approx.ftz.(bf16|bf16x2)", "2^-7 relative", kNear},
  };
  return rows;
}

}  // namespace shiftconv::emulator::isa
