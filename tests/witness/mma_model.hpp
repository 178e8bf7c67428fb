// The emulator's tensor-core arithmetic on the operands of a wgmma case.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/witness/case.hpp"

namespace shiftconv::witness {

/// What the kernel of a case with `products` stores: the registers of D of every thread, multiplication by multiplication.
std::vector<std::byte> multiplyByModel(const Case& made);

}  // namespace shiftconv::witness
