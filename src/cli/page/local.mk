# SPDX-License-Identifier: GPL-2.0-or-later
# Pages of HTML: each has its own file of HTML and shares the style, and is put into one string constant.
poppa_SOURCES += \
	src/cli/page/page_axis.c src/cli/page/page_axis.h \
	src/cli/page/page_template.c src/cli/page/page_template.h
# What writes a page without the rest of the command.
PAGE_SOURCES = \
	src/cli/page/page_axis.c \
	src/cli/page/page_template.c \
	src/cli/ask/number_text.c \
	src/cli/ask/shorten_text.c \
	src/cli/ask/value_text.c

# Makes a string constant of the style and of a page's own file of HTML.
EMBED_PAGE = $(AWK) -f $(srcdir)/src/cli/page/embed.awk
PAGE_STYLE = src/cli/page/page.css
EXTRA_DIST += $(PAGE_STYLE) src/cli/page/embed.awk
