"""The check of the glossary finds what it is there to find."""
import unittest

import glossary

HEADER = """
struct Ahead;
template <class T>
struct Fits<float> {
};
struct Plain {
  struct Inner {
  };
};
class Derived final : public Plain {
};
enum class Level : int { kLow, kHigh };
using Table = std::map<int, Plain>;
"""


class Glossary(unittest.TestCase):
    def test_takes_types_that_are_defined_in_the_namespace(self):
        self.assertEqual(glossary.types(HEADER), ["Plain", "Derived", "Level", "Table"])

    def test_takes_names_in_backticks_of_rows(self):
        self.assertEqual(glossary.named("`Prose`\n| term | Word | `Row`, `Type::member` |\n"),
                         {"Row", "Type", "member"})


if __name__ == "__main__":
    unittest.main()
