// Every operation and every output type of the epilogue, on the emulated device, against the reference in double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "common/numerics/codec.hpp"
#include "tests/gemm/epilogue_runner.hpp"

namespace shiftconv::tests {
namespace {

using gemm::Activation;
using layout::ScaleFactorLayout;
using numerics::NumberType;

constexpr uint32_t kSeed = 20261121;

/// Random accumulators and operands for every part that `parts` names.
struct Parts {
  bool rowScale = false, columnScale = false, bias = false, residual = false, largest = false;
};
constexpr Parts kAllParts{true, true, true, true, true};

class Source {
 public:
  explicit Source(bool integers) : integers_(integers) {}
  float number() {
    if (integers_) return static_cast<float>(static_cast<int>(generator_() % 9) - 4);
    return std::normal_distribution<float>()(generator_);
  }
  /// A scale; powers of two when results are to be exact.
  float scale() { return integers_ ? std::ldexp(1.0f, static_cast<int>(generator_() % 5) - 2) : 0.25f + std::fabs(number()); }
  uint32_t bits() { return static_cast<uint32_t>(generator_()); }

 private:
  std::mt19937 generator_{kSeed};
  bool integers_;
};

void setOutput(EpilogueProblem& problem, NumberType type, int32_t block = 0,
               ScaleFactorLayout layout = ScaleFactorLayout::RowMajor) {
  gemm::EpilogueParams& p = problem.params;
  p.outputType = type, p.outputBlock = block, p.outputScaleLayout = layout;
  p.outputPitch = (numerics::packedBytes(type, p.columns) + 15) / 16 * 16 + 16;
}

void append(std::vector<std::byte>& numbers, NumberType type, double value) {
  const uint32_t code = numerics::encode(type, value);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&code);
  numbers.insert(numbers.end(), bytes, bytes + numerics::storageBits(type) / 8);
}

EpilogueProblem makeProblem(int32_t rows, int32_t columns, const Parts& parts, bool integers = false,
                            NumberType residualType = NumberType::F16, NumberType biasType = NumberType::F32) {
  EpilogueProblem problem;
  gemm::EpilogueParams& p = problem.params;
  Source source(integers);
  p.rows = rows, p.columns = columns;
  const auto m = static_cast<size_t>(rows), n = static_cast<size_t>(columns);
  for (size_t i = 0; i < m * n; ++i) problem.accumulators.push_back(std::bit_cast<uint32_t>(source.number()));
  for (size_t i = 0; i < n; ++i) {
    if (parts.columnScale) problem.columnScale.push_back(source.scale());
    if (parts.bias) append(problem.bias, biasType, double{source.number()});
  }
  for (size_t i = 0; parts.rowScale && i < m; ++i) problem.rowScale.push_back(source.scale());
  p.alpha = integers ? 0.5f : 0.77f;
  p.outputScale = integers ? 2.0f : 1.3f;
  if (parts.rowScale) p.rowScale = problem.rowScale.data();
  if (parts.columnScale) p.columnScale = problem.columnScale.data();
  if (parts.bias) p.bias = problem.bias.data(), p.biasType = biasType;
  if (parts.largest) {
    problem.largest.push_back(0.0f);
    p.largest = problem.largest.data();
  }
  if (parts.residual) {
    p.beta = integers ? -0.25f : 0.6f;
    p.residualType = residualType;
    const size_t bytes = static_cast<size_t>(numerics::storageBits(residualType)) / 8;
    p.residualPitch = static_cast<int64_t>((n + 3) * bytes);  // rows start unaligned
    const double range = bytes == 1 ? 50 : 1;                 // of bytes all numbers, and some that saturate
    for (size_t i = 0; i < m * (n + 3); ++i) append(problem.residual, residualType, range * double{source.number()});
    p.residual = problem.residual.data();
  }
  setOutput(problem, NumberType::F32);
  return problem;
}

void expectRight(const EpilogueProblem& problem, const EpilogueRun& run) {
  ASSERT_EQ(firstDifference(problem, runEpilogue(problem, run)), "") << run.kernel << ", " << run.arch << ", seed " << kSeed;
}

struct OutputCase {
  std::string name;
  NumberType type;
  int32_t block = 0;
  ScaleFactorLayout layout = ScaleFactorLayout::RowMajor;
};
std::vector<OutputCase> outputCases() {
  std::vector<OutputCase> cases;
  for (const NumberType type :
       {NumberType::F32, NumberType::F16, NumberType::BF16, NumberType::E4M3, NumberType::E5M2, NumberType::S8, NumberType::U8})
    cases.push_back({std::string(numerics::name(type)), type});
  for (const auto& [format, type, block] : {std::tuple{"mxfp8_e4m3", NumberType::E4M3, 32},
                                            {"mxfp8_e5m2", NumberType::E5M2, 32},
                                            {"mxfp6_e3m2", NumberType::E3M2, 32},
                                            {"mxfp6_e2m3", NumberType::E2M3, 32},
                                            {"mxfp4", NumberType::E2M1, 32},
                                            {"nvfp4", NumberType::E2M1, 16}}) {
    cases.push_back({fmt::format("{}_rows", format), type, block, ScaleFactorLayout::RowMajor});
    cases.push_back({fmt::format("{}_interleaved", format), type, block, ScaleFactorLayout::Interleaved128x4});
  }
  return cases;
}

/// The columns that a thread of the kernel holds.
int32_t segmentColumns(const std::string& kernel) { return std::stoi(kernel.substr(kernel.rfind('_') + 1)); }

/// Each step by itself on the host: f32, then the output's type.
float separateSteps(const EpilogueProblem& problem, int32_t row, int32_t column) {
  const gemm::EpilogueParams& p = problem.params;
  const auto number = [](NumberType type, const std::vector<std::byte>& bytes, size_t index) {
    uint32_t code = 0;
    const size_t size = static_cast<size_t>(numerics::storageBits(type)) / 8;
    std::memcpy(&code, bytes.data() + index * size, size);
    return static_cast<float>(numerics::decode(type, code));
  };
  const auto step = [&](float value) {
    return static_cast<float>(numerics::decode(p.outputType, numerics::encode(p.outputType, double{value})));
  };
  const auto n = static_cast<size_t>(p.columns), i = static_cast<size_t>(column), m = static_cast<size_t>(row);
  float v = step(std::bit_cast<float>(problem.accumulators[m * n + i]) * (p.alpha * problem.rowScale[m]));
  v = step(v * problem.columnScale[i]);
  v = step(v + number(p.biasType, problem.bias, i));
  const auto add = [&] { v = step(std::fmaf(p.beta, number(p.residualType, problem.residual, m * (n + 3) + i), v)); };
  if (!p.residualLast) add();
  v = step(v < 0 ? p.activationA * v : v);
  if (p.residualLast) add();
  return step(v * p.outputScale);
}

/// Bit for bit, and not what a single rounding gives.
TEST(EpilogueSteps, AreRoundedOneByOne) {
  for (const auto& [type, residualLast] : {std::pair{NumberType::F16, false}, {NumberType::BF16, false}, {NumberType::F16, true}})
    for (const std::string kernel :
         {"epilogue_direct_32", "epilogue_direct_16", "epilogue_direct_2", "epilogue_staged_32", "epilogue_staged_16"}) {
      SCOPED_TRACE(testing::Message() << kernel << ", " << numerics::name(type) << ", seed " << kSeed);
      EpilogueProblem problem = makeProblem(67, 149, kAllParts, false, NumberType::BF16, NumberType::F16);
      problem.params.activation = Activation::LeakyRelu;
      problem.params.activationA = -0.4f;
      problem.params.residualLast = residualLast;
      setOutput(problem, type);
      const auto codeAt = [&](const std::vector<std::byte>& output, int32_t row, int32_t column) {
        uint16_t code = 0;
        std::memcpy(&code, output.data() + row * problem.params.outputPitch + column * 2, sizeof(code));
        return numerics::decode(type, code);
      };
      const auto once = runEpilogue(problem, {.kernel = kernel});
      problem.params.roundsSteps = true;
      ASSERT_EQ(gemm::epilogueRefusal(problem.params, segmentColumns(kernel)).value_or(""), "");
      const auto separate = runEpilogue(problem, {.kernel = kernel});
      EXPECT_EQ(firstDifference(problem, separate), "");
      int different = 0;
      for (int32_t row = 0; row < problem.params.rows; ++row)
        for (int32_t column = 0; column < problem.params.columns; ++column) {
          const double found = codeAt(separate.elements, row, column);
          ASSERT_EQ(found, double{separateSteps(problem, row, column)}) << row << ", " << column;
          different += found != codeAt(once.elements, row, column) ? 1 : 0;
        }
      EXPECT_GT(different, problem.params.rows * problem.params.columns / 10);
    }
  EpilogueProblem narrow = makeProblem(7, 64, kAllParts);
  setOutput(narrow, NumberType::E4M3);
  narrow.params.roundsSteps = true;
  EXPECT_NE(gemm::epilogueRefusal(narrow.params, 32).value_or("").find("roundsSteps: for f16 and bf16, but outputType is e4m3"),
            std::string::npos);
}

class EpilogueOutputs : public testing::TestWithParam<OutputCase> {};

TEST_P(EpilogueOutputs, AreRightToTheLastByte) {
  const OutputCase& output = GetParam();
  // Two row tiles and three column tiles, ragged: the last segment has a column that exists and one that does not.
  for (const auto& [rows, columns] : {std::pair{130, 149}, std::pair{7, 64}}) {
    EpilogueProblem problem = makeProblem(rows, columns, kAllParts);
    problem.params.activation = Activation::LeakyRelu;
    problem.params.activationA = -0.4f;
    // Results from far below the smallest to beyond the largest number of the type.
    problem.params.outputScale = output.block != 0 ? 3.0f : static_cast<float>(numerics::largestValue(output.type) / 4);
    if (output.type == NumberType::F32) problem.params.outputScale = 0.7f;
    setOutput(problem, output.type, output.block, output.layout);
    problem.params.outputScales = output.block != 0 ? reinterpret_cast<uint8_t*>(&problem) : nullptr;  // refusals ask for one
    for (const std::string kernel :
         {"epilogue_direct_32", "epilogue_direct_16", "epilogue_direct_2", "epilogue_staged_32", "epilogue_staged_16"}) {
      SCOPED_TRACE(kernel);
      const std::optional<std::string> refusal = gemm::epilogueRefusal(problem.params, segmentColumns(kernel));
      if (output.block > segmentColumns(kernel)) {
        EXPECT_TRUE(refusal.has_value());
        continue;
      }
      ASSERT_EQ(refusal.value_or(""), "");
      const bool staged = kernel.find("staged") != std::string::npos;
      if (staged && numerics::storageBits(output.type) == 6) continue;  // leaves by no tensor map
      expectRight(problem, {.kernel = kernel});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EpilogueOutputs, testing::ValuesIn(outputCases()),
                         [](const auto& info) { return info.param.name; });

/// Every rounding boundary of the type, both sides, both signs, in blocks whose maximum makes the factor 1.
std::vector<float> roundingBoundaries(NumberType type) {
  std::vector<float> values;
  const uint32_t codes = 1u << (numerics::storageBits(type) - 1);
  for (uint32_t code = 0; code + 1 < codes; ++code) {
    const auto boundary = static_cast<float>((numerics::decode(type, code) + numerics::decode(type, code + 1)) / 2);
    for (const float value : {boundary, std::nextafter(boundary, 0.0f), std::nextafter(boundary, 99.0f)})
      for (const float sign : {1.0f, -1.0f}) {
        if (values.size() % 32 == 0) values.push_back(static_cast<float>(numerics::largestValue(type)));
        values.push_back(sign * value);
      }
  }
  return values;
}

TEST(EpilogueOnHopper, ConvertsToNarrowTypesWithoutTheInstruction) {
  for (const auto& [type, block] :
       {std::pair{NumberType::E2M1, 16}, {NumberType::E2M1, 32}, {NumberType::E3M2, 32}, {NumberType::E2M3, 32}}) {
    SCOPED_TRACE(fmt::format("{} in blocks of {}", numerics::name(type), block));
    EpilogueProblem problem = makeProblem(33, 96, kAllParts);
    setOutput(problem, type, block);
    expectRight(problem, {.kernel = "epilogue_direct_32", .arch = "90a"});
  }
  for (const NumberType type : {NumberType::E2M1, NumberType::E3M2, NumberType::E2M3}) {
    SCOPED_TRACE(numerics::name(type));
    const std::vector<float> values = roundingBoundaries(type);
    EpilogueProblem problem = makeProblem(1, static_cast<int32_t>(values.size()), {});
    for (size_t i = 0; i < values.size(); ++i) problem.accumulators[i] = std::bit_cast<uint32_t>(values[i]);
    problem.params.alpha = problem.params.outputScale = 1;
    setOutput(problem, type, 32);
    expectRight(problem, {.kernel = "epilogue_direct_32", .arch = "90a"});
    expectRight(problem, {.kernel = "epilogue_direct_32", .arch = "100a"});
  }
}

TEST(EpilogueParts, EachAloneIsExactOnIntegers) {
  const std::pair<const char*, Parts> cases[] = {
      {"nothing", {}},          {"rowScale", {.rowScale = true}}, {"columnScale", {.columnScale = true}},
      {"bias", {.bias = true}}, {"largest", {.largest = true}},   {"residual", {.residual = true}},
      {"all", kAllParts}};
  for (const auto& [name, parts] : cases)
    for (const std::string kernel : {"epilogue_direct_32", "epilogue_direct_2"}) {
      const EpilogueProblem problem = makeProblem(5, 70, parts, true);
      for (int64_t column = 0; column < 70; ++column)
        ASSERT_EQ(gemm::epilogueReference(problem.params, 4, column, problem.accumulator(4, column)).scaled.error, 0) << name;
      SCOPED_TRACE(name);
      expectRight(problem, {.kernel = kernel});
    }
}

TEST(EpilogueParts, ResidualsOfEveryType) {
  for (const NumberType type : {NumberType::F32, NumberType::F16, NumberType::BF16, NumberType::S8, NumberType::U8})
    for (const bool aligned : {false, true})
      for (const std::string kernel : {"epilogue_direct_32", "epilogue_direct_2"}) {
        EpilogueProblem problem = makeProblem(5, aligned ? 93 : 70, {.residual = true}, false, type);  // 96 elements a row
        SCOPED_TRACE(numerics::name(type));
        expectRight(problem, {.kernel = kernel});
      }
}

TEST(EpilogueParts, ResidualsAfterEveryActivation) {
  for (int i = 1; i < gemm::kActivations; ++i)
    for (const NumberType type : {NumberType::F32, NumberType::F16, NumberType::U8})
      for (const std::string kernel : {"epilogue_direct_16", "epilogue_staged_32"}) {
        EpilogueProblem problem =
            makeProblem(5, 75, {.columnScale = true, .bias = true, .residual = true, .largest = true}, false, type);
        problem.params.activation = static_cast<Activation>(i);
        if (problem.params.activation == Activation::Clamp || problem.params.activation == Activation::LeakyRelu)
          problem.params.activationA = -0.4f,
          problem.params.activationB = problem.params.activation == Activation::Clamp ? 0.7f : 0;
        problem.params.residualLast = true;
        SCOPED_TRACE(fmt::format("{}, residual of {}", gemm::name(problem.params.activation), numerics::name(type)));
        expectRight(problem, {.kernel = kernel});
      }
}

TEST(EpilogueParts, BiasesOfEveryType) {
  for (const NumberType type : {NumberType::F32, NumberType::F16, NumberType::BF16})
    for (const std::string kernel : {"epilogue_direct_32", "epilogue_direct_16", "epilogue_direct_2"}) {
      SCOPED_TRACE(numerics::name(type));
      expectRight(makeProblem(5, 75, {.bias = true}, false, NumberType::F16, type), {.kernel = kernel});
    }
}

TEST(EpilogueParts, LargestKeepsAFormerMaximum) {
  EpilogueProblem problem = makeProblem(5, 70, {.largest = true});
  problem.largest[0] = 1e6f;
  const EpilogueOutput output = runEpilogue(problem, {});
  EXPECT_EQ(output.largest, 1e6f);
}

TEST(EpilogueAccumulators, IntegersAreCorrectedBeforeAnythingElse) {
  for (const NumberType type : {NumberType::F32, NumberType::S8, NumberType::U8}) {
    EpilogueProblem problem = makeProblem(6, 75, kAllParts);
    Source source(true);
    for (uint32_t& accumulator : problem.accumulators) accumulator = source.bits() & 0xfffu;
    // Sums that f32 cannot hold: they round once.
    problem.accumulators[1] = 0x7fff'ffffu;
    problem.accumulators[2] = 0x8000'0fffu;
    for (int32_t n = 0; n < problem.params.columns; ++n) problem.correction.push_back(static_cast<int32_t>(source.bits() & 0xfffu));
    problem.params.accumulatorType = NumberType::S32;
    problem.params.columnCorrection = problem.correction.data();
    problem.params.alpha = type == NumberType::F32 ? 0.013f : 0.02f;
    setOutput(problem, type);
    ASSERT_EQ(gemm::epilogueRefusal(problem.params, 32).value_or(""), "");
    for (const std::string kernel : {"epilogue_direct_32", "epilogue_direct_2"}) expectRight(problem, {.kernel = kernel});
  }
}

TEST(EpilogueAccumulators, RowsHaveCorrectionsAndClassesOfTheirOwn) {
  for (const NumberType type : {NumberType::F32, NumberType::S8, NumberType::U8}) {
    EpilogueProblem problem = makeProblem(130, 75, {.bias = true});
    gemm::EpilogueParams& p = problem.params;
    Source source(true);
    for (uint32_t& accumulator : problem.accumulators) accumulator = source.bits() & 0xfffu;
    problem.accumulators[1] = 0x7000'0000u;  // beyond every sum of a zero point and a number of 8 bits
    p.accumulatorType = NumberType::S32;
    p.correctionPitch = 80;
    for (int32_t i = 0; i < 3 * p.correctionPitch; ++i) problem.correction.push_back(static_cast<int32_t>(source.bits() & 0xfffu));
    for (int32_t row = 0; row < p.rows; ++row) {
      problem.rowClass.push_back(static_cast<int32_t>(source.bits() % 3));
      problem.rowCorrection.push_back(static_cast<int32_t>(source.bits() & 0x7ffu) - 1024);
    }
    p.columnCorrection = problem.correction.data();
    p.rowClass = problem.rowClass.data();
    p.rowCorrection = problem.rowCorrection.data();
    p.alpha = type == NumberType::F32 ? 0.013f : 0.02f;
    p.outputZeroPoint = type == NumberType::S8 ? -11 : type == NumberType::U8 ? 200 : 0;
    setOutput(problem, type);
    ASSERT_EQ(gemm::epilogueRefusal(p, 32).value_or(""), "");
    for (const std::string kernel : {"epilogue_direct_32", "epilogue_direct_2"}) expectRight(problem, {.kernel = kernel});
  }
}

TEST(EpilogueAccumulators, IntegersAreStoredAsTheyAre) {
  EpilogueProblem problem = makeProblem(130, 75, {});
  Source source(true);
  for (uint32_t& accumulator : problem.accumulators) accumulator = source.bits() >> 1;
  for (int32_t n = 0; n < problem.params.columns; ++n) problem.correction.push_back(static_cast<int32_t>(source.bits() >> 2));
  problem.params.accumulatorType = NumberType::S32;
  problem.params.columnCorrection = problem.correction.data();
  problem.params.alpha = problem.params.outputScale = 1;
  setOutput(problem, NumberType::S32);
  ASSERT_EQ(gemm::epilogueRefusal(problem.params, 32).value_or(""), "");
  for (const std::string kernel : {"epilogue_direct_32", "epilogue_direct_2", "epilogue_staged_16"})
    expectRight(problem, {.kernel = kernel});
}

TEST(EpilogueAccumulators, HalvesLieInTheLowerBits) {
  EpilogueProblem problem = makeProblem(6, 75, {});
  for (uint32_t& accumulator : problem.accumulators)
    accumulator = 0xdead'0000u | numerics::encode(NumberType::F16, double{std::bit_cast<float>(accumulator)});
  problem.params.accumulatorType = NumberType::F16;
  expectRight(problem, {});
}

class EpilogueActivations : public testing::TestWithParam<Activation> {};

/// Arguments where activations change their course, and a sweep over all magnitudes.
std::vector<float> arguments(int count) {
  std::vector<float> values = {0.0f,   -0.0f,  3.0f,   -3.0f, 0.3f,     std::nextafter(0.3f, 0.0f), -0.3f, 13.3f, -13.3f, 88.8f,
                               -88.8f, 1e-30f, -1e30f, 1e30f, 0x1p-149f};
  std::mt19937 generator(kSeed);
  while (static_cast<int>(values.size()) < count / 2)
    values.push_back(std::ldexp(std::uniform_real_distribution<float>(-1, 1)(generator), static_cast<int>(generator() % 48) - 40));
  while (static_cast<int>(values.size()) < count) values.push_back(std::uniform_real_distribution<float>(-14, 14)(generator));
  return values;
}

std::vector<Activation> allActivations() {
  std::vector<Activation> all;
  for (int i = 0; i < gemm::kActivations; ++i) all.push_back(static_cast<Activation>(i));
  return all;
}

TEST_P(EpilogueActivations, StayWithinTheirError) {
  EpilogueProblem problem = makeProblem(128, 64, {.largest = true});
  problem.params.alpha = problem.params.outputScale = 1;
  problem.params.activation = GetParam();
  problem.params.activationA = GetParam() == Activation::LeakyRelu ? 0.01f : -0.7f;
  problem.params.activationB = 2.5f;
  const std::vector<float> values = arguments(128 * 64);
  for (size_t i = 0; i < values.size(); ++i) problem.accumulators[i] = std::bit_cast<uint32_t>(values[i]);
  expectRight(problem, {});
}

TEST_P(EpilogueActivations, KeepNan) {
  EpilogueProblem problem = makeProblem(2, 32, {.largest = true});
  problem.params.activation = GetParam();
  problem.params.activationB = 1;
  problem.accumulators[5] = 0x7fc0'0000u;
  const EpilogueOutput output = runEpilogue(problem, {});
  EXPECT_EQ(firstDifference(problem, output), "");
  EXPECT_TRUE(std::isnan(output.largest));
}

INSTANTIATE_TEST_SUITE_P(All, EpilogueActivations, testing::ValuesIn(allActivations()),
                         [](const auto& info) { return std::string(gemm::name(info.param)); });

/// Outputs of f32.
std::vector<float> numbersOf(const EpilogueOutput& output) {
  std::vector<float> numbers(output.elements.size() / sizeof(float));
  std::memcpy(numbers.data(), output.elements.data(), output.elements.size());
  return numbers;
}

TEST(EpilogueRamp, EqualsTheActivationsThatItStandsFor) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kTiny = std::numeric_limits<float>::denorm_min();
  std::vector<float> values{0,           -0.0f,     kTiny,      -kTiny, 1e-39f, -1e-39f,      3, -3, 2.9999998f,
                            -2.9999998f, kInfinity, -kInfinity, 3e38f,  -3e38f, std::nanf("")};
  Source source(false);
  while (values.size() < 64) values.push_back(5 * source.number());
  EpilogueProblem problem = makeProblem(1, static_cast<int32_t>(values.size()), {});
  for (size_t i = 0; i < values.size(); ++i) problem.accumulators[i] = std::bit_cast<uint32_t>(values[i]);
  problem.params.alpha = problem.params.outputScale = 1;
  setOutput(problem, NumberType::F32, 0);
  for (const auto& [activation, slope] : {std::pair{Activation::HardSwish, 0.0f},
                                          {Activation::HardSwish, 0.5f},
                                          {Activation::LeakyRelu, 0.1f},
                                          {Activation::LeakyRelu, -0.5f},
                                          {Activation::LeakyRelu, 1.5f},
                                          {Activation::LeakyRelu, 0.0f},
                                          {Activation::None, 0.25f}}) {
    SCOPED_TRACE(fmt::format("{} {}", name(activation), slope));
    problem.params.activation = activation, problem.params.activationA = slope;
    const std::vector<float> expected = numbersOf(runEpilogue(problem, {.kernel = "epilogue_direct_32", .arch = "90a"}));
    const std::vector<float> ramp = numbersOf(runEpilogue(problem, {.kernel = "epilogue_ramp", .arch = "90a"}));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_TRUE(ramp[i] == expected[i] || (std::isnan(ramp[i]) && std::isnan(expected[i])))
          << values[i] << ": " << ramp[i] << ", not " << expected[i];
  }
}

TEST(EpilogueSpecials, InfinitiesSaturateAndSpoilTheirBlockOnly) {
  for (const OutputCase& output : outputCases()) {
    EpilogueProblem problem = makeProblem(3, 96, {});
    problem.accumulators[3] = 0x7f80'0000u;
    problem.accumulators[96 + 40] = 0xff80'0000u;
    problem.accumulators[2 * 96 + 70] = 0x7fc0'0000u;
    setOutput(problem, output.type, output.block, output.layout);
    SCOPED_TRACE(output.name);
    expectRight(problem, {});
  }
}

TEST(EpilogueSpecials, BlocksOfZerosAndOfTinyNumbers) {
  for (const OutputCase& output : outputCases()) {
    if (output.block == 0) continue;
    EpilogueProblem problem = makeProblem(4, 96, {});
    problem.params.alpha = problem.params.outputScale = 1;
    for (size_t i = 0; i < 96; ++i) {
      // The smallest factor that is no limit: ue8m0 code 1.
      problem.accumulators[3 * 96 + i] =
          std::bit_cast<uint32_t>(std::ldexp(1.0f + static_cast<float>(i) / 96, numerics::largestExponent(output.type) - 126));
      problem.accumulators[i] = i % 2 == 0 ? 0 : 0x8000'0000u;
      problem.accumulators[96 + i] = static_cast<uint32_t>(i * i);  // subnormal
      problem.accumulators[2 * 96 + i] =
          std::bit_cast<uint32_t>(std::ldexp(1.0f + static_cast<float>(i) / 96, -9));  // around the smallest ue4m3
    }
    setOutput(problem, output.type, output.block, output.layout);
    SCOPED_TRACE(output.name);
    expectRight(problem, {});
  }
}

TEST(EpilogueSchedules, GiveTheSameBytes) {
  for (const OutputCase& output :
       {OutputCase{"f32", NumberType::F32}, {"mxfp4", NumberType::E2M1, 32, ScaleFactorLayout::Interleaved128x4}}) {
    EpilogueProblem problem = makeProblem(130, 149, kAllParts);
    setOutput(problem, output.type, output.block, output.layout);
    const EpilogueOutput latest = runEpilogue(problem, {.kernel = "epilogue_staged_32", .schedule = "latest"});
    EXPECT_EQ(firstDifference(problem, latest), "");
    for (const std::string schedule : {"earliest", "random"}) {
      const EpilogueOutput other = runEpilogue(problem, {.kernel = "epilogue_staged_32", .schedule = schedule});
      EXPECT_EQ(other.elements, latest.elements) << schedule;
      EXPECT_EQ(other.scales, latest.scales) << schedule;
      EXPECT_EQ(other.largest, latest.largest) << schedule;
    }
  }
}

}  // namespace
}  // namespace shiftconv::tests
