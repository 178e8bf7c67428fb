#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::ptx {
namespace {

const std::string kHeader = ".version 9.0\n.target sm_100a, debug\n.address_size 64\n";

Module parse(const std::string& text) { return parseModule(kHeader + text, "test.ptx"); }

/// The body of one kernel; 16 registers of every common type.
Function body(const std::string& text) {
  const Module module =
      parse(".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<16>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n" + text + "\n}\n");
  return module.functions.at(0);
}

template <class T>
T read(const Variable& variable, size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, variable.initialiser.size());
  std::memcpy(&value, variable.initialiser.data() + offset, sizeof value);
  return value;
}

TEST(Parser, ReadsTheHeader) {
  const Module module = parse(".file 1 \"kernel.cu\", 1700000000, 12\n.file 2 \"other.h\"\n");
  EXPECT_EQ(module.version, "9.0");
  EXPECT_EQ(module.target, "sm_100a, debug");
  EXPECT_EQ(module.addressSize, 64u);
  EXPECT_EQ(module.files.at(1), "kernel.cu");
  EXPECT_EQ(module.files.at(2), "other.h");
}

TEST(Parser, ReadsVariablesOfEverySpace) {
  const Module module = parse(R"(
.global .align 16 .b8 bytes[20];
.visible .const .f32 pi = 3.25;
.extern .shared .align 128 .b8 dynamic[];
.shared .v4 .f32 quads[3];
.weak .global .attribute(.managed) .u32 managed;
.common .global .u64 pair, other[2];
)");
  ASSERT_EQ(module.variables.size(), 7u);
  EXPECT_EQ(module.variables[0].bytes, 20u);
  EXPECT_EQ(module.variables[0].alignment, 16u);
  EXPECT_EQ(module.variables[1].space, StateSpace::Const);
  EXPECT_EQ(read<float>(module.variables[1], 0), 3.25f);
  EXPECT_TRUE(module.variables[2].isExternal);
  EXPECT_EQ(module.variables[2].bytes, 0u);
  EXPECT_EQ(module.variables[2].alignment, 128u);
  EXPECT_FALSE(module.variables[3].isExternal);
  EXPECT_EQ(module.variables[3].bytes, 48u);
  EXPECT_EQ(module.variables[3].alignment, 16u);
  EXPECT_EQ(module.variables[5].name, "pair");
  EXPECT_EQ(module.variables[6].bytes, 16u);
}

TEST(Parser, ReadsInitialisers) {
  const Module module = parse(R"(
.global .u32 nested[3][2] = {{1, 2}, {3}, {-4, 0xFFFFFFFFU}};
.global .u16 flat[2][3] = {1, 2, 3, 4};
.global .s64 counted[] = {-1, (1 << 40) + 2, 017, 0b101};
.global .f32 floats[4] = {0f3F800000, 1.5, -2.25e1, -0f3F800000};
.global .f64 doubles[2] = {0d4000000000000000, 0.1};
.global .u64 pointers[3] = {target+8, generic(target), generic(target)-4};
.global .b8 masked[3] = {0xFF(generic(target)), 0xFF00(target), 7};
.global .u32 target[4];
)");
  const auto& v = module.variables;
  EXPECT_EQ(read<uint32_t>(v[0], 8), 3u);
  EXPECT_EQ(read<uint32_t>(v[0], 12), 0u);
  EXPECT_EQ(read<uint32_t>(v[0], 16), static_cast<uint32_t>(-4));
  EXPECT_EQ(read<uint32_t>(v[0], 20), 0xffffffffu);
  EXPECT_EQ(read<uint16_t>(v[1], 6), 4u);
  EXPECT_EQ(v[2].bytes, 32u);
  EXPECT_EQ(read<int64_t>(v[2], 0), -1);
  EXPECT_EQ(read<int64_t>(v[2], 8), (int64_t{1} << 40) + 2);
  EXPECT_EQ(read<int64_t>(v[2], 16), 15);
  EXPECT_EQ(read<int64_t>(v[2], 24), 5);
  EXPECT_EQ(read<float>(v[3], 4), 1.5f);
  EXPECT_EQ(read<float>(v[3], 8), -22.5f);
  EXPECT_EQ(read<float>(v[3], 12), -1.0f);
  EXPECT_EQ(read<double>(v[4], 0), 2.0);
  EXPECT_EQ(read<double>(v[4], 8), 0.1);
  ASSERT_EQ(v[5].relocations.size(), 3u);
  EXPECT_EQ(v[5].relocations[0].symbol, "target");
  EXPECT_EQ(v[5].relocations[0].addend, 8);
  EXPECT_FALSE(v[5].relocations[0].generic);
  EXPECT_TRUE(v[5].relocations[1].generic);
  EXPECT_EQ(v[5].relocations[2].addend, -4);
  EXPECT_EQ(v[5].relocations[2].offset, 16u);
  ASSERT_EQ(v[6].relocations.size(), 2u);
  EXPECT_EQ(v[6].relocations[1].mask, 0xff00u);
  EXPECT_EQ(v[6].relocations[1].bytes, 1u);
  EXPECT_EQ(read<uint8_t>(v[6], 2), 7u);
}

TEST(Parser, ReadsSignatures) {
  const Module module = parse(R"(
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 list) ;
.visible .func (.param .align 8 .b8 result[16]) helper(.param .b64 a, .reg .u32 %flag) .noreturn
{ ret; }
.visible .entry kernel(
  .param .u64 .ptr .global .align 16 pointer,
  .param .align 64 .b8 map[128],
  .param .f32 scale
)
.maxntid 256, 2
.reqntid 128
.minnctapersm 2
.maxnreg 96
.reqnctapercluster 2, 1, 1
.explicitcluster
.pragma "nounroll";
{ ret; }
)");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_TRUE(module.functions[0].isDeclaration);
  EXPECT_EQ(module.functions[0].parameters.size(), 2u);
  const Function& helper = module.functions[1];
  EXPECT_FALSE(helper.isKernel);
  EXPECT_EQ(helper.returnParameters.at(0).bytes, 16u);
  EXPECT_EQ(helper.parameters.at(1).space, StateSpace::Reg);
  EXPECT_EQ(helper.registers.at(0).name, "%flag");
  const Function& kernel = module.functions[2];
  EXPECT_TRUE(kernel.isKernel);
  EXPECT_EQ(kernel.parameters.at(1).alignment, 64u);
  EXPECT_EQ(kernel.parameters.at(1).bytes, 128u);
  EXPECT_EQ(kernel.directives.maximumThreads, (std::vector<uint32_t>{256, 2}));
  EXPECT_EQ(kernel.directives.requiredThreads, (std::vector<uint32_t>{128}));
  EXPECT_EQ(kernel.directives.minimumCtas, 2u);
  EXPECT_EQ(kernel.directives.maximumRegisters, 96u);
  EXPECT_EQ(kernel.directives.requiredCluster, (std::vector<uint32_t>{2, 1, 1}));
  EXPECT_TRUE(kernel.directives.explicitCluster);
  EXPECT_EQ(module.find("vprintf"), &module.functions[0]);
  EXPECT_EQ(module.find("nobody"), nullptr);
}

TEST(Parser, ReadsModifiersAndGuards) {
  const Function function = body(R"(
  @!%p3 ld.global.L2::128B.v4.u32 {%r1, %r2, _, %r4}, [%rd1+-16];
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
      [%r1], [%rd2, {%r3, -1}], [%r4];
  tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r1, %r2, %r3, %r4}, [%r5];
)");
  ASSERT_EQ(function.body.size(), 3u);
  const Instruction& load = function.body[0];
  EXPECT_EQ(load.opcode, "ld");
  EXPECT_EQ(load.modifiers, (std::vector<std::string>{"global", "L2::128B", "v4", "u32"}));
  EXPECT_EQ(load.guard, "%p3");
  EXPECT_TRUE(load.guardNegated);
  EXPECT_EQ(load.operands[0].kind, Operand::Kind::Vector);
  EXPECT_EQ(load.operands[0].elements[2].kind, Operand::Kind::Sink);
  EXPECT_EQ(load.operands[1].kind, Operand::Kind::Address);
  EXPECT_EQ(load.operands[1].offset, -16);
  EXPECT_EQ(load.operands[1].elements[0].text, "%rd1");
  EXPECT_EQ(load.text, "@!%p3 ld.global.L2::128B.v4.u32 {%r1, %r2, _, %r4}, [%rd1+-16];");
  const Instruction& copy = function.body[1];
  EXPECT_EQ(copy.modifiers.back(), "mbarrier::complete_tx::bytes");
  ASSERT_EQ(copy.operands.size(), 3u);
  ASSERT_EQ(copy.operands[1].elements.size(), 2u);
  EXPECT_EQ(copy.operands[1].elements[1].elements[1].integer, ~uint64_t{0});
  EXPECT_EQ(copy.text,
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r3, -1}], [%r4];");
  EXPECT_EQ(function.body[2].modifiers[4], "x1");
  EXPECT_EQ(function.body[2].modifiers[3], "16x256b");
}

TEST(Parser, ReadsEveryKindOfOperand) {
  const Function function = body(R"(
  .shared .b32 tile[64];
  shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;
  elect.sync _|%p2, 0xffffffff;
  mov.b32 %r1, 0f3F800000;
  add.f64 %rd1, %rd2, -0d3FF0000000000000;
  mov.u32 %r2, tile+12;
  and.pred %p1, %p2, !%p3;
  ld.shared.u32 %r3, [tile+4];
  ld.shared.u32 %r3, [256];
  mov.u32 %r4, %tid.x;
  add.s32 %r5, %r4, (2 + 3) * 4;
  mov.u32 %r6, WARP_SZ;
  add.f32 %r7, %r7, 1.5;
)");
  const auto& code = function.body;
  EXPECT_EQ(code[0].operands[0].kind, Operand::Kind::Dual);
  EXPECT_EQ(code[0].operands[0].elements[1].text, "%p1");
  EXPECT_EQ(code[0].operands[4].integer, ~uint64_t{0});
  EXPECT_EQ(code[1].operands[0].elements[0].kind, Operand::Kind::Sink);
  EXPECT_EQ(code[2].operands[1].bits, 0x3f800000u);
  EXPECT_EQ(code[2].operands[1].type, ScalarType::F32);
  EXPECT_EQ(std::bit_cast<double>(code[3].operands[2].bits), -1.0);
  EXPECT_EQ(code[4].operands[1].kind, Operand::Kind::Symbol);
  EXPECT_EQ(code[4].operands[1].text, "tile");
  EXPECT_EQ(code[4].operands[1].offset, 12);
  EXPECT_TRUE(code[5].operands[2].negated);
  EXPECT_EQ(code[6].operands[1].elements[0].kind, Operand::Kind::Symbol);
  EXPECT_EQ(code[6].operands[1].offset, 4);
  EXPECT_EQ(code[7].operands[1].elements[0].integer, 256u);
  EXPECT_EQ(code[8].operands[1].text, "%tid.x");
  EXPECT_EQ(code[9].operands[2].integer, 20u);
  EXPECT_EQ(code[10].operands[1].integer, 32u);
  EXPECT_EQ(std::bit_cast<double>(code[11].operands[2].bits), 1.5);
}

TEST(Parser, ReadsCallsAndTables) {
  const Function function = body(R"(
  { // callseq 0, 0
  .param .b64 param0;
  st.param.b64 [param0], %rd1;
  .param .b32 retval0;
  call.uni (retval0),
  vprintf,
  (
  param0
  );
  ld.param.b32 %r1, [retval0];
  }
  prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[12]);
  call (%r1), %rd2, (%rd3, 5), prototype_0;
$table: .branchtargets $L1, $L2;
  brx.idx %r1, $table;
$L1:
$L2:
  ret;
)");
  const Instruction& call = function.body[1];
  EXPECT_EQ(call.operands[0].kind, Operand::Kind::List);
  EXPECT_EQ(call.operands[1].text, "vprintf");
  EXPECT_EQ(call.operands[2].elements[0].kind, Operand::Kind::Symbol);
  EXPECT_EQ(call.operands[2].elements[0].text, function.variables[0].name);
  EXPECT_EQ(function.variables[0].space, StateSpace::Param);
  EXPECT_EQ(function.body[3].operands[2].elements[1].integer, 5u);
  EXPECT_EQ(function.branchTargets.at("$table"), (std::vector<std::string>{"$L1", "$L2"}));
  EXPECT_EQ(function.labels.at("$L1"), 5u);
  EXPECT_EQ(function.labels.at("$L2"), 5u);
}

TEST(Parser, ScopesHaveTheirOwnNames) {
  const Function function = body(R"(
  {
    .reg .pred p;
    .reg .b32 t;
  again:
    setp.eq.u32 p, %r1, 0;
    @p bra again;
    { .reg .b64 t; mov.b64 t, 1; bra outer; again: bra again; }
    mov.b32 t, 2;
  }
  {
    .reg .pred p;
    setp.eq.u32 p, %r1, 1;
    @!p bra done;
  done:
  }
outer:
  ret;
)");
  const auto& code = function.body;
  const std::string& first = code[1].operands[0].text;
  EXPECT_NE(first, "again");
  EXPECT_EQ(function.labels.at(first), 0u);
  EXPECT_NE(code[4].operands[0].text, first);
  EXPECT_EQ(function.labels.at(code[4].operands[0].text), 4u);
  EXPECT_EQ(code[3].operands[0].text, "outer");
  EXPECT_NE(code[2].operands[0].text, code[5].operands[0].text) << "the inner t shadows the outer one";
  EXPECT_EQ(code[0].operands[0].text, code[6].operands[0].text) << "blocks side by side share registers";
  EXPECT_EQ(function.labels.at(code[7].operands[0].text), 8u);
  size_t predicates = 0;
  for (const RegisterDeclaration& declaration : function.registers) predicates += declaration.name.starts_with("p@") ? 1 : 0;
  EXPECT_EQ(predicates, 1u);
}

TEST(Parser, FollowsSourceLines) {
  const Function function = body(R"(
  .loc 1 10 3
  mov.u32 %r1, 1;
  .loc 2 77 9, function_name $L__info_string0, inlined_at 1 11 5
  mov.u32 %r2, 2;
  .loc 1 12 3, function_name $L__info_string0 + 16, inlined_at 1 11 5
  mov.u32 %r3, 3;
)");
  EXPECT_EQ(function.body[0].location.sourceLine, 10u);
  EXPECT_EQ(function.body[1].location.sourceFile, 2u);
  EXPECT_EQ(function.body[1].location.sourceLine, 77u);
  EXPECT_EQ(function.body[2].location.sourceLine, 12u);
  EXPECT_EQ(function.body[1].location.ptxLine, function.body[0].location.ptxLine + 2);
}

/// f at line 20 is called at line 10 of g, and that at lines 5 and 6 of the kernel.
TEST(Parser, FollowsCallsThatWereInlined) {
  const Module module = parse(R"(
.visible .entry k() {
  .reg .b32 %r<9>;
  .loc 1 5 3
  mov.u32 %r1, 1;
  .loc 2 10 9, function_name $L__info_string0, inlined_at 1 5 3
  mov.u32 %r2, 2;
  .loc 2 20 1, function_name $L__info_string1, inlined_at 2 10 9
  mov.u32 %r3, 3;
  .loc 1 6 3
  .loc 2 10 9, function_name $L__info_string0, inlined_at 1 6 3
  .loc 2 20 1, function_name $L__info_string1, inlined_at 2 10 9
  mov.u32 %r4, 4;
  .loc 1 7 3
  mov.u32 %r5, 5;
}
)");
  const auto& code = module.functions[0].body;
  const auto chain = [&](size_t index) {
    std::vector<uint32_t> lines;
    for (uint32_t number = code[index].location.inlinedAt; number != 0; number = module.inlineSites[number - 1].inlinedAt)
      lines.push_back(module.inlineSites[number - 1].sourceLine);
    return lines;
  };
  EXPECT_EQ(chain(0), (std::vector<uint32_t>{}));
  EXPECT_EQ(chain(1), (std::vector<uint32_t>{5}));
  EXPECT_EQ(chain(2), (std::vector<uint32_t>{10, 5}));
  EXPECT_EQ(chain(3), (std::vector<uint32_t>{10, 6}));
  EXPECT_EQ(chain(4), (std::vector<uint32_t>{}));
  EXPECT_EQ(module.inlineSites[code[2].location.inlinedAt - 1].sourceFile, 2u);
}

TEST(Parser, SkipsCommentsSectionsAndLineMarkers) {
  const Module module = parse(R"(
// a comment with { and "
/* another
   one */
# 1 "kernel.cu"
.visible .entry k() { /* inside */ ret; // behind
}
.section .debug_str
{
$L__info_string0:
.b8 97,98,0 // }
.b32 .debug_info+4
}
	.section	.debug_macinfo	{	}
)" + std::string("\0\0", 2));
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].body.size(), 1u);
}

TEST(Parser, ExpandsVectorRegisters) {
  const Function function = body(
      "  .reg .v4 .b32 %v;\n  .reg .v2 .b64 %w;\n  ld.global.v4.u32 %v, [%rd1];\n  mov.b32 %r1, %v.z;\n  mov.b64 %rd1, %w.y;\n");
  ASSERT_EQ(function.body[0].operands[0].kind, Operand::Kind::Vector);
  EXPECT_EQ(function.body[0].operands[0].elements[3].text, "%v.w");
  EXPECT_EQ(function.body[1].operands[1].text, "%v.z");
  EXPECT_EQ(function.body[2].operands[1].text, "%w.y");
}

TEST(Parser, KeepsStaticsOfFunctionsAsModuleVariables) {
  const Module module = parse(".visible .entry k()\n{\n.global .u32 state = 3;\n.shared .b8 tile[16];\nret;\n}\n");
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_EQ(module.variables[0].name, "state");
  ASSERT_EQ(module.functions[0].variables.size(), 1u);
  EXPECT_EQ(module.functions[0].variables[0].name, "tile");
}

}  // namespace
}  // namespace shiftconv::emulator::ptx
