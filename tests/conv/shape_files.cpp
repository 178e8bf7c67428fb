#include "tests/conv/shape_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace shiftconv::tests {

std::vector<ShapeLine> readShapes(const std::string& path, std::string_view prefix) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("cannot read " + path);
  std::vector<ShapeLine> shapes;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    std::string name = fmt::format("{}{}_{}_{}", prefix, std::filesystem::path(path).stem().string(), number, line);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
    name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == '_' && b == '_'; }), name.end());
    shapes.push_back({name, line});
  }
  return shapes;
}

std::vector<ShapeFile> shapeFiles(std::string_view architecture) {
  std::vector<ShapeFile> files;
  for (const auto& folder : std::filesystem::directory_iterator(ALGORITHM_TESTS)) {
    const auto shapes = folder.path() / "shapes" / architecture;
    if (!exists(shapes)) continue;
    for (const auto& file : std::filesystem::directory_iterator(shapes))
      files.push_back({folder.path().filename().string(), file.path().stem().string(), file.path().string()});
  }
  std::sort(files.begin(), files.end(), [](const ShapeFile& a, const ShapeFile& b) { return a.path < b.path; });
  return files;
}

std::vector<ShapeLine> shapesFor(std::string_view architecture, Sizes sizes) {
  std::vector<ShapeLine> all;
  for (const ShapeFile& file : shapeFiles(architecture)) {
    if (sizes != Sizes::All && file.isLarge() != (sizes == Sizes::Large)) continue;
    const auto lines = readShapes(file.path, file.algorithm + "_");
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

}  // namespace shiftconv::tests
