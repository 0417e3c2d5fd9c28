#include "tests/unit/layering/arrange.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hone::layering {
namespace {

constexpr double kLine = 10;  // the width that a passing line keeps free

std::vector<std::vector<size_t>> ups_of(const Arrangement& a) {
  std::vector<std::vector<size_t>> ups(a.stops.size());
  for (size_t s = 0; s < a.stops.size(); ++s)
    for (const size_t to : a.stops[s].down) ups[to].push_back(s);
  return ups;
}

std::vector<double> indices(const Arrangement& a) {
  std::vector<double> index(a.stops.size());
  for (const auto& floor : a.floors)
    for (size_t i = 0; i < floor.size(); ++i) index[floor[i]] = static_cast<double>(i);
  return index;
}

double mean(const std::vector<size_t>& of, const std::vector<double>& values, double otherwise) {
  if (of.empty()) return otherwise;
  double sum = 0;
  for (const size_t i : of) sum += values[i];
  return sum / static_cast<double>(of.size());
}

// Neighbours change sides as long as that uncrosses lines.
void uncross(Arrangement& a) {
  for (bool better = true; better;) {
    better = false;
    for (auto& floor : a.floors)
      for (size_t i = 0; i + 1 < floor.size(); ++i) {
        const int before = crossings(a);
        std::swap(floor[i], floor[i + 1]);
        if (crossings(a) < before)
          better = true;
        else
          std::swap(floor[i], floor[i + 1]);
      }
  }
}

// Each floor is sorted by the mean index of those that its stops are tied to on the floor beside it, upwards and
// downwards in turns; the best order so far stays.
void order(Arrangement& a) {
  const auto ups = ups_of(a);
  uncross(a);
  Arrangement best = a;
  for (int turn = 0; turn < 24; ++turn) {
    for (size_t f = 1; f < a.floors.size(); ++f) {
      auto& floor = a.floors[turn % 2 == 0 ? f : a.floors.size() - 1 - f];
      const std::vector<double> index = indices(a);
      std::stable_sort(floor.begin(), floor.end(), [&](size_t l, size_t r) {
        const auto wish = [&](size_t s) { return mean(turn % 2 == 0 ? a.stops[s].down : ups[s], index, index[s]); };
        return wish(l) < wish(r);
      });
    }
    uncross(a);
    if (crossings(a) < crossings(best)) best = a;
  }
  a = best;
}

// The coordinates nearest to `wishes` (squares) that keep the order and the distances: of runs that would overlap, the
// mean.
std::vector<double> apart(const std::vector<double>& wishes, const std::vector<double>& distances) {
  struct Run {
    double sum;
    size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Run> runs;
  double offset = 0;
  std::vector<double> offsets;
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (i > 0) offset += distances[i - 1];
    offsets.push_back(offset);
    runs.push_back({wishes[i] - offset, 1});
    while (runs.size() > 1 && runs[runs.size() - 2].mean() > runs.back().mean()) {
      runs[runs.size() - 2].sum += runs.back().sum, runs[runs.size() - 2].count += runs.back().count;
      runs.pop_back();
    }
  }
  std::vector<double> out;
  for (const Run& run : runs)
    for (size_t i = 0; i < run.count; ++i) out.push_back(run.mean() + offsets[out.size()]);
  return out;
}

// Where a stop would be if it were alone: at the mean of those that it is tied to. Long lines are straight: passing
// stops pull each other harder.
double wish(const Arrangement& a, const std::vector<std::vector<size_t>>& ups, size_t stop, size_t boxes) {
  double sum = 0, weights = 0;
  for (const auto* tied : {&a.stops[stop].down, &ups[stop]})
    for (const size_t other : *tied) {
      const double weight = stop >= boxes && other >= boxes ? 8 : 1;
      sum += weight * a.stops[other].x, weights += weight;
    }
  return weights > 0 ? sum / weights : a.stops[stop].x;
}

// Floor by floor, so often that it settles.
void set_x(Arrangement& a, double gap, size_t boxes) {
  const auto ups = ups_of(a);
  for (int turn = 0; turn < 500; ++turn)
    for (const auto& floor : a.floors) {
      std::vector<double> wishes, distances;
      for (size_t i = 0; i < floor.size(); ++i) {
        wishes.push_back(wish(a, ups, floor[i], boxes));
        if (i > 0) distances.push_back((a.stops[floor[i]].width + a.stops[floor[i - 1]].width) / 2 + gap);
      }
      const std::vector<double> found = apart(wishes, distances);
      for (size_t i = 0; i < floor.size(); ++i) a.stops[floor[i]].x = found[i];
    }
  double left = std::numeric_limits<double>::max();
  for (const Stop& s : a.stops) left = std::min(left, s.x - s.width / 2);
  for (Stop& s : a.stops) s.x -= left;
}

}  // namespace

int crossings(const Arrangement& a) {
  const std::vector<double> index = indices(a);
  int found = 0;
  for (const auto& floor : a.floors)
    for (size_t l = 0; l < floor.size(); ++l)
      for (size_t r = l + 1; r < floor.size(); ++r)
        for (const size_t from_left : a.stops[floor[l]].down)
          for (const size_t from_right : a.stops[floor[r]].down) found += index[from_left] > index[from_right];
  return found;
}

Arrangement arrange(const std::vector<Box>& boxes, const std::vector<double>& widths, double gap) {
  Arrangement a;
  int top = 0;
  for (const Box& box : boxes) top = std::max(top, box.floor);
  a.floors.resize(static_cast<size_t>(top) + 1);
  const auto add = [&](size_t box, double width, int floor) {
    a.stops.push_back({.box = box, .width = width, .x = 0, .down = {}});
    a.floors[static_cast<size_t>(floor)].push_back(a.stops.size() - 1);
    return a.stops.size() - 1;
  };
  for (size_t i = 0; i < boxes.size(); ++i) add(i, widths[i], boxes[i].floor);
  for (size_t i = 0; i < boxes.size(); ++i)
    for (const size_t to : boxes[i].below) {
      size_t from = i;
      for (int floor = boxes[i].floor - 1; floor > boxes[to].floor; --floor) {
        const size_t pass = add(boxes.size(), kLine, floor);
        a.stops[from].down.push_back(pass);
        from = pass;
      }
      a.stops[from].down.push_back(to);
    }
  order(a);
  set_x(a, gap, boxes.size());
  return a;
}

}  // namespace hone::layering
