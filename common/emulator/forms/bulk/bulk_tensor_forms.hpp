// Internal to the bulk copy family: the rows of the tensor copies, and what they share with the plain ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::tma {

// bulkCopyForms() is assembled from these and its own.
isa::FormFamily bulkTensorForms();
isa::FormFamily mapEditForms();      ///< tensormap.replace
isa::FormFamily remoteStoreForms();  ///< st.async, red.async

/// The operation that a cp.reduce names ("add"), empty for the copies.
std::string_view reductionName(const isa::FormMatch& match);

/// A store of this lane joins the lane's open bulk group.
void addToBulkGroup(const machine::Execution& execution, unsigned lane, machine::OperationId read, machine::OperationId write);

/// The copies out of shared memory that one instruction has issued. Lanes with equal operands issue one between them, which is in
/// the bulk groups of all: ptxas makes one UBLKCP or UTMASTG of operands that are the same in the whole warp (reductions and loads
/// it issues lane by lane).
class EqualStores {
 public:
  explicit EqualStores(bool merges) : merges_(merges) {}
  /// True, and the lane takes part in it, when another lane has issued the same store.
  bool joins(const machine::Execution& execution, unsigned lane, const std::vector<uint64_t>& operands) const;
  void add(const machine::Execution& execution, unsigned lane, std::vector<uint64_t> operands, machine::OperationId read,
           machine::OperationId write);

 private:
  struct Store {
    std::vector<uint64_t> operands;
    machine::OperationId read, write;
  };
  bool merges_;
  std::vector<Store> stores_;
};

/// Calls action for every CTA named by a multicast mask, in order of rank.
/// Throws EmulatorError OutOfBounds for an empty mask and for ranks outside of the cluster.
void forEachMulticastTarget(machine::Cluster& cluster, uint16_t mask,
                            const std::function<void(machine::Cta& target, bool first)>& action);

}  // namespace shiftconv::emulator::tma
