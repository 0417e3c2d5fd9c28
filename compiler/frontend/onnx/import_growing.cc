#include "compiler/frontend/onnx/import_growing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/frontend/onnx/import_file.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace onnx {
namespace {

using Constants = std::map<OperandIndex, KnownOperand>;
using Tables = std::map<OperandIndex, CountedTable>;

// Limit for a table; one of positions takes a few MB.
constexpr int64_t kMostTableBytes = int64_t{1} << 28;

// A tensor as rows along one axis.
struct Rows {
  int64_t outer = 1, count = 0, bytes = 0;  // blocks, rows in each, bytes of one
  Rows(const TensorType& t, size_t axis) : count(t.shape.empty() ? 1 : t.shape[axis]), bytes(t.dtype.bytes()) {
    for (size_t d = 0; d < t.shape.size(); ++d) (d < axis ? outer : d > axis ? bytes : ignored) *= t.shape[d];
  }

 private:
  int64_t ignored = 1;
};

// Calls f(from, to, bytes) for each block of `part`, with its offset there and its offset in the whole.
template <class F>
void for_each_block(const TensorType& part, const TensorType& whole, size_t axis, const F& f) {
  const Rows from(part, axis), to(whole, axis);
  for (int64_t o = 0; o < from.outer; ++o)
    f(o * from.count * from.bytes, o * to.count * to.bytes, from.count * from.bytes);
}

// The axis along which `part` is shorter than `whole` and otherwise of its shape; nothing where there is no such axis.
std::optional<size_t> shorter_axis(const TensorType& part, const TensorType& whole) {
  if (part.dtype != whole.dtype || part.shape.size() != whole.shape.size()) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t d = 0; d < part.shape.size(); ++d) {
    if (part.shape[d] == whole.shape[d]) continue;
    if (axis || part.shape[d] > whole.shape[d]) return std::nullopt;
    axis = d;
  }
  return axis;
}

// One constant for each number of rows.
class CountedConstant {
 public:
  CountedConstant(KnownOperand most, int64_t count) : most_(std::move(most)), others_(static_cast<size_t>(count)) {}

  void add(int64_t count, const TensorData& data) {
    std::optional<Other>& other = others_[static_cast<size_t>(count)];
    const std::optional<size_t> axis = shorter_axis(data.type(), most_.data.type());
    bool is_begin = axis || data.type() == most_.data.type();
    const auto rows_less = static_cast<int64_t>(others_.size()) - count;
    HONE_USER_CHECK(!axis || data.type().shape[*axis] == most_.data.type().shape[*axis] - rows_less)
        << "a constant of node '" << most_.node->name() << "' is " << to_string(most_.data.type()) << " for "
        << others_.size() << " rows and " << to_string(data.type()) << " for " << count
        << ": it does not grow with them";
    if (is_begin && data.bytes().data() != most_.data.bytes().data())
      for_each_block(data.type(), most_.data.type(), axis.value_or(0), [&](int64_t from, int64_t to, int64_t n) {
        is_begin = is_begin && std::equal(data.bytes().begin() + from, data.bytes().begin() + from + n,
                                          most_.data.bytes().begin() + to);
      });
    if (axis || !is_begin) other = Other{data.type(), is_begin ? std::nullopt : std::optional(data)};
    needs_table_ = needs_table_ || !is_begin;
  }
  const KnownOperand& most() const { return most_; }

  // A row for each number up to `most`. Nothing where the constant for the most rows is right for all: it is the same,
  // or only longer.
  std::optional<CountedTable> table(int64_t most) const {
    if (!needs_table_) return std::nullopt;
    const TensorData whole = at(most);
    const auto row = static_cast<int64_t>(whole.bytes().size());
    HONE_USER_CHECK(row <= kMostTableBytes / (most + 1))
        << "a constant of node '" << most_.node->name()
        << "' is another one for each number of rows, and all of these take " << row << " bytes each";
    std::string bytes(static_cast<size_t>(row * (most + 1)), '\0');
    for (int64_t c = 0; c <= most; ++c) {
      const TensorData data = at(c);
      const std::optional<size_t> axis = shorter_axis(data.type(), whole.type());
      HONE_USER_CHECK(axis || data.type() == whole.type())
          << "a constant of node '" << most_.node->name() << "' is " << to_string(whole.type()) << " for " << most
          << " rows and " << to_string(data.type()) << " for " << c;
      for_each_block(data.type(), whole.type(), axis.value_or(0), [&](int64_t from, int64_t to, int64_t n) {
        std::copy_n(data.bytes().begin() + from, n, bytes.begin() + c * row + to);
      });
    }
    TensorData rows({whole.type().dtype, {most + 1, whole.elements()}}, std::move(bytes));
    const bool tells_extents = grows_evenly(rows);
    return CountedTable{std::move(rows), tells_extents};
  }

 private:
  static bool grows_evenly(const TensorData& rows) {
    if (!rows.type().dtype.is_integer()) return false;
    const std::vector<int64_t> n = rows.numbers();
    const auto width = static_cast<size_t>(rows.type().shape[1]);
    for (size_t i = 2 * width; i < n.size(); ++i)
      if (n[i] - n[i - width] != n[i - width] - n[i - 2 * width]) return false;
    return true;
  }

  struct Other {
    TensorType type;
    std::optional<TensorData> data;  // none: the data is the beginning of that for the most rows
  };

  TensorData at(int64_t count) const {
    const auto c = static_cast<size_t>(count);
    if (c >= others_.size() || !others_[c]) return most_.data;
    const Other& other = *others_[c];
    if (other.data) return *other.data;
    std::string bytes(static_cast<size_t>(bytes_of(other.type)), '\0');
    for_each_block(other.type, most_.data.type(), *shorter_axis(other.type, most_.data.type()),
                   [&](int64_t to, int64_t from, int64_t n) {
                     std::copy_n(most_.data.bytes().begin() + from, n, bytes.begin() + to);
                   });
    return {other.type, std::move(bytes)};
  }

  KnownOperand most_;
  std::vector<std::optional<Other>> others_;  // by number of rows; none: as for the most
  bool needs_table_ = false;
};

class GrowingImport {
 public:
  GrowingImport(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                std::string symbol, int64_t most)
      : path_(path),
        operators_(operators),
        options_(options),
        symbol_(std::move(symbol)),
        most_(most),
        file_(read_model(path)) {}

  GrowingModel import() {
    look_at_constants();
    GrowingModel out;
    out.path = path_;
    out.model = model_for(most_);
    out.growth = growth_of(out.model.graph, most_);
    out.shorter = model_for(most_ - 1).graph;
    out.shorter_growth = growth_of(out.shorter, most_ - 1);
    return out;
  }

 private:
  ImportOptions bound(int64_t count) const {
    ImportOptions out = options_;
    out.bind[symbol_] = count;
    return out;
  }

  void look_at_constants() {
    Constants all;
    import_file(file_, path_, operators_, bound(most_), {.constants = &all, .symbol = symbol_});
    std::set<OperandIndex> positions;
    for (auto& [position, known] : all) {
      positions.insert(position);
      constants_.emplace(position, CountedConstant(std::move(known), most_));
    }
    for (int64_t count = 0; count < most_; ++count) {
      Constants some;
      import_file(file_, path_, operators_, bound(count),
                  {.constants = &some, .wanted = &positions, .symbol = symbol_});
      for (auto& [position, constant] : constants_) {
        const auto it = some.find(position);
        HONE_USER_CHECK(it != some.end() && it->second.node == constant.most().node)
            << path_ << ": node '" << constant.most().node->name() << "' does something else for " << count
            << " than for " << most_ << " rows of " << symbol_;
        constant.add(count, it->second.data);
      }
    }
  }

  ImportedModel model_for(int64_t most) {
    Tables tables;
    for (const auto& [position, constant] : constants_)
      if (auto table = constant.table(most)) tables.emplace(position, std::move(*table));
    return import_file(file_, path_, operators_, bound(most), {.tables = &tables, .symbol = symbol_});
  }

  // Pairs of an input and an output that is the input with a row behind it.
  Growth growth_of(const ::hone::Graph& g, int64_t most) const {
    Growth out{symbol_, most, {}};
    const Uses uses = uses_of(g);
    for (size_t o = 0; o < g.outputs.size(); ++o) {
      if (g.outputs[o].value == kNoValue) continue;
      const int producer = uses.producer[g.outputs[o].value];
      if (producer < 0) continue;
      const ::hone::Node& n = g.nodes[producer];
      if (!is<ops::Concat>(n) || n.inputs.size() != 2) continue;
      const auto axis = static_cast<size_t>(n.workload.attributes.number("axis"));
      const auto input =
          std::find_if(g.inputs.begin(), g.inputs.end(), [&](const Port& p) { return p.value == n.inputs[0]; });
      const auto extent = [&](ValueId v) { return g.value(v).type.shape[axis]; };
      if (input == g.inputs.end() || extent(n.inputs[0]) != most || extent(n.inputs[1]) != 1) continue;
      out.caches.push_back({static_cast<size_t>(input - g.inputs.begin()), o, axis});
    }
    HONE_USER_CHECK(!out.caches.empty()) << path_ << ": --cache " << symbol_ << ": no output is an input of " << symbol_
                                         << " rows with one row behind them";
    std::sort(out.caches.begin(), out.caches.end(), [](const Cache& a, const Cache& b) { return a.input < b.input; });
    return out;
  }

  const std::string path_;
  const OperatorTable& operators_;
  const ImportOptions options_;
  const std::string symbol_;
  const int64_t most_;
  ModelFile file_;
  std::map<OperandIndex, CountedConstant> constants_;  // by position: their values for each number of rows
};

}  // namespace
}  // namespace onnx

GrowingModel import_growing_onnx(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                                 const CacheOption& cache) {
  const auto& [symbol, most] = cache;
  HONE_USER_CHECK(most >= 1) << "--cache " << symbol << "=" << most << ": a cache has room for one row at least";
  HONE_USER_CHECK(!options.bind.contains(symbol) && !options.sums.contains(symbol))
      << "--cache " << symbol << ": --bind says what it is, too";
  HONE_USER_CHECK(options.batch == 1) << "--model-batch " << options.batch << ": not of a decoder whose --cache grows";
  return onnx::GrowingImport(path, operators, options, symbol, most).import();
}

}  // namespace hone
