#!/usr/bin/env python3
"""Runs a benchmark and writes what it prints into a page of docs/measured: machine, date, commit and command first.

    tests/bench/page.py docs/measured/search.md -- build/bin/bench_search --seeds 20 --searchers xgb prior random
    tests/bench/page.py docs/measured/gpu.md --from build/gpu-check   # what gpu-check found, here or on another machine
    tests/bench/page.py --again docs/measured/search.md               # the commands that the page's markers name
    tests/bench/page.py --check                                       # are the blocks of the pages well formed?

A page has a block for each table, which begins with the line `<!-- written by: COMMAND -->` and ends with the line
`<!-- end -->`. Nothing outside of it is touched. A command belongs to the block whose marker names the same program and
none but words of the command; of several, to the one that names most. The block is replaced, the whole page at once,
when the command has ended with 0; otherwise the page stays as it is. Lines that begin with `|` are Markdown's tables
and are taken as they are, all others are fenced.

Commands run in the root of the repository; their paths begin there. A program of a build folder is brought up to date
first, so that the commit is the one that was measured; of a script, what it calls is built by hand before.
"""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys

from pages.blocks import Refused, block_for, parse, read, replace
from pages.check import check
from pages.head import ROOT, beside_text, commit_text, head, machine_text
from pages.printed import markdown, report_markdown

REPORT = "gpu-check"  # the program whose table is a file and not what it prints


def bring_up_to_date(program):
    """Builds a program that lies in a folder of CMake's."""
    folder = (ROOT / program).parent.parent
    if not (folder / "CMakeCache.txt").is_file():
        return
    command = ["cmake", "--build", str(folder), "--target", pathlib.Path(program).name]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode != 0:
        raise Refused(f"{program} cannot be brought up to date: {shlex.join(command)}")


def run(command):
    """The command's output, which is shown while it comes."""
    try:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    except OSError as error:
        raise Refused(f"{command[0]} cannot be run in {ROOT}: {error.strerror}") from None
    output = b""
    try:
        while piece := os.read(process.stdout.fileno(), 65536):
            output += piece
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        code = process.wait()
    except KeyboardInterrupt:  # the benchmark was sent it, too
        process.wait()
        raise
    if code != 0:
        raise Refused(f"{command[0]} ended with {code}" if code > 0 else f"{command[0]} was ended by signal {-code}")
    return output.decode(errors="replace")


def measure(page, command, options):
    """Runs a benchmark and writes its block."""
    if any("-->" in word or "\n" in word for word in command):
        raise Refused("a command with --> or a new line cannot stand in a marker")
    command = [word.replace(f"{ROOT}/", "") for word in command]
    block_for(page, read(page), command)  # before hours are measured for it
    date, commit = datetime.date.today().isoformat(), commit_text()
    if not options.as_built:
        bring_up_to_date(command[0])
    output = run(command)
    if pathlib.Path(command[0]).name == REPORT:
        folder = command[command.index("--output") + 1] if "--output" in command[:-1] else "build/gpu-check"
        return take_report(page, ROOT / folder, command, options)
    if not output.strip():
        raise Refused(f"{command[0]} printed nothing")
    top = head(machine_text(), date, commit, shlex.join(command), beside_text(output, options.beside))
    replace(page, command, [*top, "", *markdown(output)])


def take_report(page, folder, command, options):
    """Writes the block of gpu-check from the folder of its report, which knows the machine."""
    try:
        report = json.loads((folder / "report.json").read_text())
        text = (folder / "report.md").read_text()
    except (OSError, ValueError) as error:
        raise Refused(f"{folder} has no report of gpu-check: {error}") from None
    if not report.get("complete"):
        raise Refused(f"the report in {folder} is not complete: gpu-check goes on when it is called again")
    missing = [key for key in ("machine", "date", "commit", "command") if not report.get(key)]
    if missing:
        raise Refused(f"the report in {folder} does not say its {', '.join(missing)}: an older gpu-check wrote it")
    said = report["command"].replace(f"{ROOT}/", "").strip()
    top = head(report["machine"], report["date"], report["commit"], said, beside_text(text, options.beside))
    replace(page, command, [*top, "", *report_markdown(text)])


def again(pages, options):
    """Runs the commands of all markers; one that fails does not keep the others from it."""
    status = 0
    for page in pages:
        blocks, wrong = parse(read(page))
        if wrong:
            raise Refused(f"{page}:{wrong[0][0] + 1}: {wrong[0][1]}")
        for block in blocks:
            print(f"{page}: {shlex.join(block.command)}", file=sys.stderr)
            try:
                measure(page, block.command, options)
            except Refused as why:
                print(f"page.py: {why}; {page} is as it was", file=sys.stderr)
                status = 1
    return status


def main():
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="page.py PAGE [--beside TEXT] [--as-built] -- COMMAND…\n       page.py PAGE --from DIR\n"
              "       page.py --again PAGE…\n       page.py --check [PAGE…]")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--from", dest="folder", type=pathlib.Path, metavar="DIR",
                        help="take gpu-check's report from this folder")
    parser.add_argument("--again", action="store_true", help="run the commands of the pages' markers")
    parser.add_argument("--check", action="store_true", help="write nothing; are the blocks well formed?")
    parser.add_argument("--beside", metavar="TEXT", help="peers' versions that the benchmark does not print")
    parser.add_argument("--as-built", action="store_true", help="do not bring the program up to date first")
    options, command = parser.parse_args(words[:split]), words[split + 1:]
    if sum([options.check, options.again, options.folder is not None, bool(command)]) != 1:
        parser.error("one of: a command behind --, --from, --again, --check")
    pages = [page.resolve() for page in options.pages]
    if options.check and not pages:
        pages = sorted((ROOT / "docs" / "measured").glob("*.md"))
    if not pages or ((command or options.folder) and len(pages) != 1):
        parser.error("one page is written at a time")
    for page in pages:
        if not page.is_file():
            parser.error(f"there is no page {page}")
    if options.check:
        return check(pages)
    if options.again:
        return again(pages, options)
    try:
        if options.folder:
            take_report(pages[0], options.folder, [REPORT], options)
        else:
            measure(pages[0], command, options)
    except Refused as why:
        print(f"page.py: {why}; {pages[0]} is as it was", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
