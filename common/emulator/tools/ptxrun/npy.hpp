// Arrays and their files: NumPy's .npy (format versions 1.0 to 3.0, C order, little endian) and raw bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptxrun {

/// Element types by the names used on the command line: u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64.
/// NumPy has no bf16: such arrays are written as uint16.
size_t elementBytes(std::string_view type);  ///< 0 when `type` is none of them
const std::vector<std::string_view>& elementTypes();

struct Array {
  std::string type = "u8";
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;  ///< C order
};

uint64_t elementCount(const std::vector<uint64_t>& shape);

/// All of these throw UserError naming the file and what is wrong with it.
Array readNpy(const std::string& path);
void writeNpy(const std::string& path, const Array& array);
std::vector<std::byte> readBytes(const std::string& path);
/// Refuses a path that writeBytes could not write; leaves what is there as it is.
void checkWritable(const std::string& path);
void writeBytes(const std::string& path, const std::vector<std::byte>& bytes);

/// By the extension: .npy, or raw bytes for anything else (read as a u8 array).
Array readArray(const std::string& path);
void writeArray(const std::string& path, const Array& array);

}  // namespace ptxrun
