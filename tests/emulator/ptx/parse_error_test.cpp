// Messages of the parser: module, line, column, what was expected and what was found.
#include <gtest/gtest.h>

#include <string>

#include "common/emulator/error.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::ptx::parse_error_test {
namespace {

std::string messageOf(const std::string& text) {
  try {
    parseModule(text, "bad.ptx");
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Parse);
    return error.what();
  }
  ADD_FAILURE() << "no error from:\n" << text;
  return {};
}

const std::string kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";  // three lines
std::string inModule(const std::string& text) { return messageOf(kHeader + text); }
/// The text starts on line 6.
std::string inBody(const std::string& text) {
  return messageOf(kHeader + ".entry k() {\n.reg .b32 %r<4>; .reg .pred %p;\n" + text + "\n}\n");
}

struct Refusal {
  std::string text;
  std::string message;
};

TEST(ParseError, AtModuleScope) {
  EXPECT_EQ(messageOf(".target sm_100a\n"), "bad.ptx:2:1: expected '.version' in the module, found the end of the text.");
  EXPECT_EQ(messageOf(".version 9.0\n"), "bad.ptx:2:1: expected '.target' in the module, found the end of the text.");
  EXPECT_EQ(messageOf(".version 9.0\n.target sm_100a\n.address_size 32\n"),
            "bad.ptx:3:1: only 64-bit addresses are supported ('.address_size 64').");
  for (const Refusal& refusal : {
           Refusal{"mov.u32 %r1, 1;", "bad.ptx:4:1: expected a directive at module scope, found 'mov'."},
           Refusal{".global .u32 x = ;", "bad.ptx:4:18: expected an integer, found ';'."},
           Refusal{".global .b31 x;", "bad.ptx:4:9: expected a type, '.align' or a vector width of a declaration, found '.b31'."},
           Refusal{".global .align 3 .u32 x;", "bad.ptx:4:9: an alignment must be a power of two."},
           Refusal{".global .u32 x[2] = {1, 2, 3};", "bad.ptx:4:30: the initialiser of 'x' has too many elements."},
           Refusal{".global .u64 x[4294967295] = {1};", "bad.ptx:4:14: the variable 'x' is larger than 1073741824 bytes."},
           Refusal{".global .b32 x[65536][65536][65536][65536];",
                   "bad.ptx:4:14: the variable 'x' is larger than 1073741824 bytes."},
           Refusal{".global .u32 x = pointer;", "bad.ptx:4:18: the address of 'pointer' needs a 64-bit element, not .u32."},
           Refusal{".global .u32 x = 1.5;", "bad.ptx:4:18: the literal '1.5' does not fit the type .u32."},
           Refusal{".global .texref t;", "bad.ptx:4:9: textures and surfaces ('.texref') are not supported by this machine."},
           Refusal{".global .pred p;", "bad.ptx:4:15: predicates live in registers only: .pred is no type for a variable."},
           Refusal{".global .u64 x = 0x1FFFFFFFFFFFFFFFF;",
                   "bad.ptx:4:18: malformed integer, or one that needs more than 64 bits."},
           Refusal{".global .f32 x = 0f3F80;", "bad.ptx:4:18: this exact float needs 8 hex digits."},
           Refusal{"/* never closed", "bad.ptx:4:1: this comment is never closed."},
           Refusal{".file 1 \"never closed", "bad.ptx:4:9: this string is never closed."},
           Refusal{".section .debug_str {\n", "bad.ptx:4:21: this '{' is never closed."},
       })
    EXPECT_EQ(inModule(refusal.text), refusal.message);
}

TEST(ParseError, InSignatures) {
  EXPECT_EQ(inModule(".entry (.param .u32 a)"), "bad.ptx:4:8: expected the name of a function, found '('.");
  EXPECT_EQ(inModule(".entry k(.global .u32 a)"), "bad.ptx:4:10: expected '.param' or '.reg' of a parameter, found '.global'.");
  EXPECT_EQ(inModule(".entry k() .fastmath { ret; }"),
            "bad.ptx:4:12: expected a performance directive, '{' or ';' behind the signature of a function, found '.fastmath'.");
  EXPECT_EQ(inModule(".entry k()\n{\n  ret;\n"), "bad.ptx:5:1: the body of function 'k' is never closed.");
}

TEST(ParseError, InBodies) {
  for (const Refusal& refusal : {
           Refusal{"  add.s32 %r1, %r2 %r3;", "bad.ptx:6:20: expected ',' or ';' in instruction 'add', found '%r3'."},
           Refusal{"  add.s32 %r1, ;", "bad.ptx:6:16: expected an operand, found ';'."},
           Refusal{"  @%q mov.u32 %r1, 1;", "bad.ptx:6:4: guard '%q' is not a declared register."},
           Refusal{"  @%p ;", "bad.ptx:6:7: expected an instruction behind the guard, found ';'."},
           Refusal{"  .reg .b32 %r1;", "bad.ptx:6:13: '%r1' is declared twice."},
           Refusal{"here:\nhere:", "bad.ptx:7:1: label 'here' is defined twice."},
           Refusal{"  mov.b64 {%r1, %r2, %r3;", "bad.ptx:6:25: expected ',' or '}', found ';'."},
           Refusal{"  ld.global.u32 %r1, [%r2+%r3];", "bad.ptx:6:27: expected a constant offset, found '%r3'."},
           Refusal{"  ld.global.u32 %r1, [-%r2;", "bad.ptx:6:27: expected ']', found ';'."},
           Refusal{"  .weird 3;", "bad.ptx:6:3: expected a directive that may stand in a function body, found '.weird'."},
           Refusal{"  .loc 1 2 3, somewhere",
                   "bad.ptx:6:15: expected 'function_name' or 'inlined_at' behind '.loc', found 'somewhere'."},
           Refusal{"  mov.u32 %r1, 7 / 0;", "bad.ptx:6:18: division by zero in a constant expression."},
           Refusal{"  mov.u32 %r1, 12abc;", "bad.ptx:6:16: malformed number."},
           Refusal{"  mov.u32 %r1, %r2.x;", "bad.ptx:6:16: register '%r2' has no element '.x'."},
           Refusal{"  .reg .b32 %many<9999999>;", "bad.ptx:6:13: 9999999 registers '%many' are more than a function may declare."},
           Refusal{"  = 3;", "bad.ptx:6:3: expected an instruction, a directive or a label, found '='."},
       })
    EXPECT_EQ(inBody(refusal.text), refusal.message);
}

/// Cutting a module anywhere gives an error or a module, never a crash.
TEST(ParseError, TruncatedTextsAreRefused) {
  const std::string text = kHeader + R"(.global .u64 p[2] = {generic(p)+4, 0xFF(p)};
.visible .entry k(.param .u64 out) .maxntid 32
{ .reg .b32 %r<4>; .reg .pred %p; .loc 1 2 3, function_name $n, inlined_at 1 2 3
$L: @%p ld.global.v2.u32 {%r1, _}, [%r2+-8]; call (%r1), f, (%r2); { .reg .f32 t; mov.f32 t, -0f3F800000; } bra $L; }
)";
  size_t refused = 0;
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      parseModule(std::string_view(text).substr(0, length), "cut.ptx");
    } catch (const EmulatorError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Parse) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, text.size() / 2);
}

}  // namespace
}  // namespace shiftconv::emulator::ptx::parse_error_test
