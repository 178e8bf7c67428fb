#include "common/emulator/tma/bulk_groups.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::tma {
namespace {

using Operations = std::vector<machine::OperationId>;

struct Group {
  Operations reads, writes;
};

struct ThreadGroups {
  Group open;
  std::deque<Group> committed;  ///< oldest first; complete ones leave at the front
};

bool allComplete(const machine::AsyncQueue& queue, const Operations& operations) {
  return std::all_of(operations.begin(), operations.end(), [&](machine::OperationId id) { return queue.isComplete(id); });
}

}  // namespace

struct BulkGroups::State {
  machine::Cta& cta;
  std::unordered_map<uint32_t, ThreadGroups> threads;
};

BulkGroups::BulkGroups(machine::Cta& cta) : state(new State{cta, {}}) {}
BulkGroups::~BulkGroups() = default;

void BulkGroups::add(uint32_t thread, machine::OperationId read, machine::OperationId write) {
  Group& open = state->threads[thread].open;
  open.reads.push_back(read);
  open.writes.push_back(write);
}

void BulkGroups::commit(uint32_t thread) {
  ThreadGroups& groups = state->threads[thread];
  groups.committed.push_back(std::exchange(groups.open, {}));
}

uint32_t BulkGroups::pending(uint32_t thread, bool readsOnly) {
  const machine::AsyncQueue& queue = state->cta.cluster.queue;
  std::deque<Group>& groups = state->threads[thread].committed;
  while (!groups.empty() && allComplete(queue, groups.front().writes)) groups.pop_front();  // reads come before writes
  if (!readsOnly) return static_cast<uint32_t>(groups.size());
  const auto stuck =
      std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return !allComplete(queue, group.reads); });
  return static_cast<uint32_t>(groups.end() - stuck);
}

}  // namespace shiftconv::emulator::tma
