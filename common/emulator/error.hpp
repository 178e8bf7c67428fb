// Errors of the emulator. Inside the emulator they are exceptions; the device seam turns them into statuses.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace shiftconv::emulator {

enum class ErrorKind : uint8_t {
  Parse,               ///< the text is not PTX that this parser knows
  Unsupported,         ///< an instruction, qualifier or directive that is not implemented
  IllegalInstruction,  ///< a combination that the PTX ISA forbids
  Launch,              ///< launch configuration or arguments do not fit the kernel
  OutOfBounds,         ///< global, shared, local, parameter or Tensor Memory access outside an object
  Misaligned,
  Uninitialised,    ///< an instruction was given what nothing wrote and cannot work with it
  Descriptor,       ///< illegal shared-memory, instruction or tensor-map descriptor
  Synchronisation,  ///< mbarrier, barrier or Tensor Memory allocation protocol broken
  Deadlock,
  Trap,  ///< trap or brkpt executed
  OutOfMemory,
  Hazard,  ///< the hazard checker found something, and was told to make it an error
  Limit,   ///< instruction limit of the launch reached
};

const char* toString(ErrorKind kind);

/// `what()` is one complete sentence; where an instruction is at fault the machine appends
/// kernel, CTA, warp, lanes, PTX line, source line and instruction text on further lines.
class EmulatorError : public std::runtime_error {
 public:
  EmulatorError(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace shiftconv::emulator
