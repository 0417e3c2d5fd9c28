"""The output of a benchmark, as Markdown."""

import re
import textwrap

COLUMNS = 120


def fenced(lines):
    longest = max([2, *(len(ticks) for line in lines for ticks in re.findall(r"`+", line))])
    return ["`" * (longest + 1), *lines, "`" * (longest + 1)]


def markdown(output):
    """Tables of Markdown as they are, all other text fenced."""
    lines = [line.rstrip().expandtabs() for line in output.strip("\n").splitlines()]
    parts, text = [], []
    for line in [*lines, "|"]:
        if not line.startswith("|"):
            text.append(line)
            continue
        while text and not text[0]:
            del text[0]
        while text and not text[-1]:
            del text[-1]
        if text:
            parts += ["", *fenced(text), ""]
        text = []
        parts.append(line)
    parts.pop()
    return "\n".join(parts).strip("\n").splitlines()


def report_markdown(text):
    """A report that is Markdown: without its title, and its sentences wrapped as those of pages."""
    lines = []
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        wraps = not line.startswith("|") and len(line) > COLUMNS
        lines += textwrap.wrap(line, COLUMNS, break_long_words=False, break_on_hyphens=False,
                               subsequent_indent="  " if line.startswith("- ") else "") if wraps else [line.rstrip()]
    return "\n".join(lines).strip("\n").splitlines()
