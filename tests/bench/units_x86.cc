#include "tests/bench/units.h"

#ifndef __x86_64__
namespace hone::bench {
std::vector<Unit> units_here() { return {}; }
}  // namespace hone::bench
#else
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace hone::bench {
namespace {

// Ten sums hide the latency of instructions that need less than ten registers' worth of turns.
#define HONE_TEN(instruction)                                                                           \
  instruction " %10, %11, %0\n" instruction " %10, %11, %1\n" instruction " %10, %11, %2\n" instruction \
              " %10, %11, %3\n" instruction " %10, %11, %4\n" instruction " %10, %11, %5\n" instruction \
              " %10, %11, %6\n" instruction " %10, %11, %7\n" instruction " %10, %11, %8\n" instruction \
              " %10, %11, %9\n"
#define HONE_VECTOR_UNIT(name, instruction, bits_of_x, bits_of_y)                                                \
  __attribute__((target("avx512f"))) void name(int64_t n) {                                                      \
    const __m512i x = _mm512_set1_epi32(bits_of_x), y = _mm512_set1_epi32(bits_of_y);                            \
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, \
            s9 = s0;                                                                                             \
    for (int64_t k = 0; k < n; ++k)                                                                              \
      asm volatile(HONE_TEN(instruction)                                                                         \
                   : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7), "+v"(s8),   \
                     "+v"(s9)                                                                                    \
                   : "v"(x), "v"(y));                                                                            \
  }
HONE_VECTOR_UNIT(fma_f32, "vfmadd231ps", 0x3f400000, 0x3f400000)       // 0.75
HONE_VECTOR_UNIT(fma_denormal, "vfmadd231ps", 0x00001234, 0x3f400000)  // operands that take the assist
HONE_VECTOR_UNIT(dot_bf16, "vdpbf16ps", 0x3f403f40, 0x3f403f40)
HONE_VECTOR_UNIT(fma_f16, "vfmadd231ph", 0x38003800, 0x38003800)  // 0.5
HONE_VECTOR_UNIT(dot_bytes, "vpdpbusd", 0x01010101, 0x01010101)
#undef HONE_VECTOR_UNIT
#undef HONE_TEN

constexpr size_t kKib = 1024, kMib = 1024 * 1024, kTile = 1024;
alignas(64) uint8_t memory[64 * kMib];
uint8_t* const of_a = memory;
uint8_t* const of_b = memory + 32 * kMib;

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

#define HONE_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8")))

HONE_AMX void configure(uint8_t rows_of_a) {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.bytes[i] = 64;
    config.rows[i] = i < 6 ? rows_of_a : 16;  // 0 to 3 are sums, 4 and 5 of A, 6 and 7 of B
  }
  asm volatile("" : : "r"(&config) : "memory");  // GCC 12 takes ldtilecfg for a read of eight bytes
  _tile_loadconfig(&config);
}

bool tiles_are_allowed() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return __builtin_cpu_supports("avx512f") && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

HONE_AMX void products(int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

// 2 x 2 tiles of sums over panels of A and B, of so many bytes each. A's rows are `stride` bytes apart.
template <bool kBytes, bool kStreamed>
HONE_AMX void two_by_two(int64_t n, size_t bytes_of_a, size_t bytes_of_b, size_t stride = 64) {
  size_t a = 0, b = 0;
  const size_t step_of_a = stride == 64 ? 2 * kTile : 64;
  for (int64_t k = 0; k < n; ++k) {
    const uint8_t* const pa = of_a + a;
    const uint8_t* const pb = of_b + b;
    if constexpr (kStreamed)
      _tile_stream_loadd(6, pb, 64);
    else
      _tile_loadd(6, pb, 64);
    _tile_loadd(4, pa, stride);
    if constexpr (kBytes)
      _tile_dpbusd(0, 4, 6);
    else
      _tile_dpbf16ps(0, 4, 6);
    if constexpr (kStreamed)
      _tile_stream_loadd(7, pb + kTile, 64);
    else
      _tile_loadd(7, pb + kTile, 64);
    if constexpr (kBytes)
      _tile_dpbusd(1, 4, 7);
    else
      _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, pa + 16 * stride, stride);
    if constexpr (kBytes)
      _tile_dpbusd(2, 5, 6);
    else
      _tile_dpbf16ps(2, 5, 6);
    if constexpr (kBytes)
      _tile_dpbusd(3, 5, 7);
    else
      _tile_dpbf16ps(3, 5, 7);
    a = (a + step_of_a) % bytes_of_a;
    b = (b + 2 * kTile) % bytes_of_b;
  }
}

HONE_AMX void one_by_four(int64_t n, size_t bytes_of_a, size_t bytes_of_b) {
  size_t a = 0, b = 0;
  for (int64_t k = 0; k < n; ++k) {
    const uint8_t* const pb = of_b + b;
    _tile_loadd(4, of_a + a, 64);
    _tile_loadd(6, pb, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, pb + kTile, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, pb + 2 * kTile, 64);
    _tile_dpbf16ps(2, 4, 5);
    _tile_loadd(6, pb + 3 * kTile, 64);
    _tile_dpbf16ps(3, 4, 6);
    a = (a + kTile) % bytes_of_a;
    b = (b + 4 * kTile) % bytes_of_b;
  }
}

// f32 as sums of parts of bf16, high, middle and low: the panels hold two tiles of each part behind one another.
HONE_AMX inline void load_a(const uint8_t* panels, int part) {
  _tile_loadd(4, panels + static_cast<size_t>(2 * part) * kTile, 64);
  _tile_loadd(5, panels + static_cast<size_t>(2 * part + 1) * kTile, 64);
}
HONE_AMX inline void load_b(const uint8_t* panels, int part) {
  _tile_loadd(6, panels + static_cast<size_t>(2 * part) * kTile, 64);
  _tile_loadd(7, panels + static_cast<size_t>(2 * part + 1) * kTile, 64);
}
HONE_AMX void three_products(int64_t n, size_t bytes_of_a, size_t bytes_of_b) {
  size_t a = 0, b = 0;
  for (int64_t k = 0; k < n; ++k) {
    const uint8_t* const pa = of_a + a;
    const uint8_t* const pb = of_b + b;
    load_a(pa, 0);
    load_b(pb, 0);
    products(1);
    load_b(pb, 1);
    products(1);
    load_a(pa, 1);
    load_b(pb, 0);
    products(1);
    a = (a + 4 * kTile) % bytes_of_a;
    b = (b + 4 * kTile) % bytes_of_b;
  }
}

HONE_AMX void six_products(int64_t n, size_t bytes_of_a, size_t bytes_of_b) {
  size_t a = 0, b = 0;
  for (int64_t k = 0; k < n; ++k) {
    const uint8_t* const pa = of_a + a;
    const uint8_t* const pb = of_b + b;
    load_a(pa, 0);
    load_b(pb, 0);
    products(1);  // high, high
    load_b(pb, 1);
    products(1);  // high, middle
    load_a(pa, 1);
    products(1);  // middle, middle
    load_b(pb, 0);
    products(1);  // middle, high
    load_a(pa, 2);
    products(1);  // low, high
    load_a(pa, 0);
    load_b(pb, 2);
    products(1);  // high, low
    a = (a + 6 * kTile) % bytes_of_a;
    b = (b + 6 * kTile) % bytes_of_b;
  }
}

HONE_AMX void four_stores(int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    _tile_stored(0, of_a, 64);
    _tile_stored(1, of_a + kTile, 64);
    _tile_stored(2, of_a + 2 * kTile, 64);
    _tile_stored(3, of_a + 3 * kTile, 64);
  }
}
HONE_AMX void configure_and_release(int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    configure(16);
    _tile_release();
  }
  configure(16);
}
HONE_AMX void store_configuration(int64_t n) {
  TileConfig config;
  for (int64_t k = 0; k < n; ++k) _tile_storeconfig(&config);
}

// Numbers near one: products of zeros draw less power, and the costs of denormals do not matter here.
void fill_memory() {
  uint32_t state = 1;
  for (size_t i = 0; i < sizeof(memory); i += 2) {
    state = state * 1664525 + 1013904223;
    const auto value = static_cast<uint16_t>(0x3f00 + ((state >> 16) & 0x80ff));
    std::memcpy(memory + i, &value, 2);
  }
  asm volatile("" : : "r"(memory) : "memory");  // loads of tiles are no reads of memory to GCC 12
}

constexpr double kOfF32 = 10 * 16 * 2, kOfBf16Tiles = 4 * 16 * 16 * 32 * 2, kOfByteTiles = 2 * kOfBf16Tiles;

void add_tiles(std::vector<Unit>& units) {
  const auto add = [&](std::string name, double operations, std::function<void(int64_t)> run) {
    units.push_back({std::move(name), operations, std::move(run)});
  };
  using Step = void (*)(int64_t, size_t, size_t);
  const auto over = [](Step step, size_t a, size_t b) { return [=](int64_t n) { step(n, a, b); }; };
  const Step bf16 = [](int64_t n, size_t a, size_t b) { two_by_two<false, false>(n, a, b); };
  const Step streamed = [](int64_t n, size_t a, size_t b) { two_by_two<false, true>(n, a, b); };
  const Step bytes = [](int64_t n, size_t a, size_t b) { two_by_two<true, false>(n, a, b); };
  add("AMX bf16, from registers", kOfBf16Tiles, products);
  add(kTilesFromL1, kOfBf16Tiles, over(bf16, 16 * kKib, 16 * kKib));
  add("AMX bf16, 2 x 2, B of 1 MB", kOfBf16Tiles, over(bf16, 16 * kKib, kMib));
  add("AMX bf16, 2 x 2, B of 1 MB, loads past the caches", kOfBf16Tiles, over(streamed, 16 * kKib, kMib));
  add("AMX bf16, 2 x 2, A and B of 512 KB", kOfBf16Tiles, over(bf16, 512 * kKib, 512 * kKib));
  add("AMX bf16, 2 x 2, B of 16 MB", kOfBf16Tiles, over(bf16, 16 * kKib, 16 * kMib));
  add("AMX bf16, 1 x 4, operands in L1", kOfBf16Tiles, over(one_by_four, 8 * kKib, 16 * kKib));
  add("AMX bf16, 1 x 4, B of 1 MB", kOfBf16Tiles, over(one_by_four, 8 * kKib, kMib));
  for (const size_t stride : {128, 256, 1024, 2048, 4096, 4160})
    add("AMX bf16, 2 x 2, rows of A " + std::to_string(stride) + " bytes apart", kOfBf16Tiles,
        [stride](int64_t n) { two_by_two<false, false>(n, std::min<size_t>(stride, kKib), 16 * kKib, stride); });
  add("AMX u8 by s8, 2 x 2 tiles, operands in L1", kOfByteTiles, over(bytes, 16 * kKib, 16 * kKib));
  add("AMX u8 by s8, 2 x 2, B of 1 MB", kOfByteTiles, over(bytes, 16 * kKib, kMib));
  add("AMX u8 by s8, 2 x 2, A and B of 512 KB", kOfByteTiles, over(bytes, 512 * kKib, 512 * kKib));
  add("f32 by three products, operands in L1", kOfBf16Tiles, over(three_products, 16 * kKib, 16 * kKib));
  add("f32 by three products, B of 1 MB", kOfBf16Tiles, over(three_products, 16 * kKib, kMib));
  add("f32 by six products, operands in L1", kOfBf16Tiles, over(six_products, 12 * kKib, 12 * kKib));
  add("f32 by six products, A and B of 384 KB", kOfBf16Tiles, over(six_products, 384 * kKib, 384 * kKib));
  add("f32 by six products, B of 1.5 MB", kOfBf16Tiles, over(six_products, 12 * kKib, 1536 * kKib));
  add("f32 by six products, B of 24 MB", kOfBf16Tiles, over(six_products, 12 * kKib, 24 * kMib));
  for (const uint8_t rows : {16, 8, 1})
    add("four bf16 products of " + std::to_string(rows) + " rows", 1, [rows](int64_t n) {
      configure(rows);
      products(n);
      configure(16);
    });
  add("four stores of tiles", 1, four_stores);
  add("ldtilecfg and tilerelease", 1, configure_and_release);
  add("sttilecfg", 1, store_configuration);
}

}  // namespace

std::vector<Unit> units_here() {
  if (!__builtin_cpu_supports("avx512f")) return {};
  std::vector<Unit> units{{"FMA f32", kOfF32, fma_f32}, {"FMA f32, denormal operands", kOfF32, fma_denormal}};
  if (__builtin_cpu_supports("avx512bf16")) units.push_back({"vdpbf16ps", 2 * kOfF32, dot_bf16});
  if (__builtin_cpu_supports("avx512vnni")) units.push_back({"vpdpbusd", 4 * kOfF32, dot_bytes});
  unsigned a, b, c, d;
  __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  constexpr unsigned kFp16 = 1u << 23, kTiles = 1u << 24, kTilesOfBytes = 1u << 25, kTilesOfBf16 = 1u << 22;
  if (d & kFp16) units.push_back({"FMA f16", 2 * kOfF32, fma_f16});
  constexpr unsigned kAmx = kTiles | kTilesOfBytes | kTilesOfBf16;
  if ((d & kAmx) == kAmx && tiles_are_allowed()) {
    fill_memory();
    configure(16);
    add_tiles(units);
  }
  return units;
}

}  // namespace hone::bench
#endif
