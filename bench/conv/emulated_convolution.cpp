// How long the emulator takes for whole convolutions through the public API, on this host.
//
// FLOP counts are those of the convolution (2*N*P*Q*K*R*S*C), not of the tile padding. "input bytes" are the tensors, read or
// written once.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <vector>

namespace {

/// Random f16 bit patterns with magnitudes from 2^-6 to 2.
std::vector<uint16_t> randomHalves(size_t count, std::mt19937_64& random) {
  std::vector<uint16_t> values(count);
  for (uint16_t& v : values) v = static_cast<uint16_t>((random() & 0x83ff) | ((9 + random() % 8) << 10));
  return values;
}

shiftconv::Memory upload(shiftconv::Device& device, const std::vector<uint16_t>& values) {
  shiftconv::Memory memory(device, values.size() * sizeof(uint16_t));
  device.copyToDevice(memory.get(), values.data(), memory.bytes());
  return memory;
}

void emulate(benchmark::State& state, const char* numerics, const char* planOptions, const char* hazards) {
  shiftconv::Convolution problem;
  problem.n = 1;
  problem.h = problem.w = state.range(0);
  problem.c = problem.k = state.range(1);
  problem.r = problem.s = 3;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = 1;

  shiftconv::Device device(SHIFTCONV_DEVICE_EMULATED);
  device.setOption("numerics", numerics);
  device.setOption("hazards", hazards);
  shiftconv::PlanOptions options;
  options.algorithm = "shift_window";
  options.options = planOptions;
  const shiftconv::Plan plan(problem, device.properties(), options);
  const auto bytes = problem.tensorBytes();
  std::mt19937_64 random(20260000);
  const shiftconv::Memory input = upload(device, randomHalves(bytes.input / 2, random));
  const shiftconv::Memory filter = upload(device, randomHalves(bytes.filter / 2, random));
  const shiftconv::Memory output(device, bytes.output);
  shiftconv::Tensors tensors;
  tensors.input = input.get();
  tensors.filter = filter.get();
  tensors.output = output.get();
  const shiftconv::Binding binding(plan, device, tensors);

  for (auto _ : state) binding.run();

  const double flops = 2.0 * static_cast<double>(problem.n * problem.outputHeight() * problem.outputWidth() * problem.k *
                                                 problem.r * problem.s * problem.c);
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["input bytes"] = static_cast<double>(bytes.input + bytes.filter + bytes.output);
}

BENCHMARK_CAPTURE(emulate, fast, "fast", "group=single", "off")->Args({56, 64})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(emulate, fast_watched, "fast", "group=single", "warn")
    ->Args({56, 64})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(emulate, hardware_watched, "hardware", "group=single", "warn")
    ->Args({56, 64})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(emulate, hardware, "hardware", "group=single", "off")
    ->Args({56, 64})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
