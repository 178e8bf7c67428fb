// From the machine's own types to those of the library's public header, and back.
#pragma once

#include <exception>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/error.hpp"
#include "common/emulator/include/shiftconv/emulator.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::emu {

ErrorKind kindOf(emulator::ErrorKind kind);
Hazard convert(const emulator::Hazard& hazard);
std::vector<Hazard> convert(const std::vector<emulator::Hazard>& hazards);
Counters convert(const emulator::Counters& counters, const std::vector<std::string>& warpRoles);
/// Fills `converted`; an error names a question or an alternative that does not exist.
Error convert(const Options& options, emulator::Options& converted);
emulator::HazardMode convert(Hazards mode);

/// Calls body(), which may throw what the machine throws and returns something that can be made from an Error.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const emulator::EmulatorError& error) {
    return Error{kindOf(error.kind()), error.what()};
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::OutOfMemory, "the host has no memory left"};
  } catch (const std::exception& error) {
    return Error{ErrorKind::Limit, error.what()};
  }
}

}  // namespace shiftconv::emu
