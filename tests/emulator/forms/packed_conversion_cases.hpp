// Packed and narrow conversions: part of conversionCases().
#pragma once

#include <cstdint>

#include "tests/emulator/forms/exact_real.hpp"
#include "tests/emulator/forms/form_case.hpp"

namespace shiftconv::tests {

/// An f32 rounded to f16, bf16 or tf32 with .relu and .satfinite.
uint64_t expectedNarrow(Format format, uint64_t single, Round round, bool relu, bool saturateFinite);

FormCases packedConversionCases();

}  // namespace shiftconv::tests
