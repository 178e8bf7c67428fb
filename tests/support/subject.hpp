// A correct kernel that mutants are made of, and the ways to run it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "tests/support/source_positions.hpp"

namespace shiftconv::tests {

/// What one run showed.
struct Observation {
  std::string difference;  ///< from the reference: "" or the first one
  std::vector<emulator::Hazard> hazards;
  emulator::Counters counters;
};

/// One PTX text, loaded. Trials differ in problem size, so that together they execute every instruction of the kernel.
class LoadedSubject {
 public:
  virtual ~LoadedSubject() = default;
  /// Throws EmulatorError when the machine stops the kernel.
  virtual Observation run(size_t trial, const emulator::Options& options) = 0;
  /// From now on observers of this kind watch the launches of the kernel, for which the hazard checker must be off.
  virtual void watch(emulator::machine::ObserverFactory observe) = 0;
};

struct Subject {
  std::string kernel;      ///< entry name
  std::string ptx;         ///< the module, at its original line numbers
  SourcePositions source;  ///< of those lines
  std::vector<std::string> trials;
  /// Loads `ptx` or a mutant of it on an emulator of its own. Throws EmulatorError when the text is no legal program.
  std::function<std::unique_ptr<LoadedSubject>(std::string_view ptx)> load;
  /// Parts of names: mutants are made only of what was inlined from such functions. Empty: of everything.
  std::vector<std::string> functions{};
};

}  // namespace shiftconv::tests
