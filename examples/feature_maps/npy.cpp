#include "examples/feature_maps/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "examples/feature_maps/image_io.hpp"

namespace feature_maps {

namespace {

void write(const std::string& path, const char* type, const void* data, size_t bytes, const std::vector<int64_t>& shape) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, fmt::join(shape, ", "));
  // Magic, version and length take 10 bytes; the data starts at a multiple of 64, after a line end.
  header.append(63 - (10 + header.size()) % 64, ' ').push_back('\n');
  const auto length = static_cast<uint16_t>(header.size());
  const char start[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(length & 255), static_cast<char>(length >> 8)};

  std::ofstream file(path, std::ios::binary);
  file.write(start, sizeof(start));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  if (!file) throw ImageError(fmt::format("Cannot write '{}'.", path));
}

}  // namespace

void writeNpy(const std::string& path, const std::vector<uint16_t>& halves, const std::vector<int64_t>& shape) {
  write(path, "<f2", halves.data(), halves.size() * sizeof(uint16_t), shape);
}

void writeNpy(const std::string& path, const std::vector<float>& floats, const std::vector<int64_t>& shape) {
  write(path, "<f4", floats.data(), floats.size() * sizeof(float), shape);
}

}  // namespace feature_maps
