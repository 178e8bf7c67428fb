#include "common/emulator/tma/tensor_map.hpp"

#include <fmt/format.h>

#include "common/emulator/tma/tensor_map_edit.hpp"

namespace shiftconv::emulator::tma {
namespace {

constexpr uint64_t kDataTypes = static_cast<uint64_t>(DataType::U6Align16) + 1;

// --- The 128 bytes. Bit 21 of word 1 stays unused: CUTLASS clears it in maps of small tensors to work around a driver
// --- bug (cute/atom/copy_traits_sm90_tma.hpp, driver <= 13.1), so its value must mean nothing and enter no checksum.
//
//   word 0      globalAddress
//   word 1      type [3:0], rank [6:4], interleave [9:8], swizzle mode [11:10] and atomicity [13:12],
//               fill [14], im2col [16], edited on the device [17]; the rest is zero
//   words 2-4   globalDim - 1, 32 bits each; word 4 [63:32] elementStrides - 1, 3 bits each
//   words 5-8   globalStrides
//   word 9      boxDim - 1, 8 bits each
//   word 10     im2col: lower corners, 16 bits each; [63:48] channelsPerPixel
//   word 11     im2col: upper corners, 16 bits each; [63:48] pixelsPerColumn
//   word 14     magic, word 15 checksum of words 0 to 14
constexpr uint64_t kMagic = 0x70616d726f736e74ull;
constexpr uint64_t kIgnoredBit = uint64_t{1} << 21;
constexpr uint64_t kEditedBit = uint64_t{1} << 17;
constexpr uint64_t kMeaningfulBits = 0x37f7f;  // of word 1

uint64_t checksum(const TensorMapImage& image) {
  uint64_t hash = 0x9e3779b97f4a7c15ull;
  for (size_t i = 0; i < 15; ++i) {
    hash ^= image.words[i] & (i == 1 ? ~kIgnoredBit : ~uint64_t{0});
    hash *= 0xff51afd7ed558ccdull;  // odd, so that every step is a bijection and no single change cancels
    hash ^= hash >> 29;
  }
  return hash;
}

/// The three 128B_ATOM modes are 128B with an atomicity other than 16 bytes.
constexpr uint64_t kMode128 = static_cast<uint64_t>(Swizzle::B128);
uint64_t swizzleBits(Swizzle swizzle) {
  const auto value = static_cast<uint64_t>(swizzle);
  return value < kMode128 ? value : kMode128 | (value - kMode128) << 2;
}
Swizzle swizzleOf(uint64_t bits) {
  const uint64_t mode = bits & 3, atomicity = bits >> 2 & 3;
  return static_cast<Swizzle>(mode == kMode128 ? mode + atomicity : mode);
}

TensorMapImage pack(const TiledMap& map, const PixelBox* pixels) {
  TensorMapImage image;
  auto& words = image.words;
  words[0] = map.globalAddress;
  words[1] = static_cast<uint64_t>(map.type) | uint64_t{map.rank} << 4 | static_cast<uint64_t>(map.interleave) << 8 |
             swizzleBits(map.swizzle) << 10 | static_cast<uint64_t>(map.fill) << 14 | uint64_t{pixels != nullptr} << 16;
  for (uint32_t i = 0; i < map.rank; ++i) {
    words[2 + i / 2] |= (map.dims[i] - 1) << (32 * (i % 2));
    const bool strideIgnored = i == 0 && map.interleave == Interleave::None;
    words[4] |= uint64_t{strideIgnored ? 0 : map.elementStrides[i] - 1} << (32 + 3 * i);
    if (i + 1 < map.rank) words[5 + i] = map.strides[i];
    if (!pixels) words[9] |= uint64_t{map.box[i] - 1} << (8 * i);
  }
  if (pixels) {
    for (uint32_t i = 0; i + 2 < map.rank; ++i) {
      words[10] |= uint64_t{static_cast<uint16_t>(pixels->lowerCorner[i])} << (16 * i);
      words[11] |= uint64_t{static_cast<uint16_t>(pixels->upperCorner[i])} << (16 * i);
    }
    words[10] |= uint64_t{pixels->channelsPerPixel} << 48;
    words[11] |= uint64_t{pixels->pixelsPerColumn} << 48;
  }
  words[14] = kMagic;
  words[15] = checksum(image);
  return image;
}

}  // namespace

std::string encodeTiled(const TiledMap& map, TensorMapImage& image) {
  std::string rule = layout::refusal(map);
  if (rule.empty()) image = pack(map, nullptr);
  return rule;
}

std::string encodeIm2col(const TiledMap& tensor, const PixelBox& pixels, TensorMapImage& image) {
  std::string rule = layout::refusal({tensor, pixels});
  if (rule.empty()) image = pack(tensor, &pixels);
  return rule;
}

std::optional<DecodedMap> decode(const TensorMapImage& image) {
  const auto& words = image.words;
  if (words[14] != kMagic || words[15] != checksum(image) || (words[1] & ~(kMeaningfulBits | kIgnoredBit)) != 0)
    return std::nullopt;
  DecodedMap decoded;
  TiledMap& map = decoded.tensor;
  map.globalAddress = words[0];
  map.type = static_cast<DataType>(words[1] & 15);
  map.rank = static_cast<uint32_t>(words[1] >> 4 & 7);
  map.interleave = static_cast<Interleave>(words[1] >> 8 & 3);
  map.swizzle = swizzleOf(words[1] >> 10);
  map.fill = static_cast<Fill>(words[1] >> 14 & 1);
  const bool im2col = words[1] >> 16 & 1;
  for (uint32_t i = 0; i < map.rank; ++i) {
    map.dims[i] = (words[2 + i / 2] >> (32 * (i % 2)) & 0xffffffffu) + 1;
    map.elementStrides[i] = static_cast<uint32_t>(words[4] >> (32 + 3 * i) & 7) + 1;
    if (i + 1 < map.rank) map.strides[i] = words[5 + i];
    if (!im2col) map.box[i] = static_cast<uint32_t>(words[9] >> (8 * i) & 255) + 1;
  }
  if (im2col) {
    PixelBox& pixels = decoded.pixels.emplace();
    for (uint32_t i = 0; i + 2 < map.rank; ++i) {
      pixels.lowerCorner[i] = static_cast<int16_t>(words[10] >> (16 * i));
      pixels.upperCorner[i] = static_cast<int16_t>(words[11] >> (16 * i));
    }
    pixels.channelsPerPixel = static_cast<uint32_t>(words[10] >> 48);
    pixels.pixelsPerColumn = static_cast<uint32_t>(words[11] >> 48);
  }
  return decoded;
}

std::string replaceField(TensorMapImage& image, MapField field, uint32_t ordinal, uint64_t value) {
  const std::optional<DecodedMap> decoded = decode(image);
  if (!decoded) return "these 128 bytes are not a tensor map: nothing encoded them, or they were overwritten";
  if (decoded->pixels) return "tensormap.replace edits tiled maps, but this one was encoded for im2col mode";
  auto& words = image.words;
  const auto put = [&](uint32_t word, uint32_t shift, uint32_t bits, uint64_t bitsValue) {
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : ((uint64_t{1} << bits) - 1) << shift;
    words[word] = (words[word] & ~mask) | (bitsValue << shift & mask);
    words[1] |= kEditedBit;
    words[15] = checksum(image);
  };
  const auto between = [&](const char* name, uint64_t low, uint64_t high) {
    return value >= low && value <= high ? std::string{} : fmt::format("{} {} is not in [{}, {}]", name, value, low, high);
  };
  std::string fault;
  switch (field) {
    case MapField::GlobalAddress:
      put(0, 0, 64, value);
      break;
    case MapField::Rank:
      fault = between("rank - 1 =", 0, kMaximumRank - 1);
      if (fault.empty()) put(1, 4, 3, value + 1);
      break;
    case MapField::BoxDim:
      fault = between("box_dim", 1, 256);
      if (fault.empty()) put(9, 8 * ordinal, 8, value - 1);
      break;
    case MapField::GlobalDim:
      fault = between("global_dim", 1, uint64_t{1} << 32);
      if (fault.empty()) put(2 + ordinal / 2, 32 * (ordinal % 2), 32, value - 1);
      break;
    case MapField::GlobalStride:
      put(5 + ordinal, 0, 64, value);
      break;
    case MapField::ElementStride:
      fault = between("element_stride", 1, 8);
      if (fault.empty()) put(4, 32 + 3 * ordinal, 3, value - 1);
      break;
    case MapField::ElementType: {
      // .f32.ftz stands before .f64 and .bf16 here, and behind them in cuda.h.
      constexpr std::array<DataType, 3> kMoved{DataType::F32Ftz, DataType::F64, DataType::BF16};
      fault = between("elemtype", 0, kDataTypes - 1);
      if (fault.empty()) put(1, 0, 4, value >= 8 && value <= 10 ? static_cast<uint64_t>(kMoved[value - 8]) : value);
      break;
    }
    case MapField::InterleaveLayout:
      fault = between("interleave_layout", 0, 2);
      if (fault.empty()) put(1, 8, 2, value);
      break;
    case MapField::SwizzleMode:
      fault = between("swizzle_mode", 0, 3);  // 4 is the 96-byte swizzle of sm_103a
      if (fault.empty()) put(1, 10, 2, value);
      break;
    case MapField::SwizzleAtomicity:
      fault = between("swizzle_atomicity", 0, 3);
      if (fault.empty()) put(1, 12, 2, value);
      break;
    case MapField::FillMode:
      fault = between("fill_mode", 0, 1);
      if (fault.empty()) put(1, 14, 1, value);
      break;
  }
  return fault;
}

std::string editFault(const TensorMapImage& image) {
  const uint64_t word = image.words[1];
  const std::optional<DecodedMap> decoded = decode(image);
  if (!decoded || (word & kEditedBit) == 0) return {};
  const uint64_t mode = word >> 10 & 3, atomicity = word >> 12 & 3;
  if (mode != 0 && mode != kMode128 && atomicity != 0)
    return fmt::format("swizzle_atomicity is {}, but swizzle {} allows only 0", atomicity, toString(swizzleOf(mode)));
  TensorMapImage encoded;
  return encodeTiled(decoded->tensor, encoded);
}

bool decodeTiled(const TensorMapImage& image, TiledMap& map) {
  const std::optional<DecodedMap> decoded = decode(image);
  if (!decoded || decoded->pixels) return false;
  map = decoded->tensor;
  return true;
}

}  // namespace shiftconv::emulator::tma
