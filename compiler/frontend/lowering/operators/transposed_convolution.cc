// The outputs along an axis are periods of as many as the stride. Those at one position of all periods read the same
// taps of the kernel, every stride-th one, backwards: a convolution of stride 1. The results of the positions are
// interleaved.
#include "compiler/frontend/lowering/operators/transposed_convolution.h"

#include <algorithm>

#include "compiler/ir/layout.h"

namespace hone::frontend {
namespace {

// The convolution for one position of the periods: its taps are the kernel's from `first` on, by strides.
struct Position {
  int64_t first = 0, taps = 1;
  int64_t before = 0, after = 0;  ///< pads of the input; negative ones cut it
  auto operator<=>(const Position&) const = default;
};

// Output `position` + period * stride reads input period + ahead - t through tap first + t * stride.
Position position_of(const TransposedAxis& a, int64_t position) {
  const int64_t first = (position + a.before) % a.stride, ahead = (position + a.before) / a.stride;
  const int64_t taps = (a.kernel - first + a.stride - 1) / a.stride;
  return {first, taps, taps - 1 - ahead, a.periods() + ahead - a.in};
}

using Positions = std::array<Position, 2>;

// Each may become a convolution of its own. FCN-32s has the most of all known models, 32 x 32.
constexpr int64_t kMostPositions = 4096;

class TransposedConvolution {
 public:
  TransposedConvolution(Lowering& l, const TransposedAxes& axes, int64_t groups) : l_(l), a_(axes), groups_(groups) {}

  // x [n, ci, h, w], weight [ci, co / groups, kh, kw] with zeros between dilated taps, bias [co] or none.
  Operand run(const Operand& x, const Operand& weight, const std::optional<Operand>& bias) {
    HONE_USER_CHECK(a_[0].stride <= kMostPositions && a_[1].stride <= kMostPositions / a_[0].stride)
        << "strides of " << a_[0].stride << " x " << a_[1].stride << " are not supported; their product is at most "
        << kMostPositions;
    const int64_t each = weight.type.shape[1];
    std::vector<Positions> positions;
    for (int64_t y = 0; y < a_[0].stride; ++y)
      for (int64_t z = 0; z < a_[1].stride; ++z) positions.push_back({position_of(a_[0], y), position_of(a_[1], z)});
    // One convolution for all positions where they read the same inputs; depthwise ones stay so.
    const auto reads_the_same = [&](const Positions& p) {
      return std::all_of(p.begin(), p.end(), [&, d = size_t{0}](const Position& one) mutable {
        const Position& first = positions[0][d++];
        return one.taps == first.taps && one.before == first.before && one.after == first.after;
      });
    };
    if ((groups_ == 1 || each > 1) && std::all_of(positions.begin(), positions.end(), reads_the_same))
      return together(x, weight, bias, positions);
    return apart(x, weight, bias, positions);
  }

 private:
  // [co, ci / groups, taps, taps]
  Operand taps_of(const Operand& weight, const Positions& p) {
    const Extents& s = weight.type.shape;
    const Operand of_groups = l_.reshape(weight, {groups_, s[0] / groups_, s[1], s[2], s[3]});
    const Operand turned =
        l_.reshape(l_.transpose(of_groups, {0, 2, 1, 3, 4}), {groups_ * s[1], s[0] / groups_, s[2], s[3]});
    const auto last = [&](size_t d) { return p[d].first + (p[d].taps - 1) * a_[d].stride; };
    return l_.slice(turned, {0, 0, last(0), last(1)}, {1, 1, -a_[0].stride, -a_[1].stride},
                    {groups_ * s[1], s[0] / groups_, p[0].taps, p[1].taps});
  }

  Operand convolved(Operand x, const Operand& weight, const std::optional<Operand>& bias, const Positions& p) {
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

  // Channels: of each group the positions', of each position the group's.
  Operand together(const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                   const std::vector<Positions>& positions) {
    const auto count = static_cast<int64_t>(positions.size());
    std::vector<Operand> taps;
    for (const Positions& p : positions) {
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
    const Operand out =
        convolved(x, l_.reshape(all, {groups_ * count * each, s[3], s[4], s[5]}), repeated, positions[0]);
    const Extents& o = out.type.shape;
    const Operand split = l_.reshape(out, {o[0], groups_, a_[0].stride, a_[1].stride, each, o[2], o[3]});
    return whole(l_.transpose(split, {0, 1, 4, 5, 2, 6, 3}), o[0], groups_ * each);
  }

  Operand apart(const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                const std::vector<Positions>& positions) {
    std::vector<Operand> parts;
    for (const Positions& p : positions) parts.push_back(convolved(x, taps_of(weight, p), bias, p));
    const Extents o = parts[0].type.shape;
    if (parts.size() == 1) return parts[0];
    for (Operand& part : parts) part = l_.reshape(part, {o[0], 1, o[1], o[2], o[3]});
    const Operand all = l_.reshape(l_.concat(parts, 1), {o[0], a_[0].stride, a_[1].stride, o[1], o[2], o[3]});
    return whole(l_.transpose(all, {0, 3, 4, 1, 5, 2}), o[0], o[1]);
  }

  // Whole periods, without what is behind the last output.
  Operand whole(const Operand& periods, int64_t images, int64_t channels) {
    const Operand image =
        l_.reshape(periods, {images, channels, a_[0].periods() * a_[0].stride, a_[1].periods() * a_[1].stride});
    return l_.slice(image, Extents(4, 0), Extents(4, 1), {images, channels, a_[0].out, a_[1].out});
  }

  Lowering& l_;
  const TransposedAxes a_;
  const int64_t groups_;
};

}  // namespace

Operand transposed_convolution(Lowering& l, const TransposedAxes& axes, int64_t groups, const Operand& x,
                               const Operand& weight, const std::optional<Operand>& bias) {
  return TransposedConvolution(l, axes, groups).run(x, weight, bias);
}

Operand with_zeros(Lowering& l, Operand weight, const Window& w) {
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
      weight = l.reshape(weight, split);
      split[3 + d] += between;
      weight = l.add("pad", {{"before", "0"}, {"after", join(after)}, {"mode", "constant"}}, {l.value(weight)});
    }
    shape[2 + d] = taps * w.dilation[d];
    weight = l.reshape(weight, shape);
    if (behind > 0) {
      Extents more(4, 0);
      more[2 + d] = behind;
      weight = l.add("pad", {{"before", "0"}, {"after", join(more)}, {"mode", "constant"}}, {l.value(weight)});
    }
    shape[2 + d] = wanted;
    weight = l.slice(weight, Extents(4, 0), Extents(4, 1), shape);
  }
  return weight;
}

}  // namespace hone::frontend
