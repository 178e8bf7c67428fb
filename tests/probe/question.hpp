// A question about tcgen05 as an experiment: steps, each a launch, whose outcome decides between the alternatives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/emulated_device.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::probe {

/// `lane`: 0..127, and 128..255 in the second CTA of a pair.
using CellFunction = uint32_t (*)(uint32_t lane, uint32_t column);
using WordFunction = uint32_t (*)(uint32_t word);

/// The state that means an alternative; without one, the next step decides.
struct Outcome {
  CellFunction expected;
  std::optional<uint8_t> alternative;
};

struct Step {
  uint32_t variant = 0;
  std::optional<uint8_t> onFault;         ///< the alternative that a fault of this launch means
  std::vector<Outcome> outcomes;          ///< the first that agrees in every compared cell counts
  std::optional<uint8_t> otherwise = {};  ///< any other state
  const char* pairKernel = nullptr;       ///< instead of the kernel of the experiment, on a pair of CTAs
};

/// Cells of Tensor Memory that are compared, in every lane.
struct Compared {
  uint32_t firstColumn, columns;
  uint32_t bits = 0xFFFFFFFFu;  ///< of each cell
};

struct Experiment {
  emulator::Unproven id;
  const char* kernel;
  CellFunction tensor;  ///< Tensor Memory before the operation
  WordFunction shared;  ///< shared memory before the operation, the same in every CTA
  Compared compared;
  std::vector<Step> steps;
  /// What a read of undefined cells means, which the emulator refuses and a GPU answers with whatever is there.
  std::optional<uint8_t> onUndefinedRead = {};
  /// An alternative that an observation can suggest but not prove; it is reported and not passed on to the emulator.
  std::optional<uint8_t> unprovable = {};
  /// Compute capabilities, as 103, that lack the instruction.
  std::vector<int> absentOn = {};
};

std::span<const Experiment> experiments();
/// Null for the questions of nonDiscriminating().
const Experiment* experimentFor(emulator::Unproven id);

struct NonDiscriminating {
  emulator::Unproven id;
  const char* reason;
};
/// The questions without an experiment that tells their alternatives apart.
std::span<const NonDiscriminating> nonDiscriminating();

struct Observation {
  emulator::Unproven id;
  std::optional<uint8_t> alternative;  ///< none: the device did something else, or cannot be asked; `detail` tells
  bool applicable = true;              ///< false: the device lacks the instruction
  std::string detail;                  ///< faults as the device words them, and the first cell that fits nothing

  /// Whether the emulator may take it over.
  bool isConclusive() const;
};

/// The emulated device as the questions want it: operations without an order complete as late as possible, so that it shows.
std::unique_ptr<device::EmulatedDevice> makeEmulatedDevice();

/// Runs the steps until one decides. A fault leaves a CUDA device unusable: observe nothing else in this process.
/// Throws std::runtime_error when the device cannot even be set up for the question.
Observation observe(device::Device& device, const Experiment& experiment);

const emulator::UnprovenQuestion& wording(emulator::Unproven id);

}  // namespace shiftconv::probe
