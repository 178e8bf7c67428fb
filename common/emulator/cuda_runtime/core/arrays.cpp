#include "common/emulator/cuda_runtime/core/arrays.hpp"

#include <fmt/format.h>

#include "common/emulator/cuda_runtime/core/memory.hpp"

namespace shiftconv::runtime {
namespace {

constexpr uint64_t kRowAlignment = 32;

void requireFormat(const cudaChannelFormatDesc& format) {
  require(format.f == cudaChannelFormatKindSigned || format.f == cudaChannelFormatKindUnsigned ||
              format.f == cudaChannelFormatKindFloat,
          "only formats of integers and floating-point numbers are emulated", cudaErrorNotSupported);
  require(format.x == 8 || format.x == 16 || format.x == 32, "channels have 8, 16 or 32 bits", cudaErrorInvalidChannelDescriptor);
  int channels = 1;
  bool ended = false;
  for (const int bits : {format.y, format.z, format.w}) {
    require(bits == 0 || (bits == format.x && !ended), "all channels have as many bits as the first",
            cudaErrorInvalidChannelDescriptor);
    ended |= bits == 0;
    channels += bits != 0;
  }
  require(channels != 3, "an array has 1, 2 or 4 channels", cudaErrorInvalidChannelDescriptor);
}

}  // namespace

uint64_t Array::elementBytes() const { return static_cast<uint64_t>(format.x + format.y + format.z + format.w) / 8; }

ArrayTable& ArrayTable::instance() {
  static auto* const table = new ArrayTable;
  return *table;
}

cudaArray_t ArrayTable::create(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned flags) {
  requireFormat(format);
  require(extent.width != 0, "the array has no width");
  require(extent.depth == 0 || extent.height != 0 || (flags & cudaArrayLayered) != 0, "the array has a depth, but no height");
  auto array = std::make_unique<Array>();
  array->format = format;
  array->extent = extent;
  array->flags = flags;
  array->rowPitch = (array->rowBytes() + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  array->address = MemoryTable::instance().allocate(array->rowPitch * array->rows() * array->planes(), MemoryKind::Device);
  const void* handle = array.get();
  arrays_.emplace(handle, std::move(array));
  return static_cast<cudaArray_t>(const_cast<void*>(handle));
}

void ArrayTable::destroy(cudaArray_t handle) {
  if (handle == nullptr) return;
  const uint64_t address = find(handle).address;
  arrays_.erase(handle);
  MemoryTable::instance().release(address, MemoryKind::Device, MemoryKind::Device);
}

const Array& ArrayTable::find(cudaArray_const_t handle) const {
  const auto found = arrays_.find(handle);
  require(found != arrays_.end(), "this is no array", cudaErrorInvalidResourceHandle);
  return *found->second;
}

CopyWork::Side sideOf(const Array& array, uint64_t offset, uint64_t y, uint64_t z, uint64_t width, uint64_t height,
                      uint64_t depth) {
  const auto fits = [](uint64_t first, uint64_t count, uint64_t limit) { return first <= limit && count <= limit - first; };
  if (!fits(offset, width, array.rowBytes()) || !fits(y, height, array.rows()) || !fits(z, depth, array.planes()))
    throw Failure(
        cudaErrorInvalidValue,
        fmt::format("{} bytes from byte {} on, {} rows from row {} on, {} planes from plane {} on of an array of {} bytes, {} "
                    "rows and {} planes",
                    width, offset, height, y, depth, z, array.rowBytes(), array.rows(), array.planes()));
  const uint64_t plane = array.rowPitch * array.rows();
  return {reinterpret_cast<std::byte*>(array.address) + z * plane + y * array.rowPitch + offset, array.rowPitch, plane};
}

}  // namespace shiftconv::runtime
