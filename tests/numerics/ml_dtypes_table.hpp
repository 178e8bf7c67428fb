// ml_dtypes.table in memory: see ml_dtypes_table.py, which made it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shiftconv::tests {

struct DecodedCode {
  uint32_t code;
  bool isNan;
  float value;
};
/// f32 patterns, none negative, that round to `code`.
struct EncodedRange {
  uint32_t code, first, last;
};
struct TypeTable {
  std::string type;
  std::vector<DecodedCode> decoded;
  std::vector<EncodedRange> ranges;  ///< in order and without gaps, from +0 to where overflow begins
  EncodedRange overflow{};           ///< the rest, up to infinity
};
struct BlockCase {
  std::string format;
  uint32_t scale;
  std::vector<float> values;
  std::vector<uint8_t> codes;
};
struct MlDtypesTable {
  std::vector<TypeTable> types;
  std::vector<BlockCase> blocks;
};

/// Throws std::runtime_error when the file is missing or malformed.
MlDtypesTable readMlDtypesTable(const std::string& path);

}  // namespace shiftconv::tests
