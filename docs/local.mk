# SPDX-License-Identifier: GPL-2.0-or-later
# Documents that are shipped and installed.
dist_doc_DATA += docs/architecture.md
dist_doc_DATA += docs/counters.md
dist_doc_DATA += docs/farm.md docs/gpu.md docs/mapping.md
dist_doc_DATA += docs/glossary.md
dist_doc_DATA += docs/horton.md
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
EXTRA_DIST += docs/partners.md docs/pictures/render docs/pictures/top.svg docs/pictures/pages \
	docs/pictures/report-light.png docs/pictures/report-dark.png docs/pictures/trial-light.png docs/pictures/trial-dark.png
include docs/site/site.mk
