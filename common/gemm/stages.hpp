// Budgets of the memories that stages live in. Each fits or says which rule stops it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

namespace shiftconv::gemm {

/// Shared memory of a CTA: what is there once, and what every stage adds.
struct SharedBudget {
  int64_t available = 0, fixed = 0, stage = 0;

  int64_t stages() const { return stage == 0 || available < fixed ? 0 : (available - fixed) / stage; }
  int64_t used(int64_t stages) const { return fixed + stages * stage; }
  std::string describe(int64_t stages) const {
    return fmt::format("{} stages of {} bytes and {} besides, of {}", stages, stage, fixed, available);
  }
};

/// Tensor Memory of a CTA in columns; the same.
struct ColumnBudget {
  static constexpr int64_t kAvailable = 512;
  int64_t accumulators = 1, accumulator = 0, stage = 0;

  int64_t stages(int64_t wanted) const {
    const int64_t left = kAvailable - accumulators * accumulator;
    return left < 0 ? 0 : stage == 0 ? wanted : std::min(wanted, left / stage);
  }
  int64_t used(int64_t stages) const { return accumulators * accumulator + stages * stage; }
  /// Tensor Memory is allocated in powers of two from 32 columns (PTX ISA 9.7.16.7).
  int64_t allocated(int64_t stages) const {
    return std::max<int64_t>(32, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(used(stages)))));
  }
  std::string describe(int64_t stages) const {
    return fmt::format("{} accumulator(s) of {} columns, {} of each stage: {} of {}", accumulators, accumulator, stage,
                       used(stages), kAvailable);
  }
};

}  // namespace shiftconv::gemm
