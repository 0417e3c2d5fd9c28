#include "compiler/model/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/check.h"
#include "compiler/model/prepare.h"
#include "compiler/ops/attribute.h"

namespace hone {
namespace {

// The values of `1|4|16`, which `flag` has.
std::vector<std::string> values_of(const std::string& flag, const std::string& text) {
  std::vector<std::string> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('|', begin), text.size());
    const std::string value = text.substr(begin, end - begin);
    HONE_USER_CHECK(!value.empty() || text.empty()) << flag << ": a value is missing; several are written as 1|4";
    HONE_USER_CHECK(std::find(values.begin(), values.end(), value) == values.end())
        << flag << ": " << value << " is there twice";
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

// A --bind or a --shape.
struct Flag {
  bool is_shape;
  std::string name;                 // empty: there is none, which onnx_options() refuses
  std::vector<std::string> values;  // at least one
};

Flag flag_of(bool is_shape, const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return {is_shape, "", {text}};
  return {is_shape, text.substr(0, at),
          values_of(fmt::format("--{} {}", is_shape ? "shape" : "bind", text), text.substr(at + 1))};
}

ModelBinding binding_of(const std::vector<Flag>& flags, const std::vector<size_t>& chosen) {
  ModelBinding out;
  for (size_t i = 0; i < flags.size(); ++i) {
    const Flag& flag = flags[i];
    const std::string text =
        flag.name.empty() ? flag.values[0] : fmt::format("{}={}", flag.name, flag.values[chosen[i]]);
    (flag.is_shape ? out.shapes : out.bind).push_back(text);
    if (flag.values.size() > 1) out.name += (out.name.empty() ? "" : ", ") + text;
  }
  out.options = onnx_options(out.bind, out.shapes);
  return out;
}

}  // namespace

std::vector<ModelBinding> model_bindings(const std::vector<std::string>& bind, const std::vector<std::string>& shapes,
                                         size_t thread_counts, const std::vector<std::string>& data, int64_t batch) {
  const std::map<std::string, TensorData> values = bound_data(data);
  std::vector<Flag> flags;
  for (const std::string& text : bind) flags.push_back(flag_of(false, text));
  for (const std::string& text : shapes) flags.push_back(flag_of(true, text));
  // A product of doubles: it is compared and printed, however large.
  double variants = static_cast<double>(thread_counts);
  std::string product = thread_counts > 1 ? fmt::format(" x {}", thread_counts) : "";
  for (auto flag = flags.rbegin(); flag != flags.rend(); ++flag) {
    variants *= static_cast<double>(flag->values.size());
    if (flag->values.size() > 1) product.insert(0, fmt::format(" x {}", flag->values.size()));
  }
  HONE_USER_CHECK(variants <= static_cast<double>(kMostVariants))
      << fmt::format("--bind, --shape and --threads: {} = {:.0f} variants; an artifact has at most {}",
                     product.substr(3), variants, kMostVariants);
  std::set<std::string> names;
  for (const Flag& flag : flags)
    HONE_USER_CHECK(names.insert(fmt::format("--{} {}", flag.is_shape ? "shape" : "bind", flag.name)).second ||
                    variants == 1)
        << (flag.is_shape ? "--shape " : "--bind ") << flag.name << " is given twice; several values are one flag's";

  std::vector<ModelBinding> out;
  std::vector<size_t> chosen(flags.size(), 0);
  for (;;) {
    out.push_back(binding_of(flags, chosen));
    out.back().options.values = values;
    out.back().options.batch = batch;
    size_t i = flags.size();
    while (i > 0 && ++chosen[i - 1] == flags[i - 1].values.size()) chosen[--i] = 0;
    if (i == 0) return out;
  }
}

std::vector<int> thread_counts(const std::string& text) {
  std::vector<int> out;
  if (text.empty()) return out;
  for (const std::string& value : values_of("--threads " + text, text))
    out.push_back(static_cast<int>(parse_number("--threads", value, 1, 1024)));
  std::sort(out.begin(), out.end(), std::greater<>());
  HONE_USER_CHECK(std::adjacent_find(out.begin(), out.end()) == out.end())
      << "--threads " << text << ": one is there twice";
  return out;
}

std::string variant_name(const ModelBinding& binding, int threads) {
  if (threads == 0) return binding.name;
  return fmt::format("{}{}{} thread{}", binding.name, binding.name.empty() ? "" : ", ", threads,
                     threads == 1 ? "" : "s");
}

}  // namespace hone
