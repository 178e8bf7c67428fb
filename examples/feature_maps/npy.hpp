// Arrays as .npy files, format version 1.0, for comparison and for NumPy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace feature_maps {

/// f16 ("<f2") and f32 ("<f4") arrays in C order. Throws ImageError when the file cannot be written.
void writeNpy(const std::string& path, const std::vector<uint16_t>& halves, const std::vector<int64_t>& shape);
void writeNpy(const std::string& path, const std::vector<float>& floats, const std::vector<int64_t>& shape);

}  // namespace feature_maps
