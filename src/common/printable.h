/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes texts that users chose, such as job names, safe to show. */
#pragma once

/*
 * Replaces, in place, each byte that is not UTF-8, each control character and each character that
 * turns the direction of writing by "?": what is left can neither steer a terminal nor make a line
 * look like another, and JSON takes it. The text never grows. Returns text.
 */
char *plain_text(char *text);
