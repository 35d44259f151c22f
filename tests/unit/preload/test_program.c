/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/preload/program.c: real programs, made-up ones, and files that mean harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/program.h"

#define BASE 0x400000 /* where the made-up program would be in memory */
#define ROUNDS 20000

/* The smallest program that has all that is read. */
static struct image {
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[2];
	ElfW(Dyn) dynamic[6];
	char strings[64];
} image;

static char dir[] = "/tmp/poppa-test-program.XXXXXX", file[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/program", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(dir);
}

static void make_image(const char *library)
{
	memset(&image, 0, sizeof(image));
	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	image.header.e_ident[EI_DATA] =
		*(const char *)&(const uint16_t){1} ? ELFDATA2LSB : ELFDATA2MSB;
	image.header.e_phoff = offsetof(struct image, segment);
	image.header.e_phentsize = sizeof(image.segment[0]);
	image.header.e_phnum = 2;
	image.segment[0].p_type = PT_LOAD;
	image.segment[0].p_vaddr = BASE;
	image.segment[0].p_filesz = sizeof(image);
	image.segment[1].p_type = PT_DYNAMIC;
	image.segment[1].p_offset = offsetof(struct image, dynamic);
	image.segment[1].p_filesz = sizeof(image.dynamic);
	image.dynamic[0].d_tag = DT_NEEDED;
	image.dynamic[0].d_un.d_val = 1;
	image.dynamic[1].d_tag = DT_NEEDED;
	image.dynamic[1].d_un.d_val = 11;
	image.dynamic[2].d_tag = DT_STRTAB;
	image.dynamic[2].d_un.d_ptr = BASE + offsetof(struct image, strings);
	image.dynamic[3].d_tag = DT_STRSZ;
	image.dynamic[3].d_un.d_val = sizeof(image.strings);
	strcpy(image.strings + 1, "libm.so.6");
	snprintf(image.strings + 11, sizeof(image.strings) - 11, "%s", library);
}

static void write_file(const void *data, size_t size)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static enum program_kind kind_of_image(void)
{
	write_file(&image, sizeof(image));
	return program_kind(file);
}

static void libraries(void **state)
{
	static const struct {
		const char *name;
		enum program_kind kind;
	} table[] = {
		{"libmpi.so.40", PROGRAM_OPENMPI},
		{"libmpi.so.20", PROGRAM_OPENMPI},
		{"libmpi_mpifh.so.40", PROGRAM_OPENMPI},
		{"libmpi_usempif08.so.40", PROGRAM_OPENMPI},
		{"libmpich.so.12", PROGRAM_MPICH},
		{"libmpi.so.12", PROGRAM_MPICH},
		{"libmpifort.so.12", PROGRAM_MPICH},
		{"libmpi_gnu_123.so.12", PROGRAM_MPICH},
		{"libmpfr.so.6", PROGRAM_UNKNOWN},
		{"libmpi", PROGRAM_UNKNOWN},
		{"", PROGRAM_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		make_image(table[i].name);
		assert_int_equal(kind_of_image(), table[i].kind);
	}
}

static void programs_of_this_build(void **state)
{
	static const struct {
		const char *file;
		enum program_kind kind;
	} table[] = {
		{"tests/unit/heartbeat/mpi_calls", PROGRAM_OPENMPI},
		{"tests/unit/heartbeat/mpich_calls", PROGRAM_MPICH},
	};

	(void)state;
	assert_int_equal(program_kind("/proc/self/exe"), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind("/bin/sh"), PROGRAM_UNKNOWN);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (access(table[i].file, R_OK))
			print_message("%s is not there: configure found no compiler for that MPI\n",
				table[i].file);
		else
			assert_int_equal(program_kind(table[i].file), table[i].kind);
}

static void other_machines(void **state)
{
	(void)state;
	make_image("libmpi.so.40");
	image.header.e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	assert_int_equal(kind_of_image(), PROGRAM_FOREIGN);
	make_image("libmpi.so.40");
	image.header.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	assert_int_equal(kind_of_image(), PROGRAM_FOREIGN);
}

static void what_is_no_program(void **state)
{
	char fifo[80], unreadable[80];

	(void)state;
	write_file("#!/bin/sh\nexec mpirun ./a\n", 26);
	assert_int_equal(program_kind(file), PROGRAM_UNKNOWN);
	write_file("", 0);
	assert_int_equal(program_kind(file), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind(dir), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind("/dev/zero"), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind("/nonexistent"), PROGRAM_UNKNOWN);
	assert_int_equal(program_kind(""), PROGRAM_UNKNOWN);
	/* Nobody writes into it, so whoever opened it and waited would wait for ever. */
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0777), 0);
	alarm(20);
	assert_int_equal(program_kind(fifo), PROGRAM_UNKNOWN);
	alarm(0);
	unlink(fifo);
	snprintf(unreadable, sizeof(unreadable), "%s/unreadable", dir);
	make_image("libmpi.so.40");
	write_file(&image, sizeof(image));
	assert_int_equal(rename(file, unreadable), 0);
	assert_int_equal(chmod(unreadable, 0111), 0);
	/* Root may read it all the same. */
	assert_int_equal(program_kind(unreadable), geteuid() ? PROGRAM_UNKNOWN : PROGRAM_OPENMPI);
	unlink(unreadable);
}

/* Wherever the file ends, and whatever number is the biggest one there is. */
static void damaged_programs(void **state)
{
	const size_t all = sizeof(image);

	(void)state;
	make_image("libmpi.so.40");
	for (size_t size = 0; size < all; size++) {
		write_file(&image, size);
		program_kind(file);
	}
	for (size_t at = EI_NIDENT; at + 8 <= all - sizeof(image.strings); at += 2)
		for (int bytes = 2; bytes <= 8; bytes *= 2) {
			make_image("libmpi.so.40");
			memset((char *)&image + at, 0xff, (size_t)bytes);
			kind_of_image();
			((unsigned char *)&image)[at + (size_t)bytes - 1] = 0x7f;
			kind_of_image();
		}
	make_image("libmpi.so.40");
	image.dynamic[3].d_un.d_val = 11; /* the name lies behind the end of the strings */
	assert_int_equal(kind_of_image(), PROGRAM_UNKNOWN);
	make_image("libmpi.so.40");
	image.dynamic[2].d_un.d_ptr = BASE - 1;
	assert_int_equal(kind_of_image(), PROGRAM_UNKNOWN);
	make_image("libmpi.so.40");
	image.segment[0].p_offset = (ElfW(Off)) - 8; /* the sum is past the end of numbers */
	assert_int_equal(kind_of_image(), PROGRAM_UNKNOWN);
	make_image("libmpi.so.40");
	memset(image.strings + 11, 'x', sizeof(image.strings) - 11); /* no name has an end */
	assert_int_equal(kind_of_image(), PROGRAM_UNKNOWN);
}

static void random_damage(void **state)
{
	unsigned int seed = 20261129;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		make_image("libmpi.so.40");
		for (int k = rand_r(&seed) % 8; k >= 0; k--)
			((unsigned char *)&image)[SELFMAG + 4 +
						  (size_t)rand_r(&seed) % (sizeof(image) - 8)] =
				(unsigned char)rand_r(&seed);
		kind_of_image();
	}
}

static void the_way_to_a_program(void **state)
{
	char found[PATH_MAX], path[256], plain[80], here[PATH_MAX];

	(void)state;
	write_file("#!/bin/sh\n", 10);
	snprintf(path, sizeof(path), "/nonexistent:%s", dir);
	assert_int_equal(program_find("program", path, found, sizeof(found)), -1);
	assert_int_equal(chmod(file, 0755), 0);
	assert_int_equal(program_find("program", path, found, sizeof(found)), 0);
	assert_string_equal(found, file);
	assert_int_equal(program_find(file, NULL, found, sizeof(found)), 0);
	assert_string_equal(found, file);
	assert_int_equal(program_find("program", NULL, found, sizeof(found)), -1);
	assert_int_equal(program_find("program", "/nonexistent", found, sizeof(found)), -1);
	assert_int_equal(program_find(dir, path, found, sizeof(found)), -1);
	assert_int_equal(program_find("program", path, found, 4), -1);
	/* The current directory, and a name that a directory has. */
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(program_find("program", "/nonexistent::", found, sizeof(found)), 0);
	assert_string_equal(found, "./program");
	assert_int_equal(program_find("./program", NULL, found, sizeof(found)), 0);
	assert_int_equal(chdir(here), 0);
	snprintf(plain, sizeof(plain), "%s/plain", dir);
	assert_int_equal(mkdir(plain, 0755), 0);
	assert_int_equal(program_find("plain", path, found, sizeof(found)), -1);
	rmdir(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries),
		cmocka_unit_test(programs_of_this_build),
		cmocka_unit_test(other_machines),
		cmocka_unit_test(what_is_no_program),
		cmocka_unit_test(damaged_programs),
		cmocka_unit_test(random_damage),
		cmocka_unit_test(the_way_to_a_program),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
