#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes configure and the Makefile.in files from a fresh checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-portability
