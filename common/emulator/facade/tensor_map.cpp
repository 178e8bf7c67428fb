#include "common/emulator/tma/tensor_map.hpp"

#include <fmt/format.h>

#include "common/emulator/include/shiftconv/emulator.hpp"

namespace shiftconv::emu {
namespace {

/// The enumerator with the number that cuda.h gives it.
template <class Enumerator>
bool fromNumber(uint32_t number, Enumerator last, Enumerator& value) {
  if (number > static_cast<uint32_t>(last)) return false;
  value = static_cast<Enumerator>(number);
  return true;
}

}  // namespace

Result<TensorMapImage> encode(const TensorMap& map) {
  using namespace emulator::tma;
  const auto refuse = [](std::string what) { return Error{ErrorKind::Argument, "tensor map: " + std::move(what)}; };
  TiledMap tensor;
  if (!fromNumber(map.dataType, DataType::U6Align16, tensor.type))
    return refuse(fmt::format("data type {} is unknown", map.dataType));
  if (!fromNumber(map.interleave, Interleave::B32, tensor.interleave))
    return refuse(fmt::format("interleave {} is unknown", map.interleave));
  if (!fromNumber(map.swizzle, Swizzle::B128Atom64, tensor.swizzle))
    return refuse(fmt::format("swizzle {} is unknown", map.swizzle));
  if (!fromNumber(map.fill, Fill::NanRequestZeroFma, tensor.fill)) return refuse(fmt::format("fill mode {} is unknown", map.fill));
  tensor.rank = map.rank;
  tensor.globalAddress = map.globalAddress;
  tensor.dims = map.dims;
  tensor.strides = map.strides;
  tensor.box = map.box;
  tensor.elementStrides = map.elementStrides;
  emulator::tma::TensorMapImage image;
  std::string problem;
  if (map.pixels) {
    const PixelBox pixels{map.pixels->lowerCorner, map.pixels->upperCorner, map.pixels->channelsPerPixel,
                          map.pixels->pixelsPerColumn};
    problem = encodeIm2col(tensor, pixels, image);
  } else {
    problem = encodeTiled(tensor, image);
  }
  if (!problem.empty()) return refuse(std::move(problem));
  TensorMapImage result;
  result.words = image.words;
  return result;
}

}  // namespace shiftconv::emu
