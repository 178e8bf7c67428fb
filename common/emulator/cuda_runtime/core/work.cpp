#include "common/emulator/cuda_runtime/core/work.hpp"

#include <fmt/format.h>

#include <cstring>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/graph.hpp"
#include "common/emulator/cuda_runtime/core/launch_limits.hpp"
#include "common/emulator/cuda_runtime/core/memory.hpp"

namespace shiftconv::runtime {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// Bytes from the first to after the last that the rows touch.
uint64_t span(const CopyWork::Side& side, uint64_t width, uint64_t height, uint64_t depth) {
  return (depth - 1) * side.planePitch + (height - 1) * side.rowPitch + width;
}

void checkSide(const CopyWork::Side& side, const CopyWork& copy, bool mustBeDevice, const char* what) {
  const uint64_t bytes = span(side, copy.width, copy.height, copy.depth);
  const bool begins = MemoryTable::isDevice(side.base);
  if (mustBeDevice && !begins)
    throw Failure(cudaErrorInvalidValue, fmt::format("the {} {} is no device memory", what, static_cast<const void*>(side.base)));
  if (begins && !MemoryTable::isDevice(side.base, bytes))
    throw Failure(cudaErrorInvalidValue,
                  fmt::format("the {} {} of {} bytes runs past its allocation", what, static_cast<const void*>(side.base), bytes));
}

void checkCopy(const CopyWork& copy) {
  require(copy.kind >= cudaMemcpyHostToHost && copy.kind <= cudaMemcpyDefault, "this is no direction of a copy",
          cudaErrorInvalidMemcpyDirection);
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return;
  require(copy.to.base != nullptr && copy.from.base != nullptr, "an address is null");
  const bool rows = copy.height > 1 || copy.depth > 1;
  require(!rows || (copy.to.rowPitch >= copy.width && copy.from.rowPitch >= copy.width), "a pitch is less than the width",
          cudaErrorInvalidPitchValue);
  checkSide(copy.to, copy, copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice, "destination");
  checkSide(copy.from, copy, copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice, "source");
}

void checkFill(const FillWork& fill) {
  if (fill.width == 0 || fill.height == 0 || fill.depth == 0) return;
  require(fill.height == 1 || fill.to.rowPitch >= fill.width, "the pitch is less than the width", cudaErrorInvalidPitchValue);
  require(fill.elementBytes == 1 || fill.elementBytes == 2 || fill.elementBytes == 4, "elements have 1, 2 or 4 bytes");
  require(MemoryTable::isDevice(fill.to.base, span(fill.to, fill.width, fill.height, fill.depth)),
          "the range is not in one device allocation");
}

/// One row on one side: through the machine when the device can reach it.
std::byte* row(const char* name, const Place& place, std::byte* address, uint64_t bytes, bool writes) {
  if (!MemoryTable::isDevice(address, bytes)) return address;
  return Machine::instance().access(name, place, reinterpret_cast<uint64_t>(address), bytes, writes);
}

/// Rows that lie end to end on both sides are one row.
template <class Action>
void forEachRow(const CopyWork::Side& to, const CopyWork::Side& from, uint64_t width, uint64_t height, uint64_t depth,
                Action&& action) {
  if (to.rowPitch == width && from.rowPitch == width) {
    width *= height;
    height = 1;
    if (to.planePitch == width && from.planePitch == width) {
      width *= depth;
      depth = 1;
    }
  }
  if (width == 0) return;
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y)
      action(to.base + z * to.planePitch + y * to.rowPitch, from.base + z * from.planePitch + y * from.rowPitch, width);
}

void perform(const KernelWork& kernel, const Place& place) {
  std::vector<const void*> pointers;
  for (const auto& argument : kernel.arguments) pointers.push_back(argument.data());
  kernel.function->image->loaded().launch(kernel.function->name, kernel.shape, pointers, place);
}

void perform(const CopyWork& copy, const Place& place) {
  forEachRow(copy.to, copy.from, copy.width, copy.height, copy.depth, [&](std::byte* to, std::byte* from, uint64_t bytes) {
    const std::byte* source = row("memcpy", place, from, bytes, false);
    std::memmove(row("memcpy", place, to, bytes, true), source, bytes);
  });
}

void perform(const FillWork& fill, const Place& place) {
  forEachRow(fill.to, fill.to, fill.width, fill.height, fill.depth, [&](std::byte* to, std::byte*, uint64_t bytes) {
    std::byte* const begin = row("memset", place, to, bytes, true);
    if (fill.elementBytes == 1) {
      std::memset(begin, static_cast<int>(fill.value & 0xff), bytes);
      return;
    }
    for (uint64_t at = 0; at + fill.elementBytes <= bytes; at += fill.elementBytes)
      std::memcpy(begin + at, &fill.value, fill.elementBytes);
  });
}

}  // namespace

void check(const Work& work) {
  std::visit(
      Overloaded{[](const KernelWork& kernel) { checkLaunch(kernel); }, [](const CopyWork& copy) { checkCopy(copy); },
                 [](const FillWork& fill) { checkFill(fill); },
                 [](const FreeWork& free) {
                   const Allocation* allocation = MemoryTable::instance().find(free.address);
                   require(allocation != nullptr && allocation->address == free.address, "this is no allocation");
                 },
                 [](const HostWork& host) { require(host.function != nullptr, "the function is null"); }, [](const auto&) {}},
      work);
}

StreamWork streamWorkOf(const Work& work) {
  const auto* kernel = std::get_if<KernelWork>(&work);
  if (kernel == nullptr) return StreamWork::Other;
  return kernel->dependent ? StreamWork::DependentKernel : StreamWork::Kernel;
}

void perform(const Work& work, const Place& place) {
  std::visit(Overloaded{[&](const KernelWork& kernel) { perform(kernel, place); },
                        [&](const CopyWork& copy) { perform(copy, place); }, [&](const FillWork& fill) { perform(fill, place); },
                        [&](const FreeWork& free) { MemoryTable::instance().releaseAt(free.address, place); },
                        [](const HostWork& host) { runHostFunction(host.function, host.data); }, [](const auto&) {}},
             work);
}

void refuseCapturing(Stream& stream) {
  StreamTable& streams = StreamTable::instance();
  if (stream.capturing.capture) {
    stream.capturing.capture->invalid = true;
    throw Failure(cudaErrorStreamCaptureUnsupported, "the stream is capturing");
  }
  if (!stream.isLegacy) return;
  for (Stream* other : streams.all())
    if (other->isBlocking() && other->capturing.capture && other->capturing.capture->mode != cudaStreamCaptureModeRelaxed) {
      other->capturing.capture->invalid = true;
      throw Failure(cudaErrorStreamCaptureImplicit, "the legacy default stream would wait for a stream that is capturing");
    }
}

void submit(Stream& stream, Work work) {
  check(work);
  if (stream.capturing.capture) {
    capture(stream, std::move(work));
    return;
  }
  refuseCapturing(stream);
  perform(work, StreamTable::instance().enqueue(stream, streamWorkOf(work)));
}

std::vector<std::vector<std::byte>> copyArguments(const Function& function, void* const* arguments) {
  std::vector<std::vector<std::byte>> values;
  const KernelFacts& facts = function.facts();
  require(facts.parameters.empty() || arguments != nullptr, "the kernel has parameters, but no arguments were given");
  for (size_t i = 0; i < facts.parameters.size(); ++i) {
    require(arguments[i] != nullptr, "an argument is a null pointer");
    const auto* bytes = static_cast<const std::byte*>(arguments[i]);
    values.emplace_back(bytes, bytes + facts.parameters[i].bytes);
  }
  return values;
}

std::vector<std::vector<std::byte>> splitArguments(const Function& function, const std::byte* block, size_t bytes) {
  std::vector<std::vector<std::byte>> values;
  for (const ParameterShape& parameter : function.facts().parameters) {
    require(parameter.offset + uint64_t{parameter.bytes} <= bytes, "the argument buffer is shorter than the parameters");
    values.emplace_back(block + parameter.offset, block + parameter.offset + parameter.bytes);
  }
  return values;
}

}  // namespace shiftconv::runtime
