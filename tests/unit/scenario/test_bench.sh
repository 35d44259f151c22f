#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The benches' arithmetic, tables and verdicts, on a cluster that is made up. TAP; run by "make check".
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-..}/tests/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
# The model is poppa's own.
PATH=$(dirname "${POPPA:-$PWD/poppa}"):$PATH PYTHONDONTWRITEBYTECODE=1 exec python3 "${srcdir:-..}/tests/bench/made_up.py"
