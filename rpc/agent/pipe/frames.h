// Frames over a stream socket: a length, a kind, the bytes. Here the blocking side (builder, runner, candidate); the
// supervisor's asynchronous side is in worker.h.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/agent/pipe/archive.h"
#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

/// Largest frame: a module of the largest size and the bytes around it.
inline constexpr size_t kMaxFrameBytes = 64 << 20;
inline constexpr size_t kFrameHeaderBytes = 5;

/// Header and payload, ready to be sent.
std::string encode_frame(FrameKind kind, std::string_view payload);
/// Payload size and kind out of kFrameHeaderBytes bytes; an error when the size is above the limit.
Status decode_frame_header(const char* header, size_t* size, FrameKind* kind);

/// Errors: the other end has gone.
Status send_frame(int fd, FrameKind kind, std::string_view payload = {});
template <class T>
Status send_frame(int fd, FrameKind kind, const T& value) {
  const std::string bytes = to_bytes(value);
  return send_frame(fd, kind, std::string_view(bytes));
}

/// Waits for a frame. Unavailable when the other end closed, DeadlineExceeded at `deadline`, Cancelled when
/// `interrupt_fd` (-1: none) became readable first.
StatusOr<Frame> receive_frame(int fd, Clock::TimePoint deadline = Clock::TimePoint::max(), int interrupt_fd = -1);

}  // namespace hone::agent
