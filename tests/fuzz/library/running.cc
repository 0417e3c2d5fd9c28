#include "tests/fuzz/library/running.h"

#include <hone_compiler.h>

#include <climits>

#include "tests/fuzz/library/odd_text.h"
#include "tests/fuzz/library/trace.h"

namespace hone::fuzz {
namespace {

int32_t odd_index(int32_t count, std::mt19937_64& rng) {
  const int32_t odd[] = {-1, INT32_MIN, INT32_MAX, count, 0, count - 1, 1 << 16};
  return odd[rng() % std::size(odd)];
}

std::string wrong_with_error(int32_t code) {
  if (code == HONE_OK) return "";
  const std::string told = " (" + std::to_string(code) + ": " + quoted(hone_last_error()) + ")";
  if (*hone_last_error() == '\0') return "it says nothing" + told;
  const std::string wrong = wrong_with_text(hone_last_error(), false);
  return wrong.empty() ? "" : "the error has " + wrong + told;
}

}  // namespace

std::string Runner::open(std::mt19937_64& rng) {
  const std::string path = files_.some_artifact(rng), name = rng() % 2 ? "pair" : odd_text(rng);
  const bool has_path = rng() % 16 != 0, has_name = rng() % 16 != 0, has_place = rng() % 16 != 0;
  const char* const from = has_path ? path.c_str() : nullptr;
  auto* const untouched = reinterpret_cast<HoneModel*>(this);
  HoneModel* m = untouched;
  int32_t code = 0;
  switch (rng() % 8) {
    case 0:
      trace("hone_open_linked(null)");
      code = hone_open_linked(nullptr, has_place ? &m : nullptr);
      break;
    case 1:
    case 2:
      trace("hone_open_named(" + quoted(from) + ", " + (has_name ? quoted(name.c_str()) : "null") + ")");
      code = hone_open_named(from, has_name ? name.c_str() : nullptr, has_place ? &m : nullptr);
      break;
    default: trace("hone_open(" + quoted(from) + ")"); code = hone_open(from, has_place ? &m : nullptr);
  }
  trace_end(code);
  if (has_place && m == untouched) return "the model is as it was";
  if ((code == HONE_OK) != (has_place && m)) return "the model is not as the code says: " + std::to_string(code);
  if (code == HONE_OK) models_.emplace_back(m);
  if (code != HONE_OK && code != HONE_BAD_ARGUMENTS && (code < HONE_NOT_FOUND || code > HONE_WRONG_VERSION))
    return "it returned " + std::to_string(code);
  return wrong_with_error(code);
}

std::string Runner::ask(HoneModel* m, std::mt19937_64& rng) {
  trace("asks");
  const HoneArtifact* const a = hone_artifact(m);
  const int32_t variants = hone_variant_count(m), inputs = hone_input_count(m), outputs = hone_output_count(m);
  if (!a || a->abi_version != HONE_ARTIFACT_ABI || variants != a->variant_count) return "the artifact is another";
  const int32_t v = odd_index(variants, rng), i = odd_index(inputs, rng), o = odd_index(outputs, rng);
  const auto is_in = [](int32_t n, int32_t count) { return n >= 0 && n < count; };
  if ((hone_variant(m, v) != nullptr) != is_in(v, variants)) return "variant " + std::to_string(v);
  if ((hone_input(m, i) != nullptr) != is_in(i, inputs)) return "input " + std::to_string(i);
  if ((hone_output(m, o) != nullptr) != is_in(o, outputs)) return "output " + std::to_string(o);
  if ((hone_variant_input(m, v, i) != nullptr) != (is_in(v, variants) && is_in(i, inputs))) return "a variant's input";
  if ((hone_variant_output(m, v, o) != nullptr) != (is_in(v, variants) && is_in(o, outputs)))
    return "a variant's output";
  if (hone_variant_layer_count(m, v) != (is_in(v, variants) ? hone_variant_layer_count(m, v) : 0)) return "layers";
  const int32_t layers = hone_layer_count(m), l = odd_index(layers, rng);
  if ((hone_layer(m, l) != nullptr) != is_in(l, layers)) return "layer " + std::to_string(l);
  if (!is_in(v, variants) && hone_variant_layer(m, v, 0)) return "a layer of no variant";
  return "";
}

std::string Runner::pool(std::mt19937_64& rng) {
  const int32_t odd[] = {1, 2, 3, 0, -1, INT32_MIN, INT32_MAX, 1025};
  const int32_t threads = odd[rng() % std::size(odd)];
  trace("hone_pool_new(" + std::to_string(threads) + ")");
  Pool made(hone_pool_new(threads));
  if (!made) return threads >= 0 && threads <= 3 ? "no pool: " + quoted(hone_last_error()) : wrong_with_error(-1);
  if (threads < 0 || threads > 1024 || (threads > 0 && made->workers != threads)) return "a pool of others";
  pools_.push_back(std::move(made));
  return "";
}

std::string Runner::call(std::mt19937_64& rng) {
  const uint64_t which = rng() % 16;
  if (which < 4) return open(rng);
  if (which == 4) return pool(rng);
  if (which == 5 && !pools_.empty()) {
    trace("hone_pool_free");
    pools_.erase(pools_.begin() + static_cast<std::ptrdiff_t>(rng() % pools_.size()));
    return "";
  }
  if (which == 6) {
    trace("frees null");
    hone_close(nullptr), hone_pool_free(nullptr), hone_free_text(nullptr);
    return "";
  }
  if (models_.empty()) return open(rng);
  const size_t at = rng() % models_.size();
  if (which == 7) {
    trace("hone_close");
    models_.erase(models_.begin() + static_cast<std::ptrdiff_t>(at));
    return "";
  }
  if (which < 10) return ask(models_[at].get(), rng);
  const HoneRuntime* const pool = pools_.empty() || rng() % 2 ? nullptr : pools_[rng() % pools_.size()].get();
  return run_model(models_[at].get(), pool, rng);
}

}  // namespace hone::fuzz
