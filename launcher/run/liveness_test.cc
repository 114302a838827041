#include "launcher/run/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A server in this process, on a port of its own.
struct Server {
  Server() : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 8), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  runtime::UniqueFd fd;
  int port = 0;
};

class LivenessTest : public ::testing::Test {
 protected:
  LivenessTest() : loop_(runtime::EventLoop::Create()) {
    char name[] = "/tmp/liveness-XXXXXX";
    directory_ = mkdtemp(name);
    probe_.period_ms = 5;
    probe_.timeout_ms = 10'000;
    loop_->RunAfter(absl::Seconds(30), [this] {
      ADD_FAILURE() << "it takes too long";
      loop_->Stop();
    });
  }
  ~LivenessTest() override {
    liveness_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Runs the probe until it has failed, or for `looks` checks.
  void Run(std::size_t looks = 100) {
    Liveness::Options options{.loop = loop_.get(), .probe = probe_};
    options.own_address = own_address_;
    options.heartbeat_file = directory_ + "/heartbeat";
    options.spec = [this] {
      ShimSpec spec;
      spec.environment = {"PATH=/usr/bin:/bin", "WORD=" + directory_};
      spec.working_directory = directory_;
      return spec;
    };
    options.on_look = [this, looks](const std::string& why) {
      looks_.push_back(why);
      if (on_look_) on_look_();
      if (looks_.size() == looks) loop_->Stop();
    };
    options.on_failed = [this](const std::string& reason) {
      reason_ = reason;
      // Waits longer than a period, to see that no check follows.
      loop_->RunAfter(absl::Milliseconds(30), [this] { loop_->Stop(); });
    };
    liveness_ = Liveness::Begin(std::move(options));
    loop_->Run();
  }

  // Accepts connections, and answers each with `text` after its request. (The server and the probe
  // share one thread, so neither may block on the other.)
  void Answer(const Server& server, const std::string& text) {
    loop_->Watch(server.fd.get(), runtime::EventLoop::Readiness::kReadable, [this, &server, text] {
      auto one = std::make_shared<runtime::UniqueFd>(
          accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!one->valid()) return;
      auto watch = std::make_shared<runtime::EventLoop::WatchId>(0);
      *watch = loop_->Watch(one->get(), runtime::EventLoop::Readiness::kReadable,
                            [this, one, watch, text] {
                              char request[1024];
                              const ssize_t got = read(one->get(), request, sizeof request);
                              if (got > 0) request_.assign(request, static_cast<std::size_t>(got));
                              (void)send(one->get(), text.data(), text.size(), MSG_NOSIGNAL);
                              const auto keep = one;
                              loop_->Unwatch(*watch);
                              keep->reset();
                            });
    });
  }

  std::unique_ptr<runtime::EventLoop> loop_;
  std::string directory_, own_address_, request_;
  msg::ProbeT probe_;
  std::vector<std::string> looks_;
  std::function<void()> on_look_;
  std::string reason_;
  std::unique_ptr<Liveness> liveness_;
};

TEST_F(LivenessTest, APortThatListensIsAlive) {
  const Server server;
  probe_.tcp = absl::StrCat(server.port);
  Run(5);
  EXPECT_THAT(looks_, ElementsAre("", "", "", "", ""));
  EXPECT_EQ(reason_, "");
}

TEST_F(LivenessTest, SoManyFailuresInARowAreOne) {
  auto server = std::make_unique<Server>();
  const int port = server->port;
  probe_.tcp = absl::StrCat("127.0.0.1:", port);
  probe_.failures = 2;
  on_look_ = [&] {
    if (looks_.size() == 2) server.reset();
  };
  Run();
  EXPECT_THAT(looks_, ElementsAre("", "", "Connection refused", "Connection refused"));
  EXPECT_EQ(reason_, absl::StrCat("its liveness probe (tcp 127.0.0.1:", port,
                                  ") has failed 2 times in a row: Connection refused"));
}

TEST_F(LivenessTest, OneGoodLookForgetsTheBadOnes) {
  probe_.argv = {"sh", "-c",
                 "echo >> looks; [ $(wc -l < looks) -ne 1 ] && [ $(wc -l < looks) -ne 3 ]"};
  probe_.failures = 2;
  Run(5);
  EXPECT_THAT(looks_, ElementsAre("exit code 1", "", "exit code 1", "", ""));
  EXPECT_EQ(reason_, "");
}

TEST_F(LivenessTest, TheOwnAddressOfATaskIsAsked) {
  const Server server;
  own_address_ = absl::StrCat("localhost:", server.port);
  probe_.tcp = "own";
  Run(2);
  EXPECT_THAT(looks_, ElementsAre("", ""));
}

TEST_F(LivenessTest, ATaskWithoutAnAddressHasNone) {
  probe_.tcp = "own";
  Run();
  EXPECT_THAT(reason_, EndsWith("the task has no address of its own"));
}

TEST_F(LivenessTest, AnHttpAnswerIsAliveByItsStatus) {
  const Server server;
  probe_.http = absl::StrCat("http://localhost:", server.port, "/health?x=1");
  Answer(server, "HTTP/1.1 204 No Content\r\n\r\n");
  Run(1);
  EXPECT_THAT(looks_, ElementsAre(""));
  EXPECT_THAT(request_, StartsWith("GET /health?x=1 HTTP/1.1\r\nHost: localhost:"));
}

TEST_F(LivenessTest, AnHttpErrorIsNone) {
  const Server server;
  probe_.http = absl::StrCat("http://localhost:", server.port);
  probe_.failures = 1;
  Answer(server, "HTTP/1.1 503 Service Unavailable\r\n\r\n");
  Run();
  EXPECT_EQ(reason_, absl::StrCat("its liveness probe (http://localhost:", server.port,
                                  ") has failed 1 time: status 503"));
}

TEST_F(LivenessTest, HostileAnswersAreNone) {
  for (const std::string& answer :
       {std::string("SSH-2.0-x\r\n"), std::string("HTTP/1.1\r\n"), std::string("HTTP/1.1 abc\n"),
        std::string(), std::string(100'000, 'a')}) {
    const Server server;
    loop_ = runtime::EventLoop::Create();
    looks_.clear();
    probe_.http = absl::StrCat("http://localhost:", server.port);
    Answer(server, answer.substr(0, 4096));
    Run(1);
    EXPECT_THAT(looks_, ElementsAre("the answer is no HTTP")) << answer.substr(0, 20);
    liveness_.reset();
  }
}

TEST_F(LivenessTest, AServerThatSaysNothingIsGivenUp) {
  const Server server;
  probe_.http = absl::StrCat("http://localhost:", server.port);
  probe_.timeout_ms = 20;
  probe_.failures = 1;
  Run();
  EXPECT_THAT(reason_, EndsWith("no answer in time"));
}

TEST_F(LivenessTest, ACommandRunsWhereTheTaskRuns) {
  probe_.argv = {"sh", "-c", "[ \"$WORD\" = \"$(pwd)\" ]"};
  Run(1);
  EXPECT_THAT(looks_, ElementsAre(""));
}

TEST_F(LivenessTest, ACommandThatGoesOnIsKilledWithAllOfIt) {
  probe_.argv = {"sh", "-c", "sleep 1000 & echo $! > child; wait"};
  probe_.timeout_ms = 500;
  probe_.failures = 1;
  Run();
  EXPECT_THAT(reason_, HasSubstr("has not ended in time"));
  std::string pid;
  std::ifstream(directory_ + "/child") >> pid;
  ASSERT_NE(pid, "");
  // The process was killed; as a zombie it exists until init reaps it.
  while (std::filesystem::exists("/proc/" + pid)) {
    std::string state;
    std::ifstream stat("/proc/" + pid + "/stat");
    std::getline(stat, state);
    if (state.find(") Z ") != std::string::npos) break;
    sched_yield();
  }
}

TEST_F(LivenessTest, AProgramThatIsNotThereIsNoSignOfLife) {
  probe_.argv = {"no-such-program"};
  probe_.failures = 1;
  Run();
  EXPECT_THAT(reason_, HasSubstr("no-such-program"));
}

TEST_F(LivenessTest, AHeartbeatHasToComeBetweenTwoLooks) {
  probe_.heartbeat = true;
  probe_.period_ms = 30;
  probe_.failures = 2;
  on_look_ = [&] {
    if (looks_.size() <= 2) std::ofstream(directory_ + "/heartbeat") << looks_.size();
  };
  std::ofstream(directory_ + "/heartbeat") << "of before";
  Run();
  EXPECT_THAT(looks_,
              ElementsAre("no heartbeat since the last look", "", "",
                          "no heartbeat since the last look", "no heartbeat since the last look"));
  EXPECT_THAT(reason_, StartsWith("its liveness probe (heartbeat) has failed 2 times in a row"));
}

TEST_F(LivenessTest, TheFileOfTheHeartbeatIsMadeForTheTask) {
  probe_.heartbeat = true;
  on_look_ = [&] { std::filesystem::remove(directory_ + "/heartbeat"); };
  Run(2);
  EXPECT_THAT(looks_, ElementsAre("no heartbeat since the last look",
                                  "the file $YARD_HEARTBEAT is missing"));
}

TEST_F(LivenessTest, TheFirstLookWaitsForTheStart) {
  const Server server;
  probe_.tcp = absl::StrCat(server.port);
  probe_.start_delay_ms = 200;
  const absl::Time begin = absl::Now();
  Run(1);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(200));
}

TEST_F(LivenessTest, ALookEndsWithTheProbe) {
  probe_.argv = {"sh", "-c", "sleep 1000"};
  loop_->RunAfter(absl::Milliseconds(100), [this] {
    liveness_.reset();
    loop_->Stop();
  });
  Run();
  EXPECT_THAT(looks_, ElementsAre());
}

}  // namespace
}  // namespace launcher
