// Definitions from files of others: whatever stands there, they are refused in one line or are what they say.
#include <gtest/gtest.h>

#include <random>

#include "compiler/ops/rewrite/compose.h"
#include "compiler/ops/user_operator.h"
#include "compiler/users/check_definition.h"
#include "tests/unit/users/definitions.h"

namespace hone {
namespace {

std::vector<Json*> nodes_in(Json& j) {
  std::vector<Json*> out{&j};
  if (j.is_structured())
    for (auto& child : j)
      for (Json* n : nodes_in(child)) out.push_back(n);
  return out;
}

class Mutation {
 public:
  explicit Mutation(uint64_t seed) : random_(seed) {}

  Json operator()(Json j) {
    for (uint64_t n = 1 + random_() % 3; n > 0; --n) {
      const std::vector<Json*> nodes = nodes_in(j);
      Json& at = *nodes[random_() % nodes.size()];
      const Json other = *nodes[random_() % nodes.size()];
      switch (random_() % 6) {
        case 0: at = kNumbers[random_() % std::size(kNumbers)]; break;
        case 1: at = kWords[random_() % std::size(kWords)]; break;
        case 2: at = other; break;
        case 3: at = Json::array({other, other}); break;
        case 4:
          if (at.is_array() && !at.empty()) at.erase(at.begin() + static_cast<std::ptrdiff_t>(random_() % at.size()));
          break;
        default: at = nullptr;
      }
    }
    return j;
  }

 private:
  static constexpr int64_t kNumbers[] = {0,    1, -1, 2, 3, 7, INT64_MAX, INT64_MIN, INT64_MAX - 1, int64_t{1} << 48,
                                         65536};
  static constexpr const char* kWords[] = {"i0",  "k0",  "i1",    "f32", "s64",  "bool", "sum",
                                           "[]",  "+",   "where", "exp", "//",   "",     "i99999999999999999999",
                                           "f64", "nan", "not",   "<",   "cast", "min"};
  std::mt19937_64 random_;
};

// A definition that is not refused is computed without touching anything that is not there, where that is soon done.
void expect_refused_or_right(const std::string& text) {
  try {
    const Definition d = with_plain_names(definition_from_text(text));
    check_definition(d);
    const Workload w = user_workload("f", d, {}, nullptr);
    double work = flops(w);
    std::vector<TensorData> inputs;
    for (const auto& [tensor, role] : d.inputs) work += 8 * static_cast<double>(element_count(tensor->shape));
    for (const Tensor& t : d.outputs) work += 8 * static_cast<double>(element_count(t->shape));
    if (work > 20000) return;
    for (const auto& [tensor, role] : d.inputs) {
      const TensorType type{tensor->buffer->dtype, tensor->shape};
      inputs.emplace_back(type, std::string(static_cast<size_t>(bytes_of(type)), '\1'));
    }
    evaluate(w, inputs);
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << text;
  }
}

TEST(HostileDefinitions, AreRefusedOrRight) {
  const Tensor x = placeholder("x", {3, 4}, f32), at = placeholder("at", {3}, i64);
  const Tensor picked = compute("picked", {3, 4}, {"i", "j"}, {x, at}, [&](const Indices& i) {
    return x(min(max(at(i[0]), make_int(0)), make_int(2)), i[1]);
  });
  const Axis k = reduce_axis("k", 4);
  const Tensor total = compute_reduce("total", {3}, {"i"}, {picked}, [&](const Indices& i) {
    return sum(select(le(k, i[0]), picked(i[0], k), make_float(0)), {k});
  });
  const Definition d{{{x, ParamRole::kInput}, {at, ParamRole::kInput}}, {picked, total}};
  for (const std::string& text : {definition_to_text(d), definition_to_text(squared_relu({2, 3}))}) {
    const Json valid = Json::parse(text);
    for (uint64_t seed = 0; seed < 2000; ++seed) expect_refused_or_right(Mutation(seed)(valid).dump());
  }
}

TEST(HostileDefinitions, MayBeCutAnywhere) {
  const std::string text = definition_to_text(prefix_sums({2, 3}));
  for (size_t n = 0; n < text.size(); ++n) expect_refused_or_right(text.substr(0, n));
}

}  // namespace
}  // namespace hone
