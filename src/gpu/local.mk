# SPDX-License-Identifier: GPL-2.0-or-later
# How many units of a graphics processor a program needs: poppa gpu.
noinst_LTLIBRARIES += libgpu.la
libgpu_la_SOURCES = \
	src/gpu/gpu_amd.c src/gpu/gpu_amd.h \
	src/gpu/gpu_curve.c src/gpu/gpu_curve.h \
	src/gpu/gpu_decide.c src/gpu/gpu_decide.h \
	src/gpu/gpu_energy.c src/gpu/gpu_energy.h \
	src/gpu/gpu_kept.c src/gpu/gpu_kept.h \
	src/gpu/gpu_power.c src/gpu/gpu_power.h \
	src/gpu/gpu_way.c src/gpu/gpu_way.h
libgpu_la_LIBADD = libcolumns.la -ldl -lm
