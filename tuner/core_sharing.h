// Whatever keeps cores busy beside timed runs (searching, lowering, training) says so and takes breaks.
#pragma once

namespace hone {

class CoreSharing {
 public:
  virtual ~CoreSharing() = default;
  /// Around a stretch of work; may wait for a timed run to end. Not nested.
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Called often inside such a stretch: lets waiting timed runs go first. Nothing outside of one.
  virtual void breathe() = 0;
};

/// Shares with nobody.
class NoCoreSharing final : public CoreSharing {
 public:
  void begin() override {}
  void end() override {}
  void breathe() override {}
};

/// A stretch of work.
class CoreWork {
 public:
  explicit CoreWork(CoreSharing& cores) : cores_(cores) { cores_.begin(); }
  ~CoreWork() { cores_.end(); }
  CoreWork(const CoreWork&) = delete;
  CoreWork& operator=(const CoreWork&) = delete;

 private:
  CoreSharing& cores_;
};

}  // namespace hone
