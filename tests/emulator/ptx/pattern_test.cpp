#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/isa/pattern.hpp"

namespace shiftconv::emulator::isa {
namespace {

ptx::Instruction instruction(std::string opcode, std::vector<std::string> modifiers) {
  ptx::Instruction result;
  result.opcode = std::move(opcode);
  result.modifiers = std::move(modifiers);
  return result;
}

TEST(Pattern, MatchesGroupsInOrder) {
  constexpr std::string_view kSyntax = "mbarrier.try_wait{.parity}{.(acquire|relaxed)}{.(cta|cluster)}{.(shared|shared::cta)}.b64";
  FormMatch match;
  ASSERT_TRUE(matches(kSyntax, instruction("mbarrier", {"try_wait", "parity", "shared::cta", "b64"}), match));
  EXPECT_EQ(match.group(0), "try_wait");
  EXPECT_EQ(match.group(1), "parity");
  EXPECT_EQ(match.group(2), "");
  EXPECT_EQ(match.group(4), "shared::cta");
  EXPECT_TRUE(match.has("parity"));
  EXPECT_FALSE(match.has("acquire"));
  EXPECT_EQ(match.type(), ptx::ScalarType::B64);
  EXPECT_TRUE(matches(kSyntax, instruction("mbarrier", {"try_wait", "acquire", "cluster", "b64"}), match));
  EXPECT_FALSE(matches(kSyntax, instruction("mbarrier", {"test_wait", "b64"}), match));
  EXPECT_FALSE(matches(kSyntax, instruction("mbarrier", {"try_wait", "parity"}), match));
  EXPECT_FALSE(matches(kSyntax, instruction("mbarrier", {"try_wait", "b64", "parity"}), match));
  EXPECT_FALSE(matches(kSyntax, instruction("barrier", {"try_wait", "b64"}), match));
  EXPECT_FALSE(matches(kSyntax, instruction("mbarrier", {"try_wait", "parity", "parity", "b64"}), match));
}

TEST(Pattern, BacktracksOverOptionalGroups) {
  FormMatch match;
  ASSERT_TRUE(matches("op{.(u32|f32)}.(f32|f16)", instruction("op", {"f32"}), match));
  EXPECT_EQ(match.group(0), "");
  EXPECT_EQ(match.group(1), "f32");
}

TEST(Pattern, AnyOrderKeepsTypesInTheirOrder) {
  // ptxas takes cvt.s32.rni.f32 too; destination and source type keep their order.
  FormMatch match;
  const Form* form = emulator::instructionSet().find(instruction("cvt", {"s32", "f32", "rni"}), match);
  ASSERT_NE(form, nullptr);
  EXPECT_EQ(match.group(0), "rni");
  EXPECT_EQ(match.group(match.groups_.size() - 2), "s32");
  EXPECT_EQ(match.type(), ptx::ScalarType::F32);
  EXPECT_NE(emulator::instructionSet().find(instruction("add", {"s32", "sat"}), match), nullptr);
  EXPECT_EQ(emulator::instructionSet().find(instruction("add", {"s32", "sat", "sat"}), match), nullptr);
  EXPECT_EQ(emulator::instructionSet().find(instruction("add", {}), match), nullptr);
  EXPECT_EQ(emulator::instructionSet().find(instruction("frobnicate", {"b32"}), match), nullptr);
}

TEST(Pattern, RefusesMalformedSyntax) {
  for (const char* syntax : {"", ".x", "op.", "op{x}", "op{.x", "op.(a|b", "op.()", "op.(|a)"})
    EXPECT_THROW(Pattern{syntax}, std::logic_error) << syntax;
}

TEST(Pattern, TableIsDeterministic) {
  const auto& forms = emulator::instructionSet().forms();
  EXPECT_EQ(&forms, &emulator::instructionSet().forms());
  ASSERT_FALSE(forms.empty());
  EXPECT_EQ(forms.front().syntax, "add.(u16|u32|u64|s16|s32|s64)");
}

}  // namespace
}  // namespace shiftconv::emulator::isa
