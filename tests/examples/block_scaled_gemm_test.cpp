// The example's measurements, and the program as its users run it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "common/device/registry.hpp"
#include "examples/block_scaled_gemm/contest.hpp"
#include "examples/block_scaled_gemm/options.hpp"
#include "tests/support/shell.hpp"

namespace block_scaled_gemm {
namespace {

using shiftconv::layout::ScaleFactorLayout;

std::unique_ptr<shiftconv::device::Device> emulatedDevice() {
  std::unique_ptr<shiftconv::device::Device> device;
  EXPECT_TRUE(shiftconv::device::openDevice(shiftconv::device::Kind::Emulated, 0, device).ok());
  return device;
}

std::map<std::string, Measurement> measureAll(const Matrices& matrices) {
  const auto device = emulatedDevice();
  std::map<std::string, Measurement> results;
  for (const Contestant& contestant : contestants())
    results[contestant.name] = measure(contestant, matrices, exactProduct(matrices),
                                       {ScaleFactorLayout::RowMajor, ScaleFactorLayout::Interleaved128x4}, *device);
  return results;
}

TEST(BlockScaledGemm, EveryFormatIsWithinTheKernelsBound) {
  const auto results = measureAll(randomMatrices(40, 24, 160, "normal", 3));
  EXPECT_EQ(results.size(), 11u);
  for (const auto& [name, m] : results) {
    EXPECT_LE(m.ofBound, 1) << name;
    EXPECT_TRUE(m.layoutsAgree) << name;
    EXPECT_LT(m.kernelError, 1e-6) << name;
    EXPECT_GT(m.formatError, m.kernelError) << name;
    EXPECT_GE(m.worstError, m.formatError) << name;
  }
  // A format's error is about the half ulp of its elements: 2^-12 for f16, 2^-5 for e4m3, and so on, times a factor near 1.
  const auto error = [&](const char* name) { return results.at(name).formatError; };
  EXPECT_NEAR(std::log2(error("f16")), -12, 1);
  EXPECT_NEAR(std::log2(error("bf16")), -9, 1);
  EXPECT_NEAR(std::log2(error("mxfp8_e4m3")), -5, 1);
  EXPECT_NEAR(std::log2(error("mxfp8_e5m2")), -4, 1);
  EXPECT_NEAR(std::log2(error("mxfp6_e2m3")), -5, 1);
  EXPECT_NEAR(std::log2(error("mxfp4")), -2.5, 1);
  EXPECT_LT(error("nvfp4"), error("mxfp4"));
  EXPECT_LT(error("mxfp8_e4m3*mxfp4"), error("mxfp4"));
  EXPECT_GT(error("mxfp8_e4m3*mxfp4"), error("mxfp8_e4m3"));
  EXPECT_EQ(results.at("nvfp4").bitsPerElement, 4.5);
  EXPECT_EQ(results.at("mxfp6_e3m2").bitsPerElement, 6.25);
  EXPECT_EQ(results.at("mxfp8_e4m3*mxfp4").bitsPerElement, 6.25);
  EXPECT_EQ(results.at("f16").bitsPerElement, 16);
}

TEST(BlockScaledGemm, RepresentableNumbersCostNothing) {
  // One scale fits all: in every format these elements are exact.
  Matrices matrices = randomMatrices(5, 7, 96, "normal", 1);
  for (auto* values : {&matrices.a, &matrices.b})
    for (float& value : *values) value = value < 0 ? -6.0f : 3.0f;
  for (const auto& [name, m] : measureAll(matrices)) {
    if (name == "nvfp4") continue;  // its factors are rounded
    EXPECT_EQ(m.formatError, 0) << name;
    EXPECT_EQ(m.ofBound, 0) << name;
  }
}

TEST(BlockScaledGemm, OutliersAreCutOffByTheScaleOfMx) {
  const auto results = measureAll(randomMatrices(24, 24, 256, "outliers", 5));
  for (const auto& [name, m] : results) EXPECT_LE(m.ofBound, 1) << name;
  // The factor of a block is a power of two that leaves elements from 448 to 511 to saturation; here those rule the product.
  EXPECT_GT(results.at("mxfp8_e4m3").formatError, 1.2 * results.at("e4m3").formatError);
}

using shiftconv::tests::Outcome;
Outcome runProgram(const std::string& arguments) {
  return shiftconv::tests::runShell(fmt::format("'{}' {}", BLOCK_SCALED_GEMM_PROGRAM, arguments));
}

TEST(BlockScaledGemmProgram, PrintsATableOfAllFormats) {
  const Outcome run = runProgram("--device emulated -m 33 -n 20 -k 128 --distribution outliers --seed 9");
  EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
  for (const Contestant& contestant : contestants())
    EXPECT_NE(run.text.find("\n" + contestant.name + " "), std::string::npos) << contestant.name << " is missing in\n" << run.text;
  EXPECT_NE(run.text.find("same bits"), std::string::npos) << run.text;
  EXPECT_EQ(run.text.find("FAULT"), std::string::npos) << run.text;
}

TEST(BlockScaledGemmProgram, SaysWhichDeviceItTakes) {
  const auto run = [](const std::string& environment, const std::string& arguments) {
    return shiftconv::tests::runShell(fmt::format("CUDA_VISIBLE_DEVICES= SHIFTCONV_DEVICE={} '{}' -m 9 -n 9 -k 64 --format f16 {}",
                                                  environment, BLOCK_SCALED_GEMM_PROGRAM, arguments));
  };
  const Outcome fallback = run("", "");
  EXPECT_EQ(fallback.exitCode, ExitCode::Success) << fallback.text;
  EXPECT_EQ(fallback.text.rfind("Taking the emulated device: there is no GPU with Tensor Memory", 0), 0u) << fallback.text;
  EXPECT_EQ(run("", "--device auto").exitCode, ExitCode::DeviceFailure);
  EXPECT_EQ(run("emulated", "--device auto").exitCode, ExitCode::Success);
  EXPECT_EQ(run("emulated", "").text.find("Taking"), std::string::npos);
  EXPECT_EQ(run("gpu", "").exitCode, ExitCode::Usage);
  EXPECT_EQ(run("", "--device gpu").exitCode, ExitCode::Usage);
}

TEST(BlockScaledGemmProgram, TakesOneOrderAndOneFormat) {
  for (const char* scales : {"rows", "interleaved"}) {
    const Outcome run =
        runProgram(fmt::format("--device emulated -m 9 -n 9 -k 64 --scales {} --format nvfp4 --distribution uniform", scales));
    EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
    EXPECT_EQ(run.text.find("mxfp4"), std::string::npos) << run.text;
    EXPECT_EQ(run.text.find("same bits"), std::string::npos) << run.text;
  }
}

TEST(BlockScaledGemmProgram, RefusesWrongOptions) {
  for (const auto& [arguments, part] : {std::pair{"-m 0", "--rows"},
                                        {"-k 5000", "--depth"},
                                        {"--distribution cauchy", "cauchy"},
                                        {"--format fp3", "fp3"},
                                        {"--scales columns", "columns"},
                                        {"--what", "--what"}}) {
    const Outcome run = runProgram(arguments);
    EXPECT_EQ(run.exitCode, ExitCode::Usage) << run.text;
    EXPECT_NE(run.text.find(part), std::string::npos) << run.text;
  }
}

}  // namespace
}  // namespace block_scaled_gemm
