// Structures of the C API as some version of the header had them: `size` says which.
#pragma once

#include <fmt/format.h>
#include <shiftconv/shiftconv.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "conv/api/boundary.hpp"

namespace shiftconv::api {

/// Size of a structure in its first release, for ever: smaller ones were never valid. What was appended later follows it.
template <class Struct>
constexpr size_t kFirstSize = 0;

/// More than any version of a structure will have: a larger size was never set.
constexpr size_t kLargestSize = 4096;

template <class Struct>
Status checkSize(const Struct* pointer, const char* name) {
  static_assert(kFirstSize<Struct> != 0 && sizeof(Struct) >= kFirstSize<Struct>, "structures only grow");
  if (Status status = require(pointer, name); !status.ok()) return status;
  if (pointer->size >= kFirstSize<Struct> && pointer->size <= kLargestSize) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{}.size is {}, but must be the size of the structure, {} in this version; start from its _INIT macro", name,
                      pointer->size, sizeof(Struct))};
}

/// Reads a structure of another version of the header: missing fields keep their initial values, unknown ones must be 0.
template <class Struct>
Status readVersioned(const Struct* source, const char* name, Struct& target) {
  if (Status status = checkSize(source, name); !status.ok()) return status;
  const size_t size = source->size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(source);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      return {StatusCode::InvalidArgument,
              fmt::format("{} sets a field that library version {} does not know (byte {})", name, shiftconv_version_string(), i)};
  std::memcpy(static_cast<void*>(&target), source, std::min(size, sizeof(Struct)));
  return {};
}

/// `source` into as much of the caller's structure as there is.
template <class Struct>
void writeVersioned(Struct source, Struct* target) {
  source.size = target->size;
  std::memcpy(static_cast<void*>(target), &source, std::min(source.size, sizeof(Struct)));
}

}  // namespace shiftconv::api
