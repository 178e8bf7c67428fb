// f16 and bf16 arithmetic, scalar and packed (PTX ISA 9.0, 9.7.4).
#include <cmath>

#include "tests/witness/cases/families.hpp"
#include "tests/witness/form_table.hpp"

namespace shiftconv::witness {

void addHalfCases(CaseList& cases) {
  FormTable table(cases, "half");
  table.binary("{add,sub,mul}{,.rn}{,.ftz}{,.sat}.{f16,f16x2}");
  table.binary("{add,sub,mul}{,.rn}.{bf16,bf16x2}");
  table.ternary("fma.rn{,.ftz}{,.sat,.relu}.{f16,f16x2}");
  table.ternary("fma.rn{,.relu}.{bf16,bf16x2}");
  table.ternary("fma.rn.oob{,.relu}.{f16,f16x2,bf16,bf16x2}");
  table.unary("{abs,neg}{,.ftz}.{f16,f16x2}");
  table.unary("{abs,neg}.{bf16,bf16x2}");
  table.binary("{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.{f16,f16x2}");
  table.binary("{min,max}{,.NaN}{,.xorsign.abs}.{bf16,bf16x2}");
  const auto within = [](Tolerance::Number number, double relative, double absolute) {
    return FormOptions{.count = 2048, .tolerance = {number, 2 * relative, 2 * absolute}};
  };
  // Results are rounded to the format besides, half a unit in the last place (or the smallest subnormal).
  table.unary("ex2.approx.{f16,f16x2}", within(Tolerance::Number::F16, std::exp2(-9.9) + std::exp2(-11), std::exp2(-24)));
  table.unary("ex2.approx.ftz.{bf16,bf16x2}", within(Tolerance::Number::BF16, std::exp2(-7), std::exp2(-133)));
  table.unary("tanh.approx.{f16,f16x2}", within(Tolerance::Number::F16, 0, std::exp2(-10.987)));
  table.unary("tanh.approx.{bf16,bf16x2}", within(Tolerance::Number::BF16, std::exp2(-8), 0));
}

}  // namespace shiftconv::witness
