// The convolutions that tests run for each algorithm: tests/algorithms/<algorithm>/shapes/<architecture>/<file>.txt, a case a line
// (see parseCase). They are found by folder, so that no list names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::tests {

struct ShapeLine {
  std::string name;  ///< algorithm, file, line number and shape, as a test name
  std::string text;

  std::string problem() const { return text.substr(0, text.find(" |")); }
};
/// Lines of a file of cases, without comments (#) and empty lines. Throws std::invalid_argument where there is no such file.
std::vector<ShapeLine> readShapes(const std::string& path, std::string_view prefix = "");

struct ShapeFile {
  std::string algorithm, name, path;
  /// Runs at night only: takes the emulator long, or runs kernels that quick builds leave out.
  bool isLarge() const { return name == "large"; }
};
/// Of "sm_90a" or "sm_100a", in the order of their paths.
std::vector<ShapeFile> shapeFiles(std::string_view architecture);

enum class Sizes { Small, Large, All };
std::vector<ShapeLine> shapesFor(std::string_view architecture, Sizes sizes);

}  // namespace shiftconv::tests
