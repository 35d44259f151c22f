#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every command in the documents and on the site: a test runs it, or its parts are what the programs know.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}" "${POPPAD:?is the daemon to test}" "${PARSE:?parses settings and options}"
needs python3

here=$(cd "$(dirname "$0")" && pwd)
python3 "$here/commands.py" "$here/../.." "$here/commands.list"
