# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the built site: each link leads to a page and to a place in it, nothing comes from another host, all can be searched.

    check.py SITE
"""
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, by tag.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data", "video": "src", "audio": "src"}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload", "manifest"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.fetched, self.headings, self.style, self.faults = set(), [], [], 0, "", []
        self.in_style = False

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        if attrs.get("id"):
            self.ids.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "h1":
            self.headings += 1
        if tag == "img" and not attrs.get("alt"):
            self.faults.append(f"the picture {attrs.get('src')} has no text")
        if tag == "link" and FETCHED_LINKS & set(attrs.get("rel", "").split()):
            self.fetched.append(attrs.get("href", ""))
        if tag in FETCHED and FETCHED[tag] in attrs:
            self.fetched.append(attrs[FETCHED[tag]])
        if "srcset" in attrs:
            self.fetched += [part.split()[0] for part in attrs["srcset"].split(",") if part.strip()]
        self.in_style = tag == "style"
        self.style += attrs.get("style", "") + "\n"

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, data):
        if self.in_style:
            self.style += data


def foreign(address):
    return bool(re.match(r"([a-z]+:)?//", address)) and not address.startswith("data:")


def check(site):
    faults, pages, links = [], {}, 0
    for path in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.relative_to(site).as_posix()] = page
    for name, page in pages.items():
        faults += [f"{name}: {fault}" for fault in page.faults]
        if page.headings != 1 and name != "404.html":
            faults.append(f"{name} has {page.headings} titles")
        faults += [f"{name} fetches {a}" for a in page.fetched + re.findall(r"url\(['\"]?([^'\")]*)", page.style) if foreign(a)]
        for address in page.links + page.fetched:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = unquote(parts.path)
            base = "" if target.startswith("/") else os.path.dirname(name)
            full = os.path.normpath(os.path.join(base, target.lstrip("/"))) if target else name
            if (site / full).is_dir():
                full = os.path.normpath(os.path.join(full, "index.html"))
            if not (site / full).is_file():
                faults.append(f"{name} leads to {address}, which is not there")
            elif parts.fragment and full in pages and unquote(parts.fragment) not in pages[full].ids:
                faults.append(f"{name} leads to {address}: {full} has no such place")
    for path in site.rglob("*.css"):
        faults += [f"{path.relative_to(site)} fetches {a}" for a in re.findall(r"url\(['\"]?([^'\")]*)", path.read_text(encoding="utf-8")) if foreign(a)]
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    searched = {entry["location"].split("#")[0] or "index.html" for entry in index["docs"] if entry["text"].strip()}
    faults += [f"{name} cannot be searched" for name in pages if name != "404.html" and name not in searched]
    return faults, len(pages), links


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("Usage: check.py SITE", file=sys.stderr)
        sys.exit(2)
    wrong, page_count, link_count = check(Path(sys.argv[1]))
    print("\n".join(wrong) or f"{page_count} pages, {link_count} links: each leads somewhere, and nothing comes from another host",
          file=sys.stderr if wrong else sys.stdout)
    sys.exit(1 if wrong else 0)
