// Tests nodes' connections with a real gate over TCP on this machine, and the link of a real node.
// Sockets of the test stand in for launcher and trainer.

#include "gate/node_connection.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bus/access/access_file.h"
#include "bus/access/gate_link.h"
#include "bus/access/key_folder.h"
#include "bus/call/client.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "gate/key_book.h"
#include "gate/splices.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace gate {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// One end of a connection. An operation that blocks for 30 s is an error.
class End {
 public:
  explicit End(int fd) : fd_(fd) {
    const timeval patience = {.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  static End To(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = AddressOf(path);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << path << ": " << std::strerror(errno);
    return End(fd);
  }
  void Say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0) << std::strerror(errno);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  std::string Hear(std::size_t size) {
    std::string heard(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      const ssize_t more = recv(fd_.get(), heard.data() + got, size - got, 0);
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    heard.resize(got);
    return heard;
  }
  // Reads until end of file, which must arrive.
  std::string HearAll() {
    std::string heard;
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t more = recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (more == 0 || (more < 0 && errno == ECONNRESET)) return heard;
      EXPECT_GT(more, 0) << "it does not end";
      if (more < 0) return heard;
      heard.append(buffer.data(), static_cast<std::size_t>(more));
    }
  }
  bool HasInput() const {
    pollfd item = {fd_.get(), POLLIN, 0};
    return poll(&item, 1, 0) > 0;
  }
  void Close() { fd_.reset(); }

 private:
  runtime::UniqueFd fd_;
};

// A listening socket that stands in for a launcher or a trainer.
class Listener {
 public:
  explicit Listener(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = AddressOf(path);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_.get(), 64), 0);
  }
  bool HasCaller(absl::Duration patience = absl::ZeroDuration()) const {
    pollfd item = {fd_.get(), POLLIN, 0};
    return poll(&item, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) > 0;
  }
  End Accept() {
    EXPECT_TRUE(HasCaller(kLong)) << "nobody comes";
    return End(accept(fd_.get(), nullptr, nullptr));
  }

 private:
  runtime::UniqueFd fd_;
};

class NodeConnectionTest : public ::testing::Test {
 protected:
  NodeConnectionTest() {
    const std::string runtime = yard_.locations().runtime_directory;
    mkdir((runtime + "/nodes").c_str(), 0700);
    launcher_ = std::make_unique<Listener>(runtime + "/nodes/gpu-1");
    trainer_ = std::make_unique<Listener>(runtime + "/trainer-relay");
    own_ = *folder_.MakeServerKey();
    OpenGate("*");
    Allow("gpu-1");
    Link();
  }
  ~NodeConnectionTest() override {
    link_.reset();
    splices_.reset();
  }

  void OpenGate(const std::string& port) {
    const absl::Time deadline = absl::Now() + kLong;
    const auto open = [&] {
      return Splices::Open({.node = gate_.get(),
                            .endpoints = {"tcp://127.0.0.1:" + port},
                            .own = own_,
                            .keys = &keys_});
    };
    auto splices = open();
    // (ZeroMQ releases a gate's addresses shortly after its sockets are closed.)
    while (absl::IsAlreadyExists(splices.status()) && absl::Now() < deadline) splices = open();
    ASSERT_EQ(splices.status(), absl::OkStatus());
    splices_ = *std::move(splices);
    address_ = splices_->endpoints().front();
  }
  std::string KeyFile(const std::string& name) const { return yard_.directory() + "/" + name; }
  void Allow(const std::string& name) {
    access_ = {.address = address_,
               .name = name,
               .role = std::string(bus::kNodeRole),
               .nonce = std::string(32, 'a'),
               .keys = {.own = *bus::MakeCurvePair(), .server_key = own_.public_key}};
    EXPECT_EQ(bus::WriteAccessFile(KeyFile(name), access_), absl::OkStatus());
    EXPECT_EQ(
        folder_.Allow(
            {.name = name, .public_key = access_.keys.own.public_key, .nonce = access_.nonce}),
        absl::OkStatus());
    LookAtKeys();
  }
  void LookAtKeys() {
    keys_.Read();
    splices_->KeysChanged();
  }
  std::unique_ptr<bus::GateLink> LinkIn(const std::string& folder, const std::string& key) {
    mkdir(folder.c_str(), 0700);
    auto link = bus::GateLink::Start({.folder = folder, .key_file = key});
    EXPECT_EQ(link.status(), absl::OkStatus());
    return *std::move(link);
  }
  void Link() { link_ = LinkIn(yard_.directory() + "/n", KeyFile("gpu-1")); }
  End ToLauncher() { return End::To(link_->launcher_socket()); }
  End ToTrainer() { return End::To(link_->trainer_socket()); }

  bus::TestYard yard_;
  std::unique_ptr<bus::Node> gate_ = yard_.MakeNode("gate");
  bus::KeyFolder folder_{yard_.locations().state_directory};
  KeyBook keys_{folder_, runtime::Clock::Real()};
  bus::CurvePair own_;
  bus::AccessFile access_;
  std::string address_;
  std::unique_ptr<Listener> launcher_, trainer_;
  std::unique_ptr<Splices> splices_;
  std::unique_ptr<bus::GateLink> link_;
};

TEST_F(NodeConnectionTest, EachConnectionGoesWhereItsSocketLeads) {
  End to_launcher = ToLauncher(), to_trainer = ToTrainer();
  to_launcher.Say("hello launcher");
  to_trainer.Say("hello trainer");
  End launcher = launcher_->Accept(), trainer = trainer_->Accept();
  EXPECT_EQ(launcher.Hear(14), "hello launcher");
  EXPECT_EQ(trainer.Hear(13), "hello trainer");
  launcher.Say("welcome");
  trainer.Say("answer");
  EXPECT_EQ(to_launcher.Hear(7), "welcome");
  EXPECT_EQ(to_trainer.Hear(6), "answer");
}

TEST_F(NodeConnectionTest, WhatWasSaidBeforeAnEndComesBeforeTheEnd) {
  End node = ToTrainer();
  End trainer = trainer_->Accept();
  const std::string much(300'000, 'x');
  std::thread says([&] {
    node.Say(much);
    node.Close();
  });
  EXPECT_EQ(trainer.HearAll(), much);
  says.join();
  End second = ToTrainer();
  End other = trainer_->Accept();
  std::thread answers([&] {
    other.Say(much);
    other.Close();
  });
  EXPECT_EQ(second.HearAll(), much);
  answers.join();
}

TEST_F(NodeConnectionTest, OneThatDoesNotReadStopsItselfAndNobodyElse) {
  End slow = ToTrainer();
  End reader = trainer_->Accept();
  std::string much;
  for (int i = 0; much.size() < (4u << 20); ++i) absl::StrAppend(&much, i, ",");
  std::atomic<bool> said{false};
  std::thread says([&] {
    slow.Say(much);
    said = true;
  });
  End quick = ToTrainer();
  End other = trainer_->Accept();
  for (int i = 0; i < 200; ++i) {
    quick.Say("ping");
    ASSERT_EQ(other.Hear(4), "ping");
    other.Say("pong");
    ASSERT_EQ(quick.Hear(4), "pong");
  }
  // (Credits and the buffers of four sockets hold less than this.)
  EXPECT_FALSE(said);
  EXPECT_TRUE(reader.Hear(much.size()) == much);
  says.join();
}

TEST_F(NodeConnectionTest, ManyConnectionsAtOnceAreKeptApart) {
  std::vector<std::unique_ptr<End>> nodes, trainers;
  for (int i = 0; i < 60; ++i) {
    nodes.push_back(std::make_unique<End>(ToTrainer()));
    nodes.back()->Say(absl::StrCat(1000 + i));
    trainers.push_back(std::make_unique<End>(trainer_->Accept()));
  }
  for (int i = 0; i < 60; ++i) {
    const std::string number = trainers[i]->Hear(4);
    trainers[i]->Say(number);
    EXPECT_EQ(nodes[std::stoi(number) - 1000]->Hear(4), number);
  }
}

TEST_F(NodeConnectionTest, AKilledGateBreaksWhatItCarriesAndTheNextOneCarriesOn) {
  End before = ToLauncher();
  End heard = launcher_->Accept();
  const std::string port = address_.substr(address_.rfind(':') + 1);
  splices_.reset();
  EXPECT_EQ(before.HearAll(), "");
  EXPECT_EQ(heard.HearAll(), "");
  // A connection made while the gate is down waits.
  End meanwhile = ToLauncher();
  meanwhile.Say("still here");
  OpenGate(port);
  End again = launcher_->Accept();
  EXPECT_EQ(again.Hear(10), "still here");
}

TEST_F(NodeConnectionTest, ARemovedKeyIsCutAndNotLetInAgain) {
  End node = ToLauncher();
  End launcher = launcher_->Accept();
  EXPECT_EQ(folder_.Remove("gpu-1"), absl::OkStatus());
  LookAtKeys();
  EXPECT_EQ(node.HearAll(), "");
  EXPECT_EQ(launcher.HearAll(), "");
  const std::uint64_t refused = keys_.refused();
  const absl::Time deadline = absl::Now() + kLong;
  while (keys_.refused() == refused && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_GT(keys_.refused(), refused);
  End waits = ToLauncher();
  EXPECT_FALSE(launcher_->HasCaller());
}

TEST_F(NodeConnectionTest, ANewNonceCutsTheConnectionOfTheOldOne) {
  End node = ToLauncher();
  End launcher = launcher_->Accept();
  EXPECT_EQ(folder_.Remove("gpu-1"), absl::OkStatus());
  EXPECT_EQ(folder_.Allow({.name = "gpu-1",
                           .public_key = access_.keys.own.public_key,
                           .nonce = std::string(32, 'b')}),
            absl::OkStatus());
  LookAtKeys();
  EXPECT_EQ(node.HearAll(), "");
}

// First a key of node gpu-2 that claims to be gpu-1's, then gpu-1's key with another nonce.
TEST_F(NodeConnectionTest, AKeyIsGoodForItsOwnNodeAlone) {
  link_.reset();
  const std::uint64_t cut = splices_->GetStats().connections_cut;
  const bus::AccessFile first = access_;
  Allow("gpu-2");
  bus::AccessFile stolen = access_, old = first;
  stolen.name = "gpu-1";
  old.nonce = std::string(32, 'c');
  for (const auto& [name, file] : {std::pair("stolen", stolen), std::pair("old", old)}) {
    ASSERT_EQ(bus::WriteAccessFile(KeyFile(name), file), absl::OkStatus());
    const auto link = LinkIn(yard_.directory() + "/m", KeyFile(name));
    End node = End::To(link->launcher_socket());
    const absl::Time deadline = absl::Now() + kLong;
    const std::uint64_t wanted = cut + (std::string_view(name) == "old" ? 2 : 1);
    while (splices_->GetStats().connections_cut < wanted && absl::Now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(splices_->GetStats().connections_cut, wanted);
    EXPECT_FALSE(launcher_->HasCaller()) << name;
  }
  // The unchanged key leads to gpu-2's socket, on which nobody listens.
  const auto link = LinkIn(yard_.directory() + "/m", KeyFile("gpu-2"));
  End node = End::To(link->launcher_socket());
  EXPECT_EQ(node.HearAll(), "");
  EXPECT_FALSE(launcher_->HasCaller());
}

TEST_F(NodeConnectionTest, ANodeThatConnectsAgainGivesUpWhatItHad) {
  End first = ToLauncher();
  End launcher = launcher_->Accept();
  const auto other = LinkIn(yard_.directory() + "/m", KeyFile("gpu-1"));
  End second = End::To(other->launcher_socket());
  End launcher_again = launcher_->Accept();
  EXPECT_EQ(launcher.HearAll(), "");
  link_.reset();
}

TEST_F(NodeConnectionTest, NodesLeaveDescriptorsToOthers) {
  End before = ToTrainer();
  End trainer = trainer_->Accept();
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const runtime::UniqueFd next(dup(0));
  const rlimit few = {.rlim_cur = static_cast<rlim_t>(next.get()) + 50, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  // (The limit leaves fifty descriptors free, which is too few.)
  End refused = ToTrainer();
  EXPECT_EQ(refused.HearAll(), "");
  EXPECT_FALSE(trainer_->HasCaller());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  before.Say("still");
  EXPECT_EQ(trainer.Hear(5), "still");
  End again = ToTrainer();
  End other = trainer_->Accept();
  again.Say("again");
  EXPECT_EQ(other.Hear(5), "again");
}

TEST_F(NodeConnectionTest, ANodesKeyIsGoodForNoCall) {
  runtime::Locations locations = yard_.locations();
  locations.registry_address = "gate:" + KeyFile("gpu-1");
  auto node = bus::Node::Create({.name = "remote", .locations = locations});
  ASSERT_EQ(node.status(), absl::OkStatus());
  bus::Client client(node->get());
  const absl::Status called = client.Call<rpc::Registry::Topics>({}).status();
  EXPECT_EQ(called.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(called.message()), HasSubstr("is a node's"));
  EXPECT_EQ(splices_->GetStats().calls_passed, 0u);
}

}  // namespace
}  // namespace gate
