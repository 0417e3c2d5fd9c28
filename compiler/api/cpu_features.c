#include "compiler/api/cpu_features.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum { kEax, kEbx, kEcx, kEdx };
/* The vector registers that the operating system saves: XCR0's bits of YMM, and of ZMM and masks too. */
enum { kNone = 0, kYmm = 0x6, kZmm = 0xe6 };

/* Where CPUID says it: leaf, subleaf, register, bit (Intel's manual, volume 2, CPUID; AMD's, volume 3, appendix E). */
typedef struct {
  const char* name;
  uint32_t leaf, subleaf;
  int word, bit;
  uint32_t saved;
} Feature;

static const Feature kFeatures[] = {
    {"avx", 1, 0, kEcx, 28, kYmm},        {"avx2", 7, 0, kEbx, 5, kYmm},       {"fma", 1, 0, kEcx, 12, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},       {"bmi2", 7, 0, kEbx, 8, kNone},      {"fma4", 0x80000001, 0, kEcx, 16, kYmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},     {"avx512f", 7, 0, kEbx, 16, kZmm},   {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},   {"avx512vl", 7, 0, kEbx, 31, kZmm},  {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm}, {"avx512bf16", 7, 1, kEax, 5, kZmm}, {"avx512fp16", 7, 0, kEdx, 23, kZmm},
};

static uint32_t saved_registers(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 27)) return 0; /* OSXSAVE */
  __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a;
}

static int is_there(const Feature* f) {
  unsigned words[4] = {0, 0, 0, 0};
  if (!__get_cpuid_count(f->leaf, f->subleaf, &words[0], &words[1], &words[2], &words[3])) return 0;
  return (words[f->word] >> f->bit & 1u) && (saved_registers() & f->saved) == f->saved;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

/* The bit of AT_HWCAP or AT_HWCAP2 (Linux, arch/arm64/include/uapi/asm/hwcap.h). */
typedef struct {
  const char* name;
  unsigned long type;
  int bit;
} Feature;

static const Feature kFeatures[] = {
    {"lse", AT_HWCAP, 8},  {"fullfp16", AT_HWCAP, 10}, {"fp16fml", AT_HWCAP, 23}, {"dotprod", AT_HWCAP, 20},
    {"sve", AT_HWCAP, 22}, {"i8mm", AT_HWCAP2, 13},    {"bf16", AT_HWCAP2, 14},
};

static int is_there(const Feature* f) { return (int)(getauxval(f->type) >> f->bit & 1u); }

#else
typedef struct {
  const char* name;
} Feature;
static const Feature kFeatures[] = {{""}};
static int is_there(const Feature* f) { return f != NULL; }
#endif

void hone_missing_features(const char* needed, char* words, size_t size) {
  size_t used = 0;
  words[0] = '\0';
  for (const char* name = needed; *name; name += strspn(name, ",")) {
    const size_t length = strcspn(name, ",");
    for (size_t i = 0; i < sizeof kFeatures / sizeof *kFeatures; ++i) {
      const Feature* const f = &kFeatures[i];
      if (strlen(f->name) != length || memcmp(f->name, name, length) != 0 || is_there(f)) continue;
      const int more = snprintf(words + used, size - used, "%s%s", used ? ", " : "", f->name);
      if (more > 0 && (size_t)more < size - used) used += (size_t)more;
    }
    name += length;
  }
}
