# SPDX-License-Identifier: GPL-2.0-or-later
# The site: its first pages, and what makes it of all documents.
dist_doc_DATA += docs/index.md docs/run.md docs/use.md docs/measurable.md docs/change.md
EXTRA_DIST += mkdocs.yml docs/site/stage.py docs/site/markdown_lines.py docs/site/check.py docs/site/site.css

# Not made by "make all": it needs mkdocs. The pages go to site-pages/ first, as they are in the tree in many places.
site:
	@command -v mkdocs >/dev/null || { echo "make site needs mkdocs with its theme material: contrib/sandbox/install-deps --site installs them" >&2; exit 1; }
	@command -v mandoc >/dev/null || { echo "make site needs mandoc: contrib/sandbox/install-deps installs it" >&2; exit 1; }
	python3 -B $(top_srcdir)/docs/site/stage.py $(top_srcdir) site-pages
	POPPA_SITE_PAGES=$(abs_top_builddir)/site-pages mkdocs build --quiet --strict --clean -f $(top_srcdir)/mkdocs.yml -d $(abs_top_builddir)/site
	python3 -B $(top_srcdir)/docs/site/check.py site
.PHONY: site
clean-local:
	rm -rf site site-pages
