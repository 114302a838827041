#include "launcher/process/scheduling.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace launcher {
namespace {

// The kernel's sched_attr; the C library of Debian 12 has neither the structure nor the call.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};
constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kShortestSlice = 100'000;  // Nanoseconds.

}  // namespace

void AskForShortTurns() {
  SchedulingAttributes attributes;
  attributes.flags = kResetOnFork;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  attributes.runtime = kShortestSlice;
  // Another policy or a negative niceness is left alone, since kResetOnFork would reset it for the
  // program.
  if (sched_getscheduler(0) != SCHED_OTHER || attributes.nice < 0) return;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace launcher
