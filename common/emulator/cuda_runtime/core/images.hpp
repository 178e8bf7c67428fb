// Device code that the program has registered or loaded, its kernels and variables.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/emulator/cuda_runtime/core/fat_binary.hpp"
#include "common/emulator/cuda_runtime/machine_binding.hpp"

namespace shiftconv::runtime {

class Image;

/// A kernel. Handles of the APIs (cudaFunction_t, cudaKernel_t, CUfunction, CUkernel) point at it.
struct Function {
  Image* image = nullptr;
  std::string name;
  int maximumDynamicShared = 48 * 1024;  ///< until cudaFuncSetAttribute asks for more
  int carveout = -1;                     ///< cudaSharedmemCarveoutDefault
  bool nonPortableCluster = false;
  Extent requiredCluster{0, 0, 0};  ///< set by attributes
  int clusterPolicy = 0;

  /// Loads the image when needed. Throws Failure.
  const KernelFacts& facts() const;
};

/// A __device__, __constant__ or __managed__ variable of the program.
struct Variable {
  Image* image = nullptr;
  std::string name;
  void** managedPointer = nullptr;  ///< the program's pointer to a managed variable

  /// Loads the image when needed. Throws Failure cudaErrorInvalidSymbol.
  VariablePlace place() const;
};

/// One fat binary or module. Its PTX is loaded when something of it is first used.
class Image {
 public:
  Image(const void* data, std::string origin) : data_(data), origin_(std::move(origin)) {}
  Image(std::string bytes, std::string origin) : storage_(std::move(bytes)), data_(storage_.c_str()), origin_(std::move(origin)) {}
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const LoadedPtx& loaded();
  /// "sm_90a" of every PTX that it holds; nothing when it cannot be read.
  std::vector<std::string> ptxTargets();
  /// The handle of a kernel by its PTX name, made at first use. Throws Failure cudaErrorSymbolNotFound.
  Function& function(std::string_view name);
  /// The same without loading anything.
  Function& declareFunction(std::string_view name);
  VariablePlace variable(std::string_view name);
  /// Sets the program's pointers to its managed variables.
  void placeManaged();
  void addManaged(Variable& variable) { managed_.push_back(&variable); }

 private:
  const std::vector<FatBinaryEntry>& entries();

  const std::string storage_;  ///< when it is not the program that keeps the bytes
  const void* data_;
  std::string origin_;
  std::vector<FatBinaryEntry> entries_;  ///< until it is loaded
  std::shared_ptr<const LoadedPtx> loaded_;
  std::optional<Failure> failure_;  ///< when it could not be loaded
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::vector<Variable*> managed_;
};

/// fatbinary_section.h: __fatBinC_Wrapper_t, which holds the address of a fat binary.
struct Wrapper {
  static constexpr int kMagic = 0x466243b1;
  static constexpr int kLinkedVersion = 2;
  int magic = 0, version = 0;
  const void* data = nullptr;
  void* prelinked = nullptr;
};

class ImageTable {
 public:
  static ImageTable& instance();

  /// `data`: a fat binary, PTX text or machine code, which must live as long as the image.
  Image& add(const void* data, std::string origin) { return keep(std::make_unique<Image>(data, std::move(origin))); }
  /// Code that a program hands in, loaded at once: the image is gone again when it cannot be. Throws Failure.
  Image& load(const void* data);
  Image& loadFile(const char* path);
  void remove(Image& image);
  Image& findImage(const void* handle);

  /// Image::ptxTargets of all.
  std::vector<std::vector<std::string>> ptxTargets();

  void nameFunction(const void* hostFunction, Function& function) { byHostFunction_[hostFunction] = &function; }
  void nameVariable(const void* hostVariable, Variable variable);

  /// By the address of its host stub, or a handle. Throws Failure cudaErrorInvalidDeviceFunction.
  Function& function(const void* hostFunctionOrHandle);
  /// A handle. Throws Failure cudaErrorInvalidResourceHandle.
  Function& functionOfHandle(const void* handle);
  /// By the address of its host shadow. Throws Failure cudaErrorInvalidSymbol.
  VariablePlace variable(const void* hostVariable);
  /// From now on the function's address is a handle.
  void know(Function& function) { functions_.insert(&function); }

 private:
  Image& keep(std::unique_ptr<Image> image);
  Image& loadNow(Image& image);
  std::map<Image*, std::unique_ptr<Image>> images_;
  std::map<const void*, Function*> byHostFunction_;
  std::map<const void*, Variable> byHostVariable_;
  std::set<const void*> functions_;
};

}  // namespace shiftconv::runtime
