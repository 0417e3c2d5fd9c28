#include "compiler/frontend/lowering/input_binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/shell_command.h"
#include "compiler/ir/layout.h"

namespace hone::frontend {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 32;

using DeclaredShape = std::vector<DeclaredDimension>;

// `1x3xN`, of several that are not known `1x3xN2xN3`: those of dimensions 2 and 3. The first one is `batch` then.
std::string shape_flag(const DeclaredShape& shape, int64_t batch) {
  int open = 0;
  for (size_t d = 1; d < shape.size(); ++d) open += !shape[d].extent;
  std::string text;
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? "x" : "") + (shape[d].extent ? std::to_string(*shape[d].extent)
                              : d == 0        ? std::to_string(batch)
                              : open == 1     ? "N"
                                              : "N" + std::to_string(d));
  return text;
}

// `[batch, 3, ?, ?]`: a dimension without a name is shown as ?, because no flag can name it.
std::string shape_text(const DeclaredShape& shape) {
  std::string text;
  for (const DeclaredDimension& dim : shape)
    text += (text.empty() ? "" : ", ") + (dim.extent ? std::to_string(*dim.extent) : dim.name.empty() ? "?" : dim.name);
  return "[" + text + "]";
}

// ` [batch, 3, ?, ?]`, or nothing.
std::string shape_behind(const DeclaredInput& input) { return input.shape ? " " + shape_text(*input.shape) : ""; }

class InputBinding {
 public:
  InputBinding(const std::vector<DeclaredInput>& inputs, const ImportOptions& options, const std::string& cache,
               Lowering& lowering, std::vector<std::string>* notes)
      : inputs_(inputs), options_(options), cache_(cache), lowering_(lowering), notes_(*notes) {}

  std::map<std::string, Operand> run() {
    for (const DeclaredInput& input : inputs_) name_dimensions(input);
    std::map<std::string, Operand> out;
    for (const DeclaredInput& input : inputs_) {
      HONE_USER_CHECK(!out.contains(input.name)) << "two inputs are called '" << input.name << "'";
      const auto value = options_.values.find(input.name);
      out[input.name] = value != options_.values.end() ? known_elements(input, value->second) : read(input);
    }
    // Names are checked first: a wrong name explains the missing values.
    check_names(out);
    check_all_bound();
    return out;
  }

 private:
  // A named dimension of an input whose shape is given, or whose elements are, has the same extent in all others.
  void name_dimensions(const DeclaredInput& input) {
    const auto value = options_.values.find(input.name);
    const auto given = options_.shapes.find(input.name);
    if (!input.shape || (value == options_.values.end() && given == options_.shapes.end())) return;
    const bool is_value = value != options_.values.end();
    const Extents& extents = is_value ? value->second.type().shape : given->second;
    const std::string flag = (is_value ? "--bind-data " : "--shape ") + input.name;
    if (input.shape->size() != extents.size()) return;
    for (size_t d = 0; d < extents.size(); ++d) {
      const std::string& name = (*input.shape)[d].name;
      if (name.empty()) continue;
      const auto bound = options_.bind.find(name);
      HONE_USER_CHECK(bound == options_.bind.end() || bound->second == extents[d])
          << flag << ": " << name << " is " << extents[d] << " there, and " << bound->second << " by --bind";
      if (bound != options_.bind.end()) bound_.insert(name);
      const int64_t known = inferred_.emplace(name, extents[d]).first->second;
      HONE_USER_CHECK(known == extents[d])
          << flag << ": " << name << " is " << extents[d] << " there, and " << known << " for another input";
    }
  }

  // Elements that are given for an input are of its type and, as far as the model says it, its shape.
  Operand known_elements(const DeclaredInput& input, const TensorData& data) {
    HONE_USER_CHECK(!options_.shapes.contains(input.name) && !options_.bind.contains(input.name))
        << "--bind-data " << input.name << ": its elements say what --shape and --bind would say again";
    const TensorType& given = data.type();
    bool fits = given.dtype == input.element.dtype;
    if (input.shape) {
      fits = fits && input.shape->size() == given.shape.size();
      for (size_t d = 0; fits && d < given.shape.size(); ++d)
        fits = (*input.shape)[d].extent.value_or(given.shape[d]) == given.shape[d];
    }
    HONE_USER_CHECK(fits) << "--bind-data " << input.name << ": the file has " << to_string(given) << "; the input is "
                          << to_string(input.element.dtype) << shape_behind(input);
    Operand known = lowering_.constant(data, input.name);
    known.encoding = input.element.encoding;
    return known;
  }

  Operand read(const DeclaredInput& input) {
    const TensorType type{input.element.dtype, extents_of(input)};
    check_axes(type.shape);
    element_count(type.shape);
    if (const auto it = options_.bind.find(input.name); it != options_.bind.end())
      return bound_number(input, type, it->second);
    Operand out{lowering_.b.input(input.name, type), type};
    out.encoding = input.element.encoding;
    return out;
  }

  Operand bound_number(const DeclaredInput& input, const TensorType& type, int64_t number) {
    const int64_t count = element_count(type.shape);
    HONE_USER_CHECK(count >= 1 && type.dtype.is_integer() && input.element.encoding == Encoding::kPlain &&
                    lowering_.may_make(count * 8))
        << "--bind " << input.name << ": the input is " << to_string(type.dtype) << shape_behind(input)
        << "; one whole number can be bound";
    bound_.insert(input.name);
    const std::vector<int64_t> numbers(static_cast<size_t>(count), number);
    return lowering_.constant(TensorData::of_numbers(numbers, type.dtype).reshaped(type.shape));
  }

  Extents extents_of(const DeclaredInput& input) {
    const auto given = options_.shapes.find(input.name);
    HONE_USER_CHECK(given != options_.shapes.end() || input.shape)
        << "input '" << input.name
        << "' has no shape; give one: " << shell_option("--shape", input.name + "=1x3x224x224");
    const DeclaredShape shape = input.shape.value_or(DeclaredShape{});
    HONE_USER_CHECK(shape.size() <= kMostAxes)
        << "input '" << input.name << "' has " << shape.size() << " axes; " << kMostAxes << " are the most";
    if (given != options_.shapes.end()) return checked(input, given->second);
    Extents extents;
    bool is_known = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::optional<int64_t> extent = dimension(input, d);
      is_known = is_known && extent;
      extents.push_back(extent.value_or(1));
    }
    if (!is_known) shape_flags_.push_back(shell_option("--shape", input.name + "=" + shape_flag(shape, 1)));
    return extents;
  }

  // The shape that --shape gives the input, if the model's own dimensions allow it; else UserError.
  static Extents checked(const DeclaredInput& input, const Extents& given) {
    if (!input.shape) return given;
    HONE_USER_CHECK(input.shape->size() == given.size())
        << "--shape " << input.name << ": the input has " << input.shape->size() << " dimensions,"
        << shape_behind(input);
    for (size_t d = 0; d < given.size(); ++d) {
      const int64_t declared = (*input.shape)[d].extent.value_or(0);
      HONE_USER_CHECK(declared == 0 || declared == given[d])
          << "--shape " << input.name << ": dimension " << d << " is " << declared << " in the model"
          << (d == 0 && declared == 1 ? fmt::format("; --model-batch {} builds it for more", given[d]) : "");
    }
    return given;
  }

  // None, and in unbound_, where nothing says it.
  std::optional<int64_t> dimension(const DeclaredInput& input, size_t d) {
    const auto& [declared, name] = (*input.shape)[d];
    if (declared) {
      HONE_USER_CHECK(*declared < kMostExtent) << "input '" << input.name << "' has an extent of " << *declared;
      return *declared;
    }
    if (const std::optional<int64_t> extent = bound_extent(name)) {
      HONE_USER_CHECK(*extent >= 0 && *extent < kMostExtent)
          << "--bind " << name << ": an extent is a whole number below 2^32, not " << *extent;
      return extent;
    }
    if (const auto it = inferred_.find(name); !name.empty() && it != inferred_.end()) return it->second;
    if (d == 0) {
      HONE_USER_CHECK(options_.batch == 1)
          << "--model-batch " << options_.batch << ": the first dimension of '" << input.name
          << "' is not fixed in the model; give it instead: "
          << (name.empty() ? fmt::format("--shape {}={}", input.name, shape_flag(*input.shape, options_.batch))
                           : fmt::format("--bind {}={}", name, options_.batch));
      notes_.push_back(fmt::format("{} = 1", name.empty() ? "the first dimension of " + input.name : name));
      if (!name.empty()) inferred_.emplace(name, 1);
      return 1;
    }
    unbound_.insert(name.empty() ? fmt::format("dimension {} of '{}'", d, input.name) : name);
    return std::nullopt;
  }

  // The number bound to a dimension of this name: given directly, or a sum like `past + 1` of known terms.
  std::optional<int64_t> bound_extent(const std::string& name) {
    if (name.empty()) return std::nullopt;
    if (const auto it = options_.bind.find(name); it != options_.bind.end()) {
      bound_.insert(name);
      return it->second;
    }
    const auto given = options_.sums.find(name);
    if (given != options_.sums.end()) bound_.insert(name);
    const std::string& text = given != options_.sums.end() ? given->second : name;
    return text.find('+') == std::string::npos ? std::nullopt : sum_of(name, text);
  }

  std::optional<int64_t> sum_of(const std::string& name, const std::string& text) {
    int64_t sum = 0;
    std::vector<std::string> used;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('+', begin), text.size());
      std::string term = text.substr(begin, end - begin);
      std::erase(term, ' ');
      begin = end + 1;
      const auto known = options_.bind.find(term);
      const bool is_number = !term.empty() && term.size() < 10 && std::all_of(term.begin(), term.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c));
      });
      if (known == options_.bind.end() && !is_number) return std::nullopt;
      if (known != options_.bind.end()) used.push_back(term);
      HONE_USER_CHECK(!__builtin_add_overflow(sum, is_number ? std::stoll(term) : known->second, &sum))
          << "--bind " << name << ": the sum '" << text << "' is too large";
    }
    bound_.insert(used.begin(), used.end());
    return sum;
  }

  // The names for --bind, --bind-data and --shape: `image [batch, 3, ?, ?], mask [batch, length]`.
  std::string inputs_text() const {
    std::string text;
    for (const DeclaredInput& input : inputs_) text += (text.empty() ? "" : ", ") + input.name + shape_behind(input);
    return text.empty() ? "no inputs" : text;
  }

  void check_names(const std::map<std::string, Operand>& known) const {
    const auto require_bound = [&](const std::string& name) {
      HONE_USER_CHECK(bound_.contains(name))
          << (name == cache_ ? "--cache " : "--bind ") << name
          << ": no input has a dimension of that name, nor is one called so; there are " << inputs_text();
    };
    for (const auto& [name, value] : options_.bind) require_bound(name);
    for (const auto& [name, text] : options_.sums) require_bound(name);
    for (const auto& [name, shape] : options_.shapes)
      HONE_USER_CHECK(known.contains(name))
          << "--shape " << name << ": there is no such input; there are " << inputs_text();
    for (const auto& [name, data] : options_.values)
      HONE_USER_CHECK(known.contains(name))
          << "--bind-data " << name << ": there is no such input; there are " << inputs_text();
  }

  void check_all_bound() const {
    if (unbound_.empty()) return;
    // Where one has no name, shapes say all.
    const bool have_names = std::none_of(unbound_.begin(), unbound_.end(),
                                         [](const std::string& name) { return name.find(' ') != std::string::npos; });
    std::string command;
    if (have_names)
      for (const std::string& name : unbound_) command += " " + shell_option("--bind", name + "=N");
    else
      for (const std::string& flag : shape_flags_) command += " " + flag;
    throw UserError(fmt::format("{} {} not known; give {}:{}", fmt::join(unbound_, ", "),
                                unbound_.size() == 1 ? "is" : "are", unbound_.size() == 1 ? "it" : "them", command));
  }

  const std::vector<DeclaredInput>& inputs_;
  const ImportOptions& options_;
  const std::string& cache_;
  Lowering& lowering_;
  std::vector<std::string>& notes_;
  std::set<std::string> bound_;              // names that options give and inputs have
  std::map<std::string, int64_t> inferred_;  // extents of named dimensions that an input's shape says
  std::set<std::string> unbound_;            // dimensions that nothing says
  std::vector<std::string> shape_flags_;     // that would say them
};

}  // namespace

std::map<std::string, Operand> bind_inputs(const std::vector<DeclaredInput>& inputs, const ImportOptions& options,
                                           const std::string& cache, Lowering& lowering,
                                           std::vector<std::string>* notes) {
  return InputBinding(inputs, options, cache, lowering, notes).run();
}

}  // namespace hone::frontend
