// One more word for a hash.
#pragma once

#include <cstdint>

namespace shiftconv::torch_glue {

inline uint64_t mix(uint64_t hash, uint64_t word) { return (hash ^ word) * 0x9e3779b97f4a7c15u ^ hash >> 29; }

}  // namespace shiftconv::torch_glue
