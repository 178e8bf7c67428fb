// Every entry point of both APIs runs its body through call(): one lock, one place that turns failures into codes, keeps the
// last error of the thread and the sticky error of the context, and traces.
#pragma once

#include <type_traits>

#include "common/emulator/cuda_runtime/core/failure.hpp"

namespace shiftconv::runtime {

enum class Api : uint8_t {
  Runtime,       ///< fails with the sticky error; sets the last error of the thread
  RuntimeQuery,  ///< about the host or fixed facts: works in a lost context
  Driver,        ///< fails with the sticky error
  DriverQuery,
};

/// A body without ownership.
class BodyReference {
 public:
  template <class Body>
  explicit BodyReference(Body& body)
      : object_(&body), run_([](void* object) {
          if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
            (*static_cast<Body*>(object))();
            return cudaSuccess;
          } else {
            return static_cast<cudaError_t>((*static_cast<Body*>(object))());
          }
        }) {}
  cudaError_t operator()() const { return run_(object_); }

 private:
  void* object_;
  cudaError_t (*run_)(void*);
};

cudaError_t runCall(const char* name, Api api, const BodyReference& body);

/// What the driver says instead: most codes are the same numbers, the others are its invalid value.
CUresult driverCodeOf(cudaError_t code);

template <class Body>
cudaError_t call(const char* name, Body&& body, Api api = Api::Runtime) {
  return runCall(name, api, BodyReference(body));
}
template <class Body>
CUresult driverCall(const char* name, Body&& body, Api api = Api::Driver) {
  return driverCodeOf(runCall(name, api, BodyReference(body)));
}

/// The context is lost: this and all later calls of every thread report `code`.
void loseContext(cudaError_t code);
/// cudaSuccess while the context lives.
cudaError_t stickyError();

/// Whether the program has called the runtime API.
bool isRuntimeInUse();

/// The last error of the calling thread; with `clear` it is forgotten, unless it is sticky.
cudaError_t lastError(bool clear);

/// Runs a function of the program while no lock is held: it may call the API itself, from other threads, too.
void runHostFunction(void (*function)(void*), void* data);

/// For entry points that the emulated device does not have.
int refuseEntryPoint(const char* name);

}  // namespace shiftconv::runtime
