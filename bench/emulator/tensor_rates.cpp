// How fast one host core emulates tcgen05.mma and tcgen05.cp: whole operations, with descriptors, checks and write-back.
//
// "products" are multiply-adds (M * N * K of an instruction); FLOP/s would be twice that.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>

#include "common/emulator/tensor/data_movement.hpp"
#include "common/emulator/tensor/mma.hpp"

namespace {

using namespace shiftconv::emulator;
using namespace shiftconv::emulator::tensor;

constexpr uint32_t kOperandColumn = 0, kResultColumn = 256;
constexpr uint32_t kBStart = 32 * 1024;

MatrixDescriptor swizzledDescriptor(uint32_t start) {
  MatrixDescriptor descriptor;
  descriptor.start = start;
  descriptor.leadingOffset = 16;
  descriptor.strideOffset = 1024;
  descriptor.swizzle = Swizzle::Bytes128;
  return descriptor;
}

/// f16 bits with magnitudes from 2^-3 to 2 in shared memory, so that nothing overflows or vanishes.
void fillShared(machine::SharedMemory& shared) {
  std::mt19937 random(1);
  std::byte* bytes = shared.write(0, shared.size(), 1);
  for (uint32_t i = 0; i < shared.size(); i += 2) {
    const auto bits = static_cast<uint16_t>((random() & 0x83ff) | ((12 + random() % 4) << 10));
    std::memcpy(bytes + i, &bits, 2);
  }
}

struct Case {
  bool fast, operandInTensorMemory, halfAccumulators;
};

void multiply(benchmark::State& state, Case test) {
  const auto n = static_cast<uint32_t>(state.range(0));
  TensorMemory memory(true);
  memory.allocate(kTmemColumns);
  machine::SharedMemory shared(64 * 1024);
  fillShared(shared);
  Options options;
  options.numerics = test.fast ? Numerics::Fast : Numerics::Hardware;
  Counters counters;
  CollectorBuffers collectors;

  MmaOperation operation;
  const uint32_t accumulatorCode = test.halfAccumulators ? 0 : 1;
  operation.descriptor = decodeInstructionDescriptor(accumulatorCode << 4 | n / 8 << 17 | 8 << 24, MmaKind::F16, 1);
  operation.d = kResultColumn;
  operation.aInTensorMemory = test.operandInTensorMemory;
  operation.aAddress = kOperandColumn;
  operation.a = swizzledDescriptor(0);
  operation.b = swizzledDescriptor(kBStart);
  performCopy({CopyShape::S128x256b, SourceFormat::Same, kOperandColumn, operation.a}, memory, shared, options.semantics, counters);

  const CtaMemories cta{memory, shared};
  const MmaContext context{{&cta, 1}, options, counters, collectors};
  operation.enableInputD = false;
  for (auto _ : state) {
    checkMma(operation, context);
    performMma(operation, context);
    operation.enableInputD = !operation.enableInputD;
  }
  state.counters["products"] =
      benchmark::Counter(128.0 * n * 16 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void copy(benchmark::State& state) {
  TensorMemory memory(true);
  memory.allocate(kTmemColumns);
  machine::SharedMemory shared(64 * 1024);
  fillShared(shared);
  const Semantics semantics;
  Counters counters;
  const CopyOperation operation{CopyShape::S128x256b, SourceFormat::Same, kOperandColumn, swizzledDescriptor(0)};
  for (auto _ : state) performCopy(operation, memory, shared, semantics, counters);
  state.counters["bytes"] = benchmark::Counter(4096.0 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(multiply, hardware_a_in_tmem, Case{false, true, false})->Arg(64)->Arg(256);
BENCHMARK_CAPTURE(multiply, hardware_a_in_smem, Case{false, false, false})->Arg(64);
BENCHMARK_CAPTURE(multiply, hardware_f16_accumulators, Case{false, true, true})->Arg(64);
BENCHMARK_CAPTURE(multiply, fast_a_in_tmem, Case{true, true, false})->Arg(64)->Arg(256);
BENCHMARK_CAPTURE(multiply, fast_a_in_smem, Case{true, false, false})->Arg(64);
BENCHMARK(copy);

}  // namespace
