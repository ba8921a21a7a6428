"""The check of links finds what it is there to find."""
import pathlib
import tempfile
import unittest

import links

INDEX = "[page](page.md)"
PAGE = "# Title\n\n## Of `two` words\n\n## Twice\n\n## Twice\n"


class Links(unittest.TestCase):
    def faults(self, text, name="docs/page.md", index=INDEX):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "docs").mkdir()
            (root / "docs/README.md").write_text(index)
            (root / "docs/page.md").write_text(PAGE)
            with (root / name).open("a") as file:
                file.write(text)
            return list(links.faults(root))

    def test_follows_links(self):
        for text in ["[a](page.md)", "[a](#of-two-words)", "[a](page.md#twice-1)", "[a](../docs)",
                     "[a](https://example.org/none)", "`[a](none.md)`", "```\n[a](none.md)\n```",
                     "[a\nb](README.md) ![c](page.md)"]:
            self.assertEqual(self.faults(text), [], text)

    def test_refuses_those_that_lead_nowhere(self):
        for text in ["[a](none.md)", "[a](#none)", "[a](page.md#twice-2)", "[a](../../elsewhere)",
                     "[a](page.md) ![b](none.png)"]:
            self.assertEqual(len(self.faults(text)), 1, text)

    def test_knows_the_pages_that_sources_name(self):
        self.assertEqual(self.faults("// see docs/page.md", "a.h"), [])
        self.assertEqual(len(self.faults("// see docs/none.md", "a.h")), 1)

    def test_wants_every_page_in_the_index(self):
        self.assertEqual(self.faults("", index=""), ["docs/README.md: does not list docs/page.md"])


if __name__ == "__main__":
    unittest.main()
