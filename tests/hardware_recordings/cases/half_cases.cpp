// f16 and bf16 arithmetic, scalar and packed (PTX ISA 9.0, 9.7.4).
#include <array>
#include <cmath>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings {
namespace {

/// fma.oob must recognise the NaN of out-of-bounds fills among the factors: many of it, its neighbours and their negatives.
void addFills(FormTable& table) {
  const OperandFilter fills = [](OperandSet& set) {
    constexpr std::array<uint64_t, 4> values{0x7FF7, 0xFFF7, 0x7FF6, 0x7FFF};
    for (size_t i = 0; i < 3; ++i)
      for (unsigned shift = 0; shift < 32; shift += 16)
        if (const uint64_t choice = set[(i + 1) % 3] >> 3 & 15; choice < values.size())
          set[i] = (set[i] & ~(0xFFFFull << shift)) | values[choice] << shift;
  };
  for (const std::string& form : expandBraces("fma.rn.oob{,.relu}.{f16,f16x2,bf16,bf16x2}")) {
    const Kind kind = kindNamed(form.substr(form.rfind('.') + 1));
    table.body(form + " of fill values", {kind, kind, kind}, {kind}, form + " %x0, %a, %b, %c;", {.count = 4096, .filter = fills});
  }
}

}  // namespace

void addHalfCases(CaseList& cases) {
  FormTable table(cases, "half");
  table.binary("{add,sub,mul}{,.rn}{,.ftz}{,.sat}.{f16,f16x2}");
  table.binary("{add,sub,mul}{,.rn}.{bf16,bf16x2}");
  table.ternary("fma.rn{,.ftz}{,.sat,.relu}.{f16,f16x2}");
  table.ternary("fma.rn{,.relu}.{bf16,bf16x2}");
  table.ternary("fma.rn.oob{,.relu}.{f16,f16x2,bf16,bf16x2}");
  addFills(table);
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

}  // namespace shiftconv::recordings
