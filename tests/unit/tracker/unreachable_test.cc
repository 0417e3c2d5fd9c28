// The messages of an agent whose tracker is not there: why, again and again, while it goes on trying.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "rpc/wire/access/channel.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_agent.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker/service.h"

namespace hone::tracker {
namespace {

using boost::asio::ip::tcp;
using wire::Address;
using wire::FakeAgent;

std::unique_ptr<TrackerServer> tracker_at(const Address& address, const Clock& clock) {
  auto server = TrackerServer::start(address, {}, clock);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? std::move(*server) : nullptr;
}

Address of(const tcp::acceptor& acceptor) { return {"127.0.0.1", acceptor.local_endpoint().port(), ""}; }

TEST(Unreachable, AnAgentIsToldUntilTheTrackerIsThereAndOnceMoreWhenItGoes) {
  const SteadyClock clock;
  auto server = tracker_at(Address::parse("127.0.0.1:0").value(), clock);
  const Address address = server->address();
  server.reset();
  FakeAgent agent(address, "early", 1);
  EXPECT_TRUE(eventually([&] { return agent.unreachable("connection refused") >= 2; }));
  server = tracker_at(address, clock);
  EXPECT_TRUE(eventually([&] { return agent.client().connected(); }));
  const size_t told = agent.unreachable("connection refused");
  server.reset();
  EXPECT_TRUE(eventually([&] { return agent.unreachable("connection refused") > told; }));
}

TEST(Unreachable, AServerThatSaysNothingIsNoAnswer) {
  boost::asio::io_context context;
  const tcp::acceptor silent(context, {boost::asio::ip::address_v4::loopback(), 0});
  FakeAgent agent(of(silent), "lab", 1);
  EXPECT_TRUE(eventually([&] { return agent.unreachable("no answer") >= 2; }));
}

// A name that no DNS server has to be asked for.
TEST(Unreachable, ANameThatNobodyHasIsNotResolved) {
  FakeAgent agent({std::string(64, 'x') + ".invalid", 9190, ""}, "lab", 1);
  EXPECT_TRUE(eventually([&] { return agent.unreachable("name not resolved") >= 2; }));
}

TEST(Unreachable, ASocketThatIsNotThereIsCalledSo) {
  const TemporaryFolder folder;
  FakeAgent agent({"", 0, folder.path() + "/none"}, "lab", 1);
  EXPECT_TRUE(eventually([&] { return agent.unreachable("no such socket") >= 2; }));
}

TEST(Unreachable, AWebServerIsAnotherProgram) {
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  std::jthread web([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      boost::system::error_code error;
      tcp::socket peer(context);
      acceptor.accept(peer, error);
      boost::asio::streambuf request;
      boost::asio::read_until(peer, request, "\r\n", error);
      boost::asio::write(peer, boost::asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")), error);
    }
  });
  {
    FakeAgent agent(of(acceptor), "lab", 1);
    EXPECT_TRUE(eventually([&] { return agent.unreachable("another program answers there") >= 2; }));
  }
  web.request_stop();
  tcp::socket last(context);
  last.connect(acceptor.local_endpoint());  // wakes it
  boost::system::error_code error;
  boost::asio::write(last, boost::asio::buffer(std::string("\r\n")), error);
}

TEST(Unreachable, WhatAProgramAnsweredIsOneLine) {
  EXPECT_EQ(wire::unreachable_reason({grpc::StatusCode::RESOURCE_EXHAUSTED, "too\nmany"}, ""), "it answered: too many");
  EXPECT_EQ(wire::unreachable_reason({grpc::StatusCode::UNIMPLEMENTED, ""}, ""), "another program answers there");
  EXPECT_EQ(wire::unreachable_reason({grpc::StatusCode::UNAVAILABLE, "Network is unreachable"}, ""), "no answer");
}

}  // namespace
}  // namespace hone::tracker
