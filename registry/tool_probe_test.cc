#include "registry/tool_probe.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/subprocess.h"
#include "runtime/unique_fd.h"

namespace registry {
namespace {

// A socket of that family on a free port of this machine, and the port.
std::pair<runtime::UniqueFd, int> Bind(int family) {
  runtime::UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address = {};
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  address.sin6_family = static_cast<sa_family_t>(family);
  const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  EXPECT_EQ(bind(fd.get(), any, length), 0);
  EXPECT_EQ(getsockname(fd.get(), any, &size), 0);
  return {std::move(fd), ntohs(address.sin6_port)};
}

TEST(ToolProbeTest, KnowsThisProcess) {
  const auto ourselves = ToolProbe::Kernel()->Look(getpid());
  ASSERT_TRUE(ourselves.has_value());
  EXPECT_EQ(ourselves->uid, geteuid());
  const std::int64_t now = absl::ToUnixSeconds(absl::Now());
  EXPECT_LE(ourselves->started, now + 1);
  EXPECT_GE(ourselves->started, now - 3600);
}

TEST(ToolProbeTest, AProcessThatHasEndedIsNoneBeforeItIsReaped) {
  auto child = runtime::Subprocess::Start(
      {.argv = {"/bin/true"}, .program = "/bin/true", .environment = {}, .working_directory = "/"});
  ASSERT_EQ(child.status(), absl::OkStatus());
  const pid_t pid = child->pid();
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(ToolProbe::Kernel()->Look(pid).has_value());
  (void)child->Wait();
  EXPECT_FALSE(ToolProbe::Kernel()->Look(pid).has_value());
}

TEST(ToolProbeTest, SeesWhoListensAndNobodyElse) {
  for (const int family : {AF_INET, AF_INET6}) {
    auto [fd, port] = Bind(family);
    EXPECT_FALSE(ToolProbe::Kernel()->ListeningPorts(geteuid()).contains(port));
    ASSERT_EQ(listen(fd.get(), 1), 0);
    EXPECT_TRUE(ToolProbe::Kernel()->ListeningPorts(geteuid()).contains(port));
    EXPECT_FALSE(ToolProbe::Kernel()->ListeningPorts(geteuid() + 1).contains(port));
    fd.reset();
    EXPECT_FALSE(ToolProbe::Kernel()->ListeningPorts(geteuid()).contains(port));
  }
}

}  // namespace
}  // namespace registry
