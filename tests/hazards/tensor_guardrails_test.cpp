// The checks that nvcc puts around tcgen05 instructions with --g-tensor-memory-access-check (-g-tmem-access-check, on with -g),
// each as a kernel that traps with them on a GPU: the machine makes them always. The names are those of the traps, without
// "__cuda_sm10x_tcgen05_guardrail_trap_".
//
//   phase_invalid_during_alloc                     tcgen05.alloc after tcgen05.relinquish_alloc_permit
//   allocation_granularity_invalid                 sizes that are no power of two from 32 to 512
//   unallocated_columns_access                     columns that nobody has allocated
//   access_out_of_physical_bounds                  columns after the last one
//   unallocated_columns_being_dealloced            tcgen05.dealloc of columns that are free
//   col_being_dealloced_not_returned_by_alloc      tcgen05.dealloc from the middle of an allocation
//   current_warp_owner_invalid                     tcgen05.ld and .st of lanes that belong to another warp
//   invalid_datapath_alignment                     accumulators and operands that start at a wrong lane
//   sparse_mismatch_between_idesc_mod              a sparse instruction descriptor of a dense product
//   sp_used_in_unsupported_env                     the same for kinds and targets without sparse products
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/emulator/error.hpp"
#include "tests/hazards/expected_hazards.hpp"
#include "tests/support/kernel_run.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests {
namespace {

using emulator::HazardKind;
using emulator::HazardMode;
using emulator::HazardSeverity;
using emulator::Unproven;

struct Guardrail {
  std::string trap;
  std::string wrong;    ///< body of a kernel that traps
  std::string right;    ///< its neighbour that does not
  std::string message;  ///< part of the error
  uint32_t columns = 64;
};

std::string ofFirstWarp(const std::string& body) { return "  @!%firstwarp bra BEHIND;\n" + body + "BEHIND:\n"; }
std::string allocation(const std::string& columns) {
  return "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], " + columns + ";\n";
}
const std::string kRelinquish = "  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";
const std::string kTake = "  bar.warp.sync -1;\n  ld.shared.u32 %tmem, [%slot];\n";
std::string deallocation(const std::string& address, int columns) {
  return "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 " + address + ", " + std::to_string(columns) + ";\n";
}
/// 8 columns of the lanes of the first warp, from `column` on.
std::string store(int column) {
  return ofFirstWarp(
      "  tcgen05.st.sync.aligned.32x32b.x8.b32 [%tmem+" + std::to_string(column) +
      "], {%thread, %thread, %thread, %thread, %thread, %thread, %thread, %thread};\n  tcgen05.wait::st.sync.aligned;\n");
}
/// A store by the second warp alone, to one column of 32 lanes.
std::string storeOfSecondWarp(int lane) {
  return "  setp.ne.u32 %p0, %warp, 1;\n  @%p0 bra BEHIND;\n  add.u32 %r10, %tmem, " + std::to_string(lane << 16) +
         ";\n  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r10], {%thread};\n  tcgen05.wait::st.sync.aligned;\nBEHIND:\n";
}
/// M = 128, N = 8, f16 to f32, both operands from shared memory; the accumulator starts at this lane.
std::string product(int lane, const std::string& instruction) {
  return "  add.u64 %rd1, %desc, " + std::to_string(descriptorBits(0, 128, 256)) +
         ";\n  setp.ne.u32 %p1, 0, 0;\n  add.u32 %r10, %tmem, " + std::to_string(lane << 16) +
         ";\n  @%issuer tcgen05.mma.cta_group::1.kind::f16 [%r10], %rd1, %rd1, " + instruction + ", %p1;\n" + commitAndWait(0);
}
/// The same of block-scaled f8, with its scale factors in columns 32 and 36.
std::string scaledProduct(const std::string& instruction) {
  return "  add.u64 %rd1, %desc, " + std::to_string(descriptorBits(0, 128, 256)) +
         ";\n  setp.ne.u32 %p1, 0, 0;\n  @%issuer tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%tmem], %rd1, %rd1, " +
         instruction + ", [%tmem+32], [%tmem+36], %p1;\n" + commitAndWait(0);
}

std::vector<Guardrail> guardrails() {
  const std::string dense = "0x08020010", sparse = "0x08020014", denseScaled = "0x08820000", sparseScaled = "0x08820004";
  const std::string own = ofFirstWarp(allocation("64") + kRelinquish + kTake + deallocation("%tmem", 64));
  const std::string odd = "  mov.u32 %r9, 48;\n", even = "  mov.u32 %r9, 64;\n";
  const std::string ofRegister = ofFirstWarp(allocation("%r9") + kRelinquish + kTake + deallocation("%tmem", 64));
  return {
      {"phase_invalid_during_alloc", ofFirstWarp(allocation("32") + kRelinquish + allocation("32")), own,
       "after tcgen05.relinquish_alloc_permit", 0},
      {"allocation_granularity_invalid", odd + ofRegister, even + ofRegister, "must be a power of two from 32 to 512", 0},
      {"unallocated_columns_access", store(60), store(56), "of which 64..67 are not allocated"},
      {"access_out_of_physical_bounds", store(508), store(504), "has columns 0..511", 512},
      {"unallocated_columns_being_dealloced",
       ofFirstWarp(allocation("64") + kRelinquish + kTake + deallocation("%tmem", 64) + deallocation("%tmem", 64)), own,
       "no live allocation starts there", 0},
      {"col_being_dealloced_not_returned_by_alloc",
       ofFirstWarp(allocation("64") + kRelinquish + kTake + "  add.u32 %r10, %tmem, 32;\n" + deallocation("%r10", 32)), own,
       "no live allocation starts there", 0},
      {"current_warp_owner_invalid", storeOfSecondWarp(64), storeOfSecondWarp(32), "by warp 1, which reaches only lanes 32..63"},
      {"invalid_datapath_alignment", product(16, dense), product(0, dense), "the lane must be 0"},
      {"sparse_mismatch_between_idesc_mod", product(0, sparse), product(0, dense), "bit 2 says sparse"},
      {"sp_used_in_unsupported_env", scaledProduct(sparseScaled), scaledProduct(denseScaled), "bit 2 says sparse"},
  };
}

/// Owners of lanes are an open question, as shipped programs name others: here it is answered as with the checks.
void run(const Guardrail& guardrail, const std::string& body, uint8_t strict, HazardMode hazards, LaunchReport* report = nullptr) {
  Options options;
  options.hazards = hazards;
  options.semantics.choose(Unproven::U10, strict);
  emulator::Emulator device;
  TensorKernel kernel{body, std::vector<std::byte>(8192), 1};
  kernel.columns = guardrail.columns;
  kernel.run(device, options, report);
}

TEST(TensorGuardrails, TrapInTheMachineToo) {
  const std::vector<Guardrail> all = guardrails();
  EXPECT_EQ(all.size(), 10u);
  for (const Guardrail& guardrail : all) {
    SCOPED_TRACE(guardrail.trap);
    try {
      run(guardrail, guardrail.wrong, 2, HazardMode::Off);
      ADD_FAILURE() << "no error";
    } catch (const EmulatorError& error) {
      EXPECT_CONTAINS(error.what(), guardrail.message);
      EXPECT_CONTAINS(error.what(), "tcgen05.");
    }
    try {
      run(guardrail, guardrail.right, 2, HazardMode::Off);
    } catch (const EmulatorError& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// By default another warp's lanes mean one's own, and the checker says that this is an open question.
TEST(TensorGuardrails, OfOwnersAreAQuestionByDefault) {
  LaunchReport report;
  run({}, storeOfSecondWarp(64), 0, HazardMode::Warn, &report);
  expectHazards(report.hazards, {{HazardKind::ReliesOn, HazardSeverity::Unproven, "U10"}});
  run({}, storeOfSecondWarp(32), 0, HazardMode::Warn, &report);
  expectHazards(report.hazards, {});
}

}  // namespace
}  // namespace shiftconv::tests
