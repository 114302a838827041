// Another user of this machine connects to the trainer's socket. Needs root to become another user.

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/fixtures/as_other_user.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "trainer/attempt/relay.h"
#include "trainer/report/line_receiver.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/testing/relay_client.h"

namespace trainer {
namespace {

class Nobody : public LineReceiver {
 public:
  absl::StatusOr<AttemptKey> Greet(std::string_view) override { return AttemptKey{1, 1}; }
  std::vector<absl::StatusOr<std::string>> Receive(const std::vector<RelayedLine>&) override {
    return {};
  }
  void OnWanted(std::function<void(const AttemptKey&)>) override {}
};

TEST(OtherUserTest, ARelayThatHeReachesHangsUp) {
  char name[] = "/tmp/rl-XXXXXX";
  const std::string directory = mkdtemp(name), path = directory + "/relay";
  Nobody receiver;
  LoopThread loop(runtime::Clock::Real());
  std::unique_ptr<Relay> relay;
  loop.Call([&] {
    auto listening =
        Relay::Listen({.loop = loop.loop(), .receiver = &receiver, .socket_path = path});
    ASSERT_EQ(listening.status(), absl::OkStatus());
    relay = *std::move(listening);
  });
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(bus::AsOtherUser("stay", path), "hung up\n");
  RelayClient shim(path);
  ASSERT_TRUE(shim.Send("YARD1 one\n"));
  EXPECT_EQ(shim.Line(), "OK");
  loop.Call([&] { relay.reset(); });
  loop.Stop();
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace trainer
