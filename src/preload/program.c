/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a program and reads its dynamic section, of which no value is trusted. */
#include "preload/program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 64
#define ENTRIES_MAX 1024 /* of a dynamic section */
#define NEEDED_MAX 256
#define NAME_ROOM 32 /* the names that are looked for are shorter */
#define DIRS_MAX 256 /* of PATH */

typedef ElfW(Ehdr) header;
typedef ElfW(Phdr) segment;
typedef ElfW(Dyn) entry;

static bool is_program(const char *file)
{
	struct stat st;

	return !stat(file, &st) && S_ISREG(st.st_mode) && !access(file, X_OK);
}

int program_find(const char *name, const char *path, char *buf, size_t size)
{
	if (strchr(name, '/'))
		return snprintf(buf, size, "%s", name) < (int)size && is_program(buf) ? 0 : -1;
	for (int i = 0; path && i < DIRS_MAX; i++) {
		size_t len = strcspn(path, ":");

		/* Nothing between two colons is the current directory. */
		if (snprintf(buf, size, "%.*s/%s", len ? (int)len : 1, len ? path : ".", name) <
				(int)size &&
			is_program(buf))
			return 0;
		path = path[len] ? path + len + 1 : NULL;
	}
	return -1;
}

/* Reads all of it from there. */
static bool read_at(int fd, uint64_t offset, void *buf, size_t size)
{
	return offset <= INT64_MAX - size && pread(fd, buf, size, (off_t)offset) == (ssize_t)size;
}

/* Where in the file an address lies, and how many bytes of its segment follow; 0: nowhere. */
static uint64_t left_at(const segment *s, int count, uint64_t address, uint64_t *offset)
{
	for (int i = 0; i < count; i++) {
		uint64_t within = address - s[i].p_vaddr;

		if (s[i].p_type != PT_LOAD || address < s[i].p_vaddr || within >= s[i].p_filesz ||
			s[i].p_offset > UINT64_MAX - within)
			continue;
		*offset = s[i].p_offset + within;
		return s[i].p_filesz - within;
	}
	return 0;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* By the name of one library. Open MPI's libmpi has a version of 20 and more since 2.0; that of the
 * family of MPICH, whose members share one binary interface, has 12. */
static enum program_kind kind_of_library(const char *name)
{
	static const char *const mpich[] = {"libmpich", "libmpi.so.12", "libmpifort.so.12",
		"libmpicxx.so.12", "libmpi_gnu", "libmpi_cray", "libmpi_intel", "libmpi_nvidia",
		"libmpi_aocc"};
	static const char *const openmpi[] = {
		"libmpi.so.", "libmpi_mpifh.so.", "libmpi_usempi", "libmpi_cxx.so."};

	for (size_t i = 0; i < sizeof(mpich) / sizeof(mpich[0]); i++)
		if (begins(name, mpich[i]))
			return PROGRAM_MPICH;
	for (size_t i = 0; i < sizeof(openmpi) / sizeof(openmpi[0]); i++)
		if (begins(name, openmpi[i]))
			return PROGRAM_OPENMPI;
	return PROGRAM_UNKNOWN;
}

static enum program_kind kind_of_names(
	int fd, uint64_t strings, uint64_t size, const uint64_t *needed, int count)
{
	enum program_kind kind = PROGRAM_UNKNOWN;

	for (int i = 0; i < count && kind == PROGRAM_UNKNOWN; i++) {
		char name[NAME_ROOM] = "";
		uint64_t room = needed[i] < size ? size - needed[i] : 0;

		if (room > sizeof(name) - 1)
			room = sizeof(name) - 1;
		if (room && needed[i] <= UINT64_MAX - strings &&
			read_at(fd, strings + needed[i], name, room))
			kind = kind_of_library(name);
	}
	return kind;
}

static enum program_kind kind_of_dynamic(
	int fd, const segment *segments, int count, const entry *dynamic, size_t entries)
{
	uint64_t needed[NEEDED_MAX], address = 0, size = 0, strings = 0, left;
	int n = 0;

	for (size_t i = 0; i < entries && dynamic[i].d_tag != DT_NULL; i++) {
		if (dynamic[i].d_tag == DT_STRTAB)
			address = dynamic[i].d_un.d_ptr;
		else if (dynamic[i].d_tag == DT_STRSZ)
			size = dynamic[i].d_un.d_val;
		else if (dynamic[i].d_tag == DT_NEEDED && n < NEEDED_MAX)
			needed[n++] = dynamic[i].d_un.d_val;
	}
	left = left_at(segments, count, address, &strings);
	return kind_of_names(fd, strings, size < left ? size : left, needed, n);
}

static enum program_kind kind_of_file(int fd)
{
	const unsigned char ours = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	const uint16_t one = 1;
	const unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	enum program_kind kind = PROGRAM_UNKNOWN;
	segment segments[SEGMENTS_MAX];
	entry *dynamic;
	header h;

	if (!read_at(fd, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return PROGRAM_UNKNOWN;
	if (h.e_ident[EI_CLASS] != ours || h.e_ident[EI_DATA] != order)
		return PROGRAM_FOREIGN;
	if (h.e_phentsize != sizeof(segment) || h.e_phnum > SEGMENTS_MAX ||
		!read_at(fd, h.e_phoff, segments, h.e_phnum * sizeof(segment)))
		return PROGRAM_UNKNOWN;
	dynamic = calloc(ENTRIES_MAX, sizeof(entry));
	for (int i = 0; dynamic && i < h.e_phnum; i++) {
		size_t entries = segments[i].p_filesz / sizeof(entry);

		if (segments[i].p_type != PT_DYNAMIC)
			continue;
		if (entries > ENTRIES_MAX)
			entries = ENTRIES_MAX;
		if (read_at(fd, segments[i].p_offset, dynamic, entries * sizeof(entry)))
			kind = kind_of_dynamic(fd, segments, h.e_phnum, dynamic, entries);
		break;
	}
	free(dynamic);
	return kind;
}

enum program_kind program_kind(const char *file)
{
	enum program_kind kind = PROGRAM_UNKNOWN;
	struct stat st;
	int fd;

	/* To open a device can do something. Without waiting: a FIFO may have taken the file's
	 * place, and somebody may hold a lease on it. */
	if (stat(file, &st) || !S_ISREG(st.st_mode))
		return PROGRAM_UNKNOWN;
	fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return PROGRAM_UNKNOWN;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		kind = kind_of_file(fd);
	close(fd);
	return kind;
}
