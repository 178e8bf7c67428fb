// Tensor Memory of one CTA and everything tcgen05 keeps per CTA: allocation, written bits, and the
// outstanding operations whose order matters (PTX ISA 9.7.16.6.2).
#pragma once

#include <cstdint>
#include <memory>

namespace shiftconv::emulator::machine {
class Cta;
}

namespace shiftconv::emulator::tensor {

class TensorUnit {
 public:
  explicit TensorUnit(machine::Cta& cta);
  ~TensorUnit();
  /// At CTA exit: throws EmulatorError Synchronisation when columns are still allocated.
  void checkExit() const;

  struct State;
  std::unique_ptr<State> state;
};

}  // namespace shiftconv::emulator::tensor
