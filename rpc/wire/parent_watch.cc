#include "rpc/wire/parent_watch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

namespace hone::wire {

struct ParentWatch::Impl {
  explicit Impl(boost::asio::io_context& context) : process(context) {}
  boost::asio::posix::stream_descriptor process;
};

ParentWatch::ParentWatch(boost::asio::io_context& context, std::function<void()> gone)
    : impl_(std::make_unique<Impl>(context)) {
  const pid_t parent = getppid();
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, parent, 0));
  if (fd < 0) {
    // On an old kernel or an emulator the signal comes when the starting thread ends, which is better than never.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  } else {
    impl_->process.assign(fd);
    impl_->process.async_wait(boost::asio::posix::descriptor_base::wait_read,
                              [gone](const boost::system::error_code& error) {
                                if (!error) gone();
                              });
  }
  if (getppid() != parent) boost::asio::post(context, gone);  // it ended meanwhile
}

ParentWatch::~ParentWatch() = default;

}  // namespace hone::wire
