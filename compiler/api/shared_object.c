#define _GNU_SOURCE
#include "compiler/api/shared_object.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
#if defined(__x86_64__)
  kMachine = EM_X86_64
#elif defined(__aarch64__)
  kMachine = EM_AARCH64
#elif defined(__arm__)
  kMachine = EM_ARM
#elif defined(__i386__)
  kMachine = EM_386
#elif defined(__riscv)
  kMachine = 243
#else
  kMachine = EM_NONE /* the loader will say it */
#endif
};

static const char* machine_name(int machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_ARM: return "arm";
    case EM_386: return "x86 of 32 bits";
    case 243: return "RISC-V";
    default: return "another processor";
  }
}

/* Whether all that is to be loaded is in a file of `bytes` bytes. */
static int is_whole(FILE* file, const ElfW(Ehdr) * header, unsigned long long bytes) {
  for (int i = 0; i < header->e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (fseek(file, (long)(header->e_phoff + (unsigned long)i * sizeof segment), SEEK_SET) != 0 ||
        fread(&segment, sizeof segment, 1, file) != 1)
      return 0;
    if (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset) return 0;
  }
  return 1;
}

static int32_t check_file(FILE* file, char* words, size_t size) {
  ElfW(Ehdr) header;
  struct stat about;
  memset(&header, 0, sizeof header);
  const size_t got = fread(&header, 1, sizeof header, file);
  if (got < EI_NIDENT + 4 || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    snprintf(words, size, "is not a shared object");
    return HONE_NO_ARTIFACT;
  }
  /* e_machine is at the same place in files of 32 and 64 bits; ours are little-endian. */
  const int is_little = header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (kMachine != EM_NONE && (!is_little || header.e_machine != kMachine ||
                              header.e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32))) {
    snprintf(words, size, "is for %s, and this program is for %s",
             is_little ? machine_name(header.e_machine) : "another processor", machine_name(kMachine));
    return HONE_WRONG_MACHINE;
  }
  if (header.e_type != ET_DYN) {
    snprintf(words, size, "is not a shared object");
    return HONE_NO_ARTIFACT;
  }
  if (got < sizeof header || fstat(fileno(file), &about) != 0 ||
      !is_whole(file, &header, (unsigned long long)about.st_size)) {
    snprintf(words, size, "is cut off");
    return HONE_NO_ARTIFACT;
  }
  return HONE_OK;
}

int32_t hone_check_shared_object(const char* path, char* words, size_t size) {
  struct stat about;
  FILE* file = NULL;
  /* Opening a pipe would wait for who writes to it. */
  if (stat(path, &about) != 0 || (S_ISREG(about.st_mode) && !(file = fopen(path, "rbe")))) {
    snprintf(words, size, "cannot be read: %s", strerror(errno));
    return HONE_NOT_FOUND;
  }
  if (!file) {
    snprintf(words, size, "is not a file");
    return HONE_NOT_FOUND;
  }
  const int32_t code = check_file(file, words, size);
  fclose(file);
  return code;
}
