// setp, set, selp, slct: part of logicCases().
#pragma once

#include "tests/emulator/forms/form_case.hpp"

namespace shiftconv::tests {

FormCases compareCases();

}  // namespace shiftconv::tests
