// Runs an experiment on a device and judges the state it leaves.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "probe_kernels_image.hpp"
#include "tests/probe/question.hpp"
#include "tests/probe/state.hpp"

namespace shiftconv::probe {
namespace {

using device::Address;

/// Set-up that has to work before a question can be asked.
void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

/// Global memory of one launch. Not given back: a fault leaves the device unusable, and the process ends soon.
Address upload(device::Device& device, const std::vector<uint32_t>& words) {
  Address address = 0;
  require(device.allocate(words.size() * sizeof(uint32_t), address));
  require(device.copyToDevice(address, words.data(), words.size() * sizeof(uint32_t), 0));
  return address;
}

std::vector<uint32_t> cellsOf(CellFunction function, uint32_t ctas) {
  std::vector<uint32_t> cells;
  for (uint32_t lane = 0; lane < ctas * kLanes; ++lane)
    for (uint32_t column = 0; column < kColumns; ++column) cells.push_back(function(lane, column));
  return cells;
}

/// Launches and waits. Failure is the answer of the device, not an error of the program.
Status perform(device::Device& device, const device::Kernel& kernel, const Experiment& experiment, const Step& step,
               std::vector<uint32_t>& result) {
  const uint32_t ctas = step.pairKernel ? 2 : 1;
  std::vector<uint32_t> shared;
  for (uint32_t word = 0; word < kSharedWords; ++word) shared.push_back(experiment.shared(word));
  constexpr uint32_t kPoison = 0xDEADBEEFu;
  result.assign(size_t{ctas} * kLanes * kColumns, kPoison);
  const Address tensorState = upload(device, cellsOf(experiment.tensor, ctas));
  const Address sharedState = upload(device, shared);
  const Address resultState = upload(device, result);
  require(device.synchronize(0));

  const void* arguments[] = {&tensorState, &sharedState, &resultState, &step.variant};
  LaunchConfig config;
  config.grid = config.cluster = {ctas, 1, 1};
  config.block = {kLanes, 1, 1};
  if (Status status = device.launch(kernel, config, arguments, 0); !status.ok()) return status;
  if (Status status = device.synchronize(0); !status.ok()) return status;
  return device.copyToHost(result.data(), resultState, result.size() * sizeof(uint32_t), 0);
}

/// The first compared cell that is not as expected, in words; empty when all are.
std::string difference(const Experiment& experiment, const std::vector<uint32_t>& result, CellFunction expected) {
  const Compared& compared = experiment.compared;
  for (uint32_t lane = 0; lane < result.size() / kColumns; ++lane)
    for (uint32_t column = compared.firstColumn; column < compared.firstColumn + compared.columns; ++column) {
      const uint32_t found = result[lane * kColumns + column] & compared.bits;
      const uint32_t wanted = expected(lane, column) & compared.bits;
      if (found != wanted) return fmt::format("lane {} column {} holds {:#010x} instead of {:#010x}", lane, column, found, wanted);
    }
  return {};
}

/// Only the emulated device can tell.
bool hasReadUndefined(device::Device& device) {
  const auto* emulated = dynamic_cast<device::EmulatedDevice*>(&device);
  if (emulated == nullptr) return false;
  for (const device::KernelCounters& kernel : emulated->counters())
    for (const emulator::Hazard& hazard : kernel.hazards)
      if (hazard.kind == emulator::HazardKind::UndefinedData) return true;
  return false;
}

}  // namespace

bool Observation::isConclusive() const {
  const Experiment* experiment = experimentFor(id);
  return alternative && experiment != nullptr && experiment->unprovable != alternative;
}

std::unique_ptr<device::EmulatedDevice> makeEmulatedDevice() {
  auto device = std::make_unique<device::EmulatedDevice>();
  require(device->setOption("schedule", "latest"));
  require(device->setOption("hazards", "warn"));
  return device;
}

Observation observe(device::Device& device, const Experiment& experiment) {
  const int capability = device.properties().computeMajor * 10 + device.properties().computeMinor;
  if (std::find(experiment.absentOn.begin(), experiment.absentOn.end(), capability) != experiment.absentOn.end())
    return {experiment.id, {}, false, fmt::format("sm_{}a does not have the instruction", capability)};
  if (auto* emulated = dynamic_cast<device::EmulatedDevice*>(&device)) emulated->resetCounters();
  const device::Module* module = nullptr;
  const device::Kernel* kernel = nullptr;
  require(device.loadModule(images::probe_kernels(), module));
  for (const Step& step : experiment.steps) {
    require(device.findKernel(*module, step.pairKernel ? step.pairKernel : experiment.kernel, kernel));
    std::vector<uint32_t> result;
    if (const Status status = perform(device, *kernel, experiment, step, result); !status.ok()) {
      return {experiment.id, step.onFault, true, status.message()};
    }
    if (experiment.onUndefinedRead && hasReadUndefined(device))
      return {experiment.id, experiment.onUndefinedRead, true, "the data are undefined"};
    const Outcome* seen = nullptr;
    for (const Outcome& outcome : step.outcomes)
      if (!seen && difference(experiment, result, outcome.expected).empty()) seen = &outcome;
    if (!seen)
      return {experiment.id, step.otherwise, true,
              fmt::format("variant {}: {}", step.variant, difference(experiment, result, step.outcomes.front().expected))};
    if (seen->alternative) return {experiment.id, seen->alternative, true, {}};
  }
  return {experiment.id, {}, true, "no step decided"};
}

}  // namespace shiftconv::probe
