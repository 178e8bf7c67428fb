// GEMM kernels on real-valued operands with everything that an epilogue does: within the bound that the references derive, for
// every kind of operand, activation and output.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "common/device/emulated_device.hpp"
#include "common/gemm/reference/product_reference.hpp"
#include "common/gemm/sm100/gemm.hpp"
#include "common/layout/quantized_matrix.hpp"
#include "common/numerics/codec.hpp"
#include "tests/gemm/device_memory.hpp"
#include "tests/gemm/epilogue_judge.hpp"

namespace shiftconv::tests {
namespace {

using gemm::Activation;
using gemm::sm100::Engine;
using gemm::sm100::GemmChoices;
using gemm::sm100::Grouping;
using layout::QuantizedMatrix;
using layout::ScaleFactorLayout;
using numerics::BlockFormat;
using numerics::NumberType;
using enum numerics::NumberType;

constexpr uint32_t kSeed = 20261121;

struct Case {
  std::string name;
  BlockFormat a, b;
  int64_t m = 150, n = 100, k = 200;
  NumberType accumulator = F32;
  ScaleFactorLayout scales = ScaleFactorLayout::Interleaved128x4;
  bool everything = false;  ///< scales, bias, residual, largest; otherwise the plain product
  Activation activation = Activation::None;
  NumberType output = F32;
  int32_t outputBlock = 0;
  ScaleFactorLayout outputScales = ScaleFactorLayout::RowMajor;
  GemmChoices choices{};
};

BlockFormat plain(NumberType type) { return {numerics::name(type), type, 0, type}; }
BlockFormat block(const char* name) { return *numerics::blockFormatNamed(name); }

GemmChoices choose(Engine engine, Grouping grouping, int32_t tileN, int32_t splits = 1) {
  GemmChoices choices;
  choices.engine = engine, choices.grouping = grouping, choices.splits = splits;
  choices.tileRows = 128, choices.tileN = tileN;
  return choices;
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
  const BlockFormat f16 = plain(F16), nvfp4 = block("nvfp4");
  // The plain product of real numbers, in every kind.
  for (const NumberType type : {F16, BF16, TF32, E4M3, E5M2})
    cases.push_back({.name = std::string(numerics::name(type)), .a = plain(type), .b = plain(type)});
  cases.push_back({.name = "e3m2_e2m1", .a = plain(E3M2), .b = plain(E2M1)});
  cases.push_back({.name = "s8", .a = plain(S8), .b = plain(S8), .accumulator = S32});
  cases.push_back({.name = "f16_in_f16", .a = f16, .b = f16, .accumulator = F16});
  for (const BlockFormat& format : numerics::kBlockFormats)
    for (const ScaleFactorLayout layout : {ScaleFactorLayout::RowMajor, ScaleFactorLayout::Interleaved128x4})
      cases.push_back({.name = fmt::format("{}_{}", format.name, layout == ScaleFactorLayout::RowMajor ? "rows" : "tiles"),
                       .a = format,
                       .b = format,
                       .scales = layout});
  cases.push_back({.name = "mxfp8_mxfp4", .a = block("mxfp8_e5m2"), .b = block("mxfp4")});
  cases.push_back({.name = "mxfp6_mxfp8", .a = block("mxfp6_e2m3"), .b = block("mxfp8_e4m3")});

  // Every activation and every output after everything else.
  for (int i = 1; i < gemm::kActivations; ++i)
    cases.push_back({.name = fmt::format("{}", gemm::name(static_cast<Activation>(i))),
                     .a = f16,
                     .b = f16,
                     .everything = true,
                     .activation = static_cast<Activation>(i)});
  for (const NumberType type : {F16, BF16, E4M3, E5M2, S8, U8})
    cases.push_back({.name = fmt::format("to_{}", numerics::name(type)), .a = f16, .b = f16, .everything = true, .output = type});
  for (const auto& [name, type, size] :
       {std::tuple{"mxfp8_e4m3", E4M3, 32}, {"mxfp8_e5m2", E5M2, 32}, {"mxfp4", E2M1, 32}, {"nvfp4", E2M1, 16}})
    for (const ScaleFactorLayout layout : {ScaleFactorLayout::RowMajor, ScaleFactorLayout::Interleaved128x4})
      cases.push_back({.name = fmt::format("to_{}_{}", name, layout == ScaleFactorLayout::RowMajor ? "rows" : "tiles"),
                       .a = block(name),
                       .b = block(name),
                       .everything = true,
                       .activation = Activation::Silu,
                       .output = type,
                       .outputBlock = size,
                       .outputScales = layout});

  // The same through the other ways of computing it.
  const auto variant = [&](const char* name, GemmChoices choices) {
    cases.push_back({.name = name,
                     .a = nvfp4,
                     .b = nvfp4,
                     .m = 300,
                     .n = 140,
                     .k = 700,
                     .everything = true,
                     .activation = Activation::GeluErf,
                     .output = E2M1,
                     .outputBlock = 16,
                     .outputScales = ScaleFactorLayout::Interleaved128x4,
                     .choices = choices});
  };
  variant("pair", choose(Engine::SharedA, Grouping::Pair, 64));
  variant("sharing", choose(Engine::SharedA, Grouping::Sharing, 64));
  variant("tensor_a", choose(Engine::TensorA, Grouping::Single, 64));
  variant("split", choose(Engine::SharedA, Grouping::Single, 128, 3));
  // Tiles of 64 rows: 16 rows of a window, with columns of their own for either half of a warp; a pair, with 64 rows twice.
  for (const auto& [name, grouping, output] : {std::tuple{"rows64_to_e4m3", Grouping::Single, E4M3},
                                               {"rows64_to_f32", Grouping::Single, F32},
                                               {"rows64_pair_to_f16", Grouping::Pair, F16}}) {
    GemmChoices half = choose(Engine::SharedA, grouping, 64);
    half.tileRows = 64;
    cases.push_back({.name = name,
                     .a = f16,
                     .b = f16,
                     .everything = true,
                     .activation = Activation::GeluTanh,
                     .output = output,
                     .choices = half});
  }
  cases.push_back({.name = "s8_to_s8",
                   .a = plain(S8),
                   .b = plain(U8),
                   .accumulator = S32,
                   .everything = true,
                   .activation = Activation::Relu,
                   .output = S8});
  // Rows of the output that are no multiples of 16 bytes take another way out.
  cases.push_back({.name = "unaligned_rows",
                   .a = f16,
                   .b = f16,
                   .m = 40,
                   .n = 37,
                   .everything = true,
                   .activation = Activation::Tanh,
                   .output = E4M3});
  cases.back().choices.tileRows = 128;
  cases.push_back(cases.back());
  cases.back().name = "rows64_unaligned_rows", cases.back().choices.tileRows = 64;
  return cases;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = allCases();
  return all;
}

/// One for all tests: it keeps the kernels that it has read.
device::EmulatedDevice& sharedDevice() {
  static const std::unique_ptr<device::EmulatedDevice> device = [] {
    auto opened = std::make_unique<device::EmulatedDevice>();
    check(opened->setOption("hazards", "error"));
    return opened;
  }();
  return *device;
}

/// Operands of the epilogue on the host; `params` points at them.
struct HostOperands {
  gemm::EpilogueParams params;
  std::vector<int32_t> correction;
  std::vector<float> rowScale, columnScale, bias, largest;
  std::vector<std::byte> residual;
};

class GemmEpilogue : public testing::TestWithParam<size_t> {
 protected:
  const Case& what_ = cases()[GetParam()];
  std::mt19937 generator_{kSeed + static_cast<uint32_t>(GetParam())};

  float normal() { return std::normal_distribution<float>()(generator_); }

  std::vector<float> numbers(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    const bool integers = what_.accumulator == S32;
    for (float& value : values) value = integers ? std::round(40 * normal()) : normal();
    return values;
  }

  QuantizedMatrix operand(const BlockFormat& format, const BlockFormat& other, int64_t rows) {
    const bool packed = format.blockSize != 0 && format.element == E2M1 && other.element == E2M1;
    const int64_t alignment =
        packed || numerics::storageBits(format.element) >= 8 ? 16 : numerics::packedBytes(format.element, 128);
    const layout::QuantizeOptions options{what_.scales, alignment};
    return format.blockSize == 0 ? layout::convert(format.element, rows, what_.k, numbers(rows * what_.k), options)
                                 : layout::quantize(format, rows, what_.k, numbers(rows * what_.k), options);
  }

  gemm::GemmProblem problem(const QuantizedMatrix& a, const QuantizedMatrix& b) const {
    gemm::GemmProblem problem;
    problem.m = what_.m, problem.n = what_.n, problem.k = what_.k;
    problem.a = {a.format.element, false, a.pitch, a.scaleLayout};
    problem.b = {b.format.element, false, b.pitch, b.scaleLayout};
    problem.blockSize = a.format.blockSize;
    if (problem.blockSize != 0) problem.scale = a.format.scale;
    problem.accumulator = what_.accumulator;
    problem.output = what_.output;
    problem.outputBlock = what_.outputBlock;
    problem.outputPitch = numerics::packedBytes(what_.output, what_.n) + (what_.name.ends_with("unaligned_rows") ? 3 : 16);
    if (!what_.name.ends_with("unaligned_rows")) problem.outputPitch = (problem.outputPitch + 15) / 16 * 16;
    return problem;
  }

  void fill(HostOperands& host, float alpha) {
    gemm::EpilogueParams& p = host.params;
    p.rows = static_cast<int32_t>(what_.m), p.columns = static_cast<int32_t>(what_.n);
    p.accumulatorType = what_.accumulator == S32 ? S32 : F32;
    p.alpha = alpha;
    p.activation = what_.activation;
    p.activationA = what_.activation == Activation::Clamp ? -0.5f : 0.1f;
    p.activationB = 0.8f;
    p.outputType = what_.output, p.outputBlock = what_.outputBlock, p.outputScaleLayout = what_.outputScales;
    if (!what_.everything) return;
    // About 1 after the scales, whatever K is; outputs of narrow types reach beyond their largest number.
    p.alpha = alpha / (what_.accumulator == S32 ? 20000.0f : 14.0f);
    p.outputScale = what_.output == F32 || what_.outputBlock != 0
                        ? 1.5f
                        : static_cast<float>(std::min(numerics::largestValue(what_.output), 60000.0) / 3);
    for (int64_t i = 0; i < what_.m; ++i) host.rowScale.push_back(0.5f + std::fabs(normal()));
    for (int64_t i = 0; i < what_.n; ++i) {
      host.columnScale.push_back(0.5f + std::fabs(normal()));
      host.bias.push_back(normal());
      if (what_.accumulator == S32) host.correction.push_back(static_cast<int32_t>(1000 * normal()));
    }
    p.residualPitch = what_.n * 2;
    p.residualType = F16;
    p.beta = -0.7f;
    for (int64_t i = 0; i < what_.m * what_.n; ++i) {
      const uint32_t code = numerics::encode(F16, double{normal()});
      host.residual.push_back(static_cast<std::byte>(code & 0xff));
      host.residual.push_back(static_cast<std::byte>(code >> 8));
    }
    host.largest.push_back(0);
    p.rowScale = host.rowScale.data(), p.columnScale = host.columnScale.data(), p.bias = host.bias.data();
    p.columnCorrection = host.correction.empty() ? nullptr : host.correction.data();
    p.residual = host.residual.data();
    p.largest = host.largest.data();
  }
};

TEST_P(GemmEpilogue, StaysWithinItsBoundUnderEverySchedule) {
  SCOPED_TRACE(fmt::format("seed {}", kSeed + GetParam()));
  device::EmulatedDevice& device = sharedDevice();
  const QuantizedMatrix a = operand(what_.a, what_.b, what_.m), b = operand(what_.b, what_.a, what_.n);
  const gemm::GemmProblem problem = this->problem(a, b);
  HostOperands host;
  fill(host, a.tensorScale * b.tensorScale);
  host.params.outputPitch = problem.outputPitch;
  gemm::sm100::GemmPlan plan;
  ASSERT_EQ(gemm::sm100::planGemm(problem, device.properties(), what_.choices, plan), "");

  DeviceMemory memory(device);
  gemm::sm100::GemmTensors tensors;
  tensors.a = memory.upload<device::Address>(a.elements), tensors.b = memory.upload<device::Address>(b.elements);
  tensors.scaleA = memory.upload<device::Address>(a.scales), tensors.scaleB = memory.upload<device::Address>(b.scales);
  tensors.workspace = memory.upload<device::Address>(std::vector<std::byte>(plan.partialBytes + plan.counterBytes));
  gemm::EpilogueParams& p = tensors.epilogue = host.params;
  p.columnCorrection = memory.upload<const int32_t*>(host.correction);
  p.rowScale = memory.upload<const float*>(host.rowScale);
  p.columnScale = memory.upload<const float*>(host.columnScale);
  p.bias = memory.upload<const float*>(host.bias);
  p.residual = memory.upload<const void*>(host.residual);
  const auto elementBytes = static_cast<size_t>(what_.m * problem.outputPitch);
  const auto scaleBytes =
      what_.outputBlock == 0
          ? size_t{0}
          : static_cast<size_t>(layout::scaleFactorBytes(what_.outputScales, what_.m, host.params.outputBlocksPerRow()));
  const auto outputUnder = [&](const char* schedule) {
    check(device.setOption("schedule", schedule));
    tensors.output = memory.poisoned<device::Address>(elementBytes);
    p.outputScales = memory.poisoned<uint8_t*>(scaleBytes);
    p.largest = memory.upload<float*>(host.largest);
    gemm::sm100::Gemm bound;
    check(gemm::sm100::Gemm::bind(device, plan, tensors, bound));
    check(bound.run(0));
    EpilogueOutput output;
    output.byTensorMap = true;
    output.elements = memory.download(std::bit_cast<const void*>(tensors.output), elementBytes);
    output.scales = memory.download(p.outputScales, scaleBytes);
    if (p.largest != nullptr) std::memcpy(&output.largest, memory.download(p.largest, sizeof(float)).data(), sizeof(float));
    return output;
  };
  const EpilogueOutput output = outputUnder("earliest");

  const std::vector<gemm::Bounded> accumulators =
      gemm::referenceProduct(gemm::referenceOperand(a), gemm::referenceOperand(b),
                             {.accumulator = what_.accumulator, .splits = what_.choices.splits.value_or(4)});
  EXPECT_EQ(firstDifference(host.params, accumulators, output), "") << plan.describe();
  for (const char* schedule : {"latest", "random"}) {
    const EpilogueOutput other = outputUnder(schedule);
    EXPECT_TRUE(other.elements == output.elements && other.scales == output.scales && other.largest == output.largest)
        << "other bits under the schedule \"" << schedule << "\"\n"
        << plan.describe();
  }
}

INSTANTIATE_TEST_SUITE_P(Gemm, GemmEpilogue, testing::Range<size_t>(0, cases().size()),
                         [](const auto& info) { return cases()[info.param].name; });

}  // namespace
}  // namespace shiftconv::tests
