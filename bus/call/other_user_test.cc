// Tests that another user of this machine cannot use a yard's sockets. Needs root, to switch user.

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/fixtures/as_other_user.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using rpc::Registry;

class OtherUserTest : public ::testing::Test {
 protected:
  OtherUserTest() {
    service_.Handle<Registry::List>([this](const CallContext& context, const msg::ListRequestT&) {
      ++handled_;
      EXPECT_EQ(context.uid, geteuid());
      return msg::ListReplyT();
    });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
    auto hub = Hub::Create(node_.get(), Hub::DefaultAddresses(yard_.locations()));
    EXPECT_EQ(hub.status(), absl::OkStatus());
    hub_ = std::move(*hub);
  }
  std::string Path(const std::string& name) { return yard_.directory() + "/" + name; }
  void OpenTheDirectory() { ASSERT_EQ(chmod(yard_.directory().c_str(), 0755), 0); }
  std::string AsOther(const std::string& doing, const std::string& name) {
    return AsOtherUser(doing, Path(name));
  }

  TestYard yard_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("registry");
  std::atomic<int> handled_{0};
  Service service_{node_.get(),
                   {.name = "registry", .endpoint = yard_.Address("registry"), .pool = nullptr}};
  std::unique_ptr<Hub> hub_;
};

TEST_F(OtherUserTest, ThePrivateDirectoryKeepsHimOut) {
  for (const std::string name : {"registry", "hub-pub", "hub-sub"}) {
    EXPECT_EQ(AsOther("connect", name), "Permission denied\n") << name;
  }
}

TEST_F(OtherUserTest, TheSocketsKeepHimOutOfAnOpenDirectory) {
  OpenTheDirectory();
  for (const std::string name : {"registry", "hub-pub", "hub-sub"}) {
    struct stat about {};
    ASSERT_EQ(stat(Path(name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << name;
    EXPECT_EQ(AsOther("connect", name), "Permission denied\n") << name;
  }
}

TEST_F(OtherUserTest, AServiceThatHeReachesDeniesHim) {
  OpenTheDirectory();
  ASSERT_EQ(chmod(Path("registry").c_str(), 0777), 0);
  EXPECT_EQ(AsOther("connect", "registry"), "connected\n");
  EXPECT_EQ(AsOther("call", "registry"), "PERMISSION_DENIED\n");
  EXPECT_EQ(handled_, 0);
  Client client(node_.get());
  EXPECT_EQ(client.Call<Registry::List>({}, {.timeout = absl::Seconds(20)}).status(),
            absl::OkStatus());
  EXPECT_EQ(handled_, 1);
}

TEST_F(OtherUserTest, AHubThatHeReachesHangsUp) {
  OpenTheDirectory();
  for (const std::string name : {"hub-pub", "hub-sub"}) {
    ASSERT_EQ(chmod(Path(name).c_str(), 0777), 0);
    EXPECT_EQ(AsOther("stay", name), "hung up\n") << name;
  }
}

TEST_F(OtherUserTest, AProtocolThatDoesNotTellWhoCallsIsDenied) {
  OpenTheDirectory();
  ASSERT_EQ(chmod(Path("registry").c_str(), 0777), 0);
  EXPECT_EQ(AsOther("call-of-old", "registry"), "denied\n");
  EXPECT_EQ(handled_, 0);
}

}  // namespace
}  // namespace bus
