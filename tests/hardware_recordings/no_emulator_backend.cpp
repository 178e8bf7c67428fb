// Stands in for emulator_backend.cpp in a program that only records on a GPU (see run_on_gpu.sh).
#include "tests/hardware_recordings/backend.hpp"

namespace shiftconv::recordings {

std::unique_ptr<Backend> makeEmulatorBackend(std::string& why) {
  why = "this program was built without the emulator; it can only record";
  return nullptr;
}

}  // namespace shiftconv::recordings
