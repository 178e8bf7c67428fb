// Random structured programs: printed as PTX, and run thread by thread in C++ as an independent expectation.
//
// Every thread has one variable x that starts as its index. Statements are x = x*a + b, if/else on a bit of x, loops
// whose trip count depends on x, leaving the innermost loop, leaving the program, and calls of a device function that
// itself branches and loops.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace shiftconv::tests {

struct Statement {
  enum class Kind { Update, If, Loop, BreakIf, ExitIf, Call } kind;
  uint32_t a = 0, b = 0;
  std::vector<Statement> first, second;
};

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed), body_(block(0)) {}

  std::string ptx() {
    labels_ = 0;
    std::string text = kFunction;
    text +=
        ".visible .entry k(.param .u64 out) {\n  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b32 %n<16>; .reg .b64 %rd<4>;\n"
        "  mov.u32 %r1, %tid.x;\n";
    print(text, body_, 0, "DONE");
    text +=
        "DONE:\n  ld.param.u64 %rd1, [out];\n  mov.u32 %r2, %tid.x;\n  mul.wide.u32 %rd2, %r2, 4;\n  add.u64 %rd1, %rd1, %rd2;\n"
        "  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";
    return text;
  }

  uint32_t run(uint32_t thread) const {
    uint32_t x = thread;
    execute(body_, x);
    return x;
  }

 private:
  static constexpr const char* kFunction =
      ".func (.param .b32 result) twist(.param .b32 value) {\n  .reg .pred %p<2>; .reg .b32 %r<4>;\n  ld.param.u32 %r1, [value];\n"
      "  and.b32 %r2, %r1, 7;\nL:\n  setp.eq.u32 %p1, %r2, 0;\n  @%p1 bra E;\n  mad.lo.u32 %r1, %r1, 5, %r2;\n  sub.u32 %r2, %r2, "
      "1;\n"
      "  bra L;\nE:\n  st.param.b32 [result], %r1;\n  ret;\n}\n";
  static uint32_t twist(uint32_t x) {
    for (uint32_t n = x & 7; n != 0; --n) x = x * 5 + n;
    return x;
  }
  static bool bit(uint32_t x, uint32_t which) { return (x >> which & 1) != 0; }

  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  std::vector<Statement> block(unsigned depth) {
    std::vector<Statement> statements;
    for (uint32_t count = 1 + pick(4); count != 0; --count) statements.push_back(statement(depth));
    return statements;
  }

  Statement statement(unsigned depth) {
    const uint32_t choice = pick(depth < 4 ? 10 : 4);
    Statement result{Statement::Kind::Update, pick(1000) * 2 + 1, pick(100000), {}, {}};
    if (choice == 2) result.kind = Statement::Kind::Call;
    if (choice == 3) result.kind = loops_ > 0 ? Statement::Kind::BreakIf : Statement::Kind::Update;
    if (choice >= 4 && choice <= 6) {
      result.kind = Statement::Kind::If;
      result.first = block(depth + 1);
      if (pick(2) != 0) result.second = block(depth + 1);
    }
    if (choice == 7 || choice == 8) {
      result.kind = Statement::Kind::Loop;
      ++loops_;
      result.first = block(depth + 1);
      --loops_;
    }
    if (choice == 9) result.kind = pick(8) == 0 ? Statement::Kind::ExitIf : Statement::Kind::Update;
    if (result.kind != Statement::Kind::Update) result.a = 1 + pick(20);
    return result;
  }

  enum class Flow { Next, Break, Exit };

  static Flow execute(const std::vector<Statement>& statements, uint32_t& x) {
    for (const Statement& s : statements) {
      switch (s.kind) {
        case Statement::Kind::Update:
          x = x * s.a + s.b;
          break;
        case Statement::Kind::Call:
          x = twist(x);
          break;
        case Statement::Kind::BreakIf:
          if (bit(x, s.a)) return Flow::Break;
          break;
        case Statement::Kind::ExitIf:
          if (bit(x, s.a) && bit(x, s.a + 1) && bit(x, s.a + 2)) return Flow::Exit;
          break;
        case Statement::Kind::If: {
          const Flow flow = execute(bit(x, s.a) ? s.first : s.second, x);
          if (flow != Flow::Next) return flow;
          break;
        }
        case Statement::Kind::Loop:
          for (uint32_t n = x >> s.a & 3; n != 0; --n) {
            const Flow flow = execute(s.first, x);
            if (flow == Flow::Exit) return flow;
            if (flow == Flow::Break) break;
          }
          break;
      }
    }
    return Flow::Next;
  }

  std::string label() { return "L" + std::to_string(++labels_); }
  static std::string number(uint32_t value) { return std::to_string(value); }

  void print(std::string& text, const std::vector<Statement>& statements, unsigned loopDepth, const std::string& end) {
    const auto testBit = [&](uint32_t which) {
      text += "  shr.u32 %r3, %r1, " + number(which) + ";\n  and.b32 %r3, %r3, 1;\n  setp.ne.u32 %p1, %r3, 0;\n";
    };
    for (const Statement& s : statements) {
      switch (s.kind) {
        case Statement::Kind::Update:
          text += "  mad.lo.u32 %r1, %r1, " + number(s.a) + ", " + number(s.b) + ";\n";
          break;
        case Statement::Kind::Call:
          text +=
              "  { .param .b32 v; .param .b32 w;\n  st.param.b32 [v], %r1;\n  call (w), twist, (v);\n  ld.param.b32 %r1, [w]; }\n";
          break;
        case Statement::Kind::BreakIf:
          testBit(s.a);
          text += "  @%p1 bra " + end + ";\n";
          break;
        case Statement::Kind::ExitIf:
          text +=
              "  shr.u32 %r3, %r1, " + number(s.a) + ";\n  and.b32 %r3, %r3, 7;\n  setp.eq.u32 %p1, %r3, 7;\n  @%p1 bra DONE;\n";
          break;
        case Statement::Kind::If: {
          const std::string otherwise = label(), join = label();
          testBit(s.a);
          text += "  @!%p1 bra " + otherwise + ";\n";
          print(text, s.first, loopDepth, end);
          text += "  bra " + join + ";\n" + otherwise + ":\n";
          print(text, s.second, loopDepth, end);
          text += join + ":\n";
          break;
        }
        case Statement::Kind::Loop: {
          const std::string top = label(), leave = label(), counter = "%n" + number(loopDepth);
          text += "  shr.u32 " + counter + ", %r1, " + number(s.a) + ";\n  and.b32 " + counter + ", " + counter + ", 3;\n" + top +
                  ":\n  setp.eq.u32 %p1, " + counter + ", 0;\n  @%p1 bra " + leave + ";\n";
          print(text, s.first, loopDepth + 1, leave);
          text += "  sub.u32 " + counter + ", " + counter + ", 1;\n  bra " + top + ";\n" + leave + ":\n";
          break;
        }
      }
    }
  }

  std::mt19937_64 random_;
  unsigned loops_ = 0;
  unsigned labels_ = 0;
  std::vector<Statement> body_;
};

}  // namespace shiftconv::tests
