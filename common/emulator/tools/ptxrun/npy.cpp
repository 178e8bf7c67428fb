#include "common/emulator/tools/ptxrun/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace ptxrun {
namespace {

struct ElementType {
  std::string_view name, descr;  ///< ours, and NumPy's array-protocol string
  size_t bytes;
};

// The first row with a given descr is the one that reading yields.
constexpr std::array<ElementType, 12> kTypes{{{"u8", "|u1", 1},
                                              {"i8", "|i1", 1},
                                              {"u16", "<u2", 2},
                                              {"i16", "<i2", 2},
                                              {"f16", "<f2", 2},
                                              {"bf16", "<u2", 2},
                                              {"u32", "<u4", 4},
                                              {"i32", "<i4", 4},
                                              {"f32", "<f4", 4},
                                              {"u64", "<u8", 8},
                                              {"i64", "<i8", 8},
                                              {"f64", "<f8", 8}}};

constexpr std::string_view kMagic{"\x93NUMPY", 6};

[[noreturn]] void fail(const std::string& path, const std::string& why) { throw UserError(fmt::format("{}: {}", path, why)); }

/// The text after `'key':` in the header's dictionary, up to the comma or bracket that ends the value.
std::string_view headerValue(const std::string& path, std::string_view header, std::string_view key) {
  const size_t found = header.find(fmt::format("'{}'", key));
  const size_t colon = found == std::string_view::npos ? found : header.find(':', found);
  if (colon == std::string_view::npos) fail(path, fmt::format("the .npy header has no '{}'", key));
  std::string_view value = header.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const size_t end = value.starts_with('(') ? value.find(')') : value.find_first_of(",}");
  if (end == std::string_view::npos) fail(path, fmt::format("the .npy header ends inside of '{}'", key));
  return value.substr(0, end);
}

std::string typeOf(const std::string& path, std::string_view descr) {
  if (descr.size() < 2 || (descr.front() != '\'' && descr.front() != '"'))
    fail(path, fmt::format("the array has a structured type ({}...); only plain numbers can be used", descr));
  const std::string text(descr.substr(1, descr.size() - 2));
  if (text.starts_with('>'))
    fail(path, fmt::format("the array is big endian ('{}'); write it with .astype('<{}')", text, text.substr(1)));
  if (text == "|b1") return "u8";
  const auto* type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& row) { return row.descr.substr(1) == text.substr(1); });
  if (type == kTypes.end()) fail(path, fmt::format("element type '{}' is not one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8", text));
  return std::string(type->name);
}

std::vector<uint64_t> shapeOf(const std::string& path, std::string_view text) {
  std::vector<uint64_t> shape;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at < '0' || *at > '9') {
      if (*at != ' ' && *at != ',' && *at != '(') fail(path, fmt::format("the .npy header has the shape {}", text));
      ++at;
      continue;
    }
    at = std::from_chars(at, end, shape.emplace_back()).ptr;
  }
  return shape;
}

}  // namespace

size_t elementBytes(std::string_view type) {
  const auto* row =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& candidate) { return candidate.name == type; });
  return row == kTypes.end() ? 0 : row->bytes;
}

const std::vector<std::string_view>& elementTypes() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    std::transform(kTypes.begin(), kTypes.end(), std::back_inserter(result), [](const ElementType& type) { return type.name; });
    return result;
  }();
  return names;
}

uint64_t elementCount(const std::vector<uint64_t>& shape) {
  uint64_t count = 1;
  for (uint64_t size : shape) {
    if (size != 0 && count > std::numeric_limits<uint64_t>::max() / 16 / size)
      throw UserError(fmt::format("shape ({}) is too large", fmt::join(shape, ", ")));
    count *= size;
  }
  return count;
}

std::vector<std::byte> readBytes(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) fail(path, "is a directory, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be opened for reading");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail(path, "cannot be read");
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

void checkWritable(const std::string& path) {
  std::error_code none;
  if (path.empty()) fail("the output", "has no name");
  if (std::filesystem::is_directory(path, none)) fail(path, "cannot be written: it is a directory");
  const bool present = std::filesystem::exists(path, none);
  if (!std::ofstream(path, std::ios::binary | std::ios::app)) fail(path, "cannot be written");
  if (!present) std::filesystem::remove(path, none);
}

void writeBytes(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) fail(path, "cannot be written");
}

Array readNpy(const std::string& path) {
  const std::vector<std::byte> bytes = readBytes(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || bytes.size() < 10) fail(path, "is no .npy file: it does not start with \\x93NUMPY");
  const auto byte = [&](size_t i) { return static_cast<size_t>(bytes[i]); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) fail(path, fmt::format("has .npy format version {}; 1 to 3 are known", version));
  const size_t lengthBytes = version == 1 ? 2 : 4;  // versions 2 and 3 differ from 1 in this (and in the encoding of names)
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes && 8 + i < bytes.size(); ++i) length |= byte(8 + i) << (8 * i);
  const size_t begin = 8 + lengthBytes;
  if (bytes.size() < begin || bytes.size() - begin < length) fail(path, "ends inside of the .npy header");
  const std::string_view header = text.substr(begin, length);

  Array array;
  array.type = typeOf(path, headerValue(path, header, "descr"));
  array.shape = shapeOf(path, headerValue(path, header, "shape"));
  if (headerValue(path, header, "fortran_order") != "False")
    fail(path, "is in Fortran order; write it with numpy.ascontiguousarray");
  const uint64_t expected = elementCount(array.shape) * elementBytes(array.type);
  const uint64_t present = bytes.size() - begin - length;
  if (present != expected)
    fail(path, fmt::format("holds {} bytes of data, but {} elements of {} need {}", present, elementCount(array.shape), array.type,
                           expected));
  array.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin + length), bytes.end());
  return array;
}

void writeNpy(const std::string& path, const Array& array) {
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& row) { return row.name == array.type; });
  if (type == kTypes.end()) fail(path, fmt::format("element type '{}' is unknown", array.type));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->descr,
                                   fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');  // data begins at a multiple of 64
  header += '\n';
  std::string file(kMagic);
  file += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  file += header;
  std::vector<std::byte> bytes(file.size() + array.data.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  std::copy(array.data.begin(), array.data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(file.size()));
  writeBytes(path, bytes);
}

Array readArray(const std::string& path) {
  if (path.ends_with(".npy")) return readNpy(path);
  Array array;
  array.data = readBytes(path);
  array.shape = {array.data.size()};
  return array;
}

void writeArray(const std::string& path, const Array& array) {
  path.ends_with(".npy") ? writeNpy(path, array) : writeBytes(path, array.data);
}

}  // namespace ptxrun
