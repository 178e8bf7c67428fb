// The families of the suite; each adds its cases to the list.
#pragma once

#include "tests/hardware_recordings/case.hpp"

namespace shiftconv::recordings {

void addIntegerCases(CaseList& cases);
void addLogicCases(CaseList& cases);
void addFloatCases(CaseList& cases);
void addHalfCases(CaseList& cases);
void addConversionCases(CaseList& cases);
void addComparisonCases(CaseList& cases);
void addMemoryCases(CaseList& cases);
void addAtomicCases(CaseList& cases);
void addControlCases(CaseList& cases);
void addWarpCases(CaseList& cases);
void addMbarrierCases(CaseList& cases);
void addMatrixCases(CaseList& cases);
void addClusterCases(CaseList& cases);
void addClusterSynchronisationCases(CaseList& cases);
void addBulkCases(CaseList& cases);
void addTensorCopyCases(CaseList& cases);
void addIm2colCases(CaseList& cases);
void addTensorMulticastCases(CaseList& cases);
void addTensorCopyFindings(CaseList& cases);
void addSynchronisationFindings(CaseList& cases);
void addWgmmaFindings(CaseList& cases);

}  // namespace shiftconv::recordings
