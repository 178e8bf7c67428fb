#include "common/emulator/error.hpp"

namespace shiftconv::emulator {

const char* toString(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Parse:
      return "parse error";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::IllegalInstruction:
      return "illegal instruction";
    case ErrorKind::Launch:
      return "launch error";
    case ErrorKind::OutOfBounds:
      return "out of bounds";
    case ErrorKind::Misaligned:
      return "misaligned access";
    case ErrorKind::Uninitialised:
      return "uninitialised read";
    case ErrorKind::Descriptor:
      return "illegal descriptor";
    case ErrorKind::Synchronisation:
      return "synchronisation error";
    case ErrorKind::Deadlock:
      return "deadlock";
    case ErrorKind::Trap:
      return "trap";
    case ErrorKind::OutOfMemory:
      return "out of memory";
    case ErrorKind::Hazard:
      return "hazard";
    case ErrorKind::Limit:
      return "limit reached";
  }
  return "error";
}

}  // namespace shiftconv::emulator
