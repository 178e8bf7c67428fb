// A module that cannot be executed is refused when it is loaded, with every reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/emulator/error.hpp"
#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {
namespace {

struct Refused {
  ErrorKind kind{};
  std::string message;
};

Refused compileError(const std::string& body) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.file 1 \"conv.cu\"\n.entry kernel(.param .u64 out) {\n" + body + "\n}\n";
  try {
    compile(ptx::parseModule(text, "test.ptx"), 0, instructionSet());
  } catch (const EmulatorError& error) {
    return {error.kind(), error.what()};
  }
  ADD_FAILURE() << "no error from " << body;
  return {};
}

TEST(DecodeError, NamesLinesSourceAndText) {
  const Refused refused = compileError("  .reg .b32 %r<4>;\n  .loc 1 42 7\n  frobnicate.fast.b32   %r1,   %r2;");
  EXPECT_EQ(refused.kind, ErrorKind::Unsupported);
  EXPECT_EQ(refused.message,
            "Instruction 'frobnicate.fast.b32' is not supported by this machine.\n"
            "  at test.ptx:8, source conv.cu:42, in kernel 'kernel'\n"
            "  instruction: frobnicate.fast.b32 %r1, %r2;");
}

TEST(DecodeError, SaysWhenTheSourceIsUnknown) {
  const Refused refused = compileError("  .reg .b32 %r<4>;\n  add.s32 %r1, %r2;");
  EXPECT_EQ(refused.kind, ErrorKind::IllegalInstruction);
  EXPECT_EQ(refused.message,
            "This instruction takes 3 operands, but 2 are given.\n"
            "  at test.ptx:7, in kernel 'kernel'\n"
            "  instruction: add.s32 %r1, %r2;");
}

TEST(DecodeError, ListsTwentyAndCountsTheRest) {
  std::string body = "  .reg .b32 %r<4>;\n";
  for (int i = 0; i < 23; ++i) body += fmt::format("  unknown{}.b32 %r1;\n", i);
  const Refused refused = compileError(body);
  EXPECT_EQ(refused.kind, ErrorKind::Unsupported);
  EXPECT_TRUE(refused.message.starts_with("test.ptx: 23 instructions cannot be executed.\n")) << refused.message;
  EXPECT_NE(refused.message.find("'unknown19.b32'"), std::string::npos);
  EXPECT_EQ(refused.message.find("'unknown20.b32'"), std::string::npos);
  EXPECT_TRUE(refused.message.ends_with("\n... and 3 more.")) << refused.message;
}

TEST(DecodeError, RefusesWrongOperands) {
  struct Case {
    std::string instruction;
    std::string part;
  };
  for (const Case& wrong : {
           Case{"add.s32 %r1, %rd1, 2;", "Register %rd1 is .b64, but the instruction reads a .s32 here."},
           Case{"add.s32 %rd1, %r1, 2;", "Register %rd1 is .b64, but the instruction writes a .s32 here."},
           Case{"add.s32 5, %r1, 2;", "The destination must be a register or '_'."},
           Case{"add.s32 %tid.x, %r1, 2;", "Destination '%tid.x' is not a declared register."},
           Case{"add.s32 %r1, %missing, 2;", "Register '%missing' is not declared, and is no special register this machine has."},
           Case{"add.s32 %r1, {%r2, %r3}, 2;", "A single .s32 value is expected as operand here."},
           Case{"add.f32 %r1, %r2, 2;", "A .f32 operand needs a floating-point literal or a register, not an integer."},
           Case{"add.s32 %r1, %r2, 0d3FF0000000000000;", "A floating-point literal does not fit a .s32 operand."},
           Case{"add.s32 %r1, %r2, %p1;", "Register %p1 is .pred"},
           Case{"and.pred %r1, %p1, %p1;", "Register %r1 is .b32"},
           Case{"add.s32 %r1, -%r2, 1;", "a register cannot be negated in an operand"},
           Case{"lop3.b32 %r1, %r1, %r1, %r1, 256;", "constant from 0 to 255"},
           Case{"lop3.b32 %r1, %r1, %r1, %r1, %r2;", "An integer constant is expected"},
       })
    EXPECT_NE(
        compileError("  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n  " + wrong.instruction).message.find(wrong.part),
        std::string::npos)
        << wrong.instruction << "\n"
        << compileError("  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n  " + wrong.instruction).message;
}

TEST(DecodeError, UnresolvedSymbolsInInitialisers) {
  const std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n.extern .global .u32 far;\n.global .u64 p = far;\n";
  try {
    compile(ptx::parseModule(text, "test.ptx"), 0, instructionSet());
    FAIL() << "no error";
  } catch (const EmulatorError& error) {
    EXPECT_STREQ(error.what(), "test.ptx:5: the initialiser of 'p' takes the address of 'far', which this module does not define.");
  }
}

}  // namespace
}  // namespace shiftconv::emulator::isa
