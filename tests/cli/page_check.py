# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks a page of "poppa report" or "poppa trial": well-formed, on its own, its tables and plots named, its colours readable."""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "line", "rect", "br", "circle", "polyline"}
faults = []


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.refs, self.style = [], [], [], ""
        self.seen, self.names = {}, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"}:
            faults.append(f"<{tag}>")
        for name, value in attrs.items():
            if name.startswith("on") or name in {"src", "href", "style"}:
                faults.append(f"{name}={value}")
        if "id" in attrs:
            self.ids.append(attrs["id"])
        self.refs += attrs.get("aria-labelledby", "").split()
        if tag == "th" and attrs.get("scope") not in {"col", "row"}:
            faults.append("a th without scope")
        if tag == "svg" and (attrs.get("role") != "img" or "aria-labelledby" not in attrs):
            faults.append("an svg without a role or a name")
        if tag == "table":
            self.names.append(None)
        if "scroll" in attrs.get("class", "") and not (attrs.get("aria-label") and attrs.get("tabindex") == "0"):
            faults.append("a scrolling region without a name or out of the keyboard's reach")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            faults.append(f"</{tag}> is out of place")

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        if "caption" in self.open:
            self.names[-1] = data


def luminance(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * c for c in colour[1:])
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    a, b = sorted((luminance(a), luminance(b)))
    return (b + 0.05) / (a + 0.05)


def check_colours(name, css):
    """WCAG 2.1 AA: 4.5 for text, 3 for what plots are made of."""
    v = dict(re.findall(r"--([\w-]+):(#\w+)", css))
    for text in ("fg", "soft", "link"):
        for ground in ("bg", "stripe"):
            if contrast(v[text], v[ground]) < 4.5:
                faults.append(f"{name}: {text} on {ground} {contrast(v[text], v[ground]):.2f}")
    for answer in ("good", "bad", "open"):
        if contrast(v[answer], v["stripe"]) < 4.5:
            faults.append(f"{name}: {answer} on stripe {contrast(v[answer], v['stripe']):.2f}")
    for part in ("charged", "thesis", "raw-edge", "fg"):
        if contrast(v[part], v["bg"]) < 3:
            faults.append(f"{name}: {part} on the page {contrast(v[part], v['bg']):.2f}")
    heat = re.findall(r"\.h(\d)\{background:(#\w+);color:(#\w+)\}", css)
    if len(heat) != 7:
        faults.append(f"{name}: {len(heat)} colours of the map")
    shades = re.findall(r"\.(loss\d|even|gain\d|lane\d)\{fill:(#\w+)", css)
    if len(shades) != 8:
        faults.append(f"{name}: {len(shades)} shades of gains and lanes")
    for shade, ground in shades:
        if contrast(v["fg"], ground) < 4.5:
            faults.append(f"{name}: text on {shade} {contrast(v['fg'], ground):.2f}")
    for level, ground, text in heat:
        if contrast(text, ground) < 4.5:
            faults.append(f"{name}: h{level} {contrast(text, ground):.2f}")


text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
page.close()
if page.open:
    faults.append(f"{page.open} are not closed")
if len(set(page.ids)) != len(page.ids):
    faults.append("an id is there twice")
faults += [f"{r} names nothing" for r in page.refs if r not in page.ids]
faults += ["a table without a caption" for n in page.names if not n]
if re.search(r"(https?:)?//|@import|url\(", page.style):
    faults.append("the style needs the network")
dark = "".join(re.findall(r"prefers-color-scheme:dark\)\{(.*?\})\}", page.style))
light = page.style.split("@media screen", 1)[0] + "".join(re.findall(r"(?<!\{)\.(?:h\d|loss\d|even|gain\d|lane\d)\{[^}]*\}", re.sub(
    r"@media screen and \(prefers-color-scheme:dark\)\{.*?\}\}", "", page.style)))
check_colours("light", light)
check_colours("dark", dark)
print("\n".join(faults) or f"good: {page.seen.get('table', 0)} tables, {page.seen.get('svg', 0)} plots")
