// setp and set (PTX ISA 9.0, 9.7.5 and 9.7.7): every comparison of a type in one case.
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings {
namespace {

const std::vector<std::string> kEqual{"eq", "ne"};
const std::vector<std::string> kSigned{"eq", "ne", "lt", "le", "gt", "ge"};
const std::vector<std::string> kUnsigned{"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
const std::vector<std::string> kFloat{"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

const std::vector<std::string>& comparisonsOf(const std::string& type) {
  if (type[0] == 'b' && type[1] != 'f') return kEqual;
  if (type[0] == 's') return kSigned;
  return type[0] == 'u' ? kUnsigned : kFloat;
}

/// setp.<cmp>.<type> with one result for each comparison.
void addSetp(FormTable& table, const std::string& type, const std::string& ftz = "") {
  const std::vector<std::string>& comparisons = comparisonsOf(type);
  const Kind kind = kindNamed(type);
  std::string text;
  for (size_t k = 0; k < comparisons.size(); ++k)
    text += fmt::format("setp.{}{}.{} %x{}, %a, %b;\n    ", comparisons[k], ftz, type, k);
  table.body(fmt::format("setp.cmp{}.{}", ftz, type), {kind, kind}, std::vector<Kind>(comparisons.size(), Kind::Pred), text);
}

/// Both destinations, combined with a predicate by each Boolean operation.
void addCombined(FormTable& table, const std::string& type) {
  const Kind kind = kindNamed(type);
  std::string text;
  unsigned k = 0;
  for (const char* op : {"and", "or", "xor"})
    for (const char* negation : {"", "!"}) {
      // The scalar half forms have one destination.
      const std::string second = type == "f16" ? "" : fmt::format("|%x{}", k + 1);
      text += fmt::format("setp.lt.{}.{} %x{}{}, %a, %b, {}%c;\n    ", op, type, k, second, negation);
      k += second.empty() ? 1 : 2;
    }
  table.body(fmt::format("setp.lt.bool.{} p|q", type), {kind, kind, Kind::Pred}, std::vector<Kind>(k, Kind::Pred), text);
}

/// Two halves, two predicates.
void addPackedSetp(FormTable& table, const std::string& type, const std::string& ftz = "") {
  const Kind kind = kindNamed(type);
  for (size_t first = 0; first < kFloat.size(); first += 7) {
    std::string text;
    for (size_t k = 0; k < 7; ++k)
      text += fmt::format("setp.{}{}.{} %x{}|%x{}, %a, %b;\n    ", kFloat[first + k], ftz, type, 2 * k, 2 * k + 1);
    table.body(fmt::format("setp.{}..{}{}.{}", kFloat[first], kFloat[first + 6], ftz, type), {kind, kind},
               std::vector<Kind>(14, Kind::Pred), text);
  }
}

void addSet(FormTable& table, const std::string& result, const std::string& type, const std::string& ftz = "") {
  const std::vector<std::string>& comparisons = comparisonsOf(type);
  const Kind kind = kindNamed(type);
  std::string text;
  for (size_t k = 0; k < comparisons.size(); ++k)
    text += fmt::format("set.{}{}.{}.{} %x{}, %a, %b;\n    ", comparisons[k], ftz, result, type, k);
  table.body(fmt::format("set.cmp{}.{}.{}", ftz, result, type), {kind, kind},
             std::vector<Kind>(comparisons.size(), kindNamed(result)), text, {.count = 1024});
}

}  // namespace

void addComparisonCases(CaseList& cases) {
  FormTable table(cases, "comparison");
  for (const char* type : {"b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64", "f16", "bf16"})
    addSetp(table, type);
  addSetp(table, "f32", ".ftz");
  addSetp(table, "f16", ".ftz");
  for (const char* type : {"u32", "s64", "f32", "f64", "f16"}) addCombined(table, type);
  addPackedSetp(table, "f16x2");
  addPackedSetp(table, "f16x2", ".ftz");
  addPackedSetp(table, "bf16x2");
  for (const char* type : {"b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"})
    for (const char* result : {"u32", "s32", "f32"}) addSet(table, result, type);
  for (const char* result : {"u32", "f32"}) addSet(table, result, "f32", ".ftz");
  for (const char* result : {"f16", "u16", "s16", "u32", "s32"}) addSet(table, result, "f16");
  for (const char* result : {"bf16", "u16", "s16", "u32", "s32"}) addSet(table, result, "bf16");
  addSet(table, "f16x2", "f16x2");
  addSet(table, "bf16x2", "bf16x2");
  table.body("set.lt.and.u32.s32", {Kind::I32, Kind::I32, Kind::Pred}, {Kind::I32, Kind::I32},
             "set.lt.and.u32.s32 %x0, %a, %b, %c;\n    set.gt.xor.u32.s32 %x1, %a, %b, !%c;");
}

}  // namespace shiftconv::recordings
