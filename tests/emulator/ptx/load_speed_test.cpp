// Loading must stay in the shadow of everything else: 50,000 lines parse in a fraction of a second, and decoded code
// stays small. The limits are ten times what an idle core needs, so that a loaded machine does not fail the test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator {
namespace {

std::string largeModule(size_t lines) {
  std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
      ".reg .b32 %r<2000>;\n.reg .b64 %rd<300>;\n.reg .f32 %f<900>;\n.reg .pred %p<50>;\n";
  for (size_t i = 0; i < lines / 5; ++i)
    text += fmt::format(
        "\tmad.lo.s32 \t%r{}, %r{}, {}, %r{};\n\tfma.rn.f32 \t%f{}, %f{}, 0f3F800000, %f{};\n\tsetp.lt.s32 \t%p{}, %r{}, {};\n"
        "\t.loc 1 {} 5\n\t@%p{} add.s64 \t%rd{}, %rd{}, {};\n",
        i % 2000, i * 7 % 2000, i % 97, i * 3 % 2000, i % 900, i * 5 % 900, i * 11 % 900, i % 50, i % 2000, i % 13, i, i % 50,
        i % 300, i * 3 % 300, i % 41);
  return text + "ret;\n}\n";
}

double seconds(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(LoadSpeed, FiftyThousandLines) {
  const std::string text = largeModule(50'000);
  ptx::Module module;
  const double parsing = seconds([&] { module = ptx::parseModule(text, "large.ptx"); });
  std::shared_ptr<isa::Program> program;
  const double decoding = seconds([&] { program = isa::compile(std::move(module), 0, instructionSet()); });
  fmt::print("parsing {:.3f} s, decoding {:.3f} s\n", parsing, decoding);
  EXPECT_LT(parsing, 3.0);
  EXPECT_LT(decoding, 3.0);
  const isa::CompiledFunction& kernel = *program->kernel("k");
  EXPECT_EQ(kernel.code.size(), 40'001u);
  EXPECT_LE(sizeof(isa::DecodedInstruction), 96u);
  // 2000 + 900 registers of 128 bytes, 300 of 256, and constants that are kept once each.
  EXPECT_LT(kernel.frameBytes, 520'000u);
  EXPECT_LT(kernel.frameImage.size(), 40'000u);
}

}  // namespace
}  // namespace shiftconv::emulator
