// Source: Intel's Software Developer's Manual, volume 2, the instructions' "Operation".
#include "tests/unit/tiles/tile_model.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/narrow_floats.h"
#include "compiler/codegen/llvm/machine/host_target.h"

namespace hone {
namespace {

constexpr int kTiles = 8, kMostRows = 16, kMostBytes = 64;

struct Config {
  std::array<uint8_t, 64> bytes{};
  int palette() const { return bytes[0]; }
  int row_bytes(int t) const { return bytes[16 + 2 * static_cast<size_t>(t)]; }
  int rows(int t) const { return bytes[48 + static_cast<size_t>(t)]; }
};

struct Tile {
  alignas(64) std::array<std::array<uint8_t, kMostBytes>, kMostRows> row{};
  template <class T>
  T get(int r, int c) const {
    T out;
    std::memcpy(&out, row[static_cast<size_t>(r)].data() + static_cast<size_t>(c) * sizeof(T), sizeof(T));
    return out;
  }
  template <class T>
  void set(int r, int c, T value) {
    std::memcpy(row[static_cast<size_t>(r)].data() + static_cast<size_t>(c) * sizeof(T), &value, sizeof(T));
  }
};

thread_local Config config;
thread_local std::array<Tile, kTiles> tiles;

std::atomic<bool> allows{true}, permitted{false};
std::atomic<int64_t> products, loads, stores, configurations, releases, requests;
std::mutex mutex;
std::vector<std::string> faults;

void fault(std::string what) {
  const std::lock_guard lock(mutex);
  if (faults.size() < 20) faults.push_back(std::move(what));
}

// Whether an instruction on tile `t` runs.
bool runs(const char* instruction, int t) {
  if (!permitted) return fault(fmt::format("{} before the kernel was asked", instruction)), false;
  if (config.palette() != 1) return fault(fmt::format("{} without a configuration", instruction)), false;
  if (t < 0 || t >= kTiles || config.rows(t) == 0)
    return fault(fmt::format("{} on tile {}, which is not configured", instruction, t)), false;
  return true;
}

// C += A * B, whose `words` of 32 bits `step` multiplies and adds to a sum.
template <class Sum, class Step>
void multiply(const char* instruction, int c, int a, int b, Step step) {
  if (!runs(instruction, c) || !runs(instruction, a) || !runs(instruction, b)) return;
  if (c == a || c == b || a == b) return fault(fmt::format("{} of one tile twice", instruction));
  if (config.row_bytes(a) / 4 != config.rows(b) || config.rows(a) != config.rows(c) ||
      config.row_bytes(b) != config.row_bytes(c))
    return fault(fmt::format("{} of tiles that do not fit", instruction));
  ++products;
  for (int m = 0; m < config.rows(c); ++m)
    for (int n = 0; n < config.row_bytes(c) / 4; ++n) {
      Sum sum = tiles[static_cast<size_t>(c)].get<Sum>(m, n);
      for (int k = 0; k < config.rows(b); ++k) sum = step(sum, m, n, k);
      tiles[static_cast<size_t>(c)].set(m, n, sum);
    }
}

template <class A, class B>
void multiply_bytes(const char* instruction, int c, int a, int b) {
  multiply<int32_t>(instruction, c, a, b, [&](int32_t sum, int m, int n, int k) {
    auto wide = static_cast<uint32_t>(sum);  // sums wrap around
    for (int w = 0; w < 4; ++w)
      wide += static_cast<uint32_t>(int32_t{tiles[static_cast<size_t>(a)].get<A>(m, 4 * k + w)} *
                                    int32_t{tiles[static_cast<size_t>(b)].get<B>(k, 4 * n + w)});
    return static_cast<int32_t>(wide);
  });
}

template <class ToFloat>
void multiply_pairs(const char* instruction, int c, int a, int b, ToFloat to_float) {
  multiply<float>(instruction, c, a, b, [&](float sum, int m, int n, int k) {
    for (int w = 0; w < 2; ++w)
      sum += to_float(tiles[static_cast<size_t>(a)].get<uint16_t>(m, 2 * k + w)) *
             to_float(tiles[static_cast<size_t>(b)].get<uint16_t>(k, 2 * n + w));
    return sum;
  });
}

}  // namespace

void reset_tile_model(bool allowed) {
  const std::lock_guard lock(mutex);
  faults.clear();
  allows = allowed, permitted = false;
  for (auto* count : {&products, &loads, &stores, &configurations, &releases, &requests}) *count = 0;
  config = {};
}

TileCounts tile_counts() { return {products, loads, stores, configurations, releases, requests}; }

std::vector<std::string> tile_faults() {
  const std::lock_guard lock(mutex);
  return faults;
}

std::vector<uint8_t> tile_config() { return {config.bytes.begin(), config.bytes.end()}; }

void set_tile_config(const std::vector<uint8_t>& bytes) { std::copy(bytes.begin(), bytes.end(), config.bytes.begin()); }

Target target_with_tiles(int threads) {
  Target t = host_target(threads);
  for (const char* feature : {"amx-tile", "amx-int8", "amx-bf16"})
    if (t.mattr.find(feature) == std::string::npos) t.mattr += (t.mattr.empty() ? "+" : ",+") + std::string(feature);
  return t;
}

extern "C" {

int64_t hone_model_permission(void) {
  ++requests;
  permitted = allows.load();
  return permitted ? 0 : -1;
}

void hone_model_sttilecfg(void* to) {
  if (!permitted) fault("sttilecfg before the kernel was asked");
  std::memcpy(to, config.bytes.data(), config.bytes.size());
}

void hone_model_ldtilecfg(const void* from) {
  if (!permitted) fault("ldtilecfg before the kernel was asked");
  ++configurations;
  std::memcpy(config.bytes.data(), from, config.bytes.size());
  for (int t = 0; t < kTiles; ++t)
    if (config.rows(t) > kMostRows || config.row_bytes(t) > kMostBytes) fault("ldtilecfg of tiles that are too large");
  tiles = {};
}

void hone_model_tilerelease(void) {
  ++releases;
  config = {};
  tiles = {};
}

void hone_model_tilezero(int t) {
  if (runs("tilezero", t)) tiles[static_cast<size_t>(t)] = {};
}

void hone_model_tileloadd(int t, const void* from, int64_t stride) {
  if (!runs("tileloadd", t)) return;
  ++loads;
  tiles[static_cast<size_t>(t)] = {};
  for (int r = 0; r < config.rows(t); ++r)
    std::memcpy(tiles[static_cast<size_t>(t)].row[static_cast<size_t>(r)].data(),
                static_cast<const char*>(from) + r * stride, static_cast<size_t>(config.row_bytes(t)));
}

void hone_model_tilestored(int t, void* to, int64_t stride) {
  if (!runs("tilestored", t)) return;
  ++stores;
  for (int r = 0; r < config.rows(t); ++r)
    std::memcpy(static_cast<char*>(to) + r * stride, tiles[static_cast<size_t>(t)].row[static_cast<size_t>(r)].data(),
                static_cast<size_t>(config.row_bytes(t)));
}

void hone_model_tdpbf16ps(int c, int a, int b) { multiply_pairs("tdpbf16ps", c, a, b, &float_of_bf16); }
void hone_model_tdpfp16ps(int c, int a, int b) { multiply_pairs("tdpfp16ps", c, a, b, &float_of_f16); }
void hone_model_tdpbusd(int c, int a, int b) { multiply_bytes<uint8_t, int8_t>("tdpbusd", c, a, b); }
void hone_model_tdpbsud(int c, int a, int b) { multiply_bytes<int8_t, uint8_t>("tdpbsud", c, a, b); }
void hone_model_tdpbssd(int c, int a, int b) { multiply_bytes<int8_t, int8_t>("tdpbssd", c, a, b); }
void hone_model_tdpbuud(int c, int a, int b) { multiply_bytes<uint8_t, uint8_t>("tdpbuud", c, a, b); }

}  // extern "C"

}  // namespace hone
