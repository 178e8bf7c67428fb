// One named test per instruction form of the decoder's table.
//
// Every family has a file <family>_cases.cpp that returns its cases; form_test.cpp runs them all, checks
// that each case really executes the form it names, and that no form of the table is left without a case.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/form_run.hpp"

namespace shiftconv::tests {

struct FormCase {
  std::string_view form;  ///< Form::syntax
  std::string name;       ///< [A-Za-z0-9_]+, unique within the form
  std::function<void(FormRun&)> run;
};

using FormCases = std::vector<FormCase>;
FormCases integerCases();
FormCases carryCases();
FormCases floatCases();
FormCases halfCases();
FormCases conversionCases();
FormCases logicCases();
FormCases memoryCases();
FormCases controlCases();
FormCases warpCases();
FormCases mbarrierCases();
FormCases fenceCases();
FormCases bulkCopyCases();
FormCases tensorCases();
FormCases matrixCases();
FormCases launchControlCases();
FormCases wgmmaCases();
FormCases tileProductCases();
FormCases wmmaCases();
FormCases sparseProductCases();
FormCases sparseMetadataCases();
FormCases tensorFragmentCases();
FormCases tensorMovementCases();
FormCases tensorMmaCases();
FormCases sparseMmaCases();

}  // namespace shiftconv::tests
