#include "compiler/ops/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/split_text.h"

namespace hone {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 24;
// f16 and bf16 alone abbreviate the first of their kind: sums are f32's.
constexpr std::string_view kDtypes[] = {"f32",
                                        "f64",
                                        "tf32",
                                        "f16:f16:f32:f16",
                                        "f16:f16:f32:f32",
                                        "bf16:bf16:f32:bf16",
                                        "bf16:bf16:f32:f32",
                                        "u8:s8:s32:s32",
                                        "s8:s8:s32:s32"};

bool is_convolution(std::string_view task) { return task == "conv2d" || task == "depthwise_conv2d"; }
bool is_pool(std::string_view task) { return task == "max_pool2d" || task == "avg_pool2d"; }
bool is_product(std::string_view task) { return task == "dense" || task == "batch_matmul"; }

std::string known_tasks() {
  std::string names;
  for (const TaskInfo& t : task_table()) names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
  return names;
}

int64_t parse_number(std::string_view attribute, std::string_view text, int64_t least) {
  HONE_USER_CHECK(text != "?") << attribute << "=?: unknown extents are not supported yet";
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && value >= least && value <= kMaxNumber)
      << attribute << "=" << text << " is not a whole number from " << least << " to " << kMaxNumber;
  return value;
}

// `s` or `hxw` -> canonical.
std::string canonical_pair(std::string_view attribute, std::string_view text, int64_t least) {
  const auto parts = split_text(text, 'x');
  HONE_USER_CHECK(parts.size() <= 2) << attribute << "=" << text << " is neither one number nor HxW";
  const int64_t a = parse_number(attribute, parts[0], least), b = parse_number(attribute, parts.back(), least);
  return a == b ? fmt::format("{}", a) : fmt::format("{}x{}", a, b);
}

// `p`, `hxw` or `t:l:b:r` -> the shortest of these.
std::string canonical_pad(std::string_view text) {
  const auto sides = split_text(text, ':');
  if (sides.size() == 1) return canonical_pair("pad", text, 0);
  HONE_USER_CHECK(sides.size() == 4) << "pad=" << text << " is none of P, HxW and TOP:LEFT:BOTTOM:RIGHT";
  int64_t n[4];
  for (int i = 0; i < 4; ++i) n[i] = parse_number("pad", sides[static_cast<size_t>(i)], 0);
  if (n[0] == n[2] && n[1] == n[3]) return canonical_pair("pad", fmt::format("{}x{}", n[0], n[1]), 0);
  return fmt::format("{}:{}:{}:{}", n[0], n[1], n[2], n[3]);
}

std::string canonical_dtype(std::string_view text) {
  const auto parts = split_text(text, ':');
  const bool one = std::all_of(parts.begin(), parts.end(), [&](const std::string& p) { return p == parts[0]; });
  std::string out = one && (parts.size() == 1 || parts.size() == 4) ? parts[0] : std::string(text);
  if (text == "f16" || text == "bf16") out = fmt::format("{0}:{0}:f32:{0}", text);
  HONE_USER_CHECK(std::find(std::begin(kDtypes), std::end(kDtypes), out) != std::end(kDtypes))
      << "dtype=" << text << " is not supported; allowed: " << fmt::format("{}", fmt::join(kDtypes, ", "))
      << "; f16 is short for " << kDtypes[3] << ", bf16 likewise";
  return out;
}

std::string canonical_epilogue(std::string_view text) {
  if (text == "none") return "none";
  std::vector<std::string> seen;
  for (const std::string& part : split_text(text, '+')) {
    HONE_USER_CHECK(part == "bias" || part == "add" || part == "relu")
        << "epilogue=" << text << ": '" << part << "' is unknown; allowed: none, or bias, add and relu joined by +";
    HONE_USER_CHECK(std::find(seen.begin(), seen.end(), part) == seen.end())
        << "epilogue=" << text << ": '" << part << "' is given twice";
    seen.push_back(part);
  }
  return std::string(text);
}

std::string canonical_layout(std::string_view text) {
  HONE_USER_CHECK(!text.empty()) << "layout is empty; allowed: NCHWc, NCHW, NHWC, NCHW16c, NCHW8c:16c";
  if (text == "NCHWc" || text == "NCHW" || text == "NHWC") return std::string(text);
  const LayoutChoice choice = layout_choice(text);
  return choice.in == choice.out ? choice.in : fmt::format("{}:{}", choice.in, choice.out.substr(4));
}

void check_convolution(const Workload& w) {
  const ConvShape s = conv_shape(w);
  HONE_USER_CHECK(s.groups >= 1 && s.ci % s.groups == 0 && s.co % s.groups == 0)
      << w.task << ": groups=" << s.groups << " does not divide ci=" << s.ci << " and co=" << s.co;
  HONE_USER_CHECK(s.oh >= 1 && s.ow >= 1) << w.task << ": the kernel " << s.kh << "x" << s.kw << " (dilation "
                                          << s.dilation_h << "x" << s.dilation_w << ") is larger than the padded input "
                                          << s.h + s.pad_top + s.pad_bottom << "x" << s.w + s.pad_left + s.pad_right;
  element_count({s.n, s.ci, s.h + s.pad_top + s.pad_bottom, s.w + s.pad_left + s.pad_right});
  element_count({s.n, s.co, s.oh, s.ow});
  element_count({s.co, s.ci / s.groups, s.kh, s.kw});
}

// Windows that hold nothing but padding have no maximum and no average.
void check_pool(const Workload& w) {
  const ConvShape s = conv_shape(w);
  const int64_t reach_h = s.dilation_h * (s.kh - 1) + 1, reach_w = s.dilation_w * (s.kw - 1) + 1;
  HONE_USER_CHECK(s.oh >= 1 && s.ow >= 1) << w.task << ": the window " << s.kh << "x" << s.kw << " (dilation "
                                          << s.dilation_h << "x" << s.dilation_w << ") is larger than the padded input "
                                          << s.h + s.pad_top + s.pad_bottom << "x" << s.w + s.pad_left + s.pad_right;
  HONE_USER_CHECK(std::max(s.pad_top, s.pad_bottom) < reach_h && std::max(s.pad_left, s.pad_right) < reach_w)
      << w.task << ": pad=" << w.text("pad") << " must be less than the window's reach " << reach_h << "x" << reach_w;
  const LayoutChoice layout = layout_choice(w.text("layout"));
  HONE_USER_CHECK(layout.in_block == layout.out_block)
      << w.task << ": layout=" << w.text("layout") << " has different blocks for input and output";
  element_count({s.n, s.ci, s.h + s.pad_top + s.pad_bottom, s.w + s.pad_left + s.pad_right});
  element_count({s.n, s.co, s.oh, s.ow});
}

void check_product(const Workload& w) {
  const int64_t b = w.task == "batch_matmul" ? w.number("b") : 1, m = w.number("m"), n = w.number("n"),
                k = w.number("k");
  element_count({b, m, n});
  element_count({b, m, k});
  element_count({b, n, k});
}

std::string canonical_float(std::string_view task, std::string_view text) {
  const std::string out = canonical_dtype(text);
  HONE_USER_CHECK(out == "f32" || out == "f64") << task << ": dtype=" << text << " is not supported; allowed: f32, f64";
  return out;
}

std::string canonical_value(std::string_view task, std::string_view attribute, std::string_view value) {
  if (attribute == "dtype" && !is_convolution(task) && !is_product(task)) return canonical_float(task, value);
  if (attribute == "count_include_pad") {
    HONE_USER_CHECK(value == "0" || value == "1") << "count_include_pad=" << value << " is neither 0 nor 1";
    return std::string(value);
  }
  if (task == "elementwise" || task == "reduce") return std::string(value);  // read together, see elementwise.h
  if (attribute == "stride" || attribute == "dilation") return canonical_pair(attribute, value, 1);
  if (attribute == "pad") return canonical_pad(value);
  if (attribute == "layout") return canonical_layout(value);
  if (attribute == "dtype") return canonical_dtype(value);
  if (attribute == "epilogue") return canonical_epilogue(value);
  return fmt::format("{}", parse_number(attribute, value, 1));
}

// Grouped convolutions with one channel a group have a task of their own.
Workload as_depthwise(const Workload& w) {
  if (w.task != "conv2d" || w.number("groups") == 1 || w.number("groups") != w.number("ci") ||
      w.number("groups") != w.number("co"))
    return w;
  Workload d;
  d.task = "depthwise_conv2d";
  for (const TaskInfo& t : task_table()) {
    if (t.name != d.task) continue;
    for (const auto& [name, value] : t.defaults) d.attributes.emplace_back(name, w.text(name == "c" ? "ci" : name));
  }
  return d;
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

}  // namespace

const std::vector<TaskInfo>& task_table() {
  static const std::vector<TaskInfo> kTasks = {
      {"conv2d",
       "2-D convolution: data[n,ci,h,w] * weight[co,ci/groups,kh,kw]",
       {{"n", "1"},
        {"ci", "64"},
        {"h", "56"},
        {"w", "56"},
        {"co", "64"},
        {"kh", "3"},
        {"kw", "3"},
        {"stride", "1"},
        {"pad", "1"},
        {"dilation", "1"},
        {"groups", "1"},
        {"layout", "NCHWc"},
        {"dtype", "f32"},
        {"epilogue", "none"}}},
      {"depthwise_conv2d",
       "convolution of each channel with its own kernel: data[n,c,h,w] * weight[c,1,kh,kw]",
       {{"n", "1"},
        {"c", "128"},
        {"h", "56"},
        {"w", "56"},
        {"kh", "3"},
        {"kw", "3"},
        {"stride", "1"},
        {"pad", "1"},
        {"dilation", "1"},
        {"layout", "NCHWc"},
        {"dtype", "f32"},
        {"epilogue", "none"}}},
      {"dense",
       "C[m,n] = A[m,k] B[n,k], B constant",
       {{"m", "128"}, {"n", "768"}, {"k", "768"}, {"dtype", "f32"}, {"epilogue", "none"}}},
      {"batch_matmul",
       "C[b,m,n] = A[b,m,k] B[b,k,n]",
       {{"b", "12"}, {"m", "128"}, {"n", "128"}, {"k", "64"}, {"dtype", "f32"}, {"epilogue", "none"}}},
      {"max_pool2d",
       "the largest of each window of data[n,c,h,w]",
       {{"n", "1"},
        {"c", "64"},
        {"h", "112"},
        {"w", "112"},
        {"kh", "3"},
        {"kw", "3"},
        {"stride", "2"},
        {"pad", "1"},
        {"dilation", "1"},
        {"layout", "NCHWc"},
        {"dtype", "f32"}}},
      {"avg_pool2d",
       "the mean of each window of data[n,c,h,w]; count_include_pad=1 divides by kh*kw at the borders too",
       {{"n", "1"},
        {"c", "64"},
        {"h", "56"},
        {"w", "56"},
        {"kh", "2"},
        {"kw", "2"},
        {"stride", "2"},
        {"pad", "0"},
        {"dilation", "1"},
        {"count_include_pad", "0"},
        {"layout", "NCHWc"},
        {"dtype", "f32"}}},
      {"elementwise",
       "functions of x joined by +, in order: op=mul+add+relu; each binary one takes an operand: "
       "operands=1x64x1x1:same",
       {{"op", "relu"}, {"shape", "1x64x56x56"}, {"operands", "same"}, {"dtype", "f32"}}},
      {"reduce",
       "sum, mean, max or min over axes: axes=2:3, -1 (the last), all",
       {{"op", "sum"}, {"shape", "1x64x56x56"}, {"axes", "2:3"}, {"keepdims", "0"}, {"dtype", "f32"}}},
  };
  return kTasks;
}

const std::string& Workload::text(std::string_view attribute) const {
  for (const auto& [name, value] : attributes)
    if (name == attribute) return value;
  HONE_ICHECK(false) << task << " has no attribute " << attribute;
  return task;
}

int64_t Workload::number(std::string_view attribute) const { return parse_number(attribute, text(attribute), 0); }

std::pair<int64_t, int64_t> Workload::pair(std::string_view attribute) const {
  const auto parts = split_text(text(attribute), 'x');
  return {parse_number(attribute, parts[0], 0), parse_number(attribute, parts.back(), 0)};
}

Workload Workload::parse(std::string_view text) {
  const std::string whole = trimmed(text);
  const size_t open = whole.find('(');
  HONE_USER_CHECK(open != std::string::npos && whole.back() == ')')
      << "workload '" << whole << "' is not of the form task(attribute=value,...)";
  return parse(trimmed(std::string_view(whole).substr(0, open)),
               std::string_view(whole).substr(open + 1, whole.size() - open - 2));
}

Workload Workload::parse(std::string_view task, std::string_view args) {
  const auto info =
      std::find_if(task_table().begin(), task_table().end(), [&](const TaskInfo& t) { return t.name == task; });
  HONE_USER_CHECK(info != task_table().end()) << "unknown task '" << task << "'; known: " << known_tasks();
  Workload w;
  w.task = std::string(task);
  for (const auto& [name, value] : info->defaults) w.attributes.emplace_back(name, value);
  std::vector<std::string> seen;
  const std::string trimmed_args = trimmed(args);
  for (const std::string& item : trimmed_args.empty() ? std::vector<std::string>{} : split_text(trimmed_args, ',')) {
    const size_t eq = item.find('=');
    const std::string name = trimmed(item.substr(0, eq)),
                      value = eq == std::string::npos ? "" : trimmed(item.substr(eq + 1));
    const auto attribute =
        std::find_if(w.attributes.begin(), w.attributes.end(), [&](const auto& a) { return a.first == name; });
    if (attribute == w.attributes.end()) {
      std::string names;
      for (const auto& [n, v] : w.attributes) names += (names.empty() ? "" : ", ") + n;
      throw UserError(fmt::format("{}: unknown attribute '{}'; it has {}", task, name, names));
    }
    HONE_USER_CHECK(std::find(seen.begin(), seen.end(), name) == seen.end())
        << task << ": attribute '" << name << "' is given twice";
    HONE_USER_CHECK(!value.empty()) << task << ": attribute '" << name << "' has no value";
    seen.push_back(name);
    attribute->second = value;
  }
  for (auto& [name, value] : w.attributes) value = canonical_value(w.task, name, value);
  if (is_convolution(w.task)) check_convolution(w);
  if (is_pool(w.task)) check_pool(w);
  if (is_product(w.task)) check_product(w);
  if (w.task == "elementwise") canonicalise_elementwise(&w);
  if (w.task == "reduce") canonicalise_reduce(&w);
  return as_depthwise(w);
}

std::string to_string(const Workload& w) {
  std::string args;
  for (const auto& [name, value] : w.attributes) args += fmt::format("{}{}={}", args.empty() ? "" : ",", name, value);
  return fmt::format("{}({})", w.task, args);
}

double flops(const Workload& w) {
  if (is_convolution(w.task)) {
    const ConvShape s = conv_shape(w);
    return 2.0 * static_cast<double>(s.n) * static_cast<double>(s.co) * static_cast<double>(s.oh * s.ow) *
           static_cast<double>(s.ci / s.groups) * static_cast<double>(s.kh * s.kw);
  }
  if (is_pool(w.task)) {
    const ConvShape s = conv_shape(w);
    return static_cast<double>(s.n) * static_cast<double>(s.co) * static_cast<double>(s.oh * s.ow) *
           static_cast<double>(s.kh * s.kw);
  }
  if (w.task == "elementwise") {
    const ElementwiseShape s = elementwise_shape(w);
    double operations = 0;
    for (const ElementwiseFunction* f : s.functions) operations += f->operations;
    return operations * static_cast<double>(element_count(s.shape));
  }
  if (w.task == "reduce") return static_cast<double>(element_count(reduce_shape(w).shape));
  const double b = w.task == "batch_matmul" ? static_cast<double>(w.number("b")) : 1;
  return 2.0 * b * static_cast<double>(w.number("m")) * static_cast<double>(w.number("n")) *
         static_cast<double>(w.number("k"));
}

}  // namespace hone
