#include "common/layout/tensor_map.hpp"

#include <fmt/format.h>

#include "common/layout/map_swizzle.hpp"

namespace shiftconv::layout {
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

const TypeTraits& traits(MapType type) { return kTypes[static_cast<size_t>(type)]; }

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
      .require(value(map.fill) <= 1, "oobFill is {}, but CUtensorMapFloatOOBfill has the values 0 and 1", value(map.fill))
      .require(value(map.l2Promotion) <= 3, "l2Promotion is {}, but CUtensorMapL2promotion has the values 0 to 3",
               value(map.l2Promotion));
}

/// Rules that tiled and im2col maps share (rank apart): address, sizes, strides, modes.
void checkTensor(const TiledMap& map, Rules& rules) {
  const std::string_view type = toString(map.type);
  const bool wide = map.interleave == MapInterleave::B32 || isPadded(map.type);
  const uint64_t alignment = wide ? 32 : 16;
  const char* because = map.interleave == MapInterleave::B32 ? " for 32B interleave" : wide ? " for the padded packed types" : "";
  rules.require(map.globalAddress % alignment == 0, "globalAddress is {:#x}, but it must be a multiple of {} bytes{}",
                map.globalAddress, alignment, because);
  for (uint32_t i = 0; i < map.rank; ++i)
    rules.require(map.dims[i] >= 1 && map.dims[i] <= uint64_t{1} << 32, "globalDim[{}] is {}, but it must lie in [1, 2^32]", i,
                  map.dims[i]);
  rules.require(!isPadded(map.type) || map.dims[0] % 128 == 0, "globalDim[0] is {}, but type {} needs a multiple of 128 elements",
                map.dims[0], type);
  rules.require(map.type != MapType::U4Align8 || map.dims[0] % 2 == 0,
                "globalDim[0] is {}, but type {} needs an even number of elements", map.dims[0], type);
  for (uint32_t i = 0; i + 1 < map.rank; ++i) {
    rules.require(map.strides[i] % alignment == 0, "globalStrides[{}] is {}, but it must be a multiple of {} bytes{}", i,
                  map.strides[i], alignment, because);
    rules.require(map.strides[i] < uint64_t{1} << 40, "globalStrides[{}] is {}, but it must be below 2^40 bytes", i,
                  map.strides[i]);
  }
  for (uint32_t i = map.interleave == MapInterleave::None ? 1 : 0; i < map.rank; ++i)
    rules.require(map.elementStrides[i] >= 1 && map.elementStrides[i] <= 8, "elementStrides[{}] is {}, but it must lie in [1, 8]",
                  i, map.elementStrides[i]);
  rules.require(map.interleave != MapInterleave::B32 || map.swizzle == MapSwizzle::B32,
                "swizzle is {}, but 32B interleave needs swizzle 32B", toString(map.swizzle));
  rules.require(map.type != MapType::U6Align16 || map.interleave == MapInterleave::None,
                "interleave is not NONE, but type {} allows no interleave", type);
  const bool swizzleFitsPacked = map.swizzle == MapSwizzle::None || map.swizzle == MapSwizzle::B128 ||
                                 map.swizzle == MapSwizzle::B128Atom32 ||
                                 (map.type == MapType::U6Align16 && map.swizzle == MapSwizzle::B128Atom64);
  rules.require(!isPadded(map.type) || swizzleFitsPacked, "swizzle is {}, but type {} allows only NONE, 128B, 128B_ATOM_32B{}",
                toString(map.swizzle), type, map.type == MapType::U6Align16 ? " and 128B_ATOM_64B" : "");
  rules.require(map.fill == MapFill::Zero || traits(map.type).floating,
                "oobFill is NAN_REQUEST_ZERO_FMA, but type {} is not a floating-point type", type);
}

/// `count` elements in a row of the tile; `name` is boxDim[0] or channelsPerPixel.
void checkRow(const TiledMap& map, std::string_view name, uint32_t count, Rules& rules) {
  if (isPadded(map.type)) {
    rules.require(count == 128, "{} is {}, but type {} needs exactly 128", name, count, toString(map.type));
    return;  // 128 bytes of shared memory, within every allowed swizzle
  }
  if (map.interleave != MapInterleave::None) return;
  const uint32_t bits = count * traits(map.type).bits;
  rules.require(bits % 128 == 0, "{} is {}, that is {} bits of type {}, but a row of the box must be a multiple of 16 bytes", name,
                count, bits, toString(map.type));
  const uint32_t span = swizzlePattern(map.swizzle).span;
  rules.require(map.swizzle == MapSwizzle::None || bits / 8 <= span,
                "{} is {}, that is {} bytes, but swizzle {} allows at most {} bytes", name, count, bits / 8, toString(map.swizzle),
                span);
}

}  // namespace

uint32_t elementBits(MapType type) { return traits(type).bits; }
bool isPacked(MapType type) { return traits(type).bits < 8; }
bool isPadded(MapType type) { return type == MapType::U4Align16 || type == MapType::U6Align16; }
std::string_view toString(MapType type) { return traits(type).name; }
std::string_view toString(MapSwizzle swizzle) { return kSwizzles[static_cast<size_t>(swizzle)]; }

std::string refusal(const TiledMap& map) {
  Rules rules;
  checkEnumerators(map, rules);
  rules.require(map.rank >= 1 && map.rank <= kMaximumRank, "tensorRank is {}, but it must lie in [1, 5]", map.rank);
  rules.require(map.interleave == MapInterleave::None || map.rank >= 3,
                "tensorRank is {}, but an interleaved layout needs at least 3", map.rank);
  if (rules.broken()) return rules.sentence();
  checkTensor(map, rules);
  for (uint32_t i = 0; i < map.rank; ++i)
    rules.require(map.box[i] >= 1 && map.box[i] <= 256, "boxDim[{}] is {}, but it must lie in [1, 256]", i, map.box[i]);
  if (rules.broken()) return rules.sentence();
  checkRow(map, "boxDim[0]", map.box[0], rules);
  return rules.sentence();
}

std::string refusal(const Im2colMap& map) {
  const TiledMap& tensor = map.tensor;
  const PixelBox& pixels = map.pixels;
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
  return rules.sentence();
}

}  // namespace shiftconv::layout
