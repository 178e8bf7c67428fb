// im2col tensor loads and stores (PTX ISA 9.0, 5.5.4).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/tensor_copy.hpp"

namespace shiftconv::recordings {
namespace {

/// A convolution: sizes of image, filter, padding, stride and dilation per spatial dimension, innermost (W) first.
struct Convolution {
  uint32_t spatial = 2;
  std::array<int32_t, 3> size{1, 1, 1}, filter{1, 1, 1}, lowerPad{}, upperPad{}, stride{1, 1, 1}, dilation{1, 1, 1};
  uint32_t images = 1, channels = 64;

  int32_t outputs(uint32_t d) const {
    return (size[d] + lowerPad[d] + upperPad[d] - (filter[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  }
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
    const auto draw = [&random](int32_t low, int32_t high) {
      return low + static_cast<int32_t>(random.below(static_cast<uint64_t>(high - low + 1)));
    };
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
      starts.push_back(startOf(conv, static_cast<uint32_t>(random.below(rows)), tap,
                               random.chance(30) ? static_cast<int32_t>(16 / element) : 0));
      starts.back().shared = static_cast<uint32_t>(128 * random.below(8));
    }
    cases.push_back({"im2col load", fmt::format("im2col load {} of {} spatial dimensions", number, conv.spatial),
                     [=] { return tensorLoad(map, starts); }});
  }
}

/// Walks that begin at the ends of the bounding box and run past the last image: 1 to 3 spatial dimensions, every stride and
/// dilation, unequal pads, the first and the last tap. One output row after another, whose last one the walk must wrap at.
void addEdges(CaseList& cases) {
  for (uint32_t spatial = 1; spatial <= 3; ++spatial)
    for (int32_t stride = 1; stride <= 3; ++stride)
      for (int32_t dilation = 1; dilation <= 2; ++dilation) {
        const Convolution conv{.spatial = spatial,
                               .size = {7, 6, 5},
                               .filter = {3, 2, 2},
                               .lowerPad = {1, 2, 0},
                               .upperPad = {2, 0, 1},
                               .stride = {stride, stride, stride},
                               .dilation = {dilation, dilation, dilation},
                               .images = 2,
                               .channels = 24};
        uint32_t rows = conv.images;
        for (uint32_t d = 0; d < spatial; ++d) rows *= static_cast<uint32_t>(conv.outputs(d));
        const TensorMap map = mapOf(conv, kF16, kNone, 16, 40);
        const std::array<int32_t, 3> first{}, last{conv.filter[0] - 1, conv.filter[1] - 1, conv.filter[2] - 1};
        const auto width = static_cast<uint32_t>(conv.outputs(0));
        std::vector<CopyStart> starts;
        for (const uint32_t row : {0u, width - 1, rows / conv.images - 1, rows - 1})
          for (const auto& tap : {first, last}) starts.push_back(startOf(conv, row, tap, row == 0 ? -8 : 8));
        cases.push_back({"im2col load",
                         fmt::format("im2col edges in {} dimensions, stride {}, dilation {}", spatial, stride, dilation),
                         [=] { return tensorLoad(map, starts); }});
      }
}

/// Corners and offsets at the ends of their ranges, and boxes inside the image.
void addCorners(CaseList& cases) {
  struct Range {
    uint32_t spatial;
    int32_t lowest, highest;
    uint16_t offset;
  };
  for (const Range& range : {Range{1, -32768, 32767, 65535}, Range{2, -128, 127, 255}, Range{3, -16, 15, 31}}) {
    Convolution conv{.spatial = range.spatial, .size = {5, 4, 3}, .images = 2, .channels = 8};
    TensorMap map = mapOf(conv, kF16, kNone, 8, 48);
    map.fill = 1;
    CopyStart corner, inside, offset;
    for (uint32_t d = 0; d < range.spatial; ++d) {
      map.pixels->lower[d] = range.lowest;
      map.pixels->upper[d] = range.highest;
      corner.coordinates[d + 1] = range.lowest;
      inside.coordinates[d + 1] = -2;
      offset.coordinates[d + 1] = d == 0 ? range.lowest : -1;
    }
    offset.offsets[0] = static_cast<uint16_t>(-range.lowest - 1);
    CopyStart farthest = corner;
    farthest.offsets = {range.offset, range.offset, range.offset};
    cases.push_back({"im2col load", fmt::format("im2col corners and offsets at their limits in {} dimensions", range.spatial), [=] {
                       return tensorLoad(map, {corner, inside, offset, farthest});
                     }});
    TensorMap cropped = mapOf(conv, kF16, kNone, 8, 30);
    CopyStart crop, tap;
    for (uint32_t d = 0; d < range.spatial; ++d) {
      cropped.pixels->lower[d] = 1;
      cropped.pixels->upper[d] = -1;
      crop.coordinates[d + 1] = 1;
      tap.coordinates[d + 1] = 1;
      tap.offsets[d] = 1;
    }
    cases.push_back({"im2col load", fmt::format("im2col box inside the image in {} dimensions", range.spatial), [=] {
                       return tensorLoad(cropped, {crop, tap});
                     }});
  }
}

/// Rows of channels that are narrower than the span of the swizzle.
void addNarrowRows(CaseList& cases) {
  for (const uint32_t swizzle : {k32B, k64B, k128B})
    for (uint32_t bytes = 16; bytes < swizzleSpan(swizzle); bytes += 16) {
      const Convolution conv{.spatial = 2,
                             .size = {5, 4, 1},
                             .filter = {3, 3, 1},
                             .lowerPad = {1, 1, 0},
                             .upperPad = {1, 1, 0},
                             .images = 2,
                             .channels = 64};
      const TensorMap map = mapOf(conv, kF16, swizzle, bytes / 2, 21);
      cases.push_back({"im2col load", fmt::format("im2col rows of {} bytes, swizzle {}", bytes, swizzle), [=] {
                         std::vector<CopyStart> starts{startOf(conv, 0, {0, 0, 0}, 0), startOf(conv, 13, {2, 1, 0}, 8)};
                         starts[1].shared = 384;
                         return tensorLoad(map, starts);
                       }});
    }
}

/// Every tap of a padded 3x3 filter with unequal pads, strides and dilations in W and H.
void addTaps(CaseList& cases) {
  const Convolution conv{.spatial = 2,
                         .size = {9, 7, 1},
                         .filter = {3, 3, 1},
                         .lowerPad = {1, 2, 0},
                         .upperPad = {2, 1, 0},
                         .stride = {1, 2, 1},
                         .dilation = {2, 1, 1},
                         .images = 2,
                         .channels = 32};
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
  cases.push_back({"im2col store", "im2col_no_offs store across images", [=] {
                     return tensorStore(output, {{.coordinates = {0, 3, 4, 0}}});
                   }});
  cases.push_back({"im2col store", "im2col_no_offs store past the end", [=] {
                     return tensorStore(output, {{.coordinates = {0, 2, 3, 1}}});
                   }});
}

}  // namespace

void addIm2colCases(CaseList& cases) {
  addTaps(cases);
  addEdges(cases);
  addCorners(cases);
  addNarrowRows(cases);
  addRandom(cases);
}

}  // namespace shiftconv::recordings
