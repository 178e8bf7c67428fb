// f32 and f64 arithmetic (PTX ISA 9.0, 9.7.3).
#include <cmath>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/form_table.hpp"

namespace shiftconv::recordings {
namespace {

using Number = Tolerance::Number;

/// Both sides may be off by the documented error, on opposite sides of the true value.
FormOptions within(Number number, double relative, double absolute = 0) {
  return {.count = 2048, .tolerance = {number, 2 * relative, 2 * absolute}};
}

void addApproximations(FormTable& table) {
  const Kind F32 = Kind::F32, F64 = Kind::F64;
  const auto ulp = [](double power) { return std::exp2(power); };
  table.unary("rcp.approx{,.ftz}.f32", within(Number::F32, ulp(-23), ulp(-149)));
  table.unary("sqrt.approx{,.ftz}.f32", within(Number::F32, ulp(-23)));
  table.unary("rsqrt.approx{,.ftz}.f32", within(Number::F32, ulp(-22.9)));
  table.form("{sin,cos}.approx{,.ftz}.f32", {Kind::Angle}, {F32}, within(Number::F32, 0, ulp(-20.5)));
  table.unary("lg2.approx{,.ftz}.f32", within(Number::F32, ulp(-22), ulp(-22)));
  table.unary("ex2.approx{,.ftz}.f32", within(Number::F32, ulp(-22), ulp(-149)));
  table.unary("tanh.approx.f32", within(Number::F32, ulp(-11)));
  // 2 ulp, for divisors from 2^-126 to 2^126.
  FormOptions division = within(Number::F32, 2 * ulp(-23), ulp(-149));
  division.filter = [](OperandSet& set) {
    const uint64_t exponent = (set[1] >> 23) & 0xFF;
    if ((exponent > 252 && exponent < 255) || (exponent == 0 && (set[1] & 0x7FFFFF))) set[1] = 0x40400000;
  };
  table.form("div.{approx,full}{,.ftz}.f32", {F32, F32}, {F32}, division);
  table.form("{rcp,rsqrt}.approx.ftz.f64", {F64}, {F64}, within(Number::F64, ulp(-20)));
  table.form("rsqrt.approx.f64", {F64}, {F64}, within(Number::F64, ulp(-40)));
}

/// f64 results keep the payload of a NaN operand: which one, when there are several?
void addNaNs(FormTable& table) {
  const OperandFilter mostlyNaN = [](OperandSet& set) {
    for (uint64_t& value : set)
      if (value % 4) value = (value << 11 >> 11) | 0x7FF0000000000001 | (value << 40 >> 63 << 63);
  };
  for (const std::string& form : expandBraces("{add,sub,mul,min,max,div.rn,copysign}.f64")) {
    const std::string text = form + " %x0, %a, %b;";
    table.body(form + " of NaNs", {Kind::I64, Kind::I64}, {Kind::F64}, text, {.count = 1024, .filter = mostlyNaN});
  }
  table.body("fma.rn.f64 of NaNs", {Kind::I64, Kind::I64, Kind::I64}, {Kind::F64}, "fma.rn.f64 %x0, %a, %b, %c;",
             {.count = 2048, .filter = mostlyNaN});
}

}  // namespace

void addFloatCases(CaseList& cases) {
  FormTable table(cases, "float");
  table.binary("{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32");
  table.binary("{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64");
  table.ternary("fma.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32");
  table.ternary("mad.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32");
  table.ternary("{fma,mad}.{rn,rz,rm,rp}.f64");
  table.binary("div.{rn,rz,rm,rp}{,.ftz}.f32");
  table.binary("div.{rn,rz,rm,rp}.f64");
  table.unary("{rcp,sqrt}.{rn,rz,rm,rp}{,.ftz}.f32");
  table.unary("{rcp,sqrt}.{rn,rz,rm,rp}.f64");
  table.unary("{abs,neg}{,.ftz}.f32");
  table.unary("{abs,neg}.f64");
  table.binary("{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32");
  table.binary("{min,max}.f64");
  table.binary("copysign.{f32,f64}");
  table.form("testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", {Kind::F32}, {Kind::Pred});
  table.form("testp.{finite,infinite,number,notanumber,normal,subnormal}.f64", {Kind::F64}, {Kind::Pred});
  addNaNs(table);
  addApproximations(table);
}

}  // namespace shiftconv::recordings
