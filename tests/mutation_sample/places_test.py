"""What places.py finds in a text, and that the text with both forms says the right things."""

import unittest

import places


def changes(text):
    return {(p.kind, p.before, p.after) for p in places.places("a.cpp", text)}


class Places(unittest.TestCase):
    def test_operands_end_where_precedence_says(self):
        found = changes("  return a + b * c < d && !e(f, g - 1) ? h : i;")
        self.assertIn(("operator", "a + b * c < d", "a + b * c <= d"), found)
        self.assertIn(("operator", "b * c", "b + c"), found)
        self.assertIn(("operator", "a + b * c", "a - b * c"), found)
        self.assertIn(("operator", "g - 1", "g + 1"), found)
        self.assertIn(("operator", "a + b * c < d && !e(f, g - 1)", "a + b * c < d || !e(f, g - 1)"), found)

    def test_left_operands_hold_what_associates_to_the_left(self):
        self.assertIn(("operator", "a - b - c", "a - b + c"), changes("  x = a - b - c;"))
        self.assertIn(("operator", "a - b", "a + b"), changes("  x = a - b - c;"))

    def test_conditions(self):
        found = changes("  if (const auto x = f(); x > 1) return;")
        self.assertIn(("condition", "x > 1", "false"), found)
        self.assertNotIn("condition", {kind for kind, _, _ in changes("  if (const auto x = f()) return;")})
        self.assertNotIn("condition", {kind for kind, _, _ in changes("  if constexpr (f()) return;")})

    def test_statements(self):
        self.assertIn(("statement", "a.b(c);", ""), changes("  x();\n  a.b(c);"))
        self.assertIn(("statement", "a->b[1] += 2;", ""), changes("  x();\n  a->b[1] += 2;"))
        for other in ("  int a = b;", "  return f(x);", "  return x +\n         f(x);", "  T a(b);"):
            self.assertNotIn("statement", {kind for kind, _, _ in changes(other)}, other)

    def test_what_is_left_alone(self):
        for text in ("  // a < b", '  const auto a = "b < c";', "  constexpr int a = 1 + 2;", "int f(int a = 1 + 2);", "  std::vector<int> a;",
                     "  static_assert(a < b);", "  case 3:"):
            self.assertEqual(changes(text), set(), text)

    def test_numbers(self):
        self.assertEqual(changes("  f(12, 3.0, 0x4, a1, b[5]);") - {("statement", "f(12, 3.0, 0x4, a1, b[5]);", "")},
                         {("number", "12", "12 + 1")})

    def test_both_forms_stand_in_the_text(self):
        text = "  x();\n  a = b < c;"
        (place,) = [p for p in places.places("a.cpp", text) if p.kind == "operator"]
        self.assertEqual(places.mutate("a.cpp", text, {7: place}),
                         "  x();\n  a = (::shiftconv::mutation::isOn<7>() ? (b <= c) : (b < c));")
        self.assertEqual(str(place), "a.cpp:2: `b < c` -> `b <= c`")


if __name__ == "__main__":
    unittest.main()
