// What can be enqueued in a stream: at once, or as a node of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "common/emulator/cuda_runtime/core/images.hpp"
#include "common/emulator/cuda_runtime/core/streams.hpp"

namespace shiftconv::runtime {

struct Graph;
struct ExecutableGraph;

/// A launch with the values of its parameters.
struct KernelWork {
  Function* function = nullptr;
  LaunchShape shape;
  bool cooperative = false;
  bool dependent = false;  ///< programmatic stream serialization: need not wait for the kernel before it
  std::vector<std::vector<std::byte>> arguments;
  std::vector<void*> pointers;  ///< to the arguments, for programs that ask a node for them
};

/// `depth` planes of `height` rows of `width` bytes.
struct CopyWork {
  struct Side {
    std::byte* base = nullptr;
    uint64_t rowPitch = 0, planePitch = 0;
  };
  Side to, from;
  uint64_t width = 0, height = 1, depth = 1;
  cudaMemcpyKind kind = cudaMemcpyDefault;
};

/// Sets `width` bytes of each row to the repeated element.
struct FillWork {
  CopyWork::Side to;
  uint32_t value = 0, elementBytes = 1;
  uint64_t width = 0, height = 1, depth = 1;
};

struct HostWork {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};

struct FreeWork {
  uint64_t address = 0;
};

/// In graphs only: streams keep the order themselves.
struct EventRecordWork {
  Event* event = nullptr;
};
struct EventWaitWork {
  Event* event = nullptr;
};
struct ChildWork {
  std::shared_ptr<Graph> graph;
};
struct AllocateWork {  ///< the address is fixed when the node is made
  uint64_t address = 0, bytes = 0;
};
/// Runs one of its bodies, or one of them again and again, as 32 bits of device memory say when the node is reached.
struct ConditionalWork {
  uint64_t condition = 0;  ///< address
  cudaGraphConditionalNodeType type = cudaGraphCondTypeIf;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<cudaGraph_t>> handles;          ///< of the bodies, as the program has them
  std::vector<std::shared_ptr<ExecutableGraph>> executables;  ///< in an executable graph: of the bodies
};
struct EmptyWork {};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, FreeWork, EventRecordWork, EventWaitWork, ChildWork,
                          AllocateWork, ConditionalWork>;

/// Refuses what can be known to be wrong when work is enqueued. Throws Failure.
void check(const Work& work);
/// How it stands to the work before it in its stream.
StreamWork streamWorkOf(const Work& work);
/// Does it. Events and child graphs are the business of who runs a graph.
void perform(const Work& work, const Place& place);
/// Checks, then either does it as the next work of the stream or adds it to the graph that the stream captures.
void submit(Stream& stream, Work work);
/// Throws Failure cudaErrorStreamCaptureUnsupported when the call must not be made while the stream, or with the legacy
/// stream any stream, captures.
void refuseCapturing(Stream& stream);

/// The arguments of a launch, copied: `arguments[i]` points at the value of parameter i.
std::vector<std::vector<std::byte>> copyArguments(const Function& function, void* const* arguments);
/// The same from one block laid out as the kernel's parameters.
std::vector<std::vector<std::byte>> splitArguments(const Function& function, const std::byte* block, size_t bytes);

}  // namespace shiftconv::runtime
