// What executes a case: the CUDA driver, or the emulator.
#pragma once

#include <memory>
#include <string>

#include "tests/hardware_recordings/case.hpp"

namespace shiftconv::recordings {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string device() const = 0;  ///< "NVIDIA H200"
  virtual std::string driver() const = 0;  ///< "13000", or "none"
  virtual Observation run(const Case& made) = 0;
  /// True when an error has made the process useless for further cases (CUDA's sticky errors).
  virtual bool broken() const { return false; }
};

/// nullptr, and why, when there is no driver or no device.
std::unique_ptr<Backend> makeGpuBackend(std::string& why);
/// nullptr, and why, in a program built without the emulator (no_emulator_backend.cpp).
std::unique_ptr<Backend> makeEmulatorBackend(std::string& why);

}  // namespace shiftconv::recordings
