#include "datamanager/tensorboard/socket_taker.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/tensorboard/loopback_sockets.h"
#include "datamanager/tensorboard/socket_giver.h"
#include "datamanager/tensorboard/socket_packet.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace datamanager::tensorboard {
namespace {

using runtime::UniqueFd;

constexpr std::chrono::seconds kLong(60);

// Runs both sides on one loop.
class SocketTakerTest : public ::testing::Test {
 protected:
  struct End {
    std::string why;
    bool served = false;
  };

  SocketTakerTest() {
    char name[] = "/tmp/taker-XXXXXX";
    directory_ = mkdtemp(name);
    std::filesystem::create_directory(directory_ + "/runs");
    catalog_ = RunCatalog::Create({.root = directory_ + "/runs"}).value();
  }
  ~SocketTakerTest() override {
    OnLoop([&] {
      giver_.reset();
      taker_.reset();
    });
    loop_->Stop();
    thread_->Join();
    std::filesystem::remove_all(directory_);
  }

  void Start(bool all_runs = true) {
    taker_ = SocketTaker::Create({.loop = loop_.get(),
                                  .coordinator = &coordinator_,
                                  .catalog = catalog_.get(),
                                  .path = directory_ + "/tensorboard",
                                  .reload_interval = absl::Seconds(3),
                                  .all_runs = all_runs})
                 .value();
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }
  void OnLoop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_->Post([&] {
      work();
      done.set_value();
    });
    ASSERT_EQ(done.get_future().wait_for(kLong), std::future_status::ready);
  }

  // Returns false if no taker is listening.
  bool Give(const std::vector<std::string>& flags) {
    sockets_ = ListenAt("127.0.0.1", 0).value();
    end_ = {};
    bool asked = false;
    OnLoop([&] {
      giver_ = SocketGiver::Give({.loop = loop_.get(),
                                  .path = directory_ + "/tensorboard",
                                  .line = LineOf(flags),
                                  .sockets = {sockets_.sockets[0].get()},
                                  .ended =
                                      [this](std::string_view why, bool served) {
                                        end_.set_value({std::string(why), served});
                                      },
                                  .patience = absl::Seconds(60)});
      asked = giver_ != nullptr;
    });
    return asked;
  }
  std::string Logdir() const { return "--logdir=" + directory_ + "/runs"; }
  End AwaitEnd() { return end_.get_future().get(); }

  UniqueFd Connect() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    const timeval limit = {.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(sockets_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  // Returns true if a server answers with its settings.
  static bool Speaks(const UniqueFd& connection) {
    constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    char head[9];
    return send(connection.get(), kPreface.data(), kPreface.size(), MSG_NOSIGNAL) > 0 &&
           recv(connection.get(), head, sizeof head, MSG_WAITALL) == sizeof head;
  }

  std::string directory_;
  std::unique_ptr<RunCatalog> catalog_;
  runtime::Coordinator coordinator_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  std::unique_ptr<SocketTaker> taker_;
  std::unique_ptr<SocketGiver> giver_;
  LoopbackSockets sockets_;
  std::promise<End> end_;
  std::unique_ptr<runtime::Thread> thread_;
};

TEST_F(SocketTakerTest, ServesOnTheSocketsOfAnother) {
  Start();
  std::filesystem::create_directory_symlink("runs", directory_ + "/link");
  ASSERT_TRUE(Give({"--reload=5", "--samples-per-plugin=scalars=7", "--port-file=/x/port",
                    "--logdir=" + directory_ + "/link"}));
  EXPECT_TRUE(Speaks(Connect()));
  EXPECT_EQ(taker_->taken(), 1u);
}

TEST_F(SocketTakerTest, TellsWhomItServesNoMore) {
  Start();
  ASSERT_TRUE(Give({Logdir()}));
  EXPECT_TRUE(Speaks(Connect()));
  OnLoop([&] { taker_.reset(); });
  EXPECT_TRUE(AwaitEnd().served);
  // The giver still owns the sockets: a client that connects waits for the next server.
  const UniqueFd waits = Connect();
  EXPECT_FALSE(Give({Logdir()}));
}

TEST_F(SocketTakerTest, WhoIsConnectedOutlivesTheGiver) {
  Start();
  ASSERT_TRUE(Give({Logdir()}));
  UniqueFd client = Connect();
  ASSERT_TRUE(Speaks(client));
  OnLoop([&] { giver_.reset(); });
  OnLoop([] {});
  EXPECT_EQ(taker_->taken(), 1u);
  shutdown(client.get(), SHUT_RDWR);
  char byte;
  while (recv(client.get(), &byte, 1, 0) > 0) continue;
}

TEST_F(SocketTakerTest, RefusesWhatItWouldShowOtherwise) {
  Start();
  ASSERT_TRUE(Give({"--logdir=" + directory_}));
  End end = AwaitEnd();
  EXPECT_FALSE(end.served);
  EXPECT_NE(end.why.find(directory_ + "/runs"), std::string::npos);
  ASSERT_TRUE(Give({Logdir(), "--reload=1"}));
  EXPECT_NE(AwaitEnd().why.find("less often"), std::string::npos);
  ASSERT_TRUE(Give({Logdir(), "--of-a-later-version"}));
  EXPECT_NE(AwaitEnd().why.find("--of-a-later-version"), std::string::npos);
  EXPECT_EQ(taker_->taken(), 0u);
}

TEST_F(SocketTakerTest, RefusesIfItReadsSomeRunsOnly) {
  Start(/*all_runs=*/false);
  ASSERT_TRUE(Give({Logdir()}));
  EXPECT_NE(AwaitEnd().why.find("--include"), std::string::npos);
}

TEST_F(SocketTakerTest, ListensAgainWhereItsFileWasRemoved) {
  Start();
  std::filesystem::remove(directory_ + "/tensorboard");
  EXPECT_FALSE(Give({Logdir()}));
  OnLoop([&] { EXPECT_TRUE(taker_->ListenAgain().ok()); });
  ASSERT_TRUE(Give({Logdir()}));
  EXPECT_TRUE(Speaks(Connect()));
}

}  // namespace
}  // namespace datamanager::tensorboard
