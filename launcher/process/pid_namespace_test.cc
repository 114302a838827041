#include "launcher/process/pid_namespace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace launcher {
namespace {

// Each test runs in its own single-threaded process, which exits with one of these codes.
constexpr int kGood = 0, kNotHere = 77;

[[noreturn]] void End(bool is_good, const std::string& what) {
  if (!is_good) fprintf(stderr, "failed: %s\n", what.c_str());
  _exit(is_good ? kGood : 1);
}
[[noreturn]] void Skip(const std::string& why) {
  fprintf(stderr, "not here: %s\n", why.c_str());
  _exit(kNotHere);
}

bool EndedWell(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == kGood || WEXITSTATUS(status) == kNotHere);
}

// Returns the size of this process. (Without allocation, which might change the size.)
long PagesOfMemory() {
  char text[64] = {};
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  return got > 0 ? strtol(text, nullptr, 10) : 0;
}

void RunAndEnd() {
  std::string why;
  why.reserve(1000);
  const long before = PagesOfMemory();
  auto space = PidNamespace::Enter(&why);
  if (space == nullptr) Skip(why);
  const long with = PagesOfMemory();
  space->Kill();
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(space->first()), &info, WEXITED | WNOWAIT | __WALL) != 0) {
    End(false, "waitid");
  }
  if (!space->IsGone()) End(false, "IsGone");
  const long after = PagesOfMemory();
  const long stack = 64 * 1024 / sysconf(_SC_PAGESIZE);
  End(with - after >= stack, std::to_string(before) + " pages, " + std::to_string(with) +
                                 " with it, " + std::to_string(after) + " after it");
}

TEST(PidNamespaceTest, TheStackOfTheFirstProcessIsGoneWithIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunAndEnd(), EndedWell, "");
}

std::string UserNamespace() {
  char name[64] = {};
  const ssize_t size = readlink("/proc/self/ns/user", name, sizeof name);
  return {name, size > 0 ? static_cast<std::size_t>(size) : 0};
}

bool GiveUpPrivileges() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

void FailAndEnd(rlim_t spare) {
  if (!GiveUpPrivileges()) Skip("capset");
  const std::string before = UserNamespace();
  // Allows `spare` more descriptors. With two there is still a pipe, but no map can be written;
  // with more it fails for an unprivileged root, which the kernel does not permit to be mapped.
  const int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(first);
  const rlim_t most = static_cast<rlim_t>(first) + spare;
  const rlimit limit = {most, most};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) Skip("setrlimit");
  std::string why;
  const auto space = PidNamespace::Enter(&why);
  if (space != nullptr && spare > 2) Skip("it was entered");
  if (space != nullptr || why.empty()) End(false, "it was entered");
  End(UserNamespace() == before,
      "we are in " + UserNamespace() + ", not in " + before + ": " + why);
}

TEST(PidNamespaceTest, AfterAFailureWeAreWhereWeWere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(FailAndEnd(0), EndedWell, "");
  EXPECT_EXIT(FailAndEnd(2), EndedWell, "");
  EXPECT_EXIT(FailAndEnd(20), EndedWell, "");
}

}  // namespace
}  // namespace launcher
