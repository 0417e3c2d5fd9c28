// A session's tuning curve: the points its summaries told, bounded however long it runs.
#pragma once

#include <vector>

#include "rpc/wire/messages/fleet_status.h"

namespace hone::tracker {

class SummaryRing {
 public:
  static constexpr size_t kMost = 512;

  /// Where two points have the same trials and best only the later is kept.
  void add(const wire::CurvePoint& point);
  const std::vector<wire::CurvePoint>& points() const { return points_; }
  /// At most `most` (2 or more) of them, evenly chosen; the first, the newest and the one that reached the best are
  /// among them.
  std::vector<wire::CurvePoint> sampled(size_t most) const;

 private:
  std::vector<wire::CurvePoint> points_;
};

}  // namespace hone::tracker
