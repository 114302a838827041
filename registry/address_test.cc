// Tests where a registry may run: not where another one runs, and not in another user's directory.
// Needs root, to give a directory to another user.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/call/client.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace registry {
namespace {

using rpc::Registry;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(20);
constexpr uid_t kNobody = 65534;

class AddressTest : public ::testing::Test {
 protected:
  AddressTest() {
    char name[] = "/tmp/reg-XXXXXX";
    directory_ = mkdtemp(name);
    for (const char* yard : {"/a", "/b"}) {
      EXPECT_EQ(mkdir((directory_ + yard).c_str(), 0700), 0);
    }
  }
  ~AddressTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  // Starts a registry whose directories are below `yard`; its stderr goes to yard/err.
  runtime::Subprocess Launch(const std::string& yard, std::vector<std::string> flags = {}) {
    const std::string program = runtime::FindBinary("registry/registry").value_or("");
    flags.insert(flags.begin(), program);
    const runtime::UniqueFd errors(
        open((yard + "/err").c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
    auto process = runtime::Subprocess::Start(
        {.argv = std::move(flags),
         .program = program,
         .environment = {"XDG_RUNTIME_DIR=" + yard, "YARD_STATE=" + yard + "/state",
                         "PATH=/usr/bin:/bin"},
         .working_directory = "/",
         .fds = {{errors.get(), 2}}});
    EXPECT_EQ(process.status(), absl::OkStatus());
    return std::move(*process);
  }
  static int ExitCodeOf(runtime::Subprocess& process) {
    const auto status = process.Wait(kLong);
    EXPECT_EQ(status.status(), absl::OkStatus());
    if (!status.ok()) (void)process.Signal(SIGKILL);
    return status.ok() ? status->code : -1;
  }
  static std::string Errors(const std::string& yard) {
    return runtime::ReadFile(yard + "/err", 1 << 20).value_or("");
  }

  std::string directory_;
};

TEST_F(AddressTest, WhatIsServedIsNotTakenAwayByOneWithAnotherDirectory) {
  const std::string a = directory_ + "/a", b = directory_ + "/b";
  auto first = Launch(a);
  const auto node =
      bus::Node::Create({.name = "test",
                         .locations = {.runtime_directory = a + "/yard",
                                       .state_directory = a + "/state",
                                       .registry_address = "ipc://" + a + "/yard/registry"}});
  ASSERT_EQ(node.status(), absl::OkStatus());
  bus::Client client(node->get());
  ASSERT_EQ(client.Call<Registry::List>({}, {.timeout = kLong, .wait_for_service = true}).status(),
            absl::OkStatus());
  auto second = Launch(b, {"--listen=ipc://" + a + "/yard/registry"});
  EXPECT_EQ(ExitCodeOf(second), 6);
  EXPECT_THAT(Errors(b), HasSubstr(absl::StrCat("process ", first.pid(), " listens there")));
  bus::Client another(node->get());
  EXPECT_EQ(another.Call<Registry::List>({}, {.timeout = kLong}).status(), absl::OkStatus());
  EXPECT_EQ(first.Signal(SIGTERM), absl::OkStatus());
  EXPECT_EQ(ExitCodeOf(first), 0);
}

TEST_F(AddressTest, WhatAKilledOneLeftIsUsedAgain) {
  const std::string a = directory_ + "/a";
  for (int i = 0; i < 3; ++i) {
    auto process = Launch(a);
    const auto node =
        bus::Node::Create({.name = "test",
                           .locations = {.runtime_directory = a + "/yard",
                                         .state_directory = a + "/state",
                                         .registry_address = "ipc://" + a + "/yard/registry"}});
    ASSERT_EQ(node.status(), absl::OkStatus());
    bus::Client client(node->get());
    EXPECT_EQ(
        client.Call<Registry::List>({}, {.timeout = kLong, .wait_for_service = true}).status(),
        absl::OkStatus())
        << Errors(a);
    EXPECT_EQ(process.Signal(SIGKILL), absl::OkStatus());
    EXPECT_EQ(process.Wait(kLong).status(), absl::OkStatus());
  }
}

TEST_F(AddressTest, ADirectoryOfAnotherUserIsRefused) {
  const std::string a = directory_ + "/a";
  for (const char* name : {"/yard", "/state"}) {
    const std::string given = a + name;
    ASSERT_TRUE(mkdir(given.c_str(), 0700) == 0 || errno == EEXIST);
    ASSERT_EQ(chown(given.c_str(), kNobody, kNobody), 0) << "not allowed to give a directory away";
    auto refused = Launch(a);
    EXPECT_EQ(ExitCodeOf(refused), 1);
    EXPECT_THAT(Errors(a), HasSubstr(given));
    ASSERT_EQ(chown(given.c_str(), geteuid(), getegid()), 0);
  }
}

}  // namespace
}  // namespace registry
