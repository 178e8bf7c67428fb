// Where the decoder puts parameters, variables and registers.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {
namespace {

constexpr uint64_t kBase = 0x7f00'0000'0000;

std::shared_ptr<Program> compileText(const std::string& text) {
  return compile(ptx::parseModule(".version 9.0\n.target sm_100a\n.address_size 64\n" + text, "layout.ptx"), kBase,
                 instructionSet());
}

TEST(Layout, ParametersFollowTheirNaturalAlignment) {
  const auto program = compileText(R"(
.entry k(.param .u8 a, .param .u32 b, .param .u16 c, .param .u64 d, .param .align 64 .b8 map[128], .param .f32 e) { ret; }
)");
  const CompiledFunction& kernel = *program->kernel("k");
  EXPECT_EQ(kernel.parameterOffsets, (std::vector<uint32_t>{0, 4, 8, 16, 64, 192}));
  EXPECT_EQ(kernel.parameterBytes, 196u);
  EXPECT_EQ(program->kernel("nobody"), nullptr);
}

TEST(Layout, DeviceFunctionsKeepParametersInTheirLocalArea) {
  const auto program = compileText(R"(
.func (.param .b32 r) f(.param .b64 a, .reg .u32 %n) { .reg .b32 %t; .local .align 32 .b8 buffer[40]; mov.b32 %t, %n; st.param.b32 [r], %t; ret; }
.entry k() { .local .b8 scratch[3]; ret; }
)");
  const CompiledFunction& function = program->functions[0];
  EXPECT_EQ(function.parameterOffsets[0], 0u);
  EXPECT_EQ(function.parameterSlots[0], machine::kNoSlot);
  EXPECT_NE(function.parameterSlots[1], machine::kNoSlot);
  EXPECT_EQ(function.returnOffsets[0], 8u);
  EXPECT_EQ(function.localAlignment, 32u);
  EXPECT_EQ(function.localBytes, 96u);
  EXPECT_EQ(program->functions[1].localBytes, 16u);
}

TEST(Layout, SharedVariablesOfKernelsOverlay) {
  const auto program = compileText(R"(
.shared .align 8 .b8 common[12];
.extern .shared .align 128 .b8 dynamic[];
.func f() { .shared .b32 counter; ret; }
.entry a() { .shared .align 16 .b8 tile[100]; ret; }
.entry b() { .shared .b8 tile[5000]; ret; }
)");
  EXPECT_EQ(program->sharedOffsets.at("common"), 0u);
  EXPECT_EQ(program->sharedOffsets.at("f::counter"), 12u);
  EXPECT_EQ(program->sharedOffsets.at("a::tile"), 16u);
  EXPECT_EQ(program->sharedOffsets.at("b::tile"), 16u);
  EXPECT_EQ(program->kernel("a")->staticSharedBytes, 116u);
  EXPECT_EQ(program->kernel("b")->staticSharedBytes, 5016u);
  EXPECT_EQ(program->staticSharedBytes, 5016u);
  EXPECT_EQ(program->dynamicSharedAlignment, 128u);
  EXPECT_EQ(program->dynamicSharedOffset(*program->kernel("a")), 1152u);
  EXPECT_EQ(machine::kReservedSharedBytes, 1024u);
}

TEST(Layout, GlobalImageHoldsRelocatedAddresses) {
  const std::string text = R"(
.global .u8 first = 5;
.global .align 16 .b8 block[24];
.const .u32 seven = 7;
.global .u64 pointers[4] = {block+8, generic(seven), f, 1};
.global .b8 bytes[2] = {0xFF(block), 0xFF00(block)};
.func f() { ret; }
)";
  const auto program = compileText(text);
  EXPECT_EQ(program->globalOffsets.at("block"), 16u);
  EXPECT_EQ(program->globalOffsets.at("seven"), 40u);
  EXPECT_EQ(program->globalOffsets.at("pointers"), 48u);
  EXPECT_EQ(globalImageBytes(program->module), program->globalImage.size());
  const auto word = [&](size_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, program->globalImage.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(static_cast<uint8_t>(program->globalImage[0]), 5u);
  EXPECT_EQ(word(48), kBase + 24);
  EXPECT_EQ(word(56), kBase + 40);
  EXPECT_EQ(word(64), kFunctionAddressBase);
  EXPECT_EQ(word(72), 1u);
  EXPECT_EQ(static_cast<uint8_t>(program->globalImage[80]), 0x10u);
  EXPECT_EQ(static_cast<uint8_t>(program->globalImage[81]), 0x00u);
}

TEST(Layout, ConstantsComeFirstAndAreShared) {
  const auto program = compileText(R"(
.entry k() {
  .reg .b32 %r<1000>; .reg .b64 %rd<3>; .reg .pred %p<40>;
  add.s32 %r1, %r2, 5;
  add.s32 %r999, %r1, 5;
  add.s64 %rd1, %rd2, 5;
  setp.eq.s32 %p1, %r1, -1;
  ret;
}
)");
  const CompiledFunction& kernel = *program->kernel("k");
  // 5 and -1 as 32 bits, 5 as 64 bits.
  EXPECT_EQ(kernel.frameImage.size(), 128u + 128u + 256u);
  const auto& code = kernel.code;
  EXPECT_EQ(code[0].operand[2], code[1].operand[2]);
  EXPECT_LT(code[0].operand[2], kernel.frameImage.size());
  EXPECT_GE(code[0].operand[0], kernel.frameImage.size());
  EXPECT_EQ(code[0].operand[0], code[1].operand[1]);
  // Only registers in use take room: three of 32 bits, two of 64, one cache line of predicates.
  EXPECT_EQ(kernel.frameBytes, kernel.frameImage.size() + 3 * 128 + 2 * 256 + 64);
  uint32_t five = 0;
  std::memcpy(&five, kernel.frameImage.data() + code[0].operand[2] + 31 * sizeof five, sizeof five);
  EXPECT_EQ(five, 5u);
  for (const DecodedInstruction& instruction : code)
    for (const Slot slot : instruction.operand) EXPECT_TRUE(slot == machine::kNoSlot || slot < kernel.frameBytes) << slot;
}

}  // namespace
}  // namespace shiftconv::emulator::isa
