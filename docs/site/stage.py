# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the folder of pages that mkdocs turns into the site: documents, manual pages and examples of the tree.

    stage.py TREE FOLDER

Documents stay where readers of the tree find them, and their links lead to files of the tree. Here each gets its place in the
site, links are turned to it, and what is no Markdown becomes Markdown. A link to a file that has no page is an error, and so is
a page without a place in the navigation.
"""
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from markdown_lines import read_lines

# What generated examples and manual pages say where the system's own directories are used.
DIRECTORIES = {
    "prefix": "/usr", "bindir": "/usr/bin", "sbindir": "/usr/sbin", "libdir": "/usr/lib", "sysconfdir": "/etc",
    "localstatedir": "/var", "pkglibexecdir": "/usr/libexec/poppa", "docdir": "/usr/share/doc/poppa", "datadir": "/usr/share",
}
PICTURES = {".svg", ".png"}


def find_sources(tree):
    """Returns {path in the tree: path in the site} of all that the site has."""
    found = {"CONTRIBUTING.md": "contributing.md", "PLATFORMS.md": "platforms.md", "NEWS": "news.md", "COPYING": "files/COPYING.md"}
    for path in sorted((tree / "docs").rglob("*")):
        name = path.relative_to(tree).as_posix()
        if path.suffix == ".md" or path.suffix in PICTURES or path.suffix == ".css":
            found[name] = name[len("docs/"):]
    for path in sorted(tree.glob("contrib/*/README.md")) + [tree / "tests/integration/README.md"]:
        name = path.relative_to(tree).as_posix()
        found[name] = name[: -len("/README.md")] + ".md"
    for path in sorted((tree / "etc").glob("*.example*")):
        found[path.relative_to(tree).as_posix()] = f"files/{path.name.removesuffix('.in')}.md"
    for path in sorted((tree / "src").rglob("*.[1-8]")) + sorted((tree / "src").rglob("*.[1-8].in")):
        found[path.relative_to(tree).as_posix()] = f"man/{path.name.removesuffix('.in')}.md"
    return found


class Stage:
    def __init__(self, tree, folder):
        self.tree, self.folder = tree, folder
        self.sources = find_sources(tree)
        # Documents link to what a build makes of NAME.in, and to the README, whose place the first page takes.
        self.targets = {path.removesuffix(".in"): place for path, place in self.sources.items()}
        self.targets.update(self.sources)
        self.targets["README.md"] = "index.md"
        self.manuals = {Path(place).stem: place for place in self.sources.values() if place.startswith("man/")}
        self.errors = []

    def link(self, source, target):
        """Turns a link of a document of the tree to the place in the site, both relative."""
        path, sign, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return target
        full = os.path.normpath(os.path.join(os.path.dirname(source), path))
        place = self.targets.get(full)
        if place is None:
            self.errors.append(f"{source} links to {path}, which is not in the site: name it as `{full}` instead")
            return target
        return os.path.relpath(place, os.path.dirname(self.sources[source]) or ".") + sign + anchor

    def link_manuals(self, pattern, text, place, write):
        """Gives write() each name of another manual page that the pattern finds as NAME and SECTION, and that page."""
        def one(match):
            page = self.manuals.get(f"{match[1]}.{match[2]}")
            return match[0] if page is None or page == place else write(match[0], page)
        return re.sub(pattern, one, text)

    def manual_links(self, text, place):
        """Links names such as poppad(8), but not those that are links already."""
        return self.link_manuals(r"(?<![\w\[./-])([a-z][\w.-]*)\(([1-8])\)", text, place, lambda name, page:
                                 f"[{name}]({os.path.relpath(page, os.path.dirname(place) or '.')})")

    def prose(self, source, text):
        """Links in one line of a document; what stands between backquotes stays as it is."""
        text = re.sub(r"(\]\()([^)\s]+)(\))", lambda m: m[1] + self.link(source, m[2]) + m[3], text)
        # A picture NAME-light.png has a twin NAME-dark.png; the theme shows the one that suits the page.
        text = re.sub(r"!\[([^]]*)\]\(([^)#]+)-light\.png\)",
                      r"![\1](\2-light.png#only-light)![\1](\2-dark.png#only-dark)", text)
        parts = re.split(r"(`+[^`]*`+)", text)
        return "".join(p if i % 2 else self.manual_links(p, self.sources[source]) for i, p in enumerate(parts))

    def document(self, source, text):
        """A document of the tree as a page: without its licence's line, lists indented by four as Python-Markdown wants it."""
        out = []
        for kind, _, depth, rest in read_lines(re.sub(r"\A<!-- SPDX[^\n]*-->\n", "", text)):
            moved = "    " * depth + rest if rest.strip() else ""
            out.append(self.prose(source, moved) if kind == "prose" else moved)
        return "\n".join(out)

    def read(self, source):
        """A file as it is installed: with the usual directories where it is made by make."""
        text = (self.tree / source).read_text(encoding="utf-8")
        return re.sub(r"@(\w+)@", lambda m: DIRECTORIES[m[1]], text) if source.endswith(".in") else text

    def manual(self, source):
        """A manual page: its headings as Markdown, so that they are in the search and in the page's contents; else HTML."""
        text = self.read(source)
        made = subprocess.run(["mandoc", "-Thtml", "-Ofragment"], input=text, capture_output=True, text=True, check=True).stdout
        body = re.search(r'<div class="manual-text">\n(.*)</div>\n<table class="foot">', made, re.S)[1]
        body = re.sub(r"</?section[^>]*>\n?", "", body)
        place = self.sources[source]
        name = Path(place).stem
        title, section = name.rsplit(".", 1)
        out = [f"# {title}({section})\n".replace("_", r"\_")]
        for part in re.split(r'(?=<h[12] class="S[hs]")', body):
            heading = re.match(r'<h([12]) class="S[hs]" id="([^"]*)">(.*?)</h[12]>\n?', part, re.S)
            if heading:
                words = " ".join(html.unescape(re.sub(r"<[^>]*>", "", heading[3])).split())
                part = part[heading.end():]
                # "poppa lanes [--lanes N] ...": the whole line is too long for a table of contents.
                short = re.match(r"poppa [a-z]+(?= )", words)
                if short:
                    part = f'<p class="synopsis"><code>{html.escape(words)}</code></p>\n' + part
                    words = short[0]
                words = re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", words)
                out.append(f"{'#' * (int(heading[1]) + 1)} {words} {{#{heading[2]}}}\n")
            if part.strip():
                out.append(f'<div class="man">\n{self.link_names(part, place)}</div>\n')
        return "\n".join(out)

    def link_names(self, text, place):
        """Links the names of other manual pages, which mandoc sets in bold."""
        return self.link_manuals(r"<b>([\w.-]+)</b>\(([1-8])\)", text, place, lambda name, page:
                                 f'<a href="{Path(page).stem}.html">{name}</a>')

    def listing(self, source):
        """A file as it is."""
        text = self.read(source)
        return f"# {Path(source).name.removesuffix('.in')}\n\n```text\n{text.rstrip()}\n```\n"

    def news(self, source):
        """NEWS is plain text: releases, kinds of changes and subjects become headings."""
        out = ["# News\n"]
        for line in (self.tree / source).read_text(encoding="utf-8").split("\n")[1:]:
            text = re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", line)
            if re.match(r"\d", line):
                out.append(f"\n## {text}\n")
            elif re.fullmatch(r"[A-Z][a-z]+", line):
                out.append(f"\n### {text}\n")
            elif re.match(r"[A-Z]", line):
                out.append(f"\n#### {text}\n")
            else:
                out.append(text)
        return "\n".join(out)

    def navigation(self):
        """Every page has its place in mkdocs.yml; a place without a page is mkdocs' to find."""
        places = set(re.findall(r"[\w./-]+\.md", (self.tree / "mkdocs.yml").read_text(encoding="utf-8")))
        for source, place in self.sources.items():
            if place.endswith(".md") and place not in places:
                self.errors.append(f"{source} has no place in the navigation: name {place} in mkdocs.yml")

    def write(self):
        self.navigation()
        shutil.rmtree(self.folder, ignore_errors=True)
        for source, place in self.sources.items():
            path = self.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            if place.startswith("man/"):
                text = self.manual(source)
            elif place.startswith("files/"):
                text = self.listing(source)
            elif source == "NEWS":
                text = self.news(source)
            elif place.endswith(".md"):
                text = self.document(source, (self.tree / source).read_text(encoding="utf-8"))
            else:
                shutil.copyfile(self.tree / source, path)
                continue
            path.write_text(text, encoding="utf-8")
        for error in self.errors:
            print(error, file=sys.stderr)
        return not self.errors


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("Usage: stage.py TREE FOLDER", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if Stage(Path(sys.argv[1]), Path(sys.argv[2])).write() else 1)
