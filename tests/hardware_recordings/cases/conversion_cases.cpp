// cvt among all types (PTX ISA 9.0, 9.7.9.21), cvt.pack.
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings::conversion_cases {
namespace {

constexpr Kind I32 = Kind::I32;

unsigned bitsOf(const std::string& type) {
  return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

/// Destinations narrower than 32 bits go to a 32-bit register, which shows the extension as well.
std::vector<Kind> integerResult(const std::string& type) { return {bitsOf(type) == 64 ? Kind::I64 : I32}; }
std::vector<Kind> integerSource(const std::string& type) { return {bitsOf(type) == 64 ? Kind::I64 : I32}; }

void addIntegerToInteger(FormTable& table) {
  const std::vector<std::string> types{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
  for (const std::string& to : types)
    for (const std::string& from : types) {
      table.form("cvt." + to + "." + from, integerSource(from), integerResult(to), {.count = 1024});
      const bool saturates = bitsOf(to) < bitsOf(from) || (to[0] != from[0] && (to[0] == 'u' || bitsOf(to) == bitsOf(from)));
      if (saturates) table.form("cvt.sat." + to + "." + from, integerSource(from), integerResult(to), {.count = 1024});
    }
}

void addIntegerAndFloat(FormTable& table) {
  for (const std::string integer : {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}) {
    for (const std::string real : {"f16", "bf16", "f32", "f64"}) {
      if (real == "bf16" && bitsOf(integer) == 8) continue;  // ptxas knows no register for it
      // Beside bf16, ptxas takes no register wider than the integer type.
      const bool narrow = real == "bf16" && bitsOf(integer) < 32;
      const std::vector<Kind> source = narrow ? std::vector<Kind>{Kind::I16} : integerSource(integer);
      const std::vector<Kind> result = narrow ? std::vector<Kind>{Kind::I16} : integerResult(integer);
      table.form("cvt.{rn,rz,rm,rp}." + real + "." + integer, source, {kindNamed(real)}, {.count = 2048});
      const std::string flush = real == "f32" ? "{,.ftz}" : "";
      table.form("cvt.{rni,rzi,rmi,rpi}" + flush + "." + integer + "." + real, {kindNamed(real)}, result, {.count = 4096});
      if (real != "bf16" && bitsOf(integer) <= 32)
        table.form("cvt.rzi.sat." + integer + "." + real, {kindNamed(real)}, integerResult(integer), {.count = 4096});
    }
    for (const std::string real : {"f16", "f32", "f64"})
      table.form("cvt.rn.sat." + real + "." + integer, integerSource(integer), {kindNamed(real)}, {.count = 1024});
  }
}

void addFloatToFloat(FormTable& table) {
  const FormOptions many{.count = 16384};
  const Kind F16 = Kind::F16, BF16 = Kind::BF16, F32 = Kind::F32, F64 = Kind::F64;
  table.form("cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f16.f32", {F32}, {F16}, many);
  table.form("cvt.{rn,rz,rm,rp}{,.sat}.f16.f64", {F64}, {F16}, many);
  table.form("cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32.f64", {F64}, {F32}, many);
  table.form("cvt{,.ftz}{,.sat}.f32.f16", {F16}, {F32});
  table.form("cvt{,.sat}.f64.f16", {F16}, {F64});
  table.form("cvt{,.ftz}{,.sat}.f64.f32", {F32}, {F64}, many);
  table.form("cvt.{rni,rzi,rmi,rpi}{,.sat}.f16.f16", {F16}, {F16});
  table.form("cvt.{rni,rzi,rmi,rpi}{,.ftz}{,.sat}.f32.f32", {F32}, {F32}, many);
  table.form("cvt.{rni,rzi,rmi,rpi}{,.sat}.f64.f64", {F64}, {F64}, many);
  table.form("cvt{,.ftz}.sat.f32.f32", {F32}, {F32}, many);
  table.form("cvt.sat.f64.f64", {F64}, {F64}, many);
  table.form("cvt.sat.f16.f16", {F16}, {F16});
  table.form("cvt.{rn,rz,rm,rp}.bf16.f16", {F16}, {BF16});
  table.form("cvt.{rn,rz,rm,rp}.bf16.f64", {F64}, {BF16}, many);
  table.form("cvt.{rn,rz,rm,rp}.bf16.f32", {F32}, {BF16}, many);
  table.form("cvt.{rn,rz,rm,rp}.f16.bf16", {BF16}, {F16});
  table.form("cvt.f32.bf16", {BF16}, {F32});
  table.form("cvt.f64.bf16", {BF16}, {F64});
  table.form("cvt.{rni,rzi,rmi,rpi}.bf16.bf16", {BF16}, {BF16});
  table.form("cvt.{rn,rz}.relu.{f16,bf16}.f32", {F32}, {F16}, many);
  table.form("cvt.{rn,rz}{,.relu}.satfinite.{f16,bf16}.f32", {F32}, {F16}, many);
  table.form("cvt.{rn,rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32", {F32, F32}, {I32}, many);
  table.form("cvt.rna{,.satfinite}.tf32.f32", {F32}, {F32}, many);
  table.form("cvt.{rn,rz}{,.relu}.tf32.f32", {F32}, {F32}, many);
}

void addEightBit(FormTable& table) {
  for (const std::string type : {"e4m3x2", "e5m2x2"}) {
    table.form("cvt.rn.satfinite{,.relu}." + type + ".f32", {Kind::F32, Kind::F32}, {kindNamed(type)}, {.count = 16384});
    table.form("cvt.rn.satfinite{,.relu}." + type + ".f16x2", {Kind::F16x2}, {kindNamed(type)}, {.count = 16384});
    table.form("cvt.rn{,.relu}.f16x2." + type, {kindNamed(type)}, {Kind::F16x2});
  }
}

void addPacks(FormTable& table) {
  table.form("cvt.pack.sat.{u16,s16}.s32", {I32, I32}, {I32});
  table.form("cvt.pack.sat.{u8,s8,u4,s4,u2}.s32.b32", {I32, I32, I32}, {I32});
}

}  // namespace

void addAll(CaseList& cases) {
  FormTable table(cases, "conversion");
  addIntegerToInteger(table);
  addIntegerAndFloat(table);
  addFloatToFloat(table);
  addEightBit(table);
  addPacks(table);
}

}  // namespace shiftconv::recordings::conversion_cases

namespace shiftconv::recordings {
void addConversionCases(CaseList& cases) { conversion_cases::addAll(cases); }
}  // namespace shiftconv::recordings
