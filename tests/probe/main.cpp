// Asks a device the questions about tcgen05 that no public document settles. See README.md.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "common/device/emulated_device.hpp"
#include "common/device/registry.hpp"
#include "tests/probe/isolated.hpp"
#include "tests/probe/report.hpp"

namespace shiftconv::probe {
namespace {

struct Choices {
  bool list = false;
  bool isolate = false;
  std::string device = "emulated";
  std::string json;
  std::vector<std::string> only;
  std::vector<std::string> set;
};

std::unique_ptr<device::Device> open(const Choices& choices) {
  if (choices.device == "emulated") {
    auto emulated = makeEmulatedDevice();
    for (const std::string& setting : choices.set) {
      const size_t equals = setting.find('=');
      if (equals == std::string::npos) throw std::runtime_error(fmt::format("--set {}: write it as U3=1", setting));
      const Status status = emulated->setOption("semantics." + setting.substr(0, equals), setting.substr(equals + 1));
      if (!status.ok()) throw std::runtime_error(status.message());
    }
    return emulated;
  }
  if (!choices.set.empty()) throw std::runtime_error("--set is for the emulated device");
  std::unique_ptr<device::Device> gpu;
  if (const Status status = device::openDevice(device::Kind::Cuda, 0, gpu); !status.ok())
    throw std::runtime_error(status.message());
  if (!device::hasTensorMemory(gpu->properties()))
    throw std::runtime_error(fmt::format("{} has no tcgen05 instructions; B200, B300 and Thor have them", gpu->properties().name));
  return gpu;
}

std::vector<const Experiment*> selected(const std::vector<std::string>& only) {
  std::vector<const Experiment*> result;
  for (const Experiment& experiment : experiments())
    if (only.empty() || std::find(only.begin(), only.end(), wording(experiment.id).name) != only.end())
      result.push_back(&experiment);
  for (const std::string& name : only)
    if (std::none_of(result.begin(), result.end(), [&](const Experiment* one) { return wording(one->id).name == name; }))
      throw std::runtime_error(fmt::format("--only {}: no experiment tells its alternatives apart; see --list", name));
  return result;
}

/// Arguments that make a child see the same device.
std::vector<std::string> deviceArguments(const Choices& choices) {
  std::vector<std::string> arguments{"--device", choices.device};
  for (const std::string& setting : choices.set) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

void run(const Choices& choices) {
  if (choices.list) {
    fmt::print("{}", formatQuestions());
    return;
  }
  const std::vector<const Experiment*> wanted = selected(choices.only);
  const bool alone = wanted.size() > 1 && (choices.isolate || choices.device == "cuda");
  std::unique_ptr<device::Device> device = open(choices);
  const std::string name = device->properties().name;
  if (alone) device.reset();

  std::vector<Observation> observations;
  for (const Experiment* experiment : wanted)
    observations.push_back(alone ? observeIsolated(*experiment, deviceArguments(choices)) : observe(*device, *experiment));
  fmt::print("{}\n{}", name, formatObservations(observations));
  if (choices.json.empty()) return;
  std::ofstream file(choices.json);
  file << toJson(name, observations).dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", choices.json));
}

}  // namespace
}  // namespace shiftconv::probe

int main(int argc, char** argv) {
  shiftconv::probe::Choices choices;
  shiftconv::command_line::Parser parser(
      "Observes what a device does where the documents of tcgen05 are silent, and compares it with the emulator.");
  parser.flag("--list", choices.list, "the questions, their alternatives, and which cannot be told apart");
  parser.option("--device", choices.device, "emulated or cuda (the first GPU)").oneOf({"emulated", "cuda"}).showDefault();
  parser.option("--only", choices.only, "questions to ask, as U3,U4; default: all").separatedBy(',');
  parser.option("--set", choices.set, "alternative that the emulated device is to follow, as U3=1");
  parser.option("--json", choices.json, "writes what was observed to this file, which the emulator's option semantics.file takes");
  parser.flag("--isolate", choices.isolate, "each question in its own process; always so with --device cuda");
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    shiftconv::probe::run(choices);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "probe: {}\n", error.what());
    return 1;
  }
}
