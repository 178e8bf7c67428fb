// Device code that the program has registered or loaded, its kernels and variables.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/runtime/core/failure.hpp"
#include "common/runtime/machine_binding.hpp"

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

  const LoadedPtx& loaded();
  bool isLoaded() const { return loaded_ != nullptr; }
  /// The handle of a kernel by its PTX name, made at first use. Throws Failure cudaErrorSymbolNotFound.
  Function& function(std::string_view name);
  /// The same without loading anything.
  Function& declareFunction(std::string_view name);
  VariablePlace variable(std::string_view name);
  /// Sets the program's pointers to its managed variables.
  void placeManaged();
  void addManaged(Variable& variable) { managed_.push_back(&variable); }
  /// Bytes that the image owns, when it was not the program that holds them.
  std::unique_ptr<const std::string> storage;

 private:
  const void* data_;
  std::string origin_;
  std::shared_ptr<const LoadedPtx> loaded_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::vector<Variable*> managed_;
};

class ImageTable {
 public:
  static ImageTable& instance();

  /// `data`: a fat binary, PTX text or machine code, which must live as long as the image.
  Image& add(const void* data, std::string origin);
  /// The same, of which the image keeps a copy.
  Image& addCopy(std::string bytes, std::string origin);
  void remove(Image& image);
  Image& findImage(const void* handle);

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
  std::map<Image*, std::unique_ptr<Image>> images_;
  std::map<const void*, Function*> byHostFunction_;
  std::map<const void*, Variable> byHostVariable_;
  std::set<const void*> functions_;
};

}  // namespace shiftconv::runtime
