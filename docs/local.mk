# SPDX-License-Identifier: GPL-2.0-or-later
# Documents that are shipped and installed.
dist_doc_DATA += docs/architecture.md
dist_doc_DATA += docs/counters.md
dist_doc_DATA += docs/glossary.md
dist_doc_DATA += docs/install.md
dist_doc_DATA += docs/operations.md
dist_doc_DATA += docs/packages.md
dist_doc_DATA += docs/pricing.md
dist_doc_DATA += docs/promise.md
dist_doc_DATA += docs/remove.md
dist_doc_DATA += docs/security.md
dist_doc_DATA += docs/shutter.md
dist_doc_DATA += docs/turns.md
dist_doc_DATA += docs/striping.md
dist_doc_DATA += docs/submissions.md
dist_doc_DATA += docs/upgrade.md
# The pictures in README.md and on the site, and what makes them.
EXTRA_DIST += docs/partners.md docs/pictures/render docs/pictures/pages docs/pictures/top.svg \
	docs/pictures/trial-light.png docs/pictures/trial-dark.png docs/pictures/report-light.png docs/pictures/report-dark.png
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
