// bench_turns SECONDS A.so B.so …: artifacts of one model in turns, without an interpreter between the calls, which a
// model of ten microseconds would hardly show beside; each turn loads them anew. A line a turn: the nanoseconds of a
// call of each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "hone.h"

namespace {

constexpr double kTurn = 0.02;  // seconds that each artifact runs in a turn, or one call
constexpr int kFewestTurns = 9;
constexpr uintmax_t kMostToMove = 16 << 20;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void check(int32_t code) {
  if (code == HONE_OK) return;
  std::fprintf(stderr, "bench_turns: %s\n", hone_last_error());
  std::exit(1);
}

// Aligned to 64 bytes, as memory that a program allocates for vectors.
struct alignas(64) Line {
  char bytes[64];
};

// A model with tensors of its own: seeded numbers for f32; of others ones, which may be indices.
class Side {
 public:
  explicit Side(const char* path) : path_(path) {
    check(hone_open(path, &model_));
    if (const int32_t workers = hone_variant(model_, 0)->workers; workers > 1) pool_ = hone_pool_new(workers);
    for (int32_t i = 0; i < hone_input_count(model_); ++i) add(*hone_input(model_, i), &inputs_);
    for (int32_t i = 0; i < hone_output_count(model_); ++i) add(*hone_output(model_, i), &outputs_);
    std::mt19937 rng(1);
    std::normal_distribution<float> numbers;
    for (DLTensor* t : inputs_) fill(*t, [&] { return numbers(rng); });
  }

  /// Loads a copy of a file that is not large. Weights that fill a cache are fast or slow by the pages that they lie
  /// in: the same artifact of 1.5 MB took 10.3 to 15.1 us in six copies.
  void move(const std::filesystem::path& folder) {
    if (std::filesystem::file_size(path_) > kMostToMove) return;
    hone_close(model_);
    const std::filesystem::path copy = folder / std::filesystem::path(path_).filename();
    std::filesystem::remove(copy);
    std::filesystem::copy_file(path_, copy);
    check(hone_open(copy.c_str(), &model_));
  }

  /// Seconds of a call, of `calls`.
  double run(int calls) {
    const double begin = now();
    for (int i = 0; i < calls; ++i)
      check(hone_run(model_, inputs_.data(), static_cast<int32_t>(inputs_.size()), outputs_.data(),
                     static_cast<int32_t>(outputs_.size()), pool_));
    return (now() - begin) / calls;
  }

 private:
  static int64_t elements(const DLTensor& t) {
    int64_t n = 1;
    for (int32_t i = 0; i < t.ndim; ++i) n *= t.shape[i];
    return n;
  }

  void add(const HoneParam& p, std::vector<DLTensor*>* to) {
    // It lives as long as the program.
    auto* t = new DLTensor{
        nullptr, {kDLCPU, 0}, p.plain.ndim, p.plain.dtype, const_cast<int64_t*>(p.plain.shape), nullptr, 0};
    const size_t bytes = static_cast<size_t>(elements(*t)) * ((t->dtype.bits + 7u) / 8);
    t->data = new Line[bytes / sizeof(Line) + 1]();
    to->push_back(t);
  }

  template <class Number>
  static void fill(const DLTensor& t, Number&& number) {
    const bool is_float = t.dtype.code == kDLFloat && t.dtype.bits == 32;
    for (int64_t i = 0; i < elements(t); ++i) {
      if (is_float) {
        static_cast<float*>(t.data)[i] = number();
      } else if (t.dtype.code == kDLInt || t.dtype.code == kDLUInt) {
        static_cast<char*>(t.data)[i * (t.dtype.bits / 8)] = 1;
      }
    }
  }

  const char* const path_;
  HoneModel* model_ = nullptr;
  HoneRuntime* pool_ = nullptr;  ///< of as many threads as the artifact is for
  std::vector<DLTensor*> inputs_, outputs_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_turns SECONDS A.so B.so …\n");
    return 2;
  }
  const double seconds = std::strtod(argv[1], nullptr);
  std::vector<Side> sides;
  for (int i = 2; i < argc; ++i) sides.emplace_back(argv[i]);
  for (Side& s : sides) s.run(1);
  const int calls = std::max(1, static_cast<int>(kTurn / sides[0].run(1)));
  std::string name = (std::filesystem::temp_directory_path() / "bench-turns-XXXXXX").string();
  if (!mkdtemp(name.data())) {
    std::perror(name.c_str());
    return 1;
  }
  const std::filesystem::path folder = name;
  const double end = now() + seconds;
  for (int turn = 0; turn < kFewestTurns || now() < end; ++turn) {
    std::string line;
    for (Side& s : sides) s.move(folder);
    for (Side& s : sides) s.run(1);
    for (Side& s : sides) line += (line.empty() ? "" : " ") + std::to_string(s.run(calls) * 1e9);
    std::printf("%s\n", line.c_str());
  }
  std::filesystem::remove_all(folder);
  return 0;
}
