#!/usr/bin/env python3
"""Relative links in the repository's Markdown lead to files and folders that exist, and, behind `#`, to a heading."""

import functools
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
FENCED = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2[ ]*$", re.M | re.S)
CODE = re.compile(r"(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.S)
INLINE_LINK = re.compile(r"\]\(\s*<?([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)?)>?(?:\s+[\"'][^\n]*?[\"'])?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]^][^\]]*\]:\s*<?(\S+?)>?\s*(?:[\"'].*)?$", re.M)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", re.M)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


def pages():
    """Pages that git tracks, or would; without git all but build folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    found = [ROOT / name for name in listed] or [
        path for path in ROOT.rglob("*.md") if not {"node_modules", "build"} & set(path.relative_to(ROOT).parts)
    ]
    return sorted({path for path in found if path.is_file()})


def links(text):
    """The targets of a page's links and images, in their order; those in code are none."""
    text = CODE.sub("", FENCED.sub("", text))
    return INLINE_LINK.findall(text) + DEFINITION.findall(text)


@functools.lru_cache(maxsize=None)
def anchors(page):
    """The names that forges give a page's headings: letters, digits, `-` and `_`; equal ones are numbered."""
    found, seen = set(), {}
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def folder_of(page, root):
    """Where a page's links begin: deploy/site puts the pages of docs/site at the top."""
    site = root / "docs" / "site"
    return root / page.parent.relative_to(site) if site in page.parents else page.parent


def broken(page, root):
    """Why links of a page lead nowhere, a line for each."""
    found = []
    for link in links(page.read_text()):
        if ELSEWHERE.match(link):
            continue
        path, _, anchor = link.partition("#")
        path = urllib.parse.unquote(path)
        target = (folder_of(page, root) / path).resolve() if path else page
        if path.startswith("/") or not target.is_relative_to(root):
            found.append(f"{page.relative_to(root)}: {link} leaves the repository")
        elif not target.exists():
            found.append(f"{page.relative_to(root)}: {link}: there is no {target.relative_to(root)}")
        elif anchor and target.suffix == ".md" and urllib.parse.unquote(anchor) not in anchors(target):
            found.append(f"{page.relative_to(root)}: {link}: {target.name} has no such heading")
    return found


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        found = pages()
        self.assertGreater(sum(len(links(page.read_text())) for page in found), 100)
        self.assertEqual([line for page in found for line in broken(page, ROOT)], [])

    def test_to_nowhere_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "docs" / "site").mkdir(parents=True)
            (root / "b.md").write_text("# One `x` & [two](c.md)\n## Same\n## Same\n```\n# no heading\n```\n")
            (root / "a.md").write_text(
                "[good](b.md#one-x--two) [twice](b.md#same-1) [here](#a) [web](https://a.b/c.md) [folder](docs)\n"
                "`[code](no.md)` ![image](no.png)\n[x]: gone.md\n# A\n```\n[fenced](no.md)\n```\n"
                "[anchor](b.md#no-heading) [self](#b) [out](../../c.md) [absolute](/b.md) [title](no.md 'why')\n")
            (root / "docs" / "site" / "index.md").write_text("[top](b.md) [below](docs/b.md)\n")
            self.assertEqual(broken(root / "docs" / "site" / "index.md", root),
                             ["docs/site/index.md: docs/b.md: there is no docs/b.md"])
            self.assertEqual(broken(root / "a.md", root), [
                "a.md: no.png: there is no no.png",
                "a.md: b.md#no-heading: b.md has no such heading",
                "a.md: #b: a.md has no such heading",
                "a.md: ../../c.md leaves the repository",
                "a.md: /b.md leaves the repository",
                "a.md: no.md: there is no no.md",
                "a.md: gone.md: there is no gone.md",
            ])


if __name__ == "__main__":
    unittest.main()
