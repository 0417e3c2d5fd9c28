"""Whether the blocks of pages are well formed."""

import collections
import pathlib
import re
import shlex
import sys

from pages.blocks import parse, read
from pages.head import ROOT, git, is_in_git

DATE_COMMIT = re.compile(r"(\d{4}-\d\d-\d\d), ([0-9a-f]{7,40})\b")


def made_here(program):
    """Whether a marker's program is a file of the repository, or one that its build makes."""
    if not program.startswith("build"):
        return (ROOT / program).is_file()
    target = re.compile(rf"add_executable\({re.escape(pathlib.Path(program).name)}\s")
    lists = [path for pattern in ("*.cmake", "CMakeLists.txt") for path in (ROOT / "tests").rglob(pattern)]
    return any(target.search(path.read_text()) for path in lists)


def words_of(command):
    return command.replace("`", " ").split()


def complaints(block, lines, commits_are_known):
    """The faults of a block, whose lines are those between its markers."""
    lines = [line for line in lines if line.strip()]
    rows = {}
    for line in lines:
        row = re.fullmatch(r"\| ([^|]+?) \|(?: (.*?))? \|", line)
        if not row:
            break
        rows[row[1]] = (row[2] or "").replace("\\|", "|")
    if not made_here(block.command[0]):
        yield f"the marker is stale: there is no {block.command[0]}"
    for name in ("machine", "date, commit", "command"):
        if not rows.get(name):
            yield f"the head has no row `{name}`"
    dated = DATE_COMMIT.match(rows.get("date, commit", ""))
    if rows.get("date, commit") and not dated:
        yield "its date and commit are not like `2026-01-31, 1234abcd`"
    if dated and commits_are_known and git("cat-file", "-e", f"{dated[2]}^{{commit}}") is None:
        yield f"git knows no commit {dated[2]}"
    command = rows.get("command", "")
    if command and "`" not in command:
        yield "its command is not in backticks"
    named = collections.Counter([block.program, *words_of(shlex.join(block.command[1:]))])
    missing = named - collections.Counter(pathlib.Path(word).name if word.endswith(block.program) else word
                                          for word in words_of(command))
    if command and missing:
        yield f"the marker is stale: its head's command has no {' '.join(missing)}"
    if len(lines) <= len(rows):
        yield "nothing stands below its head"


def check(pages):
    """Says of each block whether it is well formed; 1 if one is not."""
    commits_are_known = is_in_git() and git("rev-parse", "--is-shallow-repository").strip() == "false"
    status = 0
    for page in pages:
        text = read(page)
        lines = text.split("\n")
        blocks, wrong = parse(text)
        name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        for block in blocks:
            found = list(complaints(block, lines[block.first + 1:block.last], commits_are_known))
            wrong += [(block.first, what) for what in found]
            if not found:
                print(f"{name}:{block.first + 1}: {shlex.join(block.command)}")
        if not blocks and not wrong:
            print(f"{name}: no block")
        for number, what in sorted(wrong):
            print(f"{name}:{number + 1}: {what}", file=sys.stderr)
            status = 1
    return status
