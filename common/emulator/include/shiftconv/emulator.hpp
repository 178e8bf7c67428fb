// The PTX machine as a library: load PTX text, launch its kernels, and read results, counters and hazards. C++17; needs neither a
// GPU nor a CUDA driver.
//
//   shiftconv::emu::Machine machine;
//   auto module = machine.load(text, "saxpy.ptx");
//   if (!module) return complain(module.error().message);
//   auto x = machine.allocate(4000);
//   machine.copyToDevice(*x, host.data(), 4000);
//   shiftconv::emu::Launch launch;
//   launch.kernel = "saxpy";
//   launch.grid = {8, 1, 1}, launch.block = {128, 1, 1};
//   launch.arguments = {&count, &factor, &*x};
//   auto report = machine.launch(*module, launch);
//
// Nothing throws but the standard library when the host is out of memory: what can go wrong is a value, a kind and a sentence that
// names the field, the limit or the instruction. A Machine and its modules may be used by several host threads at once. The
// floating-point environment of the calling thread (rounding mode, flush to zero) has no effect on results and is left alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GNUC__)
#define SHIFTCONV_EMU_API __attribute__((visibility("default")))
#else
#define SHIFTCONV_EMU_API
#endif

namespace shiftconv::emu {

// --- errors ---------------------------------------------------------------------------------------------------------------

enum class ErrorKind : uint8_t {
  None,
  Parse,               ///< the text is not PTX that the machine knows
  Unsupported,         ///< an instruction, qualifier, directive or target that the machine lacks
  IllegalInstruction,  ///< a combination that the PTX ISA forbids, or that the target lacks
  Launch,              ///< launch configuration or arguments do not fit the kernel
  OutOfBounds,         ///< an access outside of every object
  Misaligned,
  Uninitialised,    ///< undefined data was used
  Descriptor,       ///< illegal descriptor or tensor map
  Synchronisation,  ///< the protocol of a barrier, an mbarrier or Tensor Memory is broken
  Deadlock,
  Trap,  ///< trap, brkpt or a failed device assertion
  OutOfMemory,
  Hazard,    ///< Hazards::Error, and a hazard was found
  Limit,     ///< a limit of the machine, or the instruction limit of the launch, is reached
  Argument,  ///< an argument of this interface
};
/// "out of bounds"
SHIFTCONV_EMU_API const char* toString(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::None;
  std::string message;  ///< one sentence; where an instruction is at fault, kernel, CTA, warp, lanes and PTX line follow
  explicit operator bool() const { return kind != ErrorKind::None; }
};

/// A value, or the error that is there instead.
template <class Value>
class Result {
 public:
  Result(Value value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return value_.has_value(); }
  const Error& error() const { return error_; }
  Value& operator*() { return *value_; }
  const Value& operator*() const { return *value_; }
  Value* operator->() { return &*value_; }
  const Value* operator->() const { return &*value_; }

 private:
  std::optional<Value> value_;
  Error error_;
};

// --- what a module holds --------------------------------------------------------------------------------------------------

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct Parameter {
  std::string name;
  std::string type;        ///< "u64", "b8" (arrays and structures)
  uint64_t bytes = 0;      ///< of the whole parameter
  uint64_t typeBytes = 0;  ///< of one element of `type`
  uint32_t alignment = 1;
};

struct Kernel {
  std::string name;  ///< as in the PTX, mangled
  std::vector<Parameter> parameters;
  uint32_t staticSharedBytes = 0;
  uint64_t localBytes = 0;  ///< per thread, of the kernel's own variables
  uint64_t instructions = 0;
  std::optional<Dim3> requiredBlock;    ///< .reqntid
  std::optional<Dim3> maximumBlock;     ///< .maxntid
  std::optional<Dim3> requiredCluster;  ///< .reqnctapercluster
  std::optional<uint32_t> maximumRegisters, minimumCtas;
  bool explicitCluster = false;
  std::string refusal;  ///< why it cannot be launched: instructions that it may reach and the machine lacks; empty: it can
};

/// A module-scope variable in global or constant memory.
struct Variable {
  std::string name;
  uint64_t address = 0;  ///< on the device
  uint64_t bytes = 0;
  bool constant = false;
};

/// What a `.target` stands for: limits of its device, per CTA, cluster or multiprocessor.
struct Target {
  std::string name;    ///< "sm_100a"
  std::string device;  ///< "B200"
  uint32_t computeMajor = 0, computeMinor = 0;
  uint32_t multiprocessors = 0;
  uint32_t sharedBytesPerMultiprocessor = 0, sharedBytesPerCta = 0, reservedSharedBytesPerCta = 0;
  uint32_t threadsPerMultiprocessor = 0, ctasPerMultiprocessor = 0, registersPerMultiprocessor = 0;
  uint32_t threadsPerCta = 0, ctasPerCluster = 0;
  uint64_t l2Bytes = 0, globalBytes = 0;
};
/// Every target that the machine supports.
SHIFTCONV_EMU_API std::vector<Target> targets();
/// The targets of whole devices: the architecture-specific ones, with all their instructions. The usual one comes first.
SHIFTCONV_EMU_API std::vector<Target> devices();

/// A loaded module; copies share it. It keeps its variables alive and must not outlive its Machine.
class SHIFTCONV_EMU_API Module {
 public:
  const std::string& name() const;
  const std::string& ptxVersion() const;  ///< "9.0"
  const Target& target() const;           ///< the module runs as this
  const std::vector<Kernel>& kernels() const;
  const Kernel* find(std::string_view kernel) const;  ///< nullptr: there is none
  const std::vector<Variable>& variables() const;

  struct Impl;  ///< the library's own

 private:
  friend class Machine;
  explicit Module(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// --- options --------------------------------------------------------------------------------------------------------------

/// When asynchronous operations complete; every choice is one that the PTX ISA allows.
enum class Schedule : uint8_t {
  Earliest,  ///< at issue
  Latest,    ///< only when every warp waits
  Random,    ///< seeded
  Fair,      ///< at issue, with warps in turn, instruction by instruction
};
enum class Numerics : uint8_t {
  Hardware,  ///< bit-level model of the tensor core
  Fast,      ///< f32 FMA chains
};
enum class Hazards : uint8_t {
  Off,
  Warn,   ///< collected in Report::hazards
  Error,  ///< the first one ends the launch
};

/// A behaviour that no public document settles.
struct Question {
  std::string id;  ///< "U3"
  std::string text;
  std::vector<std::string> alternatives;  ///< [0] is the default
};
SHIFTCONV_EMU_API std::vector<Question> questions();

struct Options {
  Schedule schedule = Schedule::Earliest;
  uint64_t seed = 1;
  Numerics numerics = Numerics::Hardware;
  Hazards hazards = Hazards::Off;
  std::string severities = "race,formal,unproven";  ///< of the hazards that are reported
  std::map<std::string, uint32_t> semantics;        ///< question id -> index of the alternative
  std::vector<std::string> warpRoles;               ///< names of the warps of a CTA in reports; may be short or empty
  uint32_t hostThreads = 0;                         ///< 0: one per host core
  uint64_t instructionLimit = 0;                    ///< warp instructions of one launch; 0: none
  std::string device;  ///< name of one of devices(), which must be able to run the module's PTX; empty: the module's target
  uint32_t multiprocessors = 0;  ///< 0: as many as the device has
  /// Takes what kernels print, from any host thread; empty: standard output.
  std::function<void(std::string_view)> print;
};

/// Chooses an alternative of a question by its number or its text.
SHIFTCONV_EMU_API Error choose(Options& options, std::string_view question, std::string_view alternative);
/// Chooses what a JSON file of the probe kit says a GPU was seen to follow: {"semantics": {"U3": 1}}.
SHIFTCONV_EMU_API Error readSemantics(Options& options, const std::string& path);

// --- launches -------------------------------------------------------------------------------------------------------------

struct Launch {
  std::string kernel;
  Dim3 grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  std::vector<const void*> arguments;  ///< one pointer to the value of each parameter; read before launch() returns
  Options options;
  /// Stream that the launch belongs to, for the hazard checker; nothing: it is ordered after everything that has finished.
  std::optional<uint64_t> stream;
};

/// One side of a hazard.
struct Access {
  std::string what;    ///< "write of shared memory bytes 0x400..0x403 of CTA rank 0"
  std::string kernel;  ///< entry name
  std::string thread;  ///< CTA, warp and lane
  std::string where;   ///< PTX line, source line and text of the instruction
  uint32_t ptxLine = 0, sourceLine = 0;
};
struct Hazard {
  std::string kind;      ///< "race"
  std::string severity;  ///< "race": a wrong result is possible; "formal": no known target needs what is missing; "unproven"
  Access first, second;  ///< `first.what` is empty when there is only one
  std::string missing;   ///< the order that is missing
  uint64_t count = 1;
  std::string text;      ///< all of it, on several lines
  std::string question;  ///< "U6", when the order rests on the default answer to it; severity "unproven"
};

struct Counters {
  uint64_t ctas = 0;
  std::map<std::string, uint64_t> mma;         ///< "kind::f16 m128n64k16 a:tmem ashift" -> count
  std::map<std::string, uint64_t> operations;  ///< asynchronous operations by name
  std::map<std::string, uint64_t> bytes;       ///< "bulk copy: global rd" -> bytes
  std::map<std::string, uint64_t> questions;   ///< uses of behaviours that no public document settles, by id
  std::vector<uint64_t> warpInstructions;      ///< by warp index in the CTA
  std::vector<uint64_t> threadInstructions;
  std::string text;  ///< all of it as a table
};

struct Report {
  Counters counters;
  std::vector<Hazard> hazards;  ///< each pair of instructions once
  double hostSeconds = 0;
};

// --- tensor maps ----------------------------------------------------------------------------------------------------------

/// The arguments of cuTensorMapEncodeTiled / cuTensorMapEncodeIm2col, dimensions innermost first. Enumerators are given by the
/// numbers of cuda.h (CUtensorMapDataType and so on).
struct TensorMap {
  uint32_t dataType = 6;  ///< FLOAT16
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 5> strides{};  ///< bytes; strides[i] belongs to dimension i + 1
  std::array<uint32_t, 5> box{};      ///< tiled maps
  std::array<uint32_t, 5> elementStrides{1, 1, 1, 1, 1};
  uint32_t interleave = 0, swizzle = 0, fill = 0;
  /// Present in im2col maps; corners innermost first.
  struct Pixels {
    std::array<int32_t, 3> lowerCorner{}, upperCorner{};
    uint32_t channelsPerPixel = 0, pixelsPerColumn = 0;
  };
  std::optional<Pixels> pixels;
};
/// What a kernel takes as its 128-byte parameter.
struct alignas(128) TensorMapImage {
  std::array<uint64_t, 16> words{};
};
/// An argument that the driver refuses is refused here, too, by name and limit.
SHIFTCONV_EMU_API Result<TensorMapImage> encode(const TensorMap& map);

// --- the machine ----------------------------------------------------------------------------------------------------------

/// Work of the host on device memory. Without a stream it counts as done before everything that is launched later.
struct HostWork {
  std::optional<uint64_t> stream;
  Hazards hazards = Hazards::Off;  ///< with a stream: look for launches and copies that it is not ordered with
  std::vector<Hazard>* found = nullptr;
};

class SHIFTCONV_EMU_API Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Parses and decodes the module. Instructions that the machine lacks are named, each form once with a count: in the refusal of
  /// the kernels that may reach them, or in the error when that leaves no kernel.
  Result<Module> load(std::string_view ptx, std::string name);

  /// Address of `bytes` bytes of device memory, aligned to 256; they hold 0xCB until something writes them, and reading them in
  /// a kernel before that is a hazard. Device addresses are addresses of this process, too.
  Result<uint64_t> allocate(uint64_t bytes);
  Error release(uint64_t address, const HostWork& work = {});
  uint64_t allocatedBytes() const;
  /// Bytes of the allocation that begins at `address`; 0: none does.
  uint64_t allocationBytes(uint64_t address) const;

  Error copyToDevice(uint64_t destination, const void* source, uint64_t bytes, const HostWork& work = {});
  Error copyToHost(void* destination, uint64_t source, uint64_t bytes, const HostWork& work = {});
  Error copyOnDevice(uint64_t destination, uint64_t source, uint64_t bytes, const HostWork& work = {});
  Error fill(uint64_t destination, uint8_t value, uint64_t bytes, const HostWork& work = {});

  /// Memory of the host that kernels may use under its own address, until it is unregistered.
  Error registerHost(void* base, uint64_t bytes, bool writable);
  Error unregisterHost(void* base);

  /// Runs the kernel to its end.
  Result<Report> launch(const Module& module, const Launch& launch);
  /// The host has waited for all work of the stream: what comes later is ordered after it.
  void synchronized(uint64_t stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shiftconv::emu
