// What one large set of tiles costs in each kind of matrix instruction: the emulator's speed (products a second on this host), the
// bytes that the emulator counted by memory, and the clocks of a model of B200 with the resource that binds them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "common/device/emulated_device.hpp"
#include "common/device/registry.hpp"
#include "common/gemm/sm100/gemm.hpp"

namespace shiftconv {
namespace {

using gemm::GemmProblem;
using gemm::sm100::Engine;
using gemm::sm100::GemmChoices;
using gemm::sm100::GemmPlan;
using gemm::sm100::Grouping;
using enum numerics::NumberType;
using numerics::NumberType;

struct Row {
  const char* name;
  NumberType a, b, accumulator;
  int32_t blockSize;
  NumberType scale;
  Engine engine;
  Grouping grouping;
  int32_t tileRows = 128;
};

constexpr Row kRows[] = {
    {"f16", F16, F16, F32, 0, UE8M0, Engine::SharedA, Grouping::Single},
    {"f16, A in Tensor Memory", F16, F16, F32, 0, UE8M0, Engine::TensorA, Grouping::Single},
    {"f16, shared B", F16, F16, F32, 0, UE8M0, Engine::SharedA, Grouping::Sharing},
    {"f16, pair", F16, F16, F32, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"f16, pair, A in Tensor Memory", F16, F16, F32, 0, UE8M0, Engine::TensorA, Grouping::Pair},
    {"f16, tiles of 64 rows", F16, F16, F32, 0, UE8M0, Engine::SharedA, Grouping::Single, 64},
    {"f16, pair, 64 rows in each CTA", F16, F16, F32, 0, UE8M0, Engine::SharedA, Grouping::Pair, 64},
    {"f16 accumulator", F16, F16, F16, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"bf16, pair", BF16, BF16, F32, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"tf32, pair", TF32, TF32, F32, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"f8f6f4 e4m3 x e4m3, pair", E4M3, E4M3, F32, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"f8f6f4 e3m2 x e2m1, pair", E3M2, E2M1, F32, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"i8 s8 x u8, pair", S8, U8, S32, 0, UE8M0, Engine::SharedA, Grouping::Pair},
    {"mxf8f6f4 e4m3 x e4m3, pair", E4M3, E4M3, F32, 32, UE8M0, Engine::SharedA, Grouping::Pair},
    {"mxf8f6f4 e4m3 x e2m1, pair", E4M3, E2M1, F32, 32, UE8M0, Engine::SharedA, Grouping::Pair},
    {"mxf4, pair", E2M1, E2M1, F32, 32, UE8M0, Engine::SharedA, Grouping::Pair},
    {"mxf4nvf4 block16 ue4m3, pair", E2M1, E2M1, F32, 16, UE4M3, Engine::SharedA, Grouping::Pair},
    {"mxf4nvf4 block16, A in Tensor Memory", E2M1, E2M1, F32, 16, UE4M3, Engine::TensorA, Grouping::Single},
};

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

device::Address upload(device::Device& device, const std::vector<std::byte>& bytes) {
  device::Address address = 0;
  require(device.allocate(bytes.size(), address));
  require(device.copyToDevice(address, bytes.data(), bytes.size(), 0));
  return address;
}

/// Random bytes that are finite numbers in every type: exponents of 16-bit and wider types are limited by the second byte.
std::vector<std::byte> randomElements(int64_t bytes, NumberType type, std::mt19937_64& random) {
  std::vector<std::byte> elements(static_cast<size_t>(bytes));
  const auto width = static_cast<size_t>(std::max(1, numerics::storageBits(type) / 8));
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto bits = static_cast<uint8_t>(random());
    const bool top = i % width == width - 1;
    elements[i] = std::byte{width == 1 ? static_cast<uint8_t>(bits & 0xbb)
                            : top      ? static_cast<uint8_t>((bits & 0x81) | 0x38)
                                       : bits};
  }
  return elements;
}

GemmProblem problemOf(const Row& row, int64_t m, int64_t n, int64_t k) {
  GemmProblem problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a.type = row.a, problem.b.type = row.b;
  problem.a.pitch = numerics::packedBytes(row.a, k), problem.b.pitch = numerics::packedBytes(row.b, k);
  problem.a.scaleLayout = problem.b.scaleLayout = layout::ScaleFactorLayout::Interleaved128x4;
  problem.blockSize = row.blockSize, problem.scale = row.scale;
  problem.accumulator = row.accumulator;
  problem.output = row.accumulator == S32 ? S32 : F32;
  problem.outputPitch = n * static_cast<int64_t>(sizeof(float));
  return problem;
}

device::Properties presetB200() {
  for (const device::Preset& preset : device::presets())
    if (std::string_view(preset.name) == "B200") return preset.properties;
  throw std::runtime_error("no preset of a B200");
}

void measure(const Row& row, int64_t m, int64_t n, int64_t k, int32_t tileN, const std::string& numerics) {
  device::EmulatedDevice device;
  require(device.setOption("numerics", numerics));
  const GemmProblem problem = problemOf(row, m, n, k);
  GemmChoices choices;
  choices.engine = row.engine, choices.grouping = row.grouping, choices.splits = 1;
  choices.tileRows = row.tileRows, choices.tileN = tileN;
  GemmPlan plan;
  if (const std::string why = planGemm(problem, device.properties(), choices, plan); !why.empty()) throw std::runtime_error(why);

  // The model is of a whole B200, the emulated device has a few multiprocessors.
  GemmPlan modelled;
  if (const std::string why = planGemm(problem, presetB200(), choices, modelled); !why.empty()) throw std::runtime_error(why);

  std::mt19937_64 random(20260000);
  gemm::sm100::GemmTensors tensors;
  tensors.a = upload(device, randomElements(m * problem.a.pitch, row.a, random));
  tensors.b = upload(device, randomElements(n * problem.b.pitch, row.b, random));
  if (row.blockSize != 0) {
    const int64_t blocks = (k + row.blockSize - 1) / row.blockSize;
    const auto scales = [&](int64_t rows) {
      constexpr std::byte kOne{0x7f}, kOneUe4m3{0x38};
      const auto bytes = layout::scaleFactorBytes(layout::ScaleFactorLayout::Interleaved128x4, rows, blocks);
      return std::vector<std::byte>(static_cast<size_t>(bytes), row.scale == UE8M0 ? kOne : kOneUe4m3);
    };
    tensors.scaleA = upload(device, scales(m));
    tensors.scaleB = upload(device, scales(n));
  }
  require(device.allocate(static_cast<size_t>(m * n) * sizeof(float), tensors.output));

  gemm::sm100::Gemm gemm;
  require(gemm::sm100::Gemm::bind(device, plan, tensors, gemm));
  const auto begin = std::chrono::steady_clock::now();
  require(gemm.run(0));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  const emulator::Counters counters = device.counters().at(0).counters;
  const auto megabytes = [&](emulator::Traffic traffic, std::initializer_list<emulator::Engine> engines) {
    uint64_t sum = 0;
    for (const emulator::Engine engine : engines) sum += counters.bytes[static_cast<size_t>(engine)][static_cast<size_t>(traffic)];
    return static_cast<double>(sum) * 1e-6;
  };
  using enum emulator::Traffic;
  constexpr auto kThreads = emulator::Engine::Threads, kBulk = emulator::Engine::BulkCopy,
                 kTensorCore = emulator::Engine::TensorCore, kTensorCopy = emulator::Engine::TensorCopy,
                 kLoadStore = emulator::Engine::TensorLoadStore;
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  fmt::print("{:<38} {:>9.2f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>10.0f}  {}\n", row.name,
             products / seconds.count() * 1e-9, megabytes(GlobalRead, {kBulk}), megabytes(SharedWrite, {kBulk}),
             megabytes(SharedRead, {kTensorCore}), megabytes(SharedRead, {kTensorCopy}),
             megabytes(TmemRead, {kTensorCore, kLoadStore}), megabytes(GlobalWrite, {kThreads, kBulk}), modelled.modelledClocks,
             modelled.modelledBound);
}

int run(int argc, char** argv) {
  command_line::Parser parser("Costs of GEMMs in every kind of matrix instruction, emulated and modelled.");
  int64_t m = 1024, n = 512, k = 1024;
  int32_t tileN = 128;
  std::string numerics = "fast";
  parser.option("-m", m, "rows");
  parser.option("-n", n, "columns");
  parser.option("-k", k, "length of the sums, a multiple of 128").positive();
  parser.option("--tile-n", tileN, "columns of a tile");
  parser.option("--numerics", numerics, "fast or hardware").oneOf({"fast", "hardware"});
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    fmt::print(
        "{} x {} x {}, tiles of {} columns, {} numerics. MB counted by the emulator; clocks modelled for B200, not measured.\n", m,
        n, k, tileN, numerics);
    fmt::print("{:<38} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}  {}\n", "", "emulated", "global", "smem", "smem read",
               "smem read", "Tensor", "global", "modelled", "bound by");
    fmt::print("{:<38} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}\n", "kind", "Gprod/s", "read MB", "fill MB", "by MMA MB",
               "by cp MB", "Mem MB", "write MB", "clocks");
    for (const Row& row : kRows) measure(row, m, n, k, tileN, numerics);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace shiftconv

int main(int argc, char** argv) { return shiftconv::run(argc, argv); }
