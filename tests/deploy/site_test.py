#!/usr/bin/env python3
"""Builds the documentation's site and follows its links."""
import html.parser
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('HONE_BUILD_DIR', ROOT / 'build'))
# Files that a browser loads by itself: (element, attribute).
LOADED = {('script', 'src'), ('img', 'src'), ('link', 'href'), ('iframe', 'src'), ('source', 'srcset'),
          ('object', 'data')}


def build(folder, **env):
    return subprocess.run([ROOT / 'deploy' / 'site', folder], capture_output=True, text=True, timeout=240,
                          env={**os.environ, 'HONE_BUILD': str(BUILD), **env})


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.text = path.read_text()
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == 'id' or (tag == 'a' and name == 'name'):
                self.ids.add(value)
            if (tag, name) in LOADED:
                self.loads.append(value)
            if tag == 'a' and name == 'href':
                self.links.append(value)


def broken(site, pages):
    """Links and loads of the pages that lead nowhere on the site."""
    found = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            to = urllib.parse.urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            if not target.is_file():
                found.append(f'{path.relative_to(site)}: {link}')
            elif to.fragment and target in pages and urllib.parse.unquote(to.fragment) not in pages[target].ids:
                found.append(f'{path.relative_to(site)}: {link}: no such place')
    return found


def from_elsewhere(site, pages):
    """Addresses of other hosts that pages, styles and scripts would ask for."""
    found = [f'{path.relative_to(site)}: {load}' for path, page in pages.items() for load in page.loads
             if urllib.parse.urlsplit(load).netloc]
    for path in site.rglob('*.css'):
        for url in re.findall(r'(?:url\(|@import\s+(?!url))\s*["\']?([^"\')\s;]+)', path.read_text()):
            if not url.startswith(('data:', '#')) and ('//' in url or not (path.parent / url).is_file()):
                found.append(f'{path.relative_to(site)}: {url}')
    for path in site.rglob('*.js'):
        if re.search(r'^\s*import\b.* from ', path.read_text(), re.MULTILINE):
            found.append(f'{path.relative_to(site)}: imports a module')
    return found


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = subprocess.run(['/usr/bin/python3', '-c', 'import sphinx, myst_parser, furo, sphinx_copybutton'],
                                 capture_output=True, text=True).stderr
        if missing:
            raise unittest.SkipTest(f'{missing.splitlines()[-1]}; deploy/setup installs it')
        cls.work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.work.cleanup)
        cls.site = pathlib.Path(cls.work.name).resolve() / 'site'
        built = build(cls.site)
        assert built.returncode == 0, built.stdout + built.stderr
        assert not built.stderr, built.stderr
        cls.pages = {path: Page(path) for path in cls.site.rglob('*.html')}

    def test_has_every_page(self):
        sources = [*(ROOT / 'docs').glob('*.md'), ROOT / 'README.md', ROOT / 'CHANGELOG.md']
        names = [source.relative_to(ROOT).with_suffix('.html') for source in sources]
        names += [pathlib.Path(f'reference/{name}.html') for name in ('commands', 'python', 'te', 'c', 'inside')]
        for name in [pathlib.Path('index.html'), *names]:
            self.assertIn(self.site / name, self.pages)
            if name.name != 'README.html' and name.parts[0] == 'docs':
                self.assertIn(f'href="{name}"', self.pages[self.site / 'index.html'].text, 'the start page leads there')

    def test_links_lead_somewhere(self):
        self.assertGreater(sum(len(page.links) for page in self.pages.values()), 1000)
        self.assertEqual(broken(self.site, self.pages), [])

    def test_needs_no_other_host(self):
        self.assertEqual(from_elsewhere(self.site, self.pages), [])

    def test_finds_what_is_broken(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder).resolve()
            (folder / 'a.html').write_text(
                '<a href="b.html">b</a> <a href="#there">t</a> <a href="#here" id="here">h</a>'
                '<script src="https://cdn.example/x.js"></script>')
            (folder / 'a.css').write_text('@import url(/elsewhere/x.css); b { background: url(//cdn.example/y.png) }')
            pages = {folder / 'a.html': Page(folder / 'a.html')}
            self.assertEqual(broken(folder, pages), ['a.html: b.html', 'a.html: #there: no such place'])
            self.assertEqual(from_elsewhere(folder, pages),
                             ['a.html: https://cdn.example/x.js', 'a.css: /elsewhere/x.css',
                              'a.css: //cdn.example/y.png'])

    def test_describes_commands_and_functions(self):
        commands = self.pages[self.site / 'reference' / 'commands.html'].text
        for words in ('tensorc', 'tracker init-tls', 'tophub export', '--quantize', '--max-run-timeout'):
            self.assertIn(words, commands)
        python = self.pages[self.site / 'reference' / 'python.html'].ids
        te = self.pages[self.site / 'reference' / 'te.html'].ids
        described = subprocess.run(
            ['/usr/bin/python3', '-c', 'import hone; print(*hone.__all__); print(*(n for n in dir(hone.te.Schedule) '
             'if not n.startswith("_")))'], capture_output=True, text=True, check=True,
            env={**os.environ, 'PYTHONPATH': f'{BUILD}/python'}).stdout.splitlines()
        of_te = {'lower', 'source', 'save_kernels'}
        for name in set(described[0].split()) - {'te', 'graph', 'build'} - of_te:
            self.assertIn(f'hone.{name}', python)
        for name in of_te:
            self.assertIn(f'hone.te.{name}', te)
        for name in described[1].split():
            self.assertIn(f'hone.te.Schedule.{name}', te)
        text = self.pages[self.site / 'reference' / 'te.html'].text
        self.assertIn('at most 2^46 iterations together', text, 'what the table of primitives has beside the docstring')

    def test_says_nothing_of_where_it_was_built(self):
        for path, page in self.pages.items():
            for folder in (str(BUILD), self.work.name):
                self.assertNotIn(folder, page.text, path.relative_to(self.site))

    def test_is_refused_without_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            result = build(pathlib.Path(folder) / 'site', HONE_BUILD=folder)
            self.assertEqual((result.returncode, result.stdout), (1, ''))
            self.assertIn('deploy/build makes it', result.stderr)


if __name__ == '__main__':
    unittest.main()
