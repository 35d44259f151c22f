# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Markdown line by line, as far as to know what is text, what is code, and how deep in lists it stands."""
import re


def read_lines(text):
    """Yields (kind, number, depth, rest) of each line: its kind is "prose", "code" (indented by four), "fence" (the line that opens
    or closes fenced code) or "fenced"; rest is the line without the indentation of the depth lists that it stands in."""
    fence, levels, blank, in_code = None, [], True, False
    for number, line in enumerate(text.split("\n"), 1):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            yield ("fenced" if fence else "prose"), number, 0, ""
            blank = True
            continue
        starts_item = re.match(r" *([-*]|\d+\.) ", line)
        if not fence:
            # A line that stands less deep ends a list, but for the lazy rest of a paragraph.
            while levels and indent < levels[-1] and (blank or starts_item or line.startswith("#")):
                levels.pop()
        depth = len(levels) if indent >= (levels[-1] if levels else 0) else 0
        rest = line[levels[-1]:] if depth else line
        deeper = len(rest) - len(rest.lstrip(" "))
        marker = re.match(r" *(```+|~~~+)", rest)
        if marker and (not fence or marker[1].startswith(fence)):
            fence = None if fence else marker[1]
            yield "fence", number, depth, rest
        elif fence:
            yield "fenced", number, depth, rest
        elif deeper >= 4 and (blank or in_code):
            in_code, blank = True, False
            yield "code", number, depth, rest
            continue
        else:
            yield "prose", number, depth, rest
            item = re.match(r" *([-*]|\d+\.) +", rest)
            if item and deeper < 4:
                levels = levels[:depth] + [(levels[depth - 1] if depth else 0) + len(item[0])]
        blank = in_code = False
