#include "tuner/measure/remote.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/exit_code.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/messages/device_names.h"

namespace hone {

using std::chrono::milliseconds;

constexpr milliseconds kStatusTimeout{2000};  // for the fleet's state in an error

StatusOr<std::vector<wire::DeviceInfo>> find_devices(const DeviceQuery& query) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<wire::DeviceInfo> devices;
  bool gave_up = false;
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.title = "looking for a device";
  open.target_kind = query.kind;
  open.device_key = query.device_key;
  open.labels = query.labels;
  open.target = query.target;
  wire::SessionHandlers handlers;
  handlers.on_devices = [&](std::vector<wire::DeviceInfo> now) {
    const std::lock_guard lock(mutex);
    devices = std::move(now);
    changed.notify_all();
  };
  handlers.on_refused = [&](const std::string&, bool retry) {
    const std::lock_guard lock(mutex);
    gave_up = !retry;
  };
  wire::SessionClient client(query.client, open, handlers);
  // In slices, so that a tracker that could not even start is noticed at once.
  const SteadyClock clock;
  const auto slice = milliseconds(50);
  Status opened;
  for (const auto deadline = clock.now() + query.tracker_timeout;;) {
    opened = client.wait_open(slice);
    if (opened.ok()) break;
    if (query.while_waiting) HONE_RETURN_IF_ERROR(query.while_waiting());
    const std::lock_guard lock(mutex);
    if (gave_up || clock.now() >= deadline) return usage_error(message_of(opened));
  }
  for (const auto deadline = clock.now() + query.device_timeout; clock.now() < deadline;) {
    {
      std::unique_lock lock(mutex);
      if (changed.wait_for(lock, slice, [&] { return !devices.empty(); })) return devices;
    }
    if (query.while_waiting) HONE_RETURN_IF_ERROR(query.while_waiting());
  }
  std::string what = query.target.empty() ? query.kind : query.target;
  if (!query.device_key.empty()) what += fmt::format("' under the key '{}", query.device_key);
  for (const std::string& label : query.labels) what += fmt::format("' with the label '{}", label);
  std::string why;
  if (const auto status = wire::fetch_status(query.client.tracker, kStatusTimeout, query.client.credentials);
      status.ok())
    why = ": " + (query.device_key.empty() ? wire::about_devices(status->devices)
                                           : wire::about_devices_called(query.device_key, status->devices));
  return no_device_error(fmt::format("--target: no device serves '{}' {}{}", what,
                                     query.where.empty() ? "at " + query.client.tracker.text() : query.where, why));
}

RemoteMeasurer::RemoteMeasurer(RemoteOptions options) : options_(std::move(options)) {
  for (ReferenceJob& r : options_.references) {
    r.reference.module_hash = wire::blob_id(r.module);
    keep_blob(r.reference.module_hash, std::move(r.module));  // for as long as the session lasts
  }
  wire::SessionHandlers handlers;
  handlers.on_results = [this](std::vector<wire::JobResult> results) {
    const std::lock_guard lock(mutex_);
    for (wire::JobResult& r : results) results_.push_back(std::move(r));
    arrived_.notify_all();
  };
  handlers.on_devices = [this](std::vector<wire::DeviceInfo> devices) {
    const std::lock_guard lock(mutex_);
    any_device_ = !devices.empty();
    for (wire::DeviceInfo& d : devices) {
      wire::DeviceInfo& known = devices_[d.key];
      known = std::move(d);
    }
  };
  handlers.on_refused = [this](std::string reason, bool retry) {
    const std::lock_guard lock(mutex_);
    if (!retry) refused_ = std::move(reason);
    arrived_.notify_all();
  };
  handlers.on_connection = [this](bool connected) {
    const std::lock_guard lock(mutex_);
    connected_ = connected;
  };
  handlers.blob = [this](Hash128 hash) { return find_blob(hash); };
  client_ = std::make_unique<wire::SessionClient>(options_.client, options_.open, std::move(handlers));
}

RemoteMeasurer::~RemoteMeasurer() { client_.reset(); }

Status RemoteMeasurer::wait_open(milliseconds timeout) { return client_->wait_open(timeout); }

std::string RemoteMeasurer::session() const { return options_.open.session.text(); }

void RemoteMeasurer::submit(std::vector<MeasureJob> jobs) {
  std::vector<wire::Job> out;
  for (const MeasureJob& job : jobs) {
    wire::Job j;
    j.seq = job.seq;
    j.profile = job.profile;
    if (!options_.references.empty()) j.reference = options_.references.at(job.task).reference;
    for (const auto& c : job.candidates) {
      std::string bytes = c->encoded.empty() ? options_.encode(c->module) : c->encoded;
      const Hash128 hash = wire::blob_id(bytes);
      j.modules.push_back(hash);
      const std::lock_guard lock(mutex_);
      keep_blob(hash, std::move(bytes));
      blobs_of_[job.seq].push_back(hash);
    }
    out.push_back(std::move(j));
  }
  if (!out.empty()) client_->submit(std::move(out));
}

StatusOr<std::vector<wire::JobResult>> RemoteMeasurer::collect(milliseconds at_most) {
  if (options_.watch) HONE_RETURN_IF_ERROR(options_.watch());
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, at_most, [&] { return !results_.empty() || !refused_.empty() || woken_; });
  woken_ = false;
  if (results_.empty() && !refused_.empty())
    return absl::InvalidArgumentError(fmt::format("the tracker refused the session: {}", refused_));
  return std::exchange(results_, {});
}

void RemoteMeasurer::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  arrived_.notify_all();
}

void RemoteMeasurer::ack(std::vector<uint64_t> seqs) {
  {
    const std::lock_guard lock(mutex_);
    for (const uint64_t seq : seqs) drop_blobs(seq);
  }
  client_->ack(std::move(seqs));
}

void RemoteMeasurer::cancel_all() { client_->cancel({}); }

void RemoteMeasurer::report(const wire::Summary& summary) { client_->summary(summary); }

std::string RemoteMeasurer::trouble() {
  const std::lock_guard lock(mutex_);
  if (!connected_) return "tracker not reachable, trying again";
  return any_device_ ? "" : "no device connected";
}

std::optional<wire::DeviceInfo> RemoteMeasurer::device(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = devices_.find(key);
  if (it == devices_.end()) return std::nullopt;
  return it->second;
}

void RemoteMeasurer::keep_blob(Hash128 hash, std::string data) {
  Blob& blob = blobs_[hash];
  if (blob.users++ == 0) blob.data = std::move(data);
}

void RemoteMeasurer::drop_blobs(uint64_t seq) {
  const auto of = blobs_of_.find(seq);
  if (of == blobs_of_.end()) return;
  for (const Hash128& hash : of->second)
    if (const auto it = blobs_.find(hash); it != blobs_.end() && --it->second.users == 0) blobs_.erase(it);
  blobs_of_.erase(of);
}

std::optional<std::string> RemoteMeasurer::find_blob(Hash128 hash) {
  const std::lock_guard lock(mutex_);
  const auto it = blobs_.find(hash);
  if (it == blobs_.end()) return std::nullopt;
  return it->second.data;
}

}  // namespace hone
