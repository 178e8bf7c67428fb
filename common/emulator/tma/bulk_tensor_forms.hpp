// Internal to the bulk copy family: the rows of the tensor copies, and what they share with the plain ones.
#pragma once

#include <functional>
#include <string_view>

#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/instruction.hpp"

namespace shiftconv::emulator::tma {

// bulkCopyForms() is assembled from these and its own.
isa::FormFamily bulkTensorForms();
isa::FormFamily mapEditForms();      ///< tensormap.replace
isa::FormFamily remoteStoreForms();  ///< st.async, red.async

/// The operation that a cp.reduce names ("add"), empty for the copies.
std::string_view reductionName(const isa::FormMatch& match);

/// A store of this lane joins the lane's open bulk group.
void addToBulkGroup(const machine::Execution& execution, unsigned lane, machine::OperationId read, machine::OperationId write);

/// Calls action for every CTA named by a multicast mask, in order of rank.
/// Throws EmulatorError OutOfBounds for an empty mask and for ranks outside of the cluster.
void forEachMulticastTarget(machine::Cluster& cluster, uint16_t mask,
                            const std::function<void(machine::Cta& target, bool first)>& action);

}  // namespace shiftconv::emulator::tma
