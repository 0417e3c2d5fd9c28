#!/usr/bin/env python3
"""tests/bench/page.py on pages and benchmarks of its own in a small repository, and the blocks of the real pages."""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MEASURED = ('models', 'kernels', 'search', 'fleet', 'gpu')

# Prints its words, and what they ask for.
BENCH = '''#!/usr/bin/env python3
import os
import sys
words = sys.argv[1:]
print("a table of", " ".join(words))
if "markdown" in words:
    print("| shape | ms |\\n| --- | --- |\\n| C6 | 1.5 |")
if "peers" in words:
    print("AMD EPYC; ONNX Runtime 1.30.0, oneDNN v2.6.3; ONNX Runtime 1.30.0")
if "marker" in words:
    print("<!-- end -->")
if "ticks" in words:
    print("```")
print("half of it", file=sys.stderr)
if "killed" in words:
    sys.stdout.flush()
    os.kill(os.getpid(), 9)
sys.exit(3 if "fails" in words else 0)
'''

PAGE = '''# Measured: things

Before.

```
<!-- written by: ./bench.py of an example -->
```

<!-- written by: ./bench.py -->
<!-- end -->

Between.  \r
<!-- written by: ./bench.py --threads 2 -->

old

<!-- end -->
After\x0c, without an end of the line'''


def block(page, number):
    """The text between the markers of a page's block."""
    return re.findall(r'(?<!```\n)<!-- written by: [^\n]* -->\n(.*?)<!-- end -->', page, re.S)[number]


class Repository:
    def __init__(self, folder):
        self.folder = folder
        (folder / 'tests' / 'bench').mkdir(parents=True)
        (folder / 'docs' / 'measured').mkdir(parents=True)
        shutil.copy(ROOT / 'tests' / 'bench' / 'page.py', folder / 'tests' / 'bench')
        shutil.copytree(ROOT / 'tests' / 'bench' / 'pages', folder / 'tests' / 'bench' / 'pages',
                        ignore=shutil.ignore_patterns('__pycache__'))
        (folder / '.gitignore').write_text('__pycache__/\n/build/\n')
        self.page = folder / 'docs' / 'measured' / 'things.md'
        self.page.write_bytes(PAGE.encode())
        (folder / 'bench.py').write_text(BENCH)
        (folder / 'bench.py').chmod(0o755)
        self.git('init', '-q')
        self.commit()

    def git(self, *words):
        ran = subprocess.run(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.org', *words], cwd=self.folder,
                             capture_output=True, text=True, check=True)
        return ran.stdout

    def commit(self):
        self.git('add', '-A')
        self.git('commit', '-q', '-m', 'a commit')
        self.head = self.git('rev-parse', '--short=8', 'HEAD').strip()

    def run(self, *words):
        return subprocess.run([sys.executable, self.folder / 'tests' / 'bench' / 'page.py', *words],
                              cwd=self.folder.parent, capture_output=True, text=True, timeout=60)

    def measure(self, *words):
        return self.run(self.page, '--', *words)

    def text(self):
        return self.page.read_bytes().decode()


class InRepository(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.repository = Repository(pathlib.Path(work.name).resolve() / 'repository')


class Pages(InRepository):
    def assert_refused(self, result, *words):
        """It fails with one last line that has `words`, and the page is as it was."""
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr.splitlines()[-1])
        self.assertEqual(self.repository.text(), PAGE)

    def test_a_block_has_machine_date_commit_and_command_then_what_was_printed(self):
        result = self.repository.measure('./bench.py', 'a', 'b|c')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('half of it', result.stderr, 'progress is seen')
        self.assertIn('a table of a b|c', result.stdout)
        head, table = block(self.repository.text(), 0).split('\n\n```\n')
        self.assertEqual(table, 'a table of a b|c\n```\n\n')
        today = datetime.date.today().isoformat()
        self.assertRegex(head, r'(?s)^\n\| newest table \| \|\n\| --- \| --- \|\n'
                               r'\| machine \| .*\d+ of \d+ cores, \d+ GiB \|\n'
                               rf'\| date, commit \| {today}, {self.repository.head} \|\n'
                               r"\| command \| `./bench.py a 'b\\\|c'` \|$")

    def test_nothing_outside_the_block_changes(self):
        self.assertEqual(self.repository.measure('./bench.py', 'a').returncode, 0)
        text = self.repository.text()
        inside = block(text, 0)
        self.assertEqual(text.replace(inside, '', 1), PAGE)
        self.assertEqual(list(self.repository.page.parent.iterdir()), [self.repository.page])

    def test_a_second_run_replaces_the_first(self):
        for word in ('first', 'second'):
            self.assertEqual(self.repository.measure('./bench.py', word).returncode, 0)
        text = self.repository.text()
        self.assertNotIn('first', text)
        self.assertEqual(text.count('a table of second'), 1)

    def test_the_marker_with_most_words_of_the_command_is_taken(self):
        self.assertEqual(self.repository.measure('./bench.py', '--more', '--threads', '2').returncode, 0)
        self.assertIn('a table of --more --threads 2', block(self.repository.text(), 1))
        self.assertEqual(self.repository.measure('./bench.py', '--threads', '1').returncode, 0)
        self.assertIn('a table of --threads 1', block(self.repository.text(), 0))

    def test_a_benchmark_that_fails_changes_nothing(self):
        self.assert_refused(self.repository.measure('./bench.py', 'fails'), './bench.py ended with 3', 'as it was')
        self.assert_refused(self.repository.measure('./bench.py', 'killed'), './bench.py was ended by signal 9')

    def test_an_interrupted_benchmark_changes_nothing(self):
        (self.repository.folder / 'bench.py').write_text('#!/bin/sh\necho begun\nexec sleep 60\n')
        page = [sys.executable, self.repository.folder / 'tests' / 'bench' / 'page.py', self.repository.page]
        with subprocess.Popen([*page, '--', './bench.py'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            self.assertEqual(process.stdout.readline(), b'begun\n')
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            self.assertEqual(process.wait(timeout=60), 130)
        self.assertEqual(self.repository.text(), PAGE)

    def test_two_blocks_that_fit_equally_are_refused(self):
        page = PAGE.replace('bench.py -->', 'bench.py --seeds 2 -->')
        self.repository.page.write_bytes(page.encode())
        result = self.repository.measure('./bench.py', '--seeds', '2', '--threads', '2')
        self.assertEqual(result.returncode, 1)
        self.assertIn('the blocks of lines 9 and 13 both fit', result.stderr)
        self.assertEqual(self.repository.text(), page)

    def test_a_benchmark_that_prints_nothing_or_a_marker_changes_nothing(self):
        (self.repository.folder / 'bench.py').write_text('#!/bin/sh\n')
        self.assert_refused(self.repository.measure('./bench.py'), 'printed nothing')
        (self.repository.folder / 'bench.py').write_text(BENCH)
        self.assert_refused(self.repository.measure('./bench.py', 'marker'), 'like a marker')

    def test_a_command_without_a_block_is_refused_before_it_runs(self):
        result = self.repository.measure('./other.py')
        self.assert_refused(result, 'no block', './bench.py --threads 2', '<!-- written by: ./other.py -->')

    def test_a_program_that_is_not_there_changes_nothing(self):
        (self.repository.folder / 'bench.py').unlink()
        self.assert_refused(self.repository.measure('./bench.py'), 'cannot be run', 'No such file')

    def test_tables_of_markdown_are_not_fenced(self):
        self.assertEqual(self.repository.measure('./bench.py', 'markdown', 'peers').returncode, 0)
        text = block(self.repository.text(), 0)
        self.assertIn('```\na table of markdown peers\n```\n\n| shape | ms |\n| --- | --- |\n| C6 | 1.5 |\n\n```\nAMD',
                      text)
        self.assertIn('| beside | ONNX Runtime 1.30.0, oneDNN 2.6.3 |', text)

    def test_what_is_said_of_peers_and_fences_in_the_output_are_kept(self):
        result = self.repository.run(self.repository.page, '--beside', 'OpenBLAS 0.3.21', '--', './bench.py', 'ticks')
        self.assertEqual(result.returncode, 0, result.stderr)
        text = block(self.repository.text(), 0)
        self.assertIn('| beside | OpenBLAS 0.3.21 |', text)
        self.assertTrue(text.endswith('\n````\na table of ticks\n```\n````\n\n'), text)

    def test_changes_of_code_are_said_and_those_of_pages_are_none(self):
        (self.repository.folder / 'tests' / 'README.md').write_text('new\n')
        (self.repository.folder / 'docs' / 'chart.svg').write_text('new\n')
        (self.repository.folder / 'bests.db').write_text('new\n')
        self.assertEqual(self.repository.measure('./bench.py').returncode, 0)
        self.assertIn(f', {self.repository.head} |', self.repository.text())
        self.assertEqual(self.repository.measure('./bench.py').returncode, 0, 'the page itself is changed now')
        self.assertIn(f', {self.repository.head} |', self.repository.text())
        (self.repository.folder / 'tests' / 'bench' / 'new.cc').write_text('int a;\n')
        self.assertEqual(self.repository.measure('./bench.py').returncode, 0)
        self.assertIn(f', {self.repository.head} and changes |', self.repository.text())

    def test_paths_are_written_from_the_root(self):
        result = self.repository.measure(f'{self.repository.folder}/./bench.py', f'--db={self.repository.folder}/b.db')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('| command | `./bench.py --db=b.db` |', self.repository.text())

    def test_again_runs_what_the_markers_say(self):
        result = self.repository.run('--again', self.repository.page)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('`./bench.py`', block(self.repository.text(), 0))
        self.assertIn('`./bench.py --threads 2`', block(self.repository.text(), 1))
        self.assertEqual(self.repository.run('--check').returncode, 0)

    def test_again_goes_on_after_one_that_fails(self):
        page = PAGE.replace('bench.py -->', 'bench.py fails -->')
        self.repository.page.write_bytes(page.encode())
        result = self.repository.run('--again', self.repository.page)
        self.assertEqual(result.returncode, 1)
        self.assertIn('ended with 3', result.stderr)
        self.assertEqual(block(self.repository.text(), 0), '')
        self.assertIn('a table of --threads 2', block(self.repository.text(), 1))

    def test_a_program_of_a_build_folder_is_brought_up_to_date(self):
        build = self.repository.folder / 'build'
        (build / 'bin').mkdir(parents=True)
        (build / 'CMakeCache.txt').write_text('nothing\n')
        shutil.copy(self.repository.folder / 'bench.py', build / 'bin' / 'bench.py')
        self.assert_refused(self.repository.measure('build/bin/bench.py'), 'cannot be brought up to date')
        result = self.repository.run(self.repository.page, '--as-built', '--', 'build/bin/bench.py')
        self.assertEqual(result.returncode, 0, result.stderr)


class Reports(InRepository):
    """gpu-check's, which are files."""

    def setUp(self):
        super().setUp()
        self.report = {'complete': True, 'machine': 'a GPU, driver 1.2', 'date': '2026-11-30', 'commit': 'abc1234',
                       'command': f'gpu-check --output {self.repository.folder}/out'}
        self.repository.page.write_text('# GPUs\n\n<!-- written by: deploy/gpu-check -->\n<!-- end -->\n')

    def take(self, report):
        out = self.repository.folder / 'out'
        out.mkdir(exist_ok=True)
        (out / 'report.json').write_text(json.dumps(report))
        (out / 'report.md').write_text('# gpu-check\n\n' + 'word ' * 40 + '\n\n## f32\n\n| | ms |\n| --- | --- |\n'
                                       '| C6 | 1.5 |\n')
        return self.repository.run(self.repository.page, '--from', out)

    def test_a_report_says_its_machine_date_commit_and_command(self):
        result = self.take(self.report)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.repository.text()
        for row in ('machine | a GPU, driver 1.2', 'date, commit | 2026-11-30, abc1234',
                    'command | `gpu-check --output out`'):
            self.assertIn(f'| {row} |\n', text)
        self.assertTrue(text.endswith('## f32\n\n| | ms |\n| --- | --- |\n| C6 | 1.5 |\n\n<!-- end -->\n'), text)
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        self.assertNotIn('# gpu-check', text)

    def test_a_report_that_is_not_complete_or_old_is_refused(self):
        before = self.repository.text()
        for change, said in (({'complete': False}, 'not complete'), ({'commit': None}, 'does not say its commit')):
            result = self.take({**self.report, **change})
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)
        (self.repository.folder / 'out' / 'report.json').unlink()
        result = self.repository.run(self.repository.page, '--from', self.repository.folder / 'out')
        self.assertIn('no report of gpu-check', result.stderr)
        self.assertEqual(self.repository.text(), before)


class Check(InRepository):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.repository.run('--again', self.repository.page).returncode, 0)
        self.good = self.repository.text()

    def said_of(self, text):
        self.repository.page.write_bytes(text.encode())
        return self.repository.run('--check', self.repository.page)

    def assert_told(self, old, new, what):
        self.assertIn(old, self.good)
        result = self.said_of(self.good.replace(old, new, 1))
        self.assertEqual(result.returncode, 1, f'{new!r} is not told')
        self.assertIn(what, result.stderr)
        self.assertRegex(result.stderr, r'(?m)^docs/measured/things.md:\d+: ')

    def test_says_which_blocks_are_well_formed(self):
        result = self.said_of(self.good)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertRegex(result.stdout, r'^docs/measured/things.md:9: ./bench.py\n'
                                        r'docs/measured/things.md:\d+: ./bench.py --threads 2\n$')

    def test_tells_malformed_markers(self):
        first = '<!-- written by: ./bench.py -->'
        for old, new, what in ((first, '<!-- written by ./bench.py -->', 'no marker'),
                               (first, f' {first}', 'no marker'),
                               (first, '', '<!-- end --> without a beginning'),
                               (first, '<!-- written by: ./bench.py "a -->', 'cannot be read'),
                               ('<!-- end -->', '<!-- End -->', 'no marker'),
                               ('<!-- end -->', '', 'no <!-- end --> follows before line')):
            self.assert_told(old, new, what)
        result = self.said_of(self.good[:self.good.rindex('<!-- end -->')])
        self.assertEqual(result.returncode, 1)
        self.assertIn('no <!-- end --> follows', result.stderr)

    def test_a_page_with_malformed_markers_is_not_written(self):
        bad = self.good.replace('<!-- end -->', '', 1)
        self.repository.page.write_bytes(bad.encode())
        for result in (self.repository.measure('./bench.py'), self.repository.run('--again', self.repository.page)):
            self.assertNotEqual(result.returncode, 0)
            self.assertIn('follows before line', result.stderr)
        self.assertEqual(self.repository.text(), bad)

    def test_tells_stale_markers(self):
        self.assert_told('<!-- written by: ./bench.py -->', '<!-- written by: ./gone.py -->', 'there is no ./gone.py')
        self.assert_told('<!-- written by: ./bench.py -->', '<!-- written by: build/bin/bench_gone -->',
                         'there is no build/bin/bench_gone')
        self.assert_told('by: ./bench.py -->', 'by: ./bench.py --threads 4 -->', 'has no --threads 4')

    def test_tells_heads_without_their_rows(self):
        head = self.repository.head
        for row in ('machine', 'date, commit', 'command'):
            self.assert_told(f'| {row} |', '| other |', f'the head has no row `{row}`')
        self.assert_told(f', {head} |', ', f00dfeed |', 'git knows no commit f00dfeed')
        self.assert_told(f', {head} |', ' |', 'are not like')
        self.assert_told('`./bench.py`', './bench.py', 'not in backticks')
        self.assert_told('```\na table of\n```', '', 'nothing stands below')

    def test_the_pages_of_this_repository_are_well_formed(self):
        pages = [ROOT / 'docs' / 'measured' / f'{name}.md' for name in MEASURED]
        result = subprocess.run([sys.executable, ROOT / 'tests' / 'bench' / 'page.py', '--check', *pages],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        for page in pages:
            self.assertRegex(result.stdout, rf'(?m)^docs/measured/{page.name}:\d+: ')


FAKE_KERNELS = '''#!/usr/bin/env python3
import json, pathlib, sys
words = sys.argv[1:]
seed = words[words.index("--seed") + 1]
log = pathlib.Path(__file__).with_name("log")
log.write_text((log.read_text() if log.exists() else "") + " ".join(words) + "\\n")
if "--tune" in words:
    sys.exit(4 if seed == "9" else 0)
for peers in ({"onednn": 4, "onnxrt": 1}, {"onednn": 4}):
    print(json.dumps({"workload": "conv2d(n=1)", "time_ms": {"tuned": 2, "default": 4, **peers}}))
print(json.dumps({"workload": "dense(m=1)", "time_ms": {"tuned": 1, "default": 2, "openblas": 1.5}}))
print(json.dumps({"workload": "elementwise(n=1)", "time_ms": {"tuned": 1, "default": 1}}))
print(json.dumps({"peak_gflops": 274}))
'''


class RandomShapes(unittest.TestCase):
    """tests/bench/random_shapes.py, the table of kernels, over a program that stands for bench_kernels."""

    def run_seeds(self, seeds):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.log = pathlib.Path(work.name) / 'log'
        fake = pathlib.Path(work.name) / 'bench_kernels'
        fake.write_text(FAKE_KERNELS)
        fake.chmod(0o755)
        return subprocess.run([sys.executable, ROOT / 'tests' / 'bench' / 'random_shapes.py', '--seeds', seeds, '--db',
                               'bench.db'], capture_output=True, text=True, timeout=60,
                              env={**os.environ, 'HONE_BIN_DIR': work.name})

    def test_a_row_has_the_best_peer_of_each_shape(self):
        result = self.run_seeds('1,2')
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual(rows[1:], [['convolutions', '4', '1.00', '0.50', '2'], ['dense', '2', '1.50', '1.50', '-'],
                                    ['all', '6', '1.14', '0.50', '2'],
                                    'tuned kernels take 0.50 of their defaults\' time'.split()])
        calls = self.log.read_text().splitlines()
        self.assertEqual([('--tune' in call, call.split()[3]) for call in calls],
                         [(True, '1'), (True, '2'), (False, '1'), (False, '2')])

    def test_a_seed_that_fails_is_told(self):
        result = self.run_seeds('1,9')
        self.assertEqual((result.returncode, result.stdout), (1, ''))
        self.assertIn('seed 9 ended with 4', result.stderr)


if __name__ == '__main__':
    unittest.main()
