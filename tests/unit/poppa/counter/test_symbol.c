/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/counter/symbol.c: finding a function in the file of a running task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/counter/symbol.h"

/* clang makes no clones of a function, and does not know the word. */
#if __has_attribute(noclone)
#define WHOLE __attribute__((noinline, noclone))
#else
#define WHOLE __attribute__((noinline))
#endif

/* A function that is looked for. It is global so that the symbol table has it under its name. */
int symbol_target(int x);
WHOLE int symbol_target(int x)
{
	static volatile int sum;

	sum += x;
	return sum;
}

static char program[4096]; /* this executable */

static void instructions(void **state)
{
#if defined(__x86_64__)
	static const struct {
		unsigned char code[8];
		bool dear;
		unsigned int skip;
	} cases[] = {
		{{0x55, 0x48, 0x89, 0xe5}, false, 0},             /* push %rbp */
		{{0x41, 0x57, 0x41, 0x56}, false, 0},             /* push %r15 */
		{{0x90}, false, 0},                               /* nop */
		{{0x66, 0x90}, false, 0},                         /* xchg %ax,%ax */
		{{0x0f, 0x1f, 0x44, 0x00, 0x00}, false, 0},       /* nopl */
		{{0xe9, 0, 0, 0, 0}, false, 0},                   /* jmp */
		{{0xc3}, true, 0},                                /* ret */
		{{0xf3, 0xc3}, true, 0},                          /* repz ret */
		{{0x48, 0x83, 0xec, 0x18}, true, 0},              /* sub $0x18,%rsp */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x55}, false, 4},       /* endbr64; push */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0xc3}, true, 4},        /* endbr64; ret */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54}, false, 4}, /* endbr64; push %r12 */
		{{0x48, 0x53}, false, 0},                         /* rex.W push */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int skip = 99;

		assert_int_equal(
			symbol_is_dear(cases[i].code, sizeof(cases[i].code), &skip), cases[i].dear);
		assert_int_equal(skip, cases[i].skip);
	}
	for (size_t len = 0; len < 8; len++) {
		static const unsigned char all66[8] = {
			0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
		unsigned int skip;

		assert_true(symbol_is_dear(all66, len, &skip));
	}
#else
	(void)state;
	print_message("the cost of a first instruction is known for x86-64 only\n");
	skip();
#endif
}

static void finds_the_mapped_function(void **state)
{
	struct symbol_place place;
	struct errmsg err = {""};
	unsigned char in_file[16];
	const char *names[2];
	int fd;

	(void)state;
	names[0] = program;
	names[1] = strrchr(program, '/') + 1;
	for (int i = 0; i < 2; i++) {
		if (symbol_find(getpid(), names[i], "symbol_target", &place, &err))
			fail_msg("%s", err.text);
		fd = open(place.path, O_RDONLY);
		assert_true(fd >= 0);
		assert_int_equal(pread(fd, in_file, sizeof(in_file), (off_t)place.offset), 16);
		close(fd);
		/* The same code that runs here, perhaps behind a landing pad. */
		assert_true(!memcmp(in_file, (const char *)(uintptr_t)symbol_target, 12) ||
			    !memcmp(in_file, (const char *)(uintptr_t)symbol_target + 4, 12));
	}
	/* A library of which only dynamic symbols are left, by soname or part of it. */
	assert_int_equal(symbol_find(getpid(), "libc.so.6", "getpid", &place, &err), 0);
	assert_int_equal(symbol_find(getpid(), "libc.so", "getpid", &place, &err), 0);

	assert_int_equal(symbol_find(getpid(), "libc.so.6", "no_such_fn", &place, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "no_such_fn"));
	assert_int_equal(symbol_find(getpid(), "libnone.so", "getpid", &place, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "libnone.so"));
	assert_int_equal(symbol_find(getpid(), "libc.s", "getpid", &place, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(symbol_find(getpid(), "libc.so.6", "environ", &place, &err), -1);
	assert_int_equal(errno, ENODATA); /* no function */
}

static void unmapped_copy(const char *path, const void *data, size_t len)
{
	struct errmsg err;

	assert_int_equal(fsio_write(path, data, len, 0700, 0, &err), 0);
}

/* Files are their users': whatever is in them, the reader answers or refuses. */
static void damaged_files_do_no_harm(void **state)
{
	char path[] = "/tmp/test_symbol.XXXXXX";
	struct symbol_place place;
	struct errmsg err;
	size_t len;
	char *image;
	int fd = mkstemp(path), found = 0;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	image = fsio_read(program, 64 << 20, &len, &err);
	assert_non_null(image);
	srand(7);
	for (int round = 0; round < 200; round++) {
		char *copy = malloc(len), *map;
		size_t cut = round % 4 == 3 ? (size_t)rand() % len : len;

		assert_non_null(copy);
		memcpy(copy, image, len);
		for (int i = 0; round && i < 8; i++) {
			/* The headers at the start and the section table at the end matter. */
			size_t span = round % 2 ? 1024 : 4096;
			size_t at = (size_t)rand() % span;

			copy[round % 2 ? at : len - 1 - at] = (char)rand();
		}
		unmapped_copy(path, copy, cut ? cut : 1);
		free(copy);
		fd = open(path, O_RDONLY);
		map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(map, MAP_FAILED);
		close(fd);
		if (symbol_find(getpid(), path, "symbol_target", &place, &err))
			assert_int_equal(errno, ENODATA);
		else
			found++;
		munmap(map, 4096);
	}
	assert_true(found > 0); /* the undamaged one at least */
	free(image);
	unlink(path);
}

/* libelf would look for the end of each name in all of such a table. */
static void names_without_an_end_are_refused(void **state)
{
	char path[] = "/tmp/test_symbol.XXXXXX", *image, *map;
	struct symbol_place place;
	struct errmsg err;
	const Elf64_Shdr *s;
	const Elf64_Ehdr *e;
	size_t len;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	image = fsio_read(program, 64 << 20, &len, &err);
	assert_non_null(image);
	e = (const void *)image;
	s = (const void *)(image + e->e_shoff);
	for (int endless = 0; endless < 2; endless++) {
		for (int i = 0; endless && i < e->e_shnum; i++)
			if (s[i].sh_type == SHT_STRTAB)
				image[s[i].sh_offset + s[i].sh_size - 1] = 'x';
		unmapped_copy(path, image, len);
		close(fd);
		fd = open(path, O_RDONLY);
		map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(map, MAP_FAILED);
		assert_int_equal(
			symbol_find(getpid(), path, "symbol_target", &place, &err), -endless);
		munmap(map, 4096);
	}
	assert_int_equal(errno, ENODATA);
	free(image);
	close(fd);
	unlink(path);
}

#define HOSTILE_BYTES (UINT64_C(1) << 30) /* of holes: on the disk it is next to nothing */
#define MOST_MEMORY_KB (700 * 1024)

static const struct hostile {
	const char *what;
	int tables;            /* of symbols */
	uint64_t table, names; /* bytes of each, and of the names of each */
	uint32_t sections;     /* told outside the header */
} hostile[] = {
	{"a table of names without end", 1, sizeof(Elf64_Sym), HOSTILE_BYTES - 4096, 0},
	{"one large table of symbols after the other", 16, UINT64_C(64) << 20, 64, 0},
	{"more sections than a header can tell", 0, 0, 0, 8 << 20},
};

static void write_hostile(int fd, const struct hostile *h)
{
	Elf64_Ehdr e = {.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(e),
		.e_ehsize = sizeof(e),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shoff = 1024};
	Elf64_Shdr s[2 + 16] = {{.sh_size = h->sections}};
	Elf64_Sym sym = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1};

	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	e.e_ident[EI_VERSION] = EV_CURRENT;
	e.e_shnum = h->sections ? 0 : (uint16_t)(2 + h->tables);
	s[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = h->names};
	for (int i = 0; i < h->tables; i++)
		s[2 + i] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
			.sh_offset = 4096,
			.sh_size = h->table,
			.sh_entsize = sizeof(sym),
			.sh_link = 1};
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, HOSTILE_BYTES), 0);
	assert_int_equal(pwrite(fd, &e, sizeof(e), 0), sizeof(e));
	assert_int_equal(pwrite(fd, s, sizeof(s), 1024), sizeof(s));
	assert_int_equal(pwrite(fd, &sym, sizeof(sym), 4096), sizeof(sym));
}

/* Nobody takes the node's memory by what a file says of its sizes. */
static void hostile_files_take_no_memory(void **state)
{
	char path[] = "/tmp/test_symbol.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		struct symbol_place place;
		struct errmsg err = {""};
		struct rusage used;
		int status;
		pid_t pid;

		write_hostile(fd, &hostile[i]);
		pid = fork();
		if (!pid) {
			void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

			_exit(map == MAP_FAILED ||
				!symbol_find(getpid(), path, "symbol_target", &place, &err) ||
				(errno != ENODATA && errno != ETIMEDOUT));
		}
		assert_int_equal(wait4(pid, &status, 0, &used), pid);
		if (status || used.ru_maxrss > MOST_MEMORY_KB)
			fail_msg("%s: status %x, %ld kB", hostile[i].what, status, used.ru_maxrss);
	}
	close(fd);
	unlink(path);
}

/* A file system whose statfs() says FUSE. */
static bool is_fuse;

int __wrap_fstatfs(int fd, struct statfs *out);
int __real_fstatfs(int fd, struct statfs *out);

int __wrap_fstatfs(int fd, struct statfs *out)
{
	int rc = __real_fstatfs(fd, out);

	if (is_fuse)
		out->f_type = FUSE_SUPER_MAGIC;
	return rc;
}

/* To probe a file on it would let its user keep all of the host from forking. */
static void files_that_a_user_serves_are_refused(void **state)
{
	struct symbol_place place;
	struct errmsg err = {""};
	int fd;

	(void)state;
	is_fuse = true;
	assert_int_equal(symbol_find(getpid(), program, "symbol_target", &place, &err), -1);
	assert_int_equal(errno, EREMOTE);
	assert_non_null(strstr(err.text, "FUSE"));
	assert_int_equal(symbol_pin(program, &err), -1);
	assert_int_equal(errno, EREMOTE);
	is_fuse = false;
	fd = symbol_pin(program, &err);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symbol_pin("/nonexistent", &err), -1);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions),
		cmocka_unit_test(finds_the_mapped_function),
		cmocka_unit_test(files_that_a_user_serves_are_refused),
		cmocka_unit_test(damaged_files_do_no_harm),
		cmocka_unit_test(names_without_an_end_are_refused),
		cmocka_unit_test(hostile_files_take_no_memory),
	};
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	return n <= 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
