// im2col tensor loads and stores (PTX ISA 9.0, 5.5.4).
#include <fmt/format.h>

#include "tests/witness/cases/families.hpp"
#include "tests/witness/tensor_copy.hpp"

namespace shiftconv::witness {
namespace {

/// A convolution: sizes of image, filter, padding, stride and dilation per spatial dimension, innermost (W) first.
struct Convolution {
  uint32_t spatial = 2;
  std::array<int32_t, 3> size{1, 1, 1}, filter{1, 1, 1}, lowerPad{}, upperPad{}, stride{1, 1, 1}, dilation{1, 1, 1};
  uint32_t images = 1, channels = 64;

  int32_t outputs(uint32_t d) const { return (size[d] + lowerPad[d] + upperPad[d] - (filter[d] - 1) * dilation[d] - 1) / stride[d] + 1; }
};

TensorMap mapOf(const Convolution& conv, uint32_t type, uint32_t swizzle, uint32_t channels, uint32_t pixels) {
  TensorMap map{.type = type, .rank = conv.spatial + 2, .swizzle = swizzle};
  map.dims[0] = conv.channels;
  uint64_t stride = (conv.channels * elementBytes(type) + 15) / 16 * 16;
  PixelBox box{.channels = channels, .pixels = pixels};
  for (uint32_t d = 0; d < conv.spatial; ++d) {
    map.dims[d + 1] = static_cast<uint64_t>(conv.size[d]);
    map.strides[d] = stride;
    stride *= static_cast<uint64_t>(conv.size[d]);
    box.lower[d] = -conv.lowerPad[d];
    box.upper[d] = conv.upperPad[d] - (conv.filter[d] - 1) * conv.dilation[d];
    map.elementStrides[d + 1] = static_cast<uint32_t>(conv.stride[d]);
  }
  map.dims[conv.spatial + 1] = conv.images;
  map.strides[conv.spatial] = stride;
  map.pixels = box;
  return map;
}

/// The tile that starts at output position `row` of the flattened outputs, for one filter tap.
CopyStart startOf(const Convolution& conv, uint32_t row, const std::array<int32_t, 3>& tap, int32_t channel) {
  CopyStart start;
  start.coordinates[0] = channel;
  for (uint32_t d = 0; d < conv.spatial; ++d) {
    const auto count = static_cast<uint32_t>(conv.outputs(d));
    start.coordinates[d + 1] = -conv.lowerPad[d] + static_cast<int32_t>(row % count) * conv.stride[d];
    row /= count;
    start.offsets[d] = static_cast<uint16_t>(tap[d] * conv.dilation[d]);
  }
  start.coordinates[conv.spatial + 1] = static_cast<int32_t>(row);
  return start;
}

void addRandom(CaseList& cases) {
  for (unsigned number = 0; number < 90; ++number) {
    Random random(kSuiteSeed + 9000 + number);
    const auto draw = [&random](int32_t low, int32_t high) { return low + static_cast<int32_t>(random.below(static_cast<uint64_t>(high - low + 1))); };
    Convolution conv;
    conv.spatial = static_cast<uint32_t>(draw(1, 3));
    conv.images = static_cast<uint32_t>(draw(1, 3));
    uint32_t rows = conv.images;
    for (uint32_t d = 0; d < conv.spatial; ++d) {
      conv.filter[d] = draw(1, 4);
      conv.dilation[d] = draw(1, 2);
      conv.stride[d] = draw(1, 3);
      conv.lowerPad[d] = draw(0, 3);
      conv.upperPad[d] = draw(0, 3);
      conv.size[d] = (conv.filter[d] - 1) * conv.dilation[d] + draw(1, 7);
      rows *= static_cast<uint32_t>(conv.outputs(d));
    }
    const uint32_t swizzle = static_cast<uint32_t>(random.below(4));
    constexpr std::array<uint32_t, 5> types{kU8, kF16, kBF16, kF32, kTF32};
    const uint32_t type = types[random.below(types.size())], element = elementBytes(type);
    const uint32_t channels = (swizzle ? swizzleSpan(swizzle) : 16 * static_cast<uint32_t>(draw(1, 8))) / element;
    conv.channels = channels * static_cast<uint32_t>(draw(1, 2)) - (random.chance(30) ? 16 / element : 0);
    if (conv.channels == 0) conv.channels = channels;
    TensorMap map = mapOf(conv, type, swizzle, channels, static_cast<uint32_t>(draw(1, 40)));
    if (type >= kF16 && random.chance(30)) map.fill = 1;
    std::vector<CopyStart> starts;
    for (unsigned k = 0; k < 3; ++k) {
      std::array<int32_t, 3> tap{};
      for (uint32_t d = 0; d < conv.spatial; ++d) tap[d] = draw(0, conv.filter[d] - 1);
      starts.push_back(startOf(conv, static_cast<uint32_t>(random.below(rows)), tap, random.chance(30) ? static_cast<int32_t>(16 / element) : 0));
      starts.back().shared = static_cast<uint32_t>(128 * random.below(8));
    }
    cases.push_back({"im2col load", fmt::format("im2col load {} of {} spatial dimensions", number, conv.spatial), [=] { return tensorLoad(map, starts); }});
  }
}

/// Every tap of a padded 3x3 filter with unequal pads, strides and dilations in W and H.
void addTaps(CaseList& cases) {
  const Convolution conv{.spatial = 2, .size = {9, 7, 1}, .filter = {3, 3, 1}, .lowerPad = {1, 2, 0}, .upperPad = {2, 1, 0}, .stride = {1, 2, 1}, .dilation = {2, 1, 1}, .images = 2, .channels = 32};
  const TensorMap map = mapOf(conv, kF16, k64B, 32, 24);
  for (int32_t r = 0; r < 3; ++r)
    cases.push_back({"im2col load", fmt::format("im2col taps of filter row {}", r), [=] {
                       std::vector<CopyStart> starts;
                       for (int32_t s = 0; s < 3; ++s)
                         for (const uint32_t row : {0u, 19u}) starts.push_back(startOf(conv, row, {s, r, 0}, 0));
                       return tensorLoad(map, starts);
                     }});
  const TensorMap output = [&] {
    const Convolution plain{.spatial = 2, .size = {6, 5, 1}, .images = 2, .channels = 32};
    return mapOf(plain, kF16, k64B, 32, 20);
  }();
  cases.push_back({"im2col store", "im2col_no_offs store", [=] { return tensorStore(output, {{.coordinates = {0, 0, 0, 0}}}); }});
  cases.push_back({"im2col store", "im2col_no_offs store across images", [=] { return tensorStore(output, {{.coordinates = {0, 3, 4, 0}}}); }});
  cases.push_back({"im2col store", "im2col_no_offs store past the end", [=] { return tensorStore(output, {{.coordinates = {0, 2, 3, 1}}}); }});
}

}  // namespace

void addIm2colCases(CaseList& cases) {
  addTaps(cases);
  addRandom(cases);
}

}  // namespace shiftconv::witness
