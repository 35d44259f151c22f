/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes texts that users chose, such as job names, safe to show. */
#pragma once

/*
 * Replaces by "?", in place, each byte that is not UTF-8, each control character and each character
 * that changes the direction of writing. The result cannot steer a terminal or make a line look
 * like another, and JSON takes it. The text never grows. Returns text.
 */
char *plain_text(char *text);
