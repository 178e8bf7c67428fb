// Stores to the shared memory of another CTA of the cluster that tell an mbarrier there how much has come (PTX ISA 9.7.9.12).
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Stores 16 bytes (16-byte aligned) some time later, and then counts them towards the expected bytes of `barrier`. Both addresses
/// come from mapToCta() for the same CTA.
__device__ __forceinline__ void storeClusterCounted16Bytes(uint32_t address, uint32_t barrier, uint32_t a, uint32_t b, uint32_t c,
                                                           uint32_t d) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(address),
               "r"(barrier), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

}  // namespace shiftconv::ptx
