// The instructions of well-known kernels (common_forms.txt) must all have a row in the decoder's table.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/isa/refused_forms.hpp"

namespace shiftconv::tests {
namespace {

emulator::ptx::Instruction instructionOf(std::string_view spelling) {
  emulator::ptx::Instruction instruction;
  size_t dot = std::min(spelling.find('.'), spelling.size());
  instruction.opcode = spelling.substr(0, dot);
  while (dot < spelling.size()) {
    const size_t end = std::min(spelling.find('.', dot + 1), spelling.size());
    instruction.modifiers.emplace_back(spelling.substr(dot + 1, end - dot - 1));
    dot = end;
  }
  return instruction;
}

TEST(CommonForms, AreAllInTheTable) {
  std::ifstream file(COMMON_FORMS);
  ASSERT_TRUE(file) << COMMON_FORMS;
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    emulator::isa::FormMatch match;
    EXPECT_NE(emulator::instructionSet().find(instructionOf(line), match), nullptr) << line;
    ++count;
  }
  EXPECT_GT(count, 200u) << "the list is damaged";
}

TEST(CommonForms, RefusedOnesSayWhy) {
  const std::pair<const char*, const char*> refusals[] = {
      {"cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes", "halo rows"},
      {"cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w::128", "halo rows"},
      {"tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale", "sparse"},
      {"cvt.rs.satfinite.e2m1x4.f32", "random bits"},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", "sparse"},
  };
  for (const auto& [spelling, reason] : refusals) {
    emulator::isa::FormMatch match;
    EXPECT_EQ(emulator::instructionSet().find(instructionOf(spelling), match), nullptr) << spelling;
    const emulator::isa::RefusedForm* refused = emulator::isa::findRefusal(instructionOf(spelling));
    ASSERT_NE(refused, nullptr) << spelling;
    EXPECT_NE(refused->reason.find(reason), std::string_view::npos) << refused->reason;
  }
}

TEST(CommonForms, NonsenseIsNotInTheTable) {
  for (const char* spelling : {"add.f32.f32", "nonsense", "bra.bra", "clusterlaunchcontrol.try_cancel", "ldmatrix.sync.m8n8.b16"}) {
    emulator::isa::FormMatch match;
    EXPECT_EQ(emulator::instructionSet().find(instructionOf(spelling), match), nullptr) << spelling;
  }
}

}  // namespace
}  // namespace shiftconv::tests
