// The memory that peers may make the tracker hold: one limit for all of them, and a share of it for each token.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace hone::tracker {

/// How the bytes of --memory-budget are divided.
struct MemoryPlan {
  size_t grpc = 0;     ///< gRPC's part: messages that are not complete or not yet sent
  size_t blobs = 0;    ///< modules kept for agents
  size_t peers = 0;    ///< jobs, results, sessions, devices, streams, waiting messages, pages: the MemoryBudget
  size_t share = 0;    ///< of `peers`, for one token, unless its line says otherwise
  size_t message = 0;  ///< one message, decoded; the others wait meanwhile

  static constexpr size_t kLeast = size_t{512} << 20;
  /// `total` is in bytes; less than kLeast counts as that.
  static MemoryPlan of(size_t total);
};

/// Half of what this process may use: the machine's memory, or the limit of its cgroup where that is lower. At least
/// MemoryPlan::kLeast, at most 8 GiB.
size_t default_memory_budget();

/// Thread-safe. Nothing is allocated here: code that holds data for a peer first takes its bytes here, and gives them
/// back with it.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t most, size_t share) : all_(std::make_shared<All>(most)), share_(share) {}

  class Account;
  /// Bytes taken from an account; given back when this is destroyed. Empty: nothing was taken.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&& other) noexcept {
      give_back();
      account_ = std::move(other.account_);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Charge() { give_back(); }
    size_t bytes() const { return bytes_; }

   private:
    friend class Account;
    Charge(std::shared_ptr<Account> account, size_t bytes) : account_(std::move(account)), bytes_(bytes) {}
    void give_back();
    std::shared_ptr<Account> account_;
    size_t bytes_ = 0;
  };

 private:
  struct All {
    explicit All(size_t m) : most(m) {}
    const size_t most;
    std::atomic<size_t> used{0};
  };

 public:
  class Account : public std::enable_shared_from_this<Account> {
   public:
    Account(std::shared_ptr<All> all, size_t share) : all_(std::move(all)), share_(share) {}
    /// Nothing when there is no room, here or in all.
    std::optional<Charge> take(size_t bytes);
    /// The same without an owner of the bytes: give() gives them back.
    bool take_loose(size_t bytes);
    void give(size_t bytes);
    size_t used() const { return used_; }
    size_t share() const { return share_; }

   private:
    friend class MemoryBudget;
    const std::shared_ptr<All> all_;
    std::atomic<size_t> share_;
    std::atomic<size_t> used_{0};
  };

  /// The account of that name, while anybody holds it or something charged to it. `share`: its limit from now on; 0:
  /// the usual one.
  std::shared_ptr<Account> account(const std::string& name, size_t share = 0);
  size_t used() const { return all_->used; }
  size_t most() const { return all_->most; }

 private:
  const std::shared_ptr<All> all_;
  const size_t share_;
  std::mutex mutex_;  // the accounts' map
  std::map<std::string, std::weak_ptr<Account>> accounts_;
};

}  // namespace hone::tracker
