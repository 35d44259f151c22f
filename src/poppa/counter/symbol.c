/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a function's place in its ELF file through the task's memory map. */
#include "poppa/counter/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/counter/counter_backend.h"
#include "poppa/counter/timed_call.h"

/* For all tables of a file together. */
#define MAX_TABLES_BYTES (UINT64_C(256) << 20)
#define MAX_SYMBOLS 4000000
#define MAX_FDINFO 4096
#define MAX_MOUNTINFO (4 << 20)
#define NATIVE_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

bool symbol_is_dear(const unsigned char *code, size_t len, unsigned int *skip)
{
	static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const unsigned char *p = code, *end = code + len;

	*skip = 0;
#if !defined(__x86_64__)
	return false;
#endif
	if (len > sizeof(endbr64) && !memcmp(p, endbr64, sizeof(endbr64))) {
		*skip = sizeof(endbr64);
		p += sizeof(endbr64);
	}
	/* The kernel emulates nops, pushes, relative calls and jumps, and steps the rest. */
	while (p < end && *p == 0x66)
		p++;
	if (p == end)
		return true;
	if (*p == 0x90 || *p == 0xe8 || *p == 0xe9 || *p == 0xeb || (*p >= 0x50 && *p <= 0x57) ||
		(*p >= 0x70 && *p <= 0x7f))
		return false;
	if (end - p < 2)
		return true;
	if (p[0] >= 0x40 && p[0] <= 0x4f && p[1] >= 0x50 && p[1] <= 0x57)
		return false;
	return !(p[0] == 0x0f && (p[1] == 0x1f || (p[1] >= 0x80 && p[1] <= 0x8f)));
}

/* Whether the mapped path is what the configuration calls file. */
static bool is_file(const char *mapped, const char *file)
{
	const char *base = strrchr(mapped, '/');
	size_t len = strlen(file);

	if (strchr(file, '/'))
		return !strcmp(mapped, file);
	base = base ? base + 1 : mapped;
	return !strncmp(base, file, len) && (base[len] == '\0' || base[len] == '.');
}

/* The file belongs to a user: its headers may say anything, and something else at the next look. So
 * each part that matters is read once, to its own offset in memory that is as large as the file and
 * otherwise empty, and only as many bytes as a real program can have. */
struct image {
	int fd;
	char *at;
	uint64_t size, left; /* bytes of the file; bytes that may still be read */
	int symbols;         /* that may still be looked at */
	uint64_t header, sections, sections_end; /* these parts are not read again */
};

static int image_open(struct image *f, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -1;
	*f = (struct image){.fd = fd,
		.size = (uint64_t)st.st_size,
		.left = MAX_TABLES_BYTES,
		.symbols = MAX_SYMBOLS};
	f->at = mmap(NULL, f->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return f->at == MAP_FAILED ? -1 : 0;
}

static int image_load(struct image *f, uint64_t offset, uint64_t len)
{
	if (offset > f->size || len > f->size - offset || len > f->left || offset < f->header ||
		(offset < f->sections_end && offset + len > f->sections))
		return -1;
	f->left -= len;
	while (len) {
		ssize_t n = pread(f->fd, f->at + offset, len, (off_t)offset);

		if (n <= 0)
			return -1;
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static int image_load_tables(struct image *f, uint64_t header, uint64_t segments,
	uint64_t segments_len, uint64_t sections, uint64_t sections_len)
{
	f->header = header;
	if (image_load(f, segments, segments_len) || image_load(f, sections, sections_len))
		return -1;
	f->sections = sections;
	f->sections_end = sections + sections_len;
	return 0;
}

/* Refuses a file with so many sections or segments that their numbers do not fit into the header.
 */
static int image_load_headers(struct image *f)
{
	const Elf32_Ehdr *e32 = (const void *)f->at;
	const Elf64_Ehdr *e64 = (const void *)f->at;

	if (image_load(f, 0, sizeof(*e64)) || memcmp(e64->e_ident, ELFMAG, SELFMAG) ||
		e64->e_ident[EI_DATA] != NATIVE_ORDER)
		return -1;
	if (e64->e_ident[EI_CLASS] == ELFCLASS32)
		return !e32->e_shnum || e32->e_phnum == PN_XNUM
			       ? -1
			       : image_load_tables(f, sizeof(*e32), e32->e_phoff,
					 e32->e_phnum * sizeof(Elf32_Phdr), e32->e_shoff,
					 e32->e_shnum * sizeof(Elf32_Shdr));
	return !e64->e_shnum || e64->e_phnum == PN_XNUM
		       ? -1
		       : image_load_tables(f, sizeof(*e64), e64->e_phoff,
				 e64->e_phnum * sizeof(Elf64_Phdr), e64->e_shoff,
				 e64->e_shnum * sizeof(Elf64_Shdr));
}

/* Loads a table of symbols and that of their names. Compressed ones are not supported, nor names
 * that do not end: for each symbol, libelf would look for the end in the whole table. */
static bool load_symbols(struct image *f, Elf *elf, const GElf_Shdr *symbols)
{
	GElf_Shdr names;

	return gelf_getshdr(elf_getscn(elf, symbols->sh_link), &names) &&
	       names.sh_type == SHT_STRTAB && !(symbols->sh_flags & SHF_COMPRESSED) &&
	       !(names.sh_flags & SHF_COMPRESSED) &&
	       !image_load(f, symbols->sh_offset, symbols->sh_size) && names.sh_size &&
	       !image_load(f, names.sh_offset, names.sh_size) &&
	       !f->at[names.sh_offset + names.sh_size - 1];
}

static int find_elf_symbol(struct image *f, Elf *elf, const char *symbol, GElf_Sym *found)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) ||
			(header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
			!header.sh_entsize || !load_symbols(f, elf, &header))
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data && i < header.sh_size / header.sh_entsize; i++) {
			const char *name;

			if (!gelf_getsym(data, (int)i, found))
				break;
			if (!f->symbols--)
				return -1;
			if (GELF_ST_TYPE(found->st_info) != STT_FUNC ||
				found->st_shndx == SHN_UNDEF)
				continue;
			name = elf_strptr(elf, header.sh_link, found->st_name);
			if (name && !strcmp(name, symbol))
				return 0;
		}
	}
	return -1;
}

/* The file offset of a virtual address that lies in executable memory. */
static int address_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return -1;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X) &&
			address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz) {
			*offset = address - p.p_vaddr + p.p_offset;
			return 0;
		}
	}
	return -1;
}

static int find_in_image(struct image *f, const char *file, const char *symbol,
	struct symbol_place *place, struct errmsg *err)
{
	Elf *elf = image_load_headers(f) ? NULL : elf_memory(f->at, f->size);
	GElf_Sym sym;
	int rc = -1;

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		counter_fail(ENODATA, err, "%s is no ELF file with tables of sections", file);
	else if (find_elf_symbol(f, elf, symbol, &sym))
		counter_fail(ENODATA, err, "%s defines no function %s", file, symbol);
	else if (address_offset(elf, sym.st_value, &place->offset))
		counter_fail(ENODATA, err, "%s:%s lies in no executable segment", file, symbol);
	else
		rc = 0;
	elf_end(elf);
	return rc;
}

/* Whether what is open lies on a mount of this process' own namespace, which root has mounted. */
static bool is_mounted_here(int fd)
{
	char name[64], id[32];
	char *info, *mounts = fsio_read("/proc/self/mountinfo", MAX_MOUNTINFO, NULL, NULL);
	const char *line;
	bool is = false;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	info = fsio_read(name, MAX_FDINFO, NULL, NULL);
	line = info ? strstr(info, "mnt_id:") : NULL;
	if (line && mounts) {
		snprintf(id, sizeof(id), "\n%d ", atoi(line + strlen("mnt_id:")));
		is = strstr(mounts, id) || !strncmp(mounts, id + 1, strlen(id + 1));
	}
	free(info);
	free(mounts);
	return is;
}

int symbol_pin(const char *path, struct errmsg *err)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return counter_fail(errno, err, "%s: %s", path, strerror(errno));
	if (!fstatfs(fd, &fs) && fs.f_type != FUSE_SUPER_MAGIC &&
		(fs.f_type != OVERLAYFS_SUPER_MAGIC || is_mounted_here(fd)))
		return fd;
	close(fd);
	return counter_fail(EREMOTE, err,
		"the file is on FUSE or on a container's overlay, which may be a user's: while it "
		"does not answer, a probe would keep all of the host from starting processes");
}

/* Finds symbol in the file that pin is. */
static int look_up(int pin, const char *file, const char *symbol, struct symbol_place *place,
	struct errmsg *err)
{
	unsigned char code[16];
	char path[64];
	unsigned int skip;
	struct image f;
	ssize_t n;
	int fd, rc;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return counter_fail(ENODATA, err, "libelf: %s", elf_errmsg(-1));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pin);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return counter_fail(errno, err, "%s: %s", place->path, strerror(errno));
	if (image_open(&f, fd)) {
		rc = counter_fail(ENODATA, err, "%s is no ELF file that can be read", file);
	} else {
		rc = find_in_image(&f, file, symbol, place, err);
		munmap(f.at, f.size);
	}
	n = rc ? 0 : pread(fd, code, sizeof(code), (off_t)place->offset);
	close(fd);
	if (rc) {
		errno = ENODATA;
		return -1;
	}
	place->dear = symbol_is_dear(code, n > 0 ? (size_t)n : 0, &skip);
	place->offset += skip;
	return 0;
}

/* Pins the mapped inode by its entry in map_files, which needs privilege and also works for
 * replaced files, else by the path below the task's root if that is still the same inode. */
static int pin_mapped(pid_t pid, const char *range, const char *mapped, uint64_t inode,
	struct symbol_place *out, struct errmsg *err)
{
	unsigned long start, end;
	struct stat st;
	int fd = -1;

	if (sscanf(range, "%lx-%lx", &start, &end) == 2) {
		snprintf(out->path, sizeof(out->path), "/proc/%d/map_files/%lx-%lx", (int)pid,
			start, end);
		fd = symbol_pin(out->path, err);
		if (fd >= 0 || errno == EREMOTE)
			return fd;
	}
	if ((size_t)snprintf(out->path, sizeof(out->path), "/proc/%d/root%s", (int)pid, mapped) >=
		sizeof(out->path))
		return counter_fail(ENODATA, err, "task %d: too long a path", (int)pid);
	fd = symbol_pin(out->path, err);
	if (fd < 0 || (!fstat(fd, &st) && st.st_ino == inode))
		return fd;
	close(fd);
	return counter_fail(ENODATA, err, "task %d: %s was replaced", (int)pid, mapped);
}

static int find(pid_t pid, const char *file, const char *symbol, struct symbol_place *out,
	struct errmsg *err)
{
	char name[64], *line = NULL;
	size_t size = 0;
	int code, pin = -1, rc;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	if (!maps) {
		code = errno == ENOENT ? ESRCH : errno;
		return counter_fail(code, err, "task %d: %s", (int)pid,
			code == ESRCH ? "it is gone" : strerror(code));
	}
	counter_fail(ENODATA, err, "task %d has not mapped %s", (int)pid, file);
	while (pin < 0 && errno != EREMOTE && getline(&line, &size, maps) > 0) {
		char range[64], perms[8];
		uint64_t inode;
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%63s %7s %*x %*s %" SCNu64 " %n", range, perms, &inode, &at) <
				3 ||
			!at || perms[2] != 'x' || line[at] != '/' || !is_file(line + at, file))
			continue;
		pin = pin_mapped(pid, range, line + at, inode, out, err);
	}
	code = pin < 0 && errno == EREMOTE ? EREMOTE : ENODATA;
	free(line);
	fclose(maps);
	if (pin < 0) {
		errno = code;
		return -1;
	}
	rc = look_up(pin, file, symbol, out, err);
	code = errno;
	close(pin);
	errno = code;
	return rc;
}

/* A search whose file may be on a file system that does not answer. */
struct search {
	pid_t pid;
	char file[512], symbol[512];
	struct symbol_place place;
	struct errmsg err;
	int error; /* 0: found */
};

static void run_search(void *arg)
{
	struct search *s = arg;

	s->error = find(s->pid, s->file, s->symbol, &s->place, &s->err) ? errno : 0;
}

int symbol_find(pid_t pid, const char *file, const char *symbol, struct symbol_place *out,
	struct errmsg *err)
{
	struct search *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return counter_fail(ENOMEM, err, "out of memory");
	s->pid = pid;
	snprintf(s->file, sizeof(s->file), "%s", file);
	snprintf(s->symbol, sizeof(s->symbol), "%s", symbol);
	if (timed_call(timed_call_owner(pid), run_search, free, s))
		return counter_fail(errno, err,
			"task %d: %s was not read in time: its file system may be dead", (int)pid,
			file);
	*out = s->place;
	*err = s->err;
	error = s->error;
	free(s);
	errno = error;
	return error ? -1 : 0;
}
