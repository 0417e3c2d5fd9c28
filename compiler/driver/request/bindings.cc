#include "compiler/driver/request/bindings.h"

#include <fmt/format.h>

#include <set>

#include "base/check.h"
#include "compiler/frontend/tensor_file.h"

namespace hone {
namespace {

// Sets one value of a choice.
struct Choice {
  std::string flag;  // `--bind batch`
  size_t count;
  std::function<std::string(size_t value, ImportOptions&)> set;  // `batch=4`
};

std::vector<Choice> choices_of(const ModelRequest& request) {
  std::vector<Choice> out;
  for (const BindChoice& c : request.bind)
    out.push_back({"--bind " + c.name, c.values.size(), [&c](size_t value, ImportOptions& options) {
                     const BindValue& v = c.values[value];
                     if (v.sum.empty())
                       options.bind[c.name] = v.number;
                     else
                       options.sums[c.name] = v.sum;
                     return to_string(BindChoice{c.name, {v}});
                   }});
  for (const ShapeChoice& c : request.shapes)
    out.push_back({"--shape " + c.input, c.values.size(), [&c](size_t value, ImportOptions& options) {
                     options.shapes[c.input] = c.values[value];
                     return to_string(ShapeChoice{c.input, {c.values[value]}});
                   }});
  return out;
}

std::map<std::string, TensorData> bound_data(const std::vector<BoundFile>& files) {
  constexpr int64_t kUsualBytes = int64_t{1} << 27;  // read_tensor_file() reads eight times that at the most
  std::map<std::string, TensorData> out;
  for (const BoundFile& file : files) {
    HONE_USER_CHECK(!out.contains(file.input)) << "--bind-data " << file.input << " is given twice";
    out.emplace(file.input, read_tensor_file(file.path, kUsualBytes));
  }
  return out;
}

void check_choices(const std::vector<Choice>& choices, size_t thread_counts) {
  // A product of doubles: it is compared and printed, however large.
  double variants = static_cast<double>(thread_counts);
  std::string product;
  for (const Choice& c : choices) {
    variants *= static_cast<double>(c.count);
    if (c.count > 1) product += fmt::format(" x {}", c.count);
  }
  if (thread_counts > 1) product += fmt::format(" x {}", thread_counts);
  HONE_USER_CHECK(variants <= static_cast<double>(kMostVariants))
      << fmt::format("--bind, --shape and --threads: {} = {:.0f} variants; an artifact has at most {}",
                     product.substr(3), variants, kMostVariants);
  std::set<std::string> flags;
  for (const Choice& c : choices)
    HONE_USER_CHECK(flags.insert(c.flag).second || variants == 1)
        << c.flag << " is given twice; several values are one flag's";
}

}  // namespace

std::vector<ModelBinding> bindings_of(const ModelRequest& request, size_t thread_counts) {
  ImportOptions of_all;
  of_all.values = bound_data(request.bind_data);
  of_all.batch = request.model_batch;
  const std::vector<Choice> choices = choices_of(request);
  check_choices(choices, thread_counts);
  std::vector<ModelBinding> out;
  std::vector<size_t> chosen(choices.size(), 0);
  for (;;) {
    ModelBinding& binding = out.emplace_back(ModelBinding{"", of_all});
    for (size_t i = 0; i < choices.size(); ++i) {
      const std::string text = choices[i].set(chosen[i], binding.options);
      if (choices[i].count > 1) binding.name += (binding.name.empty() ? "" : ", ") + text;
    }
    size_t i = choices.size();
    while (i > 0 && ++chosen[i - 1] == choices[i - 1].count) chosen[--i] = 0;
    if (i == 0) return out;
  }
}

std::string variant_name(const ModelBinding& binding, int threads) {
  if (threads == 0) return binding.name;
  return fmt::format("{}{}{} thread{}", binding.name, binding.name.empty() ? "" : ", ", threads,
                     threads == 1 ? "" : "s");
}

}  // namespace hone
