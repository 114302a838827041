#include "runtime/process/process_identity.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/process/subprocess.h"

namespace runtime {
namespace {

TEST(ProcessIdentityTest, KnowsItself) {
  const auto self = SelfIdentity();
  ASSERT_TRUE(self.ok()) << self.status();
  EXPECT_EQ(self->pid, getpid());
  EXPECT_NE(self->pid_namespace, 0u);
  EXPECT_EQ(self->boot_id.size(), 36u);
  EXPECT_NE(self->start_ticks, 0u);
  EXPECT_EQ(*self, *IdentityOf(getpid()));
  EXPECT_TRUE(IsAlive(*self));
  EXPECT_TRUE(InOurNamespace(*self));
}

TEST(ProcessIdentityTest, ACommandNameMayHoldAnything) {
  const auto before = *SelfIdentity();
  ASSERT_EQ(prctl(PR_SET_NAME, ") Z 1 (x) y"), 0);
  EXPECT_EQ(*SelfIdentity(), before);
}

TEST(ProcessIdentityTest, AZombieIsGone) {
  auto child = *Subprocess::Start({.argv = {"/bin/sleep", "1000"}});
  const auto identity = *IdentityOf(child.pid());
  EXPECT_TRUE(IsAlive(identity));
  const auto loop = EventLoop::Create();
  loop->Watch(child.pidfd(), EventLoop::Readiness::kReadable, [&] { loop->Stop(); });
  EXPECT_TRUE(child.Signal(SIGKILL).ok());
  loop->Run();
  EXPECT_FALSE(IsAlive(identity));  // Has ended, but is not reaped yet.
  EXPECT_TRUE(absl::IsNotFound(IdentityOf(child.pid()).status()));
  EXPECT_TRUE(child.Wait().ok());
  EXPECT_FALSE(IsAlive(identity));
  EXPECT_TRUE(absl::IsNotFound(IdentityOf(child.pid()).status()));
}

TEST(ProcessIdentityTest, APidThatIsUsedAgainIsAnotherProcess) {
  auto earlier = *SelfIdentity();
  --earlier.start_ticks;
  EXPECT_FALSE(IsAlive(earlier));
  EXPECT_TRUE(InOurNamespace(earlier));
}

TEST(ProcessIdentityTest, AnotherNamespaceOrBootIsNotOurs) {
  auto elsewhere = *SelfIdentity();
  ++elsewhere.pid_namespace;
  EXPECT_FALSE(IsAlive(elsewhere));
  EXPECT_FALSE(InOurNamespace(elsewhere));
  auto other_boot = *SelfIdentity();
  other_boot.boot_id = "11111111-2222-3333-4444-555555555555";
  EXPECT_FALSE(IsAlive(other_boot));
  EXPECT_FALSE(InOurNamespace(other_boot));
}

TEST(ProcessIdentityTest, NonsensePidsAreNotFound) {
  for (const pid_t pid : {0, -1, 1 << 30}) {
    EXPECT_TRUE(absl::IsNotFound(IdentityOf(pid).status())) << pid;
  }
}

}  // namespace
}  // namespace runtime
