// Bulk async-groups: which outstanding bulk stores belong to which committed group of which thread.
#pragma once

#include <cstdint>
#include <memory>

namespace shiftconv::emulator::machine {
class Cta;
}

namespace shiftconv::emulator::tma {

class BulkGroups {
 public:
  explicit BulkGroups(machine::Cta& cta);
  ~BulkGroups();

  struct State;
  std::unique_ptr<State> state;
};

}  // namespace shiftconv::emulator::tma
