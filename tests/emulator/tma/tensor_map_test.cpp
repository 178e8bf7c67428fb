// Argument rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (comments of cuda.h, CUDA 13.0), one by one, and
// the 128-byte object.
#include "common/emulator/tma/tensor_map.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace shiftconv::emulator::tma {
namespace {

/// A legal rank-3 map that the cases below spoil (or change legally) in one respect.
TiledMap legalMap() {
  TiledMap map;
  map.type = DataType::F16;
  map.rank = 3;
  map.globalAddress = 0x7f0000001010;
  map.dims = {100, 7, 5};
  map.strides = {208, 208 * 7};
  map.box = {64, 7, 3};
  map.swizzle = Swizzle::B128;
  return map;
}

struct Rule {
  const char* name;
  std::function<void(TiledMap&)> change;
  const char* sentence;  ///< part of the refusal; "" means that the map must encode
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

class EncodeTiled : public testing::TestWithParam<Rule> {};

TEST_P(EncodeTiled, Rule) {
  TiledMap map = legalMap();
  GetParam().change(map);
  TensorMapImage image;
  image.words.fill(0x5555555555555555);
  const TensorMapImage before = image;
  const std::string sentence = encodeTiled(map, image);
  const std::string expected = GetParam().sentence;
  if (expected.empty()) {
    EXPECT_EQ(sentence, "");
    TiledMap decoded;
    EXPECT_TRUE(decodeTiled(image, decoded));
  } else {
    EXPECT_NE(sentence.find(expected), std::string::npos) << sentence;
    EXPECT_EQ(image.words, before.words) << "a refused map must not touch the image";
  }
}

void packed(TiledMap& map, DataType type) {
  map.type = type;
  map.globalAddress = 0x7f0000001000;
  map.dims = {256, 7, 5};
  map.strides = {192, 192 * 7};
  map.box = {128, 7, 3};
  map.swizzle = Swizzle::None;
}

const Rule kTiledRules[] = {
    {"legal", [](TiledMap&) {}, ""},
    {"rank0", [](TiledMap& m) { m.rank = 0; }, "tensorRank is 0, but it must lie in [1, 5]"},
    {"rank6", [](TiledMap& m) { m.rank = 6; }, "tensorRank is 6"},
    {"interleaveNeedsRank3",
     [](TiledMap& m) {
       m.rank = 2;
       m.interleave = Interleave::B16;
     },
     "tensorRank is 2, but an interleaved layout needs at least 3"},
    {"addressMultipleOf16", [](TiledMap& m) { m.globalAddress = 0x7f0000001008; },
     "globalAddress is 0x7f0000001008, but it must be a multiple of 16"},
    {"addressMultipleOf32WhenInterleaved32",
     [](TiledMap& m) {
       m.interleave = Interleave::B32;
       m.swizzle = Swizzle::B32;
       m.strides = {224, 224 * 7};
     },
     "globalAddress is 0x7f0000001010, but it must be a multiple of 32"},
    {"addressMultipleOf32WhenPadded",
     [](TiledMap& m) {
       packed(m, DataType::U4Align16);
       m.globalAddress += 16;
     },
     "must be a multiple of 32 bytes for the padded packed types"},
    {"dimZero", [](TiledMap& m) { m.dims[1] = 0; }, "globalDim[1] is 0, but it must lie in [1, 2^32]"},
    {"dimLargest", [](TiledMap& m) { m.dims[2] = uint64_t{1} << 32; }, ""},
    {"dimTooLarge", [](TiledMap& m) { m.dims[2] = (uint64_t{1} << 32) + 1; }, "globalDim[2] is 4294967297"},
    {"dimBeyondRankIgnored", [](TiledMap& m) { m.dims[3] = 0; }, ""},
    {"paddedDimMultipleOf128",
     [](TiledMap& m) {
       packed(m, DataType::U6Align16);
       m.dims[0] = 192;
     },
     "globalDim[0] is 192, but type 16U6_ALIGN16B needs a multiple of 128"},
    {"packedDimEven",
     [](TiledMap& m) {
       packed(m, DataType::U4Align8);
       m.dims[0] = 255;
     },
     "globalDim[0] is 255, but type 16U4_ALIGN8B needs an even number"},
    {"strideMultipleOf16", [](TiledMap& m) { m.strides[1] = 1000; }, "globalStrides[1] is 1000, but it must be a multiple of 16"},
    {"strideMultipleOf32WhenPadded",
     [](TiledMap& m) {
       packed(m, DataType::U4Align16);
       m.strides[0] = 144;
     },
     "globalStrides[0] is 144, but it must be a multiple of 32"},
    {"strideLargest", [](TiledMap& m) { m.strides[0] = (uint64_t{1} << 40) - 16; }, ""},
    {"strideTooLarge", [](TiledMap& m) { m.strides[0] = uint64_t{1} << 40; },
     "globalStrides[0] is 1099511627776, but it must be below 2^40"},
    // Observed on H200: overlapping, non-monotonic and zero strides encode.
    {"strideOverlapping",
     [](TiledMap& m) {
       m.strides = {208, 208 * 3};
     },
     ""},
    {"strideNonMonotonic",
     [](TiledMap& m) {
       m.strides = {4096, 208};
     },
     ""},
    {"strideZero",
     [](TiledMap& m) {
       m.strides = {208, 0};
     },
     ""},
    {"boxZero", [](TiledMap& m) { m.box[2] = 0; }, "boxDim[2] is 0, but it must lie in [1, 256]"},
    {"boxLargest", [](TiledMap& m) { m.box[1] = 256; }, ""},
    {"boxTooLarge", [](TiledMap& m) { m.box[1] = 257; }, "boxDim[1] is 257"},
    {"boxRowMultipleOf16Bytes", [](TiledMap& m) { m.box[0] = 12; }, "boxDim[0] is 12, that is 192 bits of type FLOAT16, but a row"},
    {"boxRowFreeWhenInterleaved",
     [](TiledMap& m) {
       m.interleave = Interleave::B16;
       m.box[0] = 12;
     },
     ""},
    {"paddedBoxMustBe128",
     [](TiledMap& m) {
       packed(m, DataType::U6Align16);
       m.box[0] = 64;
     },
     "boxDim[0] is 64, but type 16U6_ALIGN16B needs exactly 128"},
    {"packedBoxRow",
     [](TiledMap& m) {
       packed(m, DataType::U4Align8);
       m.box[0] = 48;
     },
     "boxDim[0] is 48, that is 192 bits"},
    {"swizzle32Span",
     [](TiledMap& m) {
       m.swizzle = Swizzle::B32;
       m.box[0] = 24;
     },
     "boxDim[0] is 24, that is 48 bytes, but swizzle 32B allows at most 32 bytes"},
    {"swizzle32Full",
     [](TiledMap& m) {
       m.swizzle = Swizzle::B32;
       m.box[0] = 16;
     },
     ""},
    {"swizzle64Span",
     [](TiledMap& m) {
       m.swizzle = Swizzle::B64;
       m.box[0] = 40;
     },
     "swizzle 64B allows at most 64"},
    {"swizzle128Span", [](TiledMap& m) { m.box[0] = 72; }, "swizzle 128B allows at most 128"},
    {"swizzleAtomSpan",
     [](TiledMap& m) {
       m.swizzle = Swizzle::B128Atom64;
       m.box[0] = 72;
     },
     "swizzle 128B_ATOM_64B allows at most 128"},
    {"noSwizzleNoSpan",
     [](TiledMap& m) {
       m.swizzle = Swizzle::None;
       m.box[0] = 256;
     },
     ""},
    {"elementStrideZero", [](TiledMap& m) { m.elementStrides[1] = 0; }, "elementStrides[1] is 0, but it must lie in [1, 8]"},
    {"elementStrideLargest", [](TiledMap& m) { m.elementStrides[2] = 8; }, ""},
    {"elementStrideTooLarge", [](TiledMap& m) { m.elementStrides[2] = 9; }, "elementStrides[2] is 9"},
    {"elementStride0Ignored", [](TiledMap& m) { m.elementStrides[0] = 0; }, ""},
    {"elementStride0CheckedWhenInterleaved",
     [](TiledMap& m) {
       m.interleave = Interleave::B16;
       m.elementStrides[0] = 9;
     },
     "elementStrides[0] is 9"},
    {"interleave32NeedsSwizzle32",
     [](TiledMap& m) {
       m.globalAddress = 0x7f0000001000;
       m.strides = {224, 224 * 7};
       m.interleave = Interleave::B32;
     },
     "swizzle is 128B, but 32B interleave needs swizzle 32B"},
    {"sixBitForbidsInterleave",
     [](TiledMap& m) {
       packed(m, DataType::U6Align16);
       m.interleave = Interleave::B16;
     },
     "interleave is not NONE, but type 16U6_ALIGN16B allows no interleave"},
    {"paddedFourBitSwizzle",
     [](TiledMap& m) {
       packed(m, DataType::U4Align16);
       m.swizzle = Swizzle::B128Atom64;
     },
     "swizzle is 128B_ATOM_64B, but type 16U4_ALIGN16B allows only"},
    {"sixBitSwizzleAtom64",
     [](TiledMap& m) {
       packed(m, DataType::U6Align16);
       m.swizzle = Swizzle::B128Atom64;
     },
     ""},
    {"sixBitSwizzle64",
     [](TiledMap& m) {
       packed(m, DataType::U6Align16);
       m.swizzle = Swizzle::B64;
     },
     "swizzle is 64B, but type 16U6_ALIGN16B allows only"},
    {"nanFillFloat", [](TiledMap& m) { m.fill = Fill::NanRequestZeroFma; }, ""},
    {"nanFillInteger",
     [](TiledMap& m) {
       m.fill = Fill::NanRequestZeroFma;
       m.type = DataType::U16;
     },
     "oobFill is NAN_REQUEST_ZERO_FMA, but type UINT16 is not a floating-point type"},
    {"nanFillPacked",
     [](TiledMap& m) {
       packed(m, DataType::U4Align8);
       m.fill = Fill::NanRequestZeroFma;
     },
     "is not a floating-point type"},
    {"typeOutOfRange", [](TiledMap& m) { m.type = static_cast<DataType>(16); }, "tensorDataType is 16"},
    {"swizzleOutOfRange", [](TiledMap& m) { m.swizzle = static_cast<Swizzle>(7); }, "swizzle is 7"},
    {"interleaveOutOfRange", [](TiledMap& m) { m.interleave = static_cast<Interleave>(3); }, "interleave is 3"},
    {"fillOutOfRange", [](TiledMap& m) { m.fill = static_cast<Fill>(2); }, "oobFill is 2"},
};
INSTANTIATE_TEST_SUITE_P(Rules, EncodeTiled, testing::ValuesIn(kTiledRules),
                         [](const auto& info) { return std::string(info.param.name); });

struct Im2colRule {
  const char* name;
  std::function<void(TiledMap&, PixelBox&)> change;
  const char* sentence;
};
void PrintTo(const Im2colRule& rule, std::ostream* out) { *out << rule.name; }

class EncodeIm2col : public testing::TestWithParam<Im2colRule> {};

TEST_P(EncodeIm2col, Rule) {
  TiledMap map = legalMap();
  map.rank = 4;
  map.dims = {64, 9, 7, 2};
  map.strides = {128, 128 * 9, 128 * 9 * 7};
  map.box = {};  // not part of an im2col map
  PixelBox pixels{.lowerCorner = {-1, -2}, .upperCorner = {-1, -2}, .channelsPerPixel = 64, .pixelsPerColumn = 128};
  GetParam().change(map, pixels);
  TensorMapImage image;
  const std::string sentence = encodeIm2col(map, pixels, image);
  const std::string expected = GetParam().sentence;
  if (!expected.empty()) {
    EXPECT_NE(sentence.find(expected), std::string::npos) << sentence;
    return;
  }
  EXPECT_EQ(sentence, "");
  const auto decoded = decode(image);
  ASSERT_TRUE(decoded && decoded->pixels);
  EXPECT_EQ(decoded->pixels->channelsPerPixel, pixels.channelsPerPixel);
  EXPECT_EQ(decoded->pixels->pixelsPerColumn, pixels.pixelsPerColumn);
  for (uint32_t i = 0; i + 2 < map.rank; ++i) {
    EXPECT_EQ(decoded->pixels->lowerCorner[i], pixels.lowerCorner[i]);
    EXPECT_EQ(decoded->pixels->upperCorner[i], pixels.upperCorner[i]);
  }
  TiledMap tiled;
  EXPECT_FALSE(decodeTiled(image, tiled)) << "an im2col map must not pass for a tiled one";
}

const Im2colRule kIm2colRules[] = {
    {"legal", [](TiledMap&, PixelBox&) {}, ""},
    {"rank2", [](TiledMap& m, PixelBox&) { m.rank = 2; }, "tensorRank is 2, but an im2col map needs 3, 4 or 5"},
    {"lowerSmallest", [](TiledMap&, PixelBox& p) { p.lowerCorner[1] = -128; }, ""},
    {"lowerTooSmall", [](TiledMap&, PixelBox& p) { p.lowerCorner[1] = -129; },
     "pixelBoxLowerCorner[1] is -129, but with rank 4 it must lie in [-128, 127]"},
    {"upperLargest", [](TiledMap&, PixelBox& p) { p.upperCorner[0] = 127; }, ""},
    {"upperTooLarge", [](TiledMap&, PixelBox& p) { p.upperCorner[0] = 128; }, "pixelBoxUpperCorner[0] is 128"},
    {"rank3Corner", [](TiledMap& m, PixelBox& p) { m.rank = 3, p.lowerCorner[0] = -32768, p.upperCorner[0] = 32767; }, ""},
    {"rank5Corner",
     [](TiledMap& m, PixelBox& p) {
       m.rank = 5;
       m.dims[4] = 3;
       p.lowerCorner[2] = 16;
     },
     "pixelBoxLowerCorner[2] is 16, but with rank 5 it must lie in [-16, 15]"},
    {"onePixelBox", [](TiledMap&, PixelBox& p) { p.lowerCorner[0] = 3, p.upperCorner[0] = -5; }, ""},
    {"emptyBox", [](TiledMap&, PixelBox& p) { p.lowerCorner[0] = 3, p.upperCorner[0] = -6; },
     "runs from 3 to 2 along dimension 1 of size 9 and is empty"},
    {"channelsZero", [](TiledMap&, PixelBox& p) { p.channelsPerPixel = 0; }, "channelsPerPixel is 0, but it must lie in [1, 256]"},
    {"channelsTooMany", [](TiledMap&, PixelBox& p) { p.channelsPerPixel = 257; }, "channelsPerPixel is 257"},
    {"channelsBeyondSpan", [](TiledMap&, PixelBox& p) { p.channelsPerPixel = 128; },
     "channelsPerPixel is 128, that is 256 bytes, but swizzle 128B"},
    {"channelsNot16Bytes", [](TiledMap&, PixelBox& p) { p.channelsPerPixel = 20; },
     "a row of the box must be a multiple of 16 bytes"},
    {"pixelsLargest", [](TiledMap&, PixelBox& p) { p.pixelsPerColumn = 1024; }, ""},
    {"pixelsZero", [](TiledMap&, PixelBox& p) { p.pixelsPerColumn = 0; }, "pixelsPerColumn is 0"},
    {"pixelsTooMany", [](TiledMap&, PixelBox& p) { p.pixelsPerColumn = 1025; },
     "pixelsPerColumn is 1025, but it must lie in [1, 1024]"},
    {"tensorRulesApply", [](TiledMap& m, PixelBox&) { m.strides[2] = 8; }, "globalStrides[2] is 8"},
};
INSTANTIATE_TEST_SUITE_P(Rules, EncodeIm2col, testing::ValuesIn(kIm2colRules),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TensorMap, RandomMapsSurviveTheRoundTrip) {
  const uint64_t seed = 20250911;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int repetition = 0; repetition < 500; ++repetition) {
    TiledMap map;
    map.type = static_cast<DataType>(below(13));
    map.rank = 1 + static_cast<uint32_t>(below(5));
    map.globalAddress = below(uint64_t{1} << 47) / 16 * 16;
    for (uint32_t i = 0; i < map.rank; ++i) {
      map.dims[i] = 1 + below(uint64_t{1} << 32);
      map.box[i] = i == 0 ? 16 : 1 + static_cast<uint32_t>(below(256));
      map.elementStrides[i] = i == 0 ? 1 : 1 + static_cast<uint32_t>(below(8));
      if (i + 1 < map.rank) map.strides[i] = below(uint64_t{1} << 36) * 16;
    }
    map.swizzle = elementBits(map.type) == 64 ? Swizzle::B128 : static_cast<Swizzle>(below(2) * 3 + below(4));
    if (map.swizzle == Swizzle::B32 || map.swizzle == Swizzle::B64) map.swizzle = Swizzle::None;
    TensorMapImage image;
    ASSERT_EQ(encodeTiled(map, image), "");
    TiledMap decoded;
    ASSERT_TRUE(decodeTiled(image, decoded));
    EXPECT_EQ(decoded.type, map.type);
    EXPECT_EQ(decoded.rank, map.rank);
    EXPECT_EQ(decoded.globalAddress, map.globalAddress);
    EXPECT_EQ(decoded.dims, map.dims);
    EXPECT_EQ(decoded.strides, map.strides);
    EXPECT_EQ(decoded.box, map.box);
    EXPECT_EQ(decoded.elementStrides, map.elementStrides);
    EXPECT_EQ(decoded.swizzle, map.swizzle);
  }
}

// CUTLASS (cute/atom/copy_traits_sm90_tma.hpp) clears bit 21 of word 1 after encoding small tensors, whatever is there.
TEST(TensorMap, TheBitThatCutlassClearsMeansNothing) {
  TensorMapImage image;
  ASSERT_EQ(encodeTiled(legalMap(), image), "");
  for (uint64_t word : {image.words[1] & ~(uint64_t{1} << 21), image.words[1] | uint64_t{1} << 21}) {
    image.words[1] = word;
    TiledMap decoded;
    ASSERT_TRUE(decodeTiled(image, decoded));
    EXPECT_EQ(decoded.dims, legalMap().dims);
    EXPECT_EQ(decoded.swizzle, legalMap().swizzle);
  }
}

TEST(TensorMap, EveryOtherBitIsGuarded) {
  TensorMapImage image;
  ASSERT_EQ(encodeTiled(legalMap(), image), "");
  for (uint32_t bit = 0; bit < 1024; ++bit) {
    if (bit == 64 + 21) continue;
    TensorMapImage broken = image;
    broken.words[bit / 64] ^= uint64_t{1} << (bit % 64);
    TiledMap decoded;
    EXPECT_FALSE(decodeTiled(broken, decoded)) << "bit " << bit;
  }
  TiledMap decoded;
  EXPECT_FALSE(decodeTiled(TensorMapImage{}, decoded)) << "128 zero bytes are no map";
}

}  // namespace
}  // namespace shiftconv::emulator::tma
