/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws the page of poppa top with ncurses, without colours. */
#include "cli/live/top_screen.h"

#include <curses.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

static SCREEN *screen;
static int scrolled; /* number of jobs that are scrolled away at the top */

int top_screen_open(struct errmsg *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return errmsg_set(err, "this is no terminal: use --batch");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return errmsg_set(err, "TERM=%s is no terminal that is known here: use --batch",
			term ? term : "");
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	return 0;
}

void top_screen_close(void)
{
	endwin();
	delscreen(screen);
	screen = NULL;
}

static void draw_line(int y, const char *line, size_t len, attr_t attributes)
{
	int width = getmaxx(stdscr);

	if (attributes)
		attron(attributes);
	mvaddnstr(y, 0, line, len < (size_t)width ? (int)len : width);
	for (int x = (int)len; attributes && x < width; x++)
		addch(' ');
	if (attributes)
		attroff(attributes);
}

void top_screen_draw(const struct top_page *page, const char *note)
{
	int height = getmaxy(stdscr), y = 0, n = 0, rows = 0, room;
	const char *line = page->text;

	for (const char *p = page->text; p && *p; p++)
		rows += *p == '\n';
	rows -= page->head;
	room = height - page->head - (note ? 1 : 0);
	if (scrolled > rows - room)
		scrolled = rows - room;
	if (scrolled < 0)
		scrolled = 0;
	erase();
	for (; line && *line && y < height; n++) {
		size_t len = strcspn(line, "\n");

		if (n < page->head || n >= page->head + scrolled)
			draw_line(y++, line, len, n == page->head - 1 ? A_REVERSE : A_NORMAL);
		line += len + (line[len] == '\n');
	}
	if (note)
		draw_line(height - 1, note, strlen(note), A_REVERSE);
	refresh();
}

/* After a hang-up every read returns at once, so waiting for a key would spin. */
static bool hung_up(void)
{
	struct pollfd p = {.fd = STDIN_FILENO};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

enum top_key top_screen_wait(const struct top_page *page, const char *note, int ms)
{
	int64_t deadline = clock_now_ms() + ms;

	for (;;) {
		int64_t left = deadline - clock_now_ms();
		int page_rows = getmaxy(stdscr) - page->head - 1;

		timeout(left > 0 ? (int)left : 0);
		switch (getch()) {
		case ERR:
			if (hung_up())
				return TOP_QUIT;
			if (clock_now_ms() >= deadline)
				return TOP_TIMEOUT;
			continue; /* a signal ended the wait */
		case 'q':
		case 'Q':
			return TOP_QUIT;
		case ' ':
		case '\r':
		case KEY_ENTER:
			return TOP_AGAIN;
		case KEY_UP:
			scrolled--;
			break;
		case KEY_DOWN:
			scrolled++;
			break;
		case KEY_PPAGE:
			scrolled -= page_rows;
			break;
		case KEY_NPAGE:
			scrolled += page_rows;
			break;
		case KEY_HOME:
			scrolled = 0;
			break;
		default: /* also KEY_RESIZE */
			break;
		}
		top_screen_draw(page, note);
	}
}
