#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "tests/hardware_recordings/cases/families.hpp"

namespace shiftconv::recordings {

const CaseList& allCases() {
  static const CaseList cases = [] {
    CaseList list;
    addIntegerCases(list);
    addLogicCases(list);
    addFloatCases(list);
    addHalfCases(list);
    addConversionCases(list);
    addComparisonCases(list);
    addMemoryCases(list);
    addAtomicCases(list);
    addControlCases(list);
    addWarpCases(list);
    addMbarrierCases(list);
    addMatrixCases(list);
    addClusterCases(list);
    addClusterSynchronisationCases(list);
    addBulkCases(list);
    addTensorCopyCases(list);
    addIm2colCases(list);
    addTensorMulticastCases(list);
    addTensorCopyFindings(list);
    addSynchronisationFindings(list);
    addWgmmaFindings(list);
    std::set<std::string_view> names;
    for (const CaseEntry& entry : list)
      if (!names.insert(entry.name).second) throw std::logic_error(fmt::format("two cases are called '{}'", entry.name));
    return list;
  }();
  return cases;
}

}  // namespace shiftconv::recordings
