// Tensor Memory of one CTA and everything tcgen05 keeps per CTA: allocation, written bits, and the
// outstanding operations whose order matters (PTX ISA 9.7.16.6.2).
#pragma once

#include <memory>

#include "common/emulator/machine/cta_unit.hpp"

namespace shiftconv::emulator::machine {
class Cta;
class Warp;
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::tensor {

class TensorUnit final : public machine::CtaUnit {
 public:
  static constexpr auto kPlace = machine::UnitPlace::TensorMemory;
  explicit TensorUnit(machine::Cta& cta);
  ~TensorUnit() override;
  /// Completes the stores that the warp has not waited for, unless question U35 is answered otherwise.
  void released(const machine::Warp& warp) override;
  /// Throws EmulatorError Synchronisation when columns are still allocated.
  void checkExit() const override;

  struct State;
  std::unique_ptr<State> state;
};

}  // namespace shiftconv::emulator::tensor
