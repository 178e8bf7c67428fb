// Logic, shifts and data movement between registers (PTX ISA 9.0, 9.7.8 and 9.7.9).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings::logic_cases {
namespace {

constexpr Kind Pred = Kind::Pred, I16 = Kind::I16, I32 = Kind::I32, I64 = Kind::I64, Amount = Kind::Amount;

/// All 256 truth tables, sixteen to a case.
void addTruthTables(FormTable& table) {
  for (unsigned base = 0; base < 256; base += 16) {
    std::string text;
    for (unsigned k = 0; k < 16; ++k) text += fmt::format("lop3.b32 %x{}, %a, %b, %c, {:#04x};\n    ", k, base + k);
    table.body(fmt::format("lop3.b32 {:#04x}-{:#04x}", base, base + 15), {I32, I32, I32}, std::vector<Kind>(16, I32), text,
               {.count = 512});
  }
  for (const char* op : {"or", "and"})
    table.body(fmt::format("lop3.{}.b32", op), {I32, I32, I32, Pred}, {I32, Pred},
               fmt::format("lop3.{}.b32 %x0|%x1, %a, %b, %c, 0x80, %e;", op));
}

void addMoves(FormTable& table) {
  table.body("mov.b32 unpack 2x16", {I32}, {I16, I16}, "mov.b32 {%x0, %x1}, %a;");
  table.body("mov.b32 pack 2x16", {I16, I16}, {I32}, "mov.b32 %x0, {%a, %b};");
  table.body("mov.b64 unpack 2x32", {I64}, {I32, I32}, "mov.b64 {%x0, %x1}, %a;");
  table.body("mov.b64 pack 2x32", {I32, I32}, {I64}, "mov.b64 %x0, {%a, %b};");
  table.body("mov.b64 unpack 4x16", {I64}, {I16, I16, I16, I16}, "mov.b64 {%x0, %x1, %x2, %x3}, %a;");
  table.body("mov.b64 pack 4x16", {I16, I16, I16, I16}, {I64}, "mov.b64 %x0, {%a, %b, %c, %e};");
  table.body("mov.b32 unpack 4x8", {I32}, {I16, I16, I16, I16},
             ".reg .b8 %u<4>;\n    mov.b32 {%u0, %u1, %u2, %u3}, %a;\n    cvt.s16.s8 %x0, %u0;\n    cvt.u16.u8 %x1, %u1;\n"
             "    cvt.s16.s8 %x2, %u2;\n    cvt.u16.u8 %x3, %u3;");
  table.body("mov.b128", {I64, I64}, {I64, I64}, ".reg .b128 %q;\n    mov.b128 %q, {%a, %b};\n    mov.b128 {%x1, %x0}, %q;");
  table.body("mov.b64 sink", {I64}, {I32}, "mov.b64 {_, %x0}, %a;");
}

}  // namespace

void addAll(CaseList& cases) {
  FormTable table(cases, "logic");
  table.binary("{and,or,xor}.{pred,b16,b32,b64}");
  table.unary("not.{pred,b16,b32,b64}");
  table.unary("cnot.{b16,b32,b64}");
  table.form("shl.b16", {I16, Amount}, {I16});
  table.form("shl.b32", {I32, Amount}, {I32});
  table.form("shl.b64", {I64, Amount}, {I64});
  table.form("shr.{b16,u16,s16}", {I16, Amount}, {I16});
  table.form("shr.{b32,u32,s32}", {I32, Amount}, {I32});
  table.form("shr.{b64,u64,s64}", {I64, Amount}, {I64});
  table.form("shf.{l,r}.{clamp,wrap}.b32", {I32, I32, Amount}, {I32});
  table.ternary("prmt.b32");
  table.form("prmt.b32.{f4e,b4e,rc8,ecl,ecr,rc16}", {I32, I32, Amount}, {I32});
  table.form("selp.{b16,u16,s16}", {I16, I16, Pred}, {I16});
  table.form("selp.{b32,u32,s32,f32}", {I32, I32, Pred}, {I32});
  table.form("selp.{b64,u64,s64,f64}", {I64, I64, Pred}, {I64});
  table.form("slct.{b16,u16,s16}.s32", {I16, I16, I32}, {I16});
  table.form("slct.{b32,u32,s32,f32}.s32", {I32, I32, I32}, {I32});
  table.form("slct.{b64,u64,s64,f64}.s32", {I64, I64, I32}, {I64});
  table.form("slct{,.ftz}.{b32,s32}.f32", {I32, I32, Kind::F32}, {I32});
  table.form("slct.b64.f32", {I64, I64, Kind::F32}, {I64});
  addTruthTables(table);
  addMoves(table);
}

}  // namespace shiftconv::recordings::logic_cases

namespace shiftconv::recordings {
void addLogicCases(CaseList& cases) { logic_cases::addAll(cases); }
}  // namespace shiftconv::recordings
