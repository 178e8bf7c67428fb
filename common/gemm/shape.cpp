#include "common/gemm/shape.hpp"

#include <fmt/format.h>

#include "common/numerics/codec.hpp"

namespace shiftconv::gemm {
namespace {

bool isNarrowFloat(NumberType type) {
  return type == NumberType::E4M3 || type == NumberType::E5M2 || type == NumberType::E2M3 || type == NumberType::E3M2 ||
         type == NumberType::E2M1;
}
bool isByteInteger(NumberType type) { return type == NumberType::S8 || type == NumberType::U8; }

bool accumulates(layout::MmaKind kind, NumberType accumulator) {
  using layout::MmaKind;
  switch (kind) {
    case MmaKind::F16:
    case MmaKind::F8F6F4:
      return accumulator == NumberType::F32 || accumulator == NumberType::F16;
    case MmaKind::I8:
      return accumulator == NumberType::S32;
    default:
      return accumulator == NumberType::F32;
  }
}

}  // namespace

int64_t lineBytes(const GemmProblem& problem, const Operand& operand, int64_t rows) {
  return numerics::packedBytes(operand.type, operand.mnMajor ? rows : problem.lineElements());
}

std::optional<layout::MmaKind> kindOf(const GemmProblem& problem, std::string& why) {
  using layout::MmaKind;
  const NumberType a = problem.a.type, b = problem.b.type;
  std::optional<MmaKind> kind;
  if (problem.blockSize == 0) {
    if (a == b && (a == NumberType::F16 || a == NumberType::BF16)) kind = MmaKind::F16;
    if (a == b && a == NumberType::TF32) kind = MmaKind::TF32;
    if (isNarrowFloat(a) && isNarrowFloat(b)) kind = MmaKind::F8F6F4;
    if (isByteInteger(a) && isByteInteger(b)) kind = MmaKind::I8;
  } else if (problem.blockSize == 32 && problem.scale == NumberType::UE8M0) {
    if (isNarrowFloat(a) && isNarrowFloat(b))
      kind = a == NumberType::E2M1 && b == NumberType::E2M1 ? MmaKind::MxF4 : MmaKind::MxF8F6F4;
  } else if (problem.blockSize == 16 && (problem.scale == NumberType::UE8M0 || problem.scale == NumberType::UE4M3)) {
    if (a == NumberType::E2M1 && b == NumberType::E2M1) kind = MmaKind::NvF4;
  }
  if (!kind) {
    why = fmt::format(
        "no matrix instruction multiplies {} by {} with {} (PTX ISA tables 39 and 54)", numerics::name(a), numerics::name(b),
        problem.blockSize == 0 ? "no block scales"
                               : fmt::format("{} scales for blocks of {}", numerics::name(problem.scale), problem.blockSize));
    return kind;
  }
  if (!accumulates(*kind, problem.accumulator)) {
    why = fmt::format("{} does not accumulate in {} (PTX ISA table 39)", toString(*kind), numerics::name(problem.accumulator));
    return std::nullopt;
  }
  return kind;
}

const char* toString(layout::MmaKind kind) {
  using layout::MmaKind;
  switch (kind) {
    case MmaKind::F16:
      return "kind::f16";
    case MmaKind::TF32:
      return "kind::tf32";
    case MmaKind::F8F6F4:
      return "kind::f8f6f4";
    case MmaKind::I8:
      return "kind::i8";
    case MmaKind::MxF8F6F4:
      return "kind::mxf8f6f4";
    case MmaKind::MxF4:
      return "kind::mxf4";
    case MmaKind::NvF4:
      return "kind::mxf4nvf4.block16";
  }
  return "";
}

std::string describe(const GemmProblem& p) {
  const auto operand = [](const Operand& o) { return fmt::format("{}{}", numerics::name(o.type), o.mnMajor ? ".mn" : ""); };
  std::string text = fmt::format("m={},n={},k={},a={},b={}", p.m, p.n, p.k, operand(p.a), operand(p.b));
  const auto layoutOf = [](const Operand& o) { return o.scaleLayout == layout::ScaleFactorLayout::RowMajor ? "rows" : "128x4"; };
  if (p.blockSize != 0)
    text += fmt::format(",scale={}/{}.{}.{}", numerics::name(p.scale), p.blockSize, layoutOf(p.a), layoutOf(p.b));
  if (p.window) {
    const auto axis = [](const Window::Axis& a) {
      return fmt::format("{}of{}x{}/{}+{}-{}", a.positions, a.extent, a.taps, a.stride, a.step, a.before);
    };
    const auto& [x, y, z] = p.window->axes;
    text += fmt::format(",window={}:{}:{}:{}x{}", p.window->images, axis(z), axis(y), axis(x), p.window->channels);
    if (p.window->groups != 1) text += fmt::format(",groups={}", p.window->groups);
  }
  return text + fmt::format(",acc={},out={}", numerics::name(p.accumulator), numerics::name(p.output));
}

}  // namespace shiftconv::gemm
