// Tests the registry's methods about tools with real processes; a listening socket of this process
// is every tool's port. Runs as root, so that another user can take part.

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/registry_methods.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "registry/info/cache_key.h"
#include "registry/test_registry.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace registry {
namespace {

using rpc::Registry;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLong = TestRegistry::kLong;

class InstanceServiceTest : public ::testing::Test {
 protected:
  InstanceServiceTest()
      : environment_({"TMPDIR=" + registry_.directory(), "PATH=" + registry_.directory()}) {
    EXPECT_EQ(chmod(registry_.directory().c_str(), 01777), 0);  // Like /tmp.
    Listen();
    EXPECT_TRUE(registry_.Start());
  }

  void Listen() {
    port_fd_ = runtime::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(bind(port_fd_.get(), any, size), 0);
    ASSERT_EQ(listen(port_fd_.get(), 1), 0);
    ASSERT_EQ(getsockname(port_fd_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  // Starts a process that holds the port and lives until SIGTERM; a stubborn one ignores SIGTERM.
  pid_t StartTool(bool stubborn = false) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const runtime::UniqueFd in(ends[0]);
    runtime::UniqueFd out(ends[1]);
    const std::string script =
        absl::StrCat(stubborn ? "trap '' TERM; " : "", "echo ready; exec ", "sleep 1000 >&-");
    auto tool = runtime::Subprocess::Start({.argv = {"sh", "-c", script},
                                            .program = "/bin/sh",
                                            .environment = {"PATH=/usr/bin:/bin"},
                                            .working_directory = "/",
                                            .fds = {{out.get(), 1}, {port_fd_.get(), 3}}});
    EXPECT_EQ(tool.status(), absl::OkStatus());
    if (!tool.ok()) return 0;
    out = {};
    char ready = 0;
    EXPECT_EQ(read(in.get(), &ready, 1), 1);
    tools_.push_back(std::move(*tool));
    return tools_.back().pid();
  }
  ~InstanceServiceTest() override {
    for (runtime::Subprocess& tool : tools_) {
      (void)tool.Signal(SIGKILL);
      (void)tool.Wait(kLong);
    }
  }

  msg::AnnounceInstanceRequestT Announcement(pid_t pid) const {
    msg::AnnounceInstanceRequestT request;
    request.info = std::make_unique<msg::InstanceInfoT>();
    request.info->pid = pid;
    request.info->port = port_;
    request.info->version = request.tool_version = "1.0";
    request.info->logdir = "/runs";
    request.info->cache_key = "key";
    request.environment = environment_;
    return request;
  }
  absl::Status Announce(pid_t pid) {
    return registry_.client().Call<Registry::AnnounceInstance>(Announcement(pid)).status();
  }
  absl::StatusOr<msg::StopInstanceReplyT> Stop(const std::string& id,
                                               absl::Duration timeout = kLong) {
    msg::StopInstanceRequestT request;
    request.id = id;
    return registry_.client().Call<Registry::StopInstance>(request, {.timeout = timeout});
  }
  std::vector<std::unique_ptr<msg::InstanceT>> Instances(bool all = false) {
    msg::InstancesRequestT request;
    request.environment = environment_;
    request.all = all;
    auto reply = registry_.client().Call<Registry::Instances>(request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.ok() ? std::move(reply->instances) : decltype(reply->instances)();
  }
  std::string Id() const { return absl::StrCat("tensorboard-", port_); }

  TestRegistry registry_;
  const std::vector<std::string> environment_;
  std::vector<runtime::Subprocess> tools_;
  runtime::UniqueFd port_fd_;
  int port_ = 0;
};

TEST_F(InstanceServiceTest, WhatIsAnnouncedIsListedUntilItIsWithdrawn) {
  const pid_t pid = StartTool();
  ASSERT_EQ(Announce(pid), absl::OkStatus());
  const auto found = Instances();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]->id, Id());
  EXPECT_EQ(found[0]->state, msg::InstanceState::Live);
  EXPECT_EQ(found[0]->url, absl::StrCat("http://localhost:", port_, "/"));
  EXPECT_EQ(found[0]->info->pid, pid);
  EXPECT_EQ(found[0]->job, "");
  msg::WithdrawInstanceRequestT request;
  request.pid = pid;
  request.environment = environment_;
  for (int i = 0; i < 2; ++i) {  // A missing file is not an error.
    EXPECT_EQ(registry_.client().Call<Registry::WithdrawInstance>(request).status(),
              absl::OkStatus());
  }
  EXPECT_THAT(Instances(true), IsEmpty());
}

TEST_F(InstanceServiceTest, AnAnnouncementHasTheVersionOfItsTool) {
  msg::AnnounceInstanceRequestT request = Announcement(getpid());
  request.tool_version = "2.0";
  const absl::Status refused =
      registry_.client().Call<Registry::AnnounceInstance>(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("\"2.0\""), HasSubstr("\"1.0\"")));
  request.info = nullptr;
  EXPECT_TRUE(absl::IsInvalidArgument(
      registry_.client().Call<Registry::AnnounceInstance>(request).status()));
  EXPECT_THAT(Instances(true), IsEmpty());
}

TEST_F(InstanceServiceTest, OneIsStoppedByItsIdAndItsFileIsGone) {
  const pid_t pid = StartTool();
  ASSERT_EQ(Announce(pid), absl::OkStatus());
  ASSERT_THAT(Instances(), SizeIs(1));
  const auto stopped = Stop(Id());
  ASSERT_EQ(stopped.status(), absl::OkStatus());
  EXPECT_EQ(stopped->instance->state, msg::InstanceState::Dead);
  const auto ended = tools_[0].Wait(kLong);
  ASSERT_EQ(ended.status(), absl::OkStatus());
  EXPECT_EQ(ended->signal, SIGTERM);
  EXPECT_THAT(Instances(true), IsEmpty());
}

TEST_F(InstanceServiceTest, OneThatDoesNotEndIsNamedAndLeftAlone) {
  const pid_t pid = StartTool(true);
  ASSERT_EQ(Announce(pid), absl::OkStatus());
  ASSERT_THAT(Instances(), SizeIs(1));
  const auto stopped = Stop(Id(), absl::Milliseconds(500));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stopped.status())) << stopped.status();
  EXPECT_THAT(stopped.status().message(),
              AllOf(HasSubstr(Id()), HasSubstr(absl::StrCat("kill -9 ", pid))));
  EXPECT_THAT(Instances(), SizeIs(1));
}

TEST_F(InstanceServiceTest, OfSeveralWithOneIdTheProcessIdIsAskedFor) {
  const pid_t first = StartTool();
  const pid_t second = StartTool();
  ASSERT_EQ(Announce(first), absl::OkStatus());
  ASSERT_EQ(Announce(second), absl::OkStatus());
  ASSERT_THAT(Instances(), SizeIs(2));
  const auto both = Stop(Id());
  EXPECT_TRUE(absl::IsFailedPrecondition(both.status())) << both.status();
  EXPECT_THAT(both.status().message(), HasSubstr("process id"));
  EXPECT_EQ(Stop(absl::StrCat(second)).status(), absl::OkStatus());
  const auto left = Instances();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0]->info->pid, first);
}

TEST_F(InstanceServiceTest, WhatDoesNotRunCannotBeStopped) {
  const auto stopped = Stop("tensorboard-1");
  EXPECT_TRUE(absl::IsNotFound(stopped.status())) << stopped.status();
  EXPECT_THAT(stopped.status().message(), HasSubstr("tensorboard-1"));
}

// Another user writes a file whose data are all correct: our process, our port, the caller's key.
TEST_F(InstanceServiceTest, AFileOfAnotherUserIsShownAsHisAndNeverReusedOrStopped) {
  const std::string tool = registry_.directory() + "/tensorboard";
  ASSERT_EQ(symlink("/bin/true", tool.c_str()), 0);
  const std::vector<std::string> arguments = {"--logdir", "/runs"};
  const pid_t pid = StartTool();
  const auto other = registry_.Launch("registry/info/other_users_infos",
                                      {"forge", registry_.directory(), absl::StrCat(pid),
                                       absl::StrCat(port_), CacheKey("/", arguments).value_or("")});
  const auto forged = other->Wait(kLong);
  ASSERT_TRUE(forged.ok() && forged->ok()) << registry_.Errors();

  EXPECT_THAT(Instances(), IsEmpty());
  const auto all = Instances(true);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]->state, msg::InstanceState::Foreign);
  EXPECT_EQ(all[0]->uid, 65534u);
  EXPECT_TRUE(absl::IsNotFound(Stop(Id()).status()));
  EXPECT_TRUE(absl::IsNotFound(Stop(absl::StrCat(pid)).status()));

  msg::StartOrReuseRequestT request;
  request.arguments = arguments;
  request.environment = environment_;
  request.working_directory = "/";
  // The error proves that no tool was reused: only a launch needs the launcher, which is missing.
  const auto started = registry_.client().Call<Registry::StartOrReuse>(request);
  EXPECT_TRUE(absl::IsUnavailable(started.status())) << started.status();
  ASSERT_EQ(Announce(pid), absl::OkStatus());  // Root may replace the file.
  EXPECT_THAT(Instances(), SizeIs(1));
}

}  // namespace
}  // namespace registry
