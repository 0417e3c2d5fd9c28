// Between protobuf and plain messages. from_wire() checks all that came in (counts, sizes, ranges, finite numbers, text
// of one line): its error is one line naming the field. to_wire() cannot fail: it makes text valid UTF-8 of one line
// and clamps numbers that are not finite.
#pragma once

#include "base/status.h"
#include "rpc/wire/messages/fleet_status.h"
#include "rpc/wire/messages/stream_messages.h"

namespace hone::proto {
class AdminReply;
class AgentToTracker;
class Job;
class JobResult;
class SessionToTracker;
class StatusReply;
class TrackerToAgent;
class TrackerToSession;
}  // namespace hone::proto

namespace hone::wire {

/// Limits of one message; the clients and the tracker split their messages accordingly.
inline constexpr size_t kMaxJobsPerMessage = 1024;
inline constexpr size_t kMaxModulesPerJob = 64;
inline constexpr size_t kMaxSamples = 1 << 17;  // of all outputs
inline constexpr size_t kMaxOutputs = 256;
inline constexpr size_t kMaxLeasesPerMessage = 1 << 16;
inline constexpr size_t kMaxHashesPerMessage = 4096;
inline constexpr size_t kMaxTimesPerCandidate = 10000;

/// `text` as one line of valid UTF-8 without control characters, of at most `most` bytes: invalid bytes become '?',
/// control characters blanks.
std::string clean_line(std::string_view text, size_t most);

// The sources are consumed: blobs are moved, not copied.
StatusOr<FromAgent> from_wire(proto::AgentToTracker&& in);
StatusOr<ToAgent> from_wire(proto::TrackerToAgent&& in);
StatusOr<FromSession> from_wire(proto::SessionToTracker&& in);
StatusOr<ToSession> from_wire(proto::TrackerToSession&& in);
StatusOr<Job> from_wire(const proto::Job& in);
StatusOr<JobResult> from_wire(const proto::JobResult& in);
StatusOr<FleetStatus> from_wire(const proto::StatusReply& in);

void to_wire(FromAgent&& in, proto::AgentToTracker* out);
void to_wire(ToAgent&& in, proto::TrackerToAgent* out);
void to_wire(FromSession&& in, proto::SessionToTracker* out);
void to_wire(ToSession&& in, proto::TrackerToSession* out);
void to_wire(const Job& in, proto::Job* out);
void to_wire(const JobResult& in, proto::JobResult* out);
void to_wire(const FleetStatus& in, proto::StatusReply* out);

}  // namespace hone::wire
