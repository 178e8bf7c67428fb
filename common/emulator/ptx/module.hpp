// The abstract syntax of a PTX module: what the parser produces and the decoder consumes.
// Names follow the PTX ISA 9.0. Nothing here executes anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shiftconv::emulator::ptx {

enum class StateSpace : uint8_t { None, Reg, Const, Global, Local, Param, Shared };

enum class ScalarType : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F64,
};

/// Size in bytes of one value of the type; a predicate counts as 0 (it is one bit of a lane mask).
size_t sizeOf(ScalarType type);
/// Two 16-bit values in a register.
constexpr bool isPacked(ScalarType type) { return type == ScalarType::F16x2 || type == ScalarType::BF16x2; }
/// The type whose PTX spelling is `text` without the dot ("u32", "f16x2"), if it is one.
std::optional<ScalarType> scalarType(std::string_view text);
std::string_view toString(ScalarType type);

/// Where an instruction stands: its PTX line, and the source line that `.loc` assigns to it.
struct Location {
  uint32_t ptxLine = 0;     ///< 1-based line in the PTX text
  uint32_t sourceFile = 0;  ///< number given by `.file`, 0 when unknown
  uint32_t sourceLine = 0;  ///< 0 when unknown
  uint32_t inlinedAt = 0;   ///< number in Module::inlineSites, from 1, of the call that this was part of; 0: of none
};

/// A call in whose place the compiler put what the function does.
struct InlineSite {
  uint32_t sourceFile = 0, sourceLine = 0;
  uint32_t inlinedAt = 0;  ///< the call that this one was part of in turn
};

/// One operand as written.
struct Operand {
  enum class Kind : uint8_t {
    Register,  ///< text = name including '%', e.g. "%r1", "%tid.x", "%cluster_ctarank"
    Integer,   ///< integer = value (two's complement in 64 bits)
    Float,     ///< bits = the exact bit pattern; type = F32 (0f...) or F64 (0d... or decimal)
    Symbol,    ///< text = variable, function or label name; offset = "+ imm" after it
    Address,   ///< elements[0] = base (Register, Symbol or Integer), offset; coordinates in elements[1..]
    Vector,    ///< {a, b, ...}
    List,      ///< (a, b, ...) of a call
    Sink,      ///< _
    Dual,      ///< d|p : elements[0], elements[1]
  };
  Kind kind = Kind::Sink;
  std::string text{};
  uint64_t integer = 0;
  uint64_t bits = 0;
  ScalarType type = ScalarType::None;
  int64_t offset = 0;
  bool negated = false;  ///< '!' in front of a predicate, '-' in front of a register
  std::vector<Operand> elements{};
};

struct Instruction {
  std::string opcode{};                  ///< "add", "tcgen05", "cp" ...: the text up to the first dot
  std::vector<std::string> modifiers{};  ///< without dots; "shared::cta" is one modifier
  std::string guard{};                   ///< predicate register, empty when unguarded
  bool guardNegated = false;
  std::vector<Operand> operands{};
  Location location{};
  std::string text{};  ///< the instruction as written, for messages
};

/// A relocated value inside an initialiser: address of `symbol` plus `addend` at byte `offset`.
/// The mask form 0xff00(symbol) stores (address & mask) shifted right by the trailing zeros of the mask.
struct Relocation {
  uint64_t offset = 0;
  std::string symbol{};
  int64_t addend = 0;
  bool generic = false;
  uint64_t mask = ~uint64_t{0};
  uint8_t bytes = 8;
};

struct Variable {
  std::string name{};
  StateSpace space = StateSpace::None;
  ScalarType type = ScalarType::None;
  uint32_t alignment = 1;
  uint64_t bytes = 0;       ///< total size; 0 for an extern array of unknown size
  bool isExternal = false;  ///< `.extern`: dynamic shared memory, or an unresolved symbol
  std::vector<std::byte> initialiser{};
  std::vector<Relocation> relocations{};
  Location location{};
};

struct RegisterDeclaration {
  std::string name{};  ///< unique in the function; registers of inner scopes are renamed by the parser
  ScalarType type = ScalarType::None;
};

struct PerformanceDirectives {
  std::optional<std::vector<uint32_t>> requiredThreads;  ///< .reqntid
  std::optional<std::vector<uint32_t>> maximumThreads;   ///< .maxntid
  std::optional<std::vector<uint32_t>> requiredCluster;  ///< .reqnctapercluster
  std::optional<uint32_t> maximumRegisters;              ///< .maxnreg
  std::optional<uint32_t> minimumCtas;                   ///< .minnctapersm
  bool explicitCluster = false;
};

struct Function {
  std::string name;
  bool isKernel = false;
  bool isDeclaration = false;
  std::vector<Variable> returnParameters;
  std::vector<Variable> parameters;
  std::vector<RegisterDeclaration> registers;
  std::vector<Variable> variables;  ///< local, shared and call-param variables declared in the body
  std::vector<Instruction> body;
  std::unordered_map<std::string, uint32_t> labels;  ///< label -> index into body (may equal body.size())
  /// `.branchtargets` (labels, for brx.idx) and `.calltargets` (functions), by their label.
  std::unordered_map<std::string, std::vector<std::string>> branchTargets;
  PerformanceDirectives directives;
  Location location;
};

struct Module {
  std::string name{};  ///< for messages: file name or kernel family
  std::string version{};
  std::string target{};
  uint32_t addressSize = 64;
  std::unordered_map<uint32_t, std::string> files{};  ///< `.file` number -> path
  std::vector<Variable> variables{};                  ///< module scope: global, const, shared
  std::vector<Function> functions{};
  std::vector<InlineSite> inlineSites{};

  const Function* find(std::string_view functionName) const;
};

/// Parses a whole module. Throws EmulatorError (ErrorKind::Parse) naming line, column and what was expected.
Module parseModule(std::string_view text, std::string name);

}  // namespace shiftconv::emulator::ptx
