#include "common/emulator/tma/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/tma/swizzle.hpp"
#include "common/emulator/tma/tensor_map_edit.hpp"

namespace shiftconv::emulator::tma {
namespace {

struct TypeTraits {
  std::string_view name;
  uint32_t bits;
  bool floating;
};

constexpr std::array<TypeTraits, 16> kTypes{{{"UINT8", 8, false},
                                             {"UINT16", 16, false},
                                             {"UINT32", 32, false},
                                             {"INT32", 32, false},
                                             {"UINT64", 64, false},
                                             {"INT64", 64, false},
                                             {"FLOAT16", 16, true},
                                             {"FLOAT32", 32, true},
                                             {"FLOAT64", 64, true},
                                             {"BFLOAT16", 16, true},
                                             {"FLOAT32_FTZ", 32, true},
                                             {"TFLOAT32", 32, true},
                                             {"TFLOAT32_FTZ", 32, true},
                                             {"16U4_ALIGN8B", 4, false},
                                             {"16U4_ALIGN16B", 4, false},
                                             {"16U6_ALIGN16B", 6, false}}};

constexpr std::array<std::string_view, 7> kSwizzles{"NONE",         "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B",
                                                    "128B_ATOM_64B"};

const TypeTraits& traits(DataType type) { return kTypes[static_cast<size_t>(type)]; }

/// The first broken rule, as a sentence; later ones are not evaluated.
class Rules {
 public:
  template <class... Arguments>
  Rules& require(bool holds, fmt::format_string<Arguments...> sentence, Arguments&&... arguments) {
    if (sentence_.empty() && !holds) sentence_ = fmt::format(sentence, std::forward<Arguments>(arguments)...);
    return *this;
  }
  bool broken() const { return !sentence_.empty(); }
  const std::string& sentence() const { return sentence_; }

 private:
  std::string sentence_;
};

void checkEnumerators(const TiledMap& map, Rules& rules) {
  const auto value = [](auto enumerator) { return static_cast<unsigned>(enumerator); };
  rules
      .require(value(map.type) < kTypes.size(), "tensorDataType is {}, but CUtensorMapDataType has the values 0 to 15",
               value(map.type))
      .require(value(map.interleave) <= 2, "interleave is {}, but CUtensorMapInterleave has the values 0 to 2",
               value(map.interleave))
      .require(value(map.swizzle) < kSwizzles.size(), "swizzle is {}, but CUtensorMapSwizzle has the values 0 to 6",
               value(map.swizzle))
      .require(value(map.fill) <= 1, "oobFill is {}, but CUtensorMapFloatOOBfill has the values 0 and 1", value(map.fill));
}

/// Rules that tiled and im2col maps share (rank apart): address, sizes, strides, modes.
void checkTensor(const TiledMap& map, Rules& rules) {
  const std::string_view type = toString(map.type);
  const bool wide = map.interleave == Interleave::B32 || isPadded(map.type);
  const uint64_t alignment = wide ? 32 : 16;
  const char* because = map.interleave == Interleave::B32 ? " for 32B interleave" : wide ? " for the padded packed types" : "";
  rules.require(map.globalAddress % alignment == 0, "globalAddress is {:#x}, but it must be a multiple of {} bytes{}",
                map.globalAddress, alignment, because);
  for (uint32_t i = 0; i < map.rank; ++i)
    rules.require(map.dims[i] >= 1 && map.dims[i] <= uint64_t{1} << 32, "globalDim[{}] is {}, but it must lie in [1, 2^32]", i,
                  map.dims[i]);
  rules.require(!isPadded(map.type) || map.dims[0] % 128 == 0, "globalDim[0] is {}, but type {} needs a multiple of 128 elements",
                map.dims[0], type);
  rules.require(map.type != DataType::U4Align8 || map.dims[0] % 2 == 0,
                "globalDim[0] is {}, but type {} needs an even number of elements", map.dims[0], type);
  for (uint32_t i = 0; i + 1 < map.rank; ++i) {
    rules.require(map.strides[i] % alignment == 0, "globalStrides[{}] is {}, but it must be a multiple of {} bytes{}", i,
                  map.strides[i], alignment, because);
    rules.require(map.strides[i] < uint64_t{1} << 40, "globalStrides[{}] is {}, but it must be below 2^40 bytes", i,
                  map.strides[i]);
  }
  for (uint32_t i = map.interleave == Interleave::None ? 1 : 0; i < map.rank; ++i)
    rules.require(map.elementStrides[i] >= 1 && map.elementStrides[i] <= 8, "elementStrides[{}] is {}, but it must lie in [1, 8]",
                  i, map.elementStrides[i]);
  rules.require(map.interleave != Interleave::B32 || map.swizzle == Swizzle::B32,
                "swizzle is {}, but 32B interleave needs swizzle 32B", toString(map.swizzle));
  rules.require(map.type != DataType::U6Align16 || map.interleave == Interleave::None,
                "interleave is not NONE, but type {} allows no interleave", type);
  const bool swizzleFitsPacked = map.swizzle == Swizzle::None || map.swizzle == Swizzle::B128 ||
                                 map.swizzle == Swizzle::B128Atom32 ||
                                 (map.type == DataType::U6Align16 && map.swizzle == Swizzle::B128Atom64);
  rules.require(!isPadded(map.type) || swizzleFitsPacked, "swizzle is {}, but type {} allows only NONE, 128B, 128B_ATOM_32B{}",
                toString(map.swizzle), type, map.type == DataType::U6Align16 ? " and 128B_ATOM_64B" : "");
  rules.require(map.fill == Fill::Zero || traits(map.type).floating,
                "oobFill is NAN_REQUEST_ZERO_FMA, but type {} is not a floating-point type", type);
}

/// `count` elements in a row of the tile; `name` is boxDim[0] or channelsPerPixel.
void checkRow(const TiledMap& map, std::string_view name, uint32_t count, Rules& rules) {
  if (isPadded(map.type)) {
    rules.require(count == 128, "{} is {}, but type {} needs exactly 128", name, count, toString(map.type));
    return;  // 128 bytes of shared memory, within every allowed swizzle
  }
  if (map.interleave != Interleave::None) return;
  const uint32_t bits = count * traits(map.type).bits;
  rules.require(bits % 128 == 0, "{} is {}, that is {} bits of type {}, but a row of the box must be a multiple of 16 bytes", name,
                count, bits, toString(map.type));
  const uint32_t span = swizzlePattern(map.swizzle).span;
  rules.require(map.swizzle == Swizzle::None || bits / 8 <= span,
                "{} is {}, that is {} bytes, but swizzle {} allows at most {} bytes", name, count, bits / 8, toString(map.swizzle),
                span);
}

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

uint32_t elementBits(DataType type) { return traits(type).bits; }
bool isPacked(DataType type) { return traits(type).bits < 8; }
bool isPadded(DataType type) { return type == DataType::U4Align16 || type == DataType::U6Align16; }
std::string_view toString(DataType type) { return traits(type).name; }
std::string_view toString(Swizzle swizzle) { return kSwizzles[static_cast<size_t>(swizzle)]; }

std::string encodeTiled(const TiledMap& map, TensorMapImage& image) {
  Rules rules;
  checkEnumerators(map, rules);
  rules.require(map.rank >= 1 && map.rank <= kMaximumRank, "tensorRank is {}, but it must lie in [1, 5]", map.rank);
  rules.require(map.interleave == Interleave::None || map.rank >= 3, "tensorRank is {}, but an interleaved layout needs at least 3",
                map.rank);
  if (rules.broken()) return rules.sentence();
  checkTensor(map, rules);
  for (uint32_t i = 0; i < map.rank; ++i)
    rules.require(map.box[i] >= 1 && map.box[i] <= 256, "boxDim[{}] is {}, but it must lie in [1, 256]", i, map.box[i]);
  if (rules.broken()) return rules.sentence();
  checkRow(map, "boxDim[0]", map.box[0], rules);
  if (rules.broken()) return rules.sentence();
  image = pack(map, nullptr);
  return {};
}

std::string encodeIm2col(const TiledMap& tensor, const PixelBox& pixels, TensorMapImage& image) {
  Rules rules;
  checkEnumerators(tensor, rules);
  rules.require(tensor.rank >= 3 && tensor.rank <= kMaximumRank, "tensorRank is {}, but an im2col map needs 3, 4 or 5",
                tensor.rank);
  if (rules.broken()) return rules.sentence();
  checkTensor(tensor, rules);
  if (rules.broken()) return rules.sentence();

  constexpr std::array<int32_t, 3> kCornerLimit{32768, 128, 16};  // by number of spatial dimensions
  const uint32_t spatial = tensor.rank - 2;
  const int32_t limit = kCornerLimit[spatial - 1];
  for (uint32_t i = 0; i < spatial; ++i) {
    const int32_t lower = pixels.lowerCorner[i], upper = pixels.upperCorner[i];
    const auto inRange = [limit](int32_t corner) { return corner >= -limit && corner < limit; };
    rules.require(inRange(lower), "pixelBoxLowerCorner[{}] is {}, but with rank {} it must lie in [{}, {}]", i, lower, tensor.rank,
                  -limit, limit - 1);
    rules.require(inRange(upper), "pixelBoxUpperCorner[{}] is {}, but with rank {} it must lie in [{}, {}]", i, upper, tensor.rank,
                  -limit, limit - 1);
    const int64_t last = static_cast<int64_t>(tensor.dims[i + 1]) - 1 + upper;
    rules.require(last >= lower,
                  "pixelBoxUpperCorner[{}] is {}, but then the box runs from {} to {} along dimension {} of size {} and is empty",
                  i, upper, lower, last, i + 1, tensor.dims[i + 1]);
  }
  rules.require(pixels.channelsPerPixel >= 1 && pixels.channelsPerPixel <= 256,
                "channelsPerPixel is {}, but it must lie in [1, 256]", pixels.channelsPerPixel);
  rules.require(pixels.pixelsPerColumn >= 1 && pixels.pixelsPerColumn <= 1024,
                "pixelsPerColumn is {}, but it must lie in [1, 1024]", pixels.pixelsPerColumn);
  if (rules.broken()) return rules.sentence();
  checkRow(tensor, "channelsPerPixel", pixels.channelsPerPixel, rules);
  if (rules.broken()) return rules.sentence();
  image = pack(tensor, &pixels);
  return {};
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
      fault = between("elemtype", 0, kTypes.size() - 1);
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
