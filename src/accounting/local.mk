# SPDX-License-Identifier: GPL-2.0-or-later
# What is measured and what is charged: records, prices, the ledger and its daemon, bills.
include src/accounting/record/local.mk
include src/accounting/ledgerd/local.mk
include src/accounting/settle/local.mk
include src/accounting/bill/local.mk
