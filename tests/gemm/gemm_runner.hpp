// Runs a GEMM kernel, or a broken variant of it, on the emulator, below the device seam: PTX, schedule and semantics are the
// caller's choice.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/gemm/sm100/plan.hpp"
#include "tests/gemm/gemm_case.hpp"
#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// The part of an sm_100 device that the planner looks at, with few multiprocessors so that CTAs have several tiles each.
device::Properties fewMultiprocessors(uint32_t count = 4);

class GemmRunner {
 public:
  explicit GemmRunner(std::string_view ptx);

  /// Runs `launches` times, one behind the other and with one workspace; the output is that of the last. Throws EmulatorError when
  /// the machine stops the kernel, std::invalid_argument when a tensor map is refused.
  Observation run(const GemmCase& gemm, const gemm::sm100::GemmPlan& plan, const emulator::Options& options, int launches = 1);
  /// As LoadedSubject::watch().
  void watch(emulator::machine::ObserverFactory observe) { observe_ = std::move(observe); }

 private:
  emulator::Emulator emulator_;
  std::string ptx_;
  std::map<std::string, std::shared_ptr<const emulator::LoadedModule>> modules_;  ///< by kernel
  emulator::machine::ObserverFactory observe_;
};

}  // namespace shiftconv::tests
