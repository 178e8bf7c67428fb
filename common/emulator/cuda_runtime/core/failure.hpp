// Why a call fails. CUresult and cudaError_t have the same numbers for the same reasons, so that one code serves both APIs.
#pragma once

#include <stdexcept>
#include <string>

#include "common/emulator/cuda_runtime/cuda_headers.hpp"

namespace shiftconv::runtime {

class Failure : public std::runtime_error {
 public:
  /// `sticky`: the context is lost, every later call fails with the same code.
  Failure(cudaError_t code, const std::string& why, bool sticky = false) : std::runtime_error(why), code(code), sticky(sticky) {}
  const cudaError_t code;
  const bool sticky;
};

/// Refuses with cudaErrorInvalidValue unless `condition`.
inline void require(bool condition, const char* why, cudaError_t code = cudaErrorInvalidValue) {
  if (!condition) throw Failure(code, why);
}

/// Where a call leaves a result. Refuses a null pointer with cudaErrorInvalidValue.
template <class Result>
Result& into(Result* place) {
  require(place != nullptr, "the result is null");
  return *place;
}

/// What a call was given. Refuses a null pointer likewise.
template <class Given>
Given& given(Given* place) {
  require(place != nullptr, "the parameters are null");
  return *place;
}

}  // namespace shiftconv::runtime
