// Integer arithmetic (PTX ISA 9.0, 9.7.1 and 9.7.2).
#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings::integer_cases {
namespace {

constexpr Kind I16 = Kind::I16, I32 = Kind::I32, I64 = Kind::I64, Amount = Kind::Amount;

/// Division by zero and the one overflowing quotient are unspecified.
OperandFilter divisible(unsigned bits) {
  return [bits](OperandSet& set) {
    const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    if (set[1] == 0) set[1] = 3;
    if (set[0] == 1ull << (bits - 1) && set[1] == mask) set[1] = 5;
  };
}

void addCarryChains(FormTable& table) {
  for (const std::string width : {"32", "64"}) {
    const Kind kind = kindNamed("b" + width);
    const std::vector<Kind> four(4, kind), two(2, kind);
    for (const std::string& type : {"u" + width, "s" + width}) {
      table.body("add.cc." + type + " addc." + type, four, two,
                 "add.cc." + type + " %x0, %a, %b;\n    addc." + type + " %x1, %c, %e;");
      table.body("sub.cc." + type + " subc." + type, four, two,
                 "sub.cc." + type + " %x0, %a, %b;\n    subc." + type + " %x1, %c, %e;");
      table.body("addc.cc." + type, four, std::vector<Kind>(3, kind),
                 "add.cc." + type + " %x0, %a, %b;\n    addc.cc." + type + " %x1, %c, %e;\n    addc." + type + " %x2, %a, 0;");
      table.body("subc.cc." + type, four, std::vector<Kind>(3, kind),
                 "sub.cc." + type + " %x0, %a, %b;\n    subc.cc." + type + " %x1, %c, %e;\n    subc." + type + " %x2, %a, 0;");
      table.body("mad.lo.cc." + type + " madc.hi." + type, four, two,
                 "mad.lo.cc." + type + " %x0, %a, %b, %c;\n    madc.hi." + type + " %x1, %a, %b, %e;");
      table.body("mad.hi.cc." + type + " madc.lo.cc." + type, four, std::vector<Kind>(3, kind),
                 "mad.hi.cc." + type + " %x0, %a, %b, %c;\n    madc.lo.cc." + type + " %x1, %a, %b, %e;\n    addc." + type +
                     " %x2, %a, 0;");
    }
  }
}

}  // namespace

void addAll(CaseList& cases) {
  FormTable table(cases, "integer");
  table.binary("{add,sub}.{u16,s16,u32,s32,u64,s64}");
  table.binary("{add,sub}.sat.s32");
  table.binary("add.{u16x2,s16x2}");
  table.binary("mul.{lo,hi}.{u16,s16,u32,s32,u64,s64}");
  table.ternary("mad.{lo,hi}.{u16,s16,u32,s32,u64,s64}");
  table.ternary("mad.hi.sat.s32");
  table.form("mul.wide.{u16,s16}", {I16, I16}, {I32});
  table.form("mul.wide.{u32,s32}", {I32, I32}, {I64});
  table.form("mad.wide.{u16,s16}", {I16, I16, I32}, {I32});
  table.form("mad.wide.{u32,s32}", {I32, I32, I64}, {I64});
  table.binary("mul24.{lo,hi}.{u32,s32}");
  table.ternary("mad24.{lo,hi}.{u32,s32}");
  table.ternary("mad24.hi.sat.s32");
  table.ternary("sad.{u16,s16,u32,s32,u64,s64}");
  table.binary("{div,rem}.{u16,s16}", {.filter = divisible(16)});
  table.binary("{div,rem}.{u32,s32}", {.filter = divisible(32)});
  table.binary("{div,rem}.{u64,s64}", {.filter = divisible(64)});
  table.unary("{abs,neg}.{s16,s32,s64}");
  table.binary("{min,max}.{u16,s16,u32,s32,u64,s64,u16x2,s16x2}");
  table.binary("{min,max}.relu.{s16x2,s32}");
  addCarryChains(table);

  table.form("{popc,clz}.b32", {I32}, {I32});
  table.form("{popc,clz}.b64", {I64}, {I32});
  table.form("bfind{,.shiftamt}.{u32,s32}", {I32}, {I32});
  table.form("bfind{,.shiftamt}.{u64,s64}", {I64}, {I32});
  table.unary("brev.{b32,b64}");
  table.form("fns.b32", {I32, Amount, Amount}, {I32},
             {.filter = [](OperandSet& set) { set[1] &= 31, set[2] = (set[2] % 40 - 20) & 0xFFFFFFFF; }});
  table.form("bfe.{u32,s32}", {I32, Amount, Amount}, {I32});
  table.form("bfi.b32", {I32, I32, Amount, Amount}, {I32});
  // Positions and lengths above 255 are outside the documented range. The 32-bit forms reduce them modulo 256 as the
  // pseudo-code says; the 64-bit forms, which ptxas expands, do not.
  table.form("bfe.{u64,s64}", {I64, Amount, Amount}, {I64}, {.filter = [](OperandSet& set) { set[1] &= 255, set[2] &= 255; }});
  table.form("bfi.b64", {I64, I64, Amount, Amount}, {I64}, {.filter = [](OperandSet& set) { set[2] &= 255, set[3] &= 255; }});
  table.form("bmsk.{clamp,wrap}.b32", {Amount, Amount}, {I32});
  table.form("szext.{clamp,wrap}.{u32,s32}", {I32, Amount}, {I32});
  table.form("dp4a.{u32,s32}.{u32,s32}", {I32, I32, I32}, {I32});
  table.form("dp2a.{lo,hi}.{u32,s32}.{u32,s32}", {I32, I32, I32}, {I32});
}

}  // namespace shiftconv::recordings::integer_cases

namespace shiftconv::recordings {
void addIntegerCases(CaseList& cases) { integer_cases::addAll(cases); }
}  // namespace shiftconv::recordings
