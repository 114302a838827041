#include "launcher/run/shim_spawner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/process/process_table.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/sanitizer.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

using runtime::UniqueFd;
using ::testing::StartsWith;

class ShimSpawnerTest : public ShimFixture {
 protected:
  // Starts a shim for an attempt that runs this script; the test acts as its launcher.
  absl::StatusOr<ShimSpawner::Shim> Spawn(const std::string& script) {
    spec_.argv = {"sh", "-c", script};
    EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + "/spec", spec_.Encode(), 0600).ok());
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    control_ = UniqueFd(ends[0]);
    const UniqueFd its(ends[1]);
    const UniqueFd log(
        open((folder_ + "/shim.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    return spawner_->Start(folder_, its.get(), log.get());
  }
  // Reaps a shim; returns its exit code, or minus the signal that killed it.
  static int Reap(const ShimSpawner::Shim& shim) {
    siginfo_t info = {};
    EXPECT_TRUE(WaitReadable(shim.pidfd.get()));
    EXPECT_EQ(waitid(P_PIDFD, static_cast<id_t>(shim.pidfd.get()), &info, WEXITED | WNOHANG), 0);
    EXPECT_EQ(info.si_pid, shim.pid);
    return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
  }
  // Runs the next attempt of the folder from start to end. Returns the shim's pid.
  pid_t RunToEnd(const std::string& script, int exit_code = 0) {
    for (const char* file : {"/started", "/exit", "/lock"}) unlink((folder_ + file).c_str());
    const auto shim = Spawn(script);
    EXPECT_TRUE(shim.ok()) << shim.status();
    if (!shim.ok()) return -1;
    EXPECT_EQ(AwaitPhase(ShimPhase::kExited).exit_code, exit_code);
    Send(control_, {.kind = ShimRequest::Kind::kAcknowledge});
    EXPECT_EQ(Reap(*shim), kShimDone);
    return shim->pid;
  }
  static std::string CommandLine(pid_t pid) {
    return runtime::ReadFile(absl::StrCat("/proc/", pid, "/cmdline"), 1 << 20).value_or("");
  }
  // Returns the pid of our yard-shim with this first argument; 0 if no such shim runs.
  static pid_t ShimNamed(std::string_view argument) {
    const std::string name = absl::StrCat("yard-shim", std::string(1, '\0'), std::string(argument));
    for (const auto& row : ReadProcesses()) {
      if (row.parent == getpid() && CommandLine(row.pid).starts_with(name)) return row.pid;
    }
    return 0;
  }
  // Returns the pid of the shim server, which makes the other shims.
  static pid_t Server() { return ShimNamed(kServeShims); }
  // Returns the pid of the spare shim, which waits for the next attempt. (A shim that was just
  // taken may still show the spare's arguments, so let it end first.)
  static pid_t AwaitSpare() {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    pid_t spare = 0;
    while (spare == 0 && absl::Now() < deadline) spare = ShimNamed(kSpareShim);
    EXPECT_NE(spare, 0);
    return spare;
  }
  // Repeats a test: a spare is visible a moment before it is offered, so it is not always the next
  // shim.
  static bool IsSoonTrue(const std::function<bool()>& is_next) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    bool is_true = false;
    while (!is_true && absl::Now() < deadline) is_true = is_next();
    return is_true;
  }
  static std::string ShimPath() {
    const auto program = runtime::FindBinary("launcher/yard-shim");
    EXPECT_TRUE(program.ok()) << program.status();
    return program.value_or("");
  }

  std::optional<ShimSpawner> spawner_{ShimPath()};
};

TEST_F(ShimSpawnerTest, AShimIsAChildInItsOwnSessionUnderItsOwnName) {
  const auto shim = Spawn("echo hello; read r <&3; exit 3");
  ASSERT_TRUE(shim.ok()) << shim.status();
  AwaitPhase(ShimPhase::kRunning);
  AwaitOutput("hello");
  EXPECT_EQ(getsid(shim->pid), shim->pid);
  EXPECT_EQ(ReadProcess(shim->pid)->parent, getpid());
  EXPECT_THAT(CommandLine(shim->pid),
              StartsWith(absl::StrCat("yard-shim", std::string(1, '\0'), folder_)));
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 10'000});
  EXPECT_EQ(AwaitPhase(ShimPhase::kExited).signal, SIGTERM);
  EXPECT_EQ(Output(), "hello\n");
  Send(control_, {.kind = ShimRequest::Kind::kAcknowledge});
  EXPECT_EQ(Reap(*shim), kShimDone);
}

TEST_F(ShimSpawnerTest, AShimHasOnlyItsOwnDescriptors) {
  const auto shim = Spawn("exec sleep 1000");
  ASSERT_TRUE(shim.ok()) << shim.status();
  AwaitPhase(ShimPhase::kRunning);
  const pid_t server = Server();
  EXPECT_NE(server, 0);
  // If the shim had inherited the socket for requests, the death of the server would go unnoticed.
  ASSERT_EQ(kill(server, SIGKILL), 0);
  Send(control_, {.kind = ShimRequest::Kind::kKill});
  EXPECT_EQ(AwaitPhase(ShimPhase::kExited).signal, SIGKILL);
  Send(control_, {.kind = ShimRequest::Kind::kAcknowledge});
  EXPECT_EQ(Reap(*shim), kShimDone);
}

TEST_F(ShimSpawnerTest, TheShimsAreMadeByOneUntilThatIsKilled) {
  for (int round = 0; round < 2; ++round) {
    // The first shim may be a spare that was made before the last server was killed.
    RunToEnd("true");
    RunToEnd("true");
    // The attempt has run, so a second shim for this folder starts nothing.
    const pid_t server = Server();
    const auto second = Spawn("true");
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(Reap(*second), kShimNotFirst);
    EXPECT_EQ(Server(), server);
    ASSERT_EQ(kill(server, SIGKILL), 0);
  }
}

TEST_F(ShimSpawnerTest, TheNextShimIsThereBeforeItIsAskedFor) {
  RunToEnd("true");
  EXPECT_TRUE(IsSoonTrue([&] {
    const pid_t spare = AwaitSpare();
    return RunToEnd("exit 4", 4) == spare;
  }));
}

TEST_F(ShimSpawnerTest, IfTheNextShimWasKilledAnotherOneIsMade) {
  RunToEnd("true");
  const pid_t spare = AwaitSpare();
  ASSERT_EQ(kill(spare, SIGKILL), 0);
  ASSERT_EQ(waitpid(spare, nullptr, 0), spare);
  EXPECT_NE(RunToEnd("exit 4", 4), spare);
}

TEST_F(ShimSpawnerTest, TheNextShimDoesNotNeedWhatHasMadeIt) {
  EXPECT_TRUE(IsSoonTrue([&] {
    RunToEnd("true");
    RunToEnd("true");
    const pid_t spare = AwaitSpare();
    const pid_t server = Server();
    EXPECT_EQ(kill(server, SIGKILL), 0);
    const bool is_spare = RunToEnd("exit 4", 4) == spare;
    RunToEnd("exit 5", 5);
    EXPECT_NE(Server(), server);
    return is_spare;
  }));
}

TEST_F(ShimSpawnerTest, TheNextShimEndsWithUs) {
  RunToEnd("true");
  const pid_t spare = AwaitSpare();
  spawner_.reset();
  EXPECT_FALSE(ReadProcess(spare).has_value());
}

// Filters system calls like container engines, permanently, for this thread and its children.
void HideClone3() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = std::size(code), .filter = code};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

TEST_F(ShimSpawnerTest, AContainersFilterThatKnowsNoClone3DoesNoHarm) {
  runtime::Thread container("container", [&] {
    HideClone3();
    RunToEnd("exit 4", 4);
    RunToEnd("exit 5", 5);
  });
  container.Join();
}

TEST_F(ShimSpawnerTest, AKilledShimIsSeenByItsSignal) {
  const auto shim = Spawn("exec sleep 1000");
  ASSERT_TRUE(shim.ok()) << shim.status();
  AwaitPhase(ShimPhase::kRunning);
  ASSERT_EQ(kill(shim->pid, SIGKILL), 0);
  EXPECT_EQ(Reap(*shim), -SIGKILL);
}

TEST_F(ShimSpawnerTest, WhatMakesThemEndsWithUs) {
  pid_t server = 0;
  {
    ShimSpawner other(ShimPath());
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd ours(ends[0]), its(ends[1]);
    const auto shim = other.Start(folder_ + "/none", its.get(), its.get());
    ASSERT_TRUE(shim.ok()) << shim.status();
    EXPECT_NE(Reap(*shim), kShimDone);  // The folder does not exist.
    server = Server();
    EXPECT_NE(server, 0);
  }
  EXPECT_FALSE(ReadProcess(server).has_value());
}

TEST_F(ShimSpawnerTest, WithoutRoomForItsDescriptorNoShimIsLeft) {
  RunToEnd("true");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]), its(ends[1]);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(its.get())).get());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  // Spares that were offered before already have their descriptors.
  std::vector<ShimSpawner::Shim> with_room;
  auto shim = spawner_->Start(folder_, its.get(), its.get());
  for (int i = 0; i < 4 && shim.ok(); ++i) {
    with_room.push_back(*std::move(shim));
    shim = spawner_->Start(folder_, its.get(), its.get());
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(shim.status())) << shim.status();
  for (const auto& other : with_room) Reap(other);
  AwaitSpare();
  // (The shim whose descriptors could not be received may still be ending.)
  EXPECT_TRUE(IsSoonTrue([] {
    const auto rows = ReadProcesses();
    return std::count_if(rows.begin(), rows.end(),
                         [](const auto& row) { return row.parent == getpid() && !row.over; }) == 2;
  })) << "only what makes them, and the next one";
}

#if !defined(RUNTIME_ADDRESS_SANITIZER) && !defined(RUNTIME_THREAD_SANITIZER)
// (A build with a sanitizer is neither static nor small.)
TEST_F(ShimSpawnerTest, ItsProgramIsStaticAndSmall) {
  const auto program = runtime::ReadFile(ShimPath(), 64 << 20);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_LT(program->size(), 4u << 20);
  ElfW(Ehdr) header = {};
  ASSERT_GE(program->size(), sizeof header);
  memcpy(&header, program->data(), sizeof header);
  ASSERT_EQ(memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  ASSERT_GT(header.e_phnum, 0);
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment = {};
    const std::size_t at = header.e_phoff + static_cast<std::size_t>(i) * sizeof segment;
    ASSERT_GE(program->size(), at + sizeof segment);
    memcpy(&segment, program->data() + at, sizeof segment);
    EXPECT_NE(segment.p_type, PT_INTERP) << "a dynamic linker starts it";
  }
}
#endif

TEST_F(ShimSpawnerTest, AMissingProgramIsAnError) {
  ShimSpawner other(folder_ + "/none");
  EXPECT_TRUE(absl::IsNotFound(other.Start(folder_, 0, 2).status()));
}

}  // namespace
}  // namespace launcher
