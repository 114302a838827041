#include "registry/tool/tool_probe.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace registry {
namespace {

// Returns a socket of `family` that is bound to a free port of this machine, and the port.
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
  ToolProbe& probe = *ToolProbe::Kernel();
  for (const int family : {AF_INET, AF_INET6}) {
    auto [fd, port] = Bind(family);
    EXPECT_FALSE(probe.ListenersOf(geteuid()).contains(port));
    ASSERT_EQ(listen(fd.get(), 1), 0);
    EXPECT_TRUE(probe.ListenersOf(geteuid()).contains(port));
    EXPECT_FALSE(probe.ListenersOf(geteuid() + 1).contains(port));
    fd.reset();
    EXPECT_FALSE(probe.ListenersOf(geteuid()).contains(port));
  }
}

// A shell that reports its progress over a pipe, and ends with this object.
class Child {
 public:
  // `listening` becomes the shell's descriptor 3.
  Child(const std::string& script, int listening) {
    int in[2], out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    auto started = runtime::Subprocess::Start({.argv = {"sh", "-c", script},
                                               .program = "/bin/sh",
                                               .environment = {"PATH=/usr/bin:/bin"},
                                               .working_directory = "/",
                                               .fds = {{in[0], 0}, {out[1], 1}, {listening, 3}}});
    EXPECT_EQ(started.status(), absl::OkStatus());
    process_.emplace(std::move(*started));
    close(in[0]);
    close(out[1]);
    in_ = runtime::UniqueFd(in[1]);
    out_ = runtime::UniqueFd(out[0]);
    char byte = 0;
    EXPECT_EQ(read(out_.get(), &byte, 1), 1);
  }
  ~Child() {
    in_.reset();
    (void)process_->Wait();
  }
  pid_t pid() const { return process_->pid(); }

 private:
  std::optional<runtime::Subprocess> process_;
  runtime::UniqueFd in_, out_;
};

TEST(ToolProbeTest, ASocketIsHeldByItsProcessAndByThoseThatHaveStartedIt) {
  ToolProbe& probe = *ToolProbe::Kernel();
  auto [socket, port] = Bind(AF_INET);
  ASSERT_EQ(listen(socket.get(), 1), 0);
  const Child holder("echo; read -r line", socket.get());
  // (A shell redirects the stdin of background commands to /dev/null.)
  const Child starter("exec 4<&0; (echo; read -r line <&4) & exec 3>&-; wait", socket.get());
  const Child bystander("exec 3>&-; echo; read -r line", socket.get());
  const auto listeners = probe.ListenersOf(geteuid());
  EXPECT_TRUE(probe.Holds(holder.pid(), listeners, port));
  EXPECT_TRUE(probe.Holds(holder.pid(), listeners, 0));
  EXPECT_FALSE(probe.Holds(holder.pid(), listeners, 1));
  EXPECT_TRUE(probe.Holds(starter.pid(), listeners, port));
  EXPECT_FALSE(probe.Holds(bystander.pid(), listeners, port));
  EXPECT_FALSE(probe.Holds(bystander.pid(), listeners, 0));
}

}  // namespace
}  // namespace registry
