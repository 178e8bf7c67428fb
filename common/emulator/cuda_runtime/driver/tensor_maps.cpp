// cuTensorMapEncode*: CUDA Driver API, "Tensor Map Object Management".
#include <cstring>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/machine_binding.hpp"

using namespace shiftconv::runtime;
namespace layout = shiftconv::layout;

namespace {

/// What a caller passes may be no enumerator at all, and C++ gives such a value no meaning: its bits have one.
template <class Enumerator>
int numberOf(const Enumerator& value) {
  static_assert(sizeof value == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

/// The enumerators of common/layout have the numbers of cuda.h. Throws Failure for numbers that name none.
template <class Enumerator>
Enumerator choice(int value, Enumerator last, const char* why) {
  require(value >= 0 && value <= static_cast<int>(last), why);
  return static_cast<Enumerator>(value);
}

/// What both kinds of map have in common. Throws Failure.
layout::TiledMap tensorOf(int type, cuuint32_t rank, void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                          const cuuint32_t* elementStrides, int interleave, int swizzle, int promotion, int fill) {
  require(rank >= 1 && rank <= layout::kMaximumRank, "the rank of a tensor map is 1 to 5");
  require(dims != nullptr && elementStrides != nullptr && (strides != nullptr || rank == 1),
          "an argument of the tensor map is null");
  layout::TiledMap map;
  map.type = choice(type, layout::MapType::U6Align16, "there is no such data type of a tensor map");
  map.rank = rank;
  map.globalAddress = reinterpret_cast<uint64_t>(address);
  for (cuuint32_t i = 0; i < rank; ++i) {
    map.dims[i] = dims[i];
    map.elementStrides[i] = elementStrides[i];
    if (i + 1 < rank) map.strides[i] = strides[i];
  }
  map.interleave = choice(interleave, layout::MapInterleave::B32, "there is no such interleave of a tensor map");
  map.swizzle = choice(swizzle, layout::MapSwizzle::B128Atom64, "there is no such swizzle of a tensor map");
  map.l2Promotion = choice(promotion, layout::MapL2Promotion::B256, "there is no such L2 promotion of a tensor map");
  map.fill = choice(fill, layout::MapFill::NanRequestZeroFma, "there is no such out-of-bounds fill of a tensor map");
  return map;
}

template <class Map>
void encode(CUtensorMap* result, const Map& map) {
  require(result != nullptr && reinterpret_cast<uint64_t>(result) % 64 == 0, "the tensor map must be aligned to 64 bytes");
  layout::TensorMapImage image;
  Machine::instance().encode(map, image);
  static_assert(sizeof image == sizeof(CUtensorMap));
  std::memcpy(static_cast<void*>(result), &image, sizeof image);
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
                                void* globalAddress, const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
                                const cuuint32_t* boxDim, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  return driverCall("cuTensorMapEncodeTiled", [&] {
    layout::TiledMap map = tensorOf(numberOf(tensorDataType), tensorRank, globalAddress, globalDim, globalStrides, elementStrides,
                                    numberOf(interleave), numberOf(swizzle), numberOf(l2Promotion), numberOf(oobFill));
    require(boxDim != nullptr, "the box of the tensor map is null");
    for (cuuint32_t i = 0; i < tensorRank; ++i) map.box[i] = boxDim[i];
    encode(tensorMap, map);
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
                                 void* globalAddress, const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
                                 const int* pixelBoxLowerCorner, const int* pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                                 cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  return driverCall("cuTensorMapEncodeIm2col", [&] {
    layout::Im2colMap map;
    map.tensor = tensorOf(numberOf(tensorDataType), tensorRank, globalAddress, globalDim, globalStrides, elementStrides,
                          numberOf(interleave), numberOf(swizzle), numberOf(l2Promotion), numberOf(oobFill));
    require(tensorRank >= 3, "an im2col tensor map has rank 3 to 5");
    require(pixelBoxLowerCorner != nullptr && pixelBoxUpperCorner != nullptr, "a corner of the tensor map is null");
    for (cuuint32_t i = 0; i + 2 < tensorRank; ++i) {
      map.pixels.lowerCorner[i] = pixelBoxLowerCorner[i];
      map.pixels.upperCorner[i] = pixelBoxUpperCorner[i];
    }
    map.pixels.channelsPerPixel = channelsPerPixel;
    map.pixels.pixelsPerColumn = pixelsPerColumn;
    encode(tensorMap, map);
  });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  return driverCall("cuTensorMapReplaceAddress", [&] {
    require(tensorMap != nullptr, "the tensor map is null");
    layout::TensorMapImage image;
    std::memcpy(&image, static_cast<const void*>(tensorMap), sizeof image);
    layout::Im2colMap map;
    bool isIm2col = false;
    require(Machine::instance().decode(image, map, isIm2col), "this is no tensor map");
    map.tensor.globalAddress = reinterpret_cast<uint64_t>(globalAddress);
    isIm2col ? encode(tensorMap, map) : encode(tensorMap, map.tensor);
  });
}
