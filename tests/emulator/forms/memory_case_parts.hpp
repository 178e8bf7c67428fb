// memoryCases() is assembled from these.
#pragma once

#include "tests/emulator/forms/form_case.hpp"

namespace shiftconv::tests {

FormCases atomicCases();
FormCases addressCases();
FormCases asyncCopyCases();

}  // namespace shiftconv::tests
