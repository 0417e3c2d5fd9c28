// Transposed convolutions as ordinary ones. The outputs along an axis form periods as long as the stride. Outputs at
// the same place of their periods read the same taps of the kernel, every stride-th one, backwards: a convolution of
// stride 1. The results of all places are interleaved.
#include <algorithm>
#include <array>

#include "compiler/frontend/onnx/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

struct TransposedAxis {
  int64_t in = 1, kernel = 1, stride = 1, before = 0, out = 1;
  int64_t periods() const { return (out + stride - 1) / stride; }
};

// The convolution for one place of the periods: its taps are the kernel's from `first` on, by strides.
struct Place {
  int64_t first = 0, taps = 1;
  int64_t before = 0, after = 0;  ///< pads of the input; negative ones cut it
  auto operator<=>(const Place&) const = default;
};

// Output `place` + period * stride reads input period + ahead - t through tap first + t * stride.
Place place_of(const TransposedAxis& a, int64_t place) {
  const int64_t first = (place + a.before) % a.stride, ahead = (place + a.before) / a.stride;
  const int64_t taps = (a.kernel - first + a.stride - 1) / a.stride;
  return {first, taps, taps - 1 - ahead, a.periods() + ahead - a.in};
}

using Axes = std::array<TransposedAxis, 2>;
using Places = std::array<Place, 2>;

// The pads in front of and behind one axis, and its extent, as ONNX has them.
void set_extent(const NodeContext& c, const Window& w, size_t d, size_t axes, TransposedAxis* a) {
  const Extents more = c.numbers("output_padding").value_or(Extents(axes, 0));
  HONE_USER_CHECK(more.size() == axes) << "output_padding has " << more.size() << " numbers for " << axes << " axes";
  HONE_USER_CHECK(more[d] >= 0 && more[d] <= kMostOfWindow) << "an output_padding of " << more[d];
  const int64_t whole = w.stride[d] * (a->in - 1) + (w.kernel[d] - 1) * w.dilation[d] + 1 + more[d];
  const std::string automatic = c.text("auto_pad", "NOTSET");
  HONE_USER_CHECK(automatic == "NOTSET" || automatic == "VALID" || automatic == "SAME_UPPER" ||
                  automatic == "SAME_LOWER")
      << "auto_pad=" << automatic;
  std::optional<int64_t> wanted;
  if (const auto shape = c.numbers("output_shape")) {
    HONE_USER_CHECK(shape->size() >= axes)
        << "output_shape has " << shape->size() << " numbers for " << axes << " axes";
    wanted = (*shape)[shape->size() - axes + d];
  } else if (automatic.starts_with("SAME")) {
    wanted = a->in * w.stride[d];
  }
  if (wanted) {
    const int64_t all = std::max<int64_t>(0, whole - *wanted);
    a->before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
    a->out = *wanted;
  } else {
    const Extents pads = automatic == "VALID" ? Extents(2 * axes, 0) : c.numbers("pads").value_or(Extents(2 * axes, 0));
    HONE_USER_CHECK(pads.size() == 2 * axes) << "it has " << pads.size() << " pads for " << axes << " axes";
    for (const int64_t p : pads) HONE_USER_CHECK(p >= 0 && p <= kMostOfWindow) << "a pad of " << p;
    a->before = pads[d];
    a->out = whole - pads[d] - pads[axes + d];
  }
  HONE_USER_CHECK(a->out >= 1 && a->out <= whole + kMostOfWindow) << "an output of " << a->out << " elements";
}

class TransposedConvolution {
 public:
  TransposedConvolution(NodeContext& c, const Axes& axes, int64_t groups) : c_(c), l_(c.l), a_(axes), groups_(groups) {}

  // x [n, ci, h, w], weight [ci, co / groups, kh, kw] with zeros between dilated taps, bias [co] or none.
  Operand run(const Operand& x, const Operand& weight, const std::optional<Operand>& bias) {
    const int64_t each = weight.type.shape[1];
    std::vector<Places> places;
    for (int64_t y = 0; y < a_[0].stride; ++y)
      for (int64_t z = 0; z < a_[1].stride; ++z) places.push_back({place_of(a_[0], y), place_of(a_[1], z)});
    // One convolution for all places where they read the same inputs; depthwise ones stay so.
    const auto reads_the_same = [&](const Places& p) {
      return std::all_of(p.begin(), p.end(), [&, d = size_t{0}](const Place& one) mutable {
        const Place& first = places[0][d++];
        return one.taps == first.taps && one.before == first.before && one.after == first.after;
      });
    };
    if ((groups_ == 1 || each > 1) && std::all_of(places.begin(), places.end(), reads_the_same))
      return together(x, weight, bias, places);
    return apart(x, weight, bias, places);
  }

 private:
  // [co, ci / groups, taps, taps]
  Operand taps_of(const Operand& weight, const Places& p) {
    const Extents& s = weight.type.shape;
    const Operand of_groups = l_.reshape(weight, {groups_, s[0] / groups_, s[1], s[2], s[3]});
    const Operand turned =
        l_.reshape(l_.transpose(of_groups, {0, 2, 1, 3, 4}), {groups_ * s[1], s[0] / groups_, s[2], s[3]});
    const auto last = [&](size_t d) { return p[d].first + (p[d].taps - 1) * a_[d].stride; };
    return l_.slice(turned, {0, 0, last(0), last(1)}, {1, 1, -a_[0].stride, -a_[1].stride},
                    {groups_ * s[1], s[0] / groups_, p[0].taps, p[1].taps});
  }

  Operand convolved(Operand x, const Operand& weight, const std::optional<Operand>& bias, const Places& p) {
    Extents begin(4, 0), size = x.type.shape;
    for (size_t d = 0; d < 2; ++d) {
      begin[2 + d] = std::max<int64_t>(0, -p[d].before);
      size[2 + d] -= begin[2 + d] + std::max<int64_t>(0, -p[d].after);
      HONE_USER_CHECK(size[2 + d] >= 1) << "pads that leave nothing of the input are not supported";
    }
    x = l_.slice(x, begin, Extents(4, 1), size);
    const auto pad = [](int64_t n) { return std::max<int64_t>(0, n); };
    AttributeTexts given{{"pad", join({pad(p[0].before), pad(p[1].before), pad(p[0].after), pad(p[1].after)})},
                         {"layout", "NCHW"}};
    std::vector<ValueId> ids{l_.value(x), l_.value(weight)};
    if (bias) {
      given.emplace_back("epilogue", "bias");
      ids.push_back(l_.value(*bias));
    }
    return l_.add("conv2d", given, ids);
  }

  // Channels: of each group the places', of each place the group's.
  Operand together(const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                   const std::vector<Places>& places) {
    const auto count = static_cast<int64_t>(places.size());
    std::vector<Operand> taps;
    for (const Places& p : places) {
      const Operand own = taps_of(weight, p);
      const Extents& s = own.type.shape;
      taps.push_back(l_.reshape(own, {groups_, 1, s[0] / groups_, s[1], s[2], s[3]}));
    }
    const Operand all = l_.concat(taps, 1);
    const Extents& s = all.type.shape;
    const int64_t each = s[2];
    std::optional<Operand> repeated;
    if (bias)
      repeated = l_.reshape(l_.broadcast(l_.reshape(*bias, {groups_, 1, each}), {groups_, count, each}),
                            {groups_ * count * each});
    const Operand out = convolved(x, l_.reshape(all, {groups_ * count * each, s[3], s[4], s[5]}), repeated, places[0]);
    const Extents& o = out.type.shape;
    const Operand split = l_.reshape(out, {o[0], groups_, a_[0].stride, a_[1].stride, each, o[2], o[3]});
    return whole(l_.transpose(split, {0, 1, 4, 5, 2, 6, 3}), o[0], groups_ * each);
  }

  Operand apart(const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                const std::vector<Places>& places) {
    std::vector<Operand> parts;
    for (const Places& p : places) parts.push_back(convolved(x, taps_of(weight, p), bias, p));
    const Extents o = parts[0].type.shape;
    if (parts.size() == 1) return parts[0];
    for (Operand& part : parts) part = l_.reshape(part, {o[0], 1, o[1], o[2], o[3]});
    const Operand all = l_.reshape(l_.concat(parts, 1), {o[0], a_[0].stride, a_[1].stride, o[1], o[2], o[3]});
    return whole(l_.transpose(all, {0, 3, 4, 1, 5, 2}), o[0], o[1]);
  }

  // The outputs of whole periods, cut behind the last one.
  Operand whole(const Operand& periods, int64_t images, int64_t channels) {
    const Operand image =
        l_.reshape(periods, {images, channels, a_[0].periods() * a_[0].stride, a_[1].periods() * a_[1].stride});
    return l_.slice(image, Extents(4, 0), Extents(4, 1), {images, channels, a_[0].out, a_[1].out});
  }

  NodeContext& c_;
  Lowering& l_;
  const Axes a_;
  const int64_t groups_;
};

// Zeros between the taps, and behind them up to the stride: each place has one tap at least.
Operand with_zeros(NodeContext& c, Operand weight, const Window& w) {
  for (size_t d = 0; d < 2; ++d) {
    Extents shape = weight.type.shape;
    const int64_t taps = shape[2 + d], dilated = (taps - 1) * w.dilation[d] + 1,
                  wanted = std::max(dilated, w.stride[d]);
    if (wanted == taps) continue;
    const int64_t between = w.dilation[d] - 1, behind = std::max<int64_t>(0, wanted - taps * w.dilation[d]);
    Extents split = shape;
    split.insert(split.begin() + 3 + static_cast<std::ptrdiff_t>(d), 1);
    Extents after(5, 0);
    after[3 + d] = between;
    if (between > 0) {
      weight = c.l.reshape(weight, split);
      split[3 + d] += between;
      weight = c.l.add("pad", {{"before", "0"}, {"after", join(after)}, {"mode", "constant"}}, {c.l.value(weight)});
    }
    shape[2 + d] = taps * w.dilation[d];
    weight = c.l.reshape(weight, shape);
    if (behind > 0) {
      Extents more(4, 0);
      more[2 + d] = behind;
      weight = c.l.add("pad", {{"before", "0"}, {"after", join(more)}, {"mode", "constant"}}, {c.l.value(weight)});
    }
    shape[2 + d] = wanted;
    weight = c.l.slice(weight, Extents(4, 0), Extents(4, 1), shape);
  }
  return weight;
}

// Over three axes of space: zeros between the inputs, and a convolution with the kernel backwards.
void conv_transpose_of_volumes(NodeContext& c, const Window& w, const std::vector<TransposedAxis>& axes,
                               int64_t groups) {
  FileLowering& l = c.l;
  Operand x = c.in(0);
  Extents before(5, 0), after(5, 0);
  for (size_t d = 0; d < 3; ++d) {
    x = spread(l, x, 2 + d, w.stride[d]);
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d];
    before[2 + d] = reach - axes[d].before;
    after[2 + d] = axes[d].out + reach - x.type.shape[2 + d] - before[2 + d];
  }
  const Extents& s = c.in(1).type.shape;
  const Extents kernel(s.begin() + 2, s.end());
  const auto with_kernel = [&](Extents first) {
    first.insert(first.end(), kernel.begin(), kernel.end());
    return first;
  };
  const Operand exchanged =
      l.reshape(l.transpose(l.reshape(c.in(1), with_kernel({groups, s[0] / groups, s[1]})), {0, 2, 1, 3, 4, 5}),
                with_kernel({groups * s[1], s[0] / groups}));
  const Operand backwards =
      l.slice(exchanged, {0, 0, kernel[0] - 1, kernel[1] - 1, kernel[2] - 1}, {1, 1, -1, -1, -1}, exchanged.type.shape);
  onnx::Node plain;
  const auto set = [&](const char* name, const Extents& values) {
    onnx::Attribute* a = plain.add_attribute();
    a->set_name(name);
    for (const int64_t v : values) a->add_ints(v);
  };
  set("dilations", w.dilation);
  onnx::Attribute* group = plain.add_attribute();
  group->set_name("group");
  group->set_i(groups);
  NodeContext conv{
      plain,       c.opset, {with_borders(l, x, before, after), backwards, c.has(2) ? c.inputs[2] : std::nullopt},
      {Operand{}}, l,       {}};
  rows().at(":Conv")(conv);
  c.outputs[0] = conv.outputs[0];
}

void conv_transpose(NodeContext& c) {
  const Operand &x = c.in(0), &weight = c.in(1);
  require_image(x);
  HONE_USER_CHECK(weight.rank() == x.rank()) << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const size_t n = x.rank() - 2;
  const Extents image(x.type.shape.begin() + 2, x.type.shape.end());
  Window w = steps_of(c, image, {weight.type.shape.begin() + 2, weight.type.shape.end()});
  const int64_t groups = c.number("group", 1);
  HONE_USER_CHECK(groups >= 1 && weight.type.shape[0] == x.type.shape[1] && x.type.shape[1] % groups == 0)
      << "group=" << groups << " with weight " << to_string(weight.type) << " of " << to_string(x.type);
  const int64_t channels = weight.type.shape[1] * groups;
  Extents shape{x.type.shape[0], channels};
  std::vector<TransposedAxis> axes(n);
  for (size_t d = 0; d < n; ++d) {
    axes[d] = {image[d], std::max((w.kernel[d] - 1) * w.dilation[d] + 1, w.stride[d]), w.stride[d], 0, 1};
    set_extent(c, w, d, n, &axes[d]);
    shape.push_back(axes[d].out);
  }
  if (n == 3 && x.type.dtype.is_narrow_float()) return run_in_f32(c, &conv_transpose);
  if (n == 3) return conv_transpose_of_volumes(c, w, axes, groups);
  // A sequence is an image of one row.
  const bool is_sequence = n == 1;
  if (is_sequence) {
    axes.insert(axes.begin(), TransposedAxis{});
    make_image(&w, image);
  }
  const auto as_image = [&](const Operand& t) { return c.l.reshape(t, image_shape(t.type.shape, is_sequence)); };
  std::optional<Operand> bias;
  if (c.has(2)) bias = c.l.reshape(c.in(2), {channels});
  const Operand out =
      TransposedConvolution(c, {axes[0], axes[1]}, groups).run(as_image(x), with_zeros(c, as_image(weight), w), bias);
  c.outputs[0] = c.l.reshape(out, shape);
}

}  // namespace

void add_conv_transpose_rows(RowTable& t) { t[":ConvTranspose"] = &conv_transpose; }

}  // namespace hone::onnx
