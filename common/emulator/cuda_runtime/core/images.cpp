#include "common/emulator/cuda_runtime/core/images.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/emulator/cuda_runtime/core/settings.hpp"

namespace shiftconv::runtime {

const KernelFacts& Function::facts() const {
  const KernelFacts* facts = image->loaded().kernel(name);
  if (facts == nullptr) throw Failure(cudaErrorInvalidDeviceFunction, fmt::format("the device code has no kernel {}", name));
  return *facts;
}

VariablePlace Variable::place() const {
  VariablePlace place;
  if (!image->loaded().variable(name, place))
    throw Failure(cudaErrorInvalidSymbol, fmt::format("the device code has no variable {}", name));
  return place;
}

const std::vector<FatBinaryEntry>& Image::entries() {
  if (entries_.empty()) entries_ = storage_.empty() ? readFatBinary(data_) : readFatBinary(data_, storage_.size());
  return entries_;
}

std::vector<std::string> Image::ptxTargets() {
  std::vector<std::string> targets;
  try {
    for (const FatBinaryEntry& entry : entries())
      if (entry.isPtx) targets.emplace_back(targetOf(entry));
  } catch (const Failure&) {  // damaged: whoever uses the image will be told
  }
  return targets;
}

const LoadedPtx& Image::loaded() {
  if (failure_) throw *failure_;
  if (loaded_ != nullptr) return *loaded_;
  try {
    Machine& machine = Machine::instance();
    const auto ptx = choosePtx(entries(), machine.model().target, origin_);
    dumpPtx(ptx, origin_);
    loaded_ = machine.load(ptx, origin_);
    entries_ = {};
  } catch (const Failure& failure) {
    say(failure.what());  // once: every kernel of the image will fail
    failure_.emplace(failure);
    throw;
  }
  placeManaged();
  return *loaded_;
}

Function& Image::declareFunction(std::string_view name) {
  const auto found = functions_.find(name);
  if (found != functions_.end()) return *found->second;
  auto function = std::make_unique<Function>();
  function->image = this;
  function->name = name;
  ImageTable::instance().know(*function);
  return *functions_.emplace(std::string(name), std::move(function)).first->second;
}

Function& Image::function(std::string_view name) {
  if (loaded().kernel(name) == nullptr) throw Failure(cudaErrorSymbolNotFound, fmt::format("{} has no kernel {}", origin_, name));
  return declareFunction(name);
}

VariablePlace Image::variable(std::string_view name) {
  VariablePlace place;
  if (!loaded().variable(name, place)) throw Failure(cudaErrorSymbolNotFound, fmt::format("{} has no variable {}", origin_, name));
  return place;
}

void Image::placeManaged() {
  for (const Variable* variable : managed_) {
    const VariablePlace place = variable->place();
    Machine::instance().shareWithHost(place.address, place.bytes);
    *variable->managedPointer = reinterpret_cast<void*>(place.address);
  }
}

ImageTable& ImageTable::instance() {
  static auto* const table = new ImageTable;
  return *table;
}

Image& ImageTable::keep(std::unique_ptr<Image> image) {
  Image& kept = *image;
  images_.emplace(&kept, std::move(image));
  return kept;
}

Image& ImageTable::loadNow(Image& image) {
  try {
    image.loaded();
  } catch (...) {
    remove(image);
    throw;
  }
  return image;
}

Image& ImageTable::load(const void* data) {
  const void* code = data;
  Wrapper wrapper;
  std::memcpy(&wrapper.magic, data, sizeof wrapper.magic);
  if (wrapper.magic == Wrapper::kMagic) {
    std::memcpy(&wrapper, data, sizeof wrapper);
    code = wrapper.data;
  }
  return loadNow(add(code, "the module"));
}

Image& ImageTable::loadFile(const char* path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // which fails, and does not throw, where the path is a folder's
  std::string bytes = std::move(text).str();
  if (!file || bytes.empty()) throw Failure(cudaErrorFileNotFound, fmt::format("{} cannot be read", path));
  return loadNow(keep(std::make_unique<Image>(std::move(bytes), path)));
}

void ImageTable::remove(Image& image) {
  std::erase_if(byHostFunction_, [&](const auto& entry) { return entry.second->image == &image; });
  std::erase_if(byHostVariable_, [&](const auto& entry) { return entry.second.image == &image; });
  std::erase_if(functions_, [&](const void* entry) { return static_cast<const Function*>(entry)->image == &image; });
  images_.erase(&image);
}

Image& ImageTable::findImage(const void* handle) {
  auto* image = static_cast<Image*>(const_cast<void*>(handle));
  if (!images_.contains(image)) throw Failure(cudaErrorInvalidResourceHandle, "this is no module");
  return *image;
}

void ImageTable::nameVariable(const void* hostVariable, Variable variable) {
  Variable& kept = byHostVariable_[hostVariable] = std::move(variable);
  if (kept.managedPointer != nullptr) kept.image->addManaged(kept);
}

std::vector<std::vector<std::string>> ImageTable::ptxTargets() {
  std::vector<std::vector<std::string>> all;
  for (const auto& [image, owner] : images_) all.push_back(image->ptxTargets());
  return all;
}

Function& ImageTable::function(const void* hostFunctionOrHandle) {
  const auto found = byHostFunction_.find(hostFunctionOrHandle);
  if (found != byHostFunction_.end()) return *found->second;
  if (functions_.contains(hostFunctionOrHandle)) return *static_cast<Function*>(const_cast<void*>(hostFunctionOrHandle));
  throw Failure(cudaErrorInvalidDeviceFunction, "this is no kernel of the program");
}

Function& ImageTable::functionOfHandle(const void* handle) {
  if (!functions_.contains(handle)) throw Failure(cudaErrorInvalidResourceHandle, "this is no kernel");
  return *static_cast<Function*>(const_cast<void*>(handle));
}

VariablePlace ImageTable::variable(const void* hostVariable) {
  const auto found = byHostVariable_.find(hostVariable);
  if (found == byHostVariable_.end()) throw Failure(cudaErrorInvalidSymbol, "this is no device variable of the program");
  return found->second.place();
}

}  // namespace shiftconv::runtime
