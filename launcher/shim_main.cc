// yard-shim FOLDER [CONTROL_FD]: started by the launcher, never by hand (docs/launcher.md).
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/shim.h"
#include "launcher/shim_protocol.h"

namespace {

// The kernel's; the C library of Debian 12 has neither it nor the call.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};
constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kShortestSlice = 100'000;  // Nanoseconds.

// Sees at once what it waits for, also on a busy machine: which of two tasks ended first is told by
// the clocks of two shims. It asks for no more of the processor, only for short turns (Linux 6.12;
// before that nothing changes). The program does not inherit it.
void AskForShortTurns() {
  SchedulingAttributes attributes;
  attributes.flags = kResetOnFork;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  attributes.runtime = kShortestSlice;
  // Another policy, and a negative niceness, would be reset for the program, too.
  if (sched_getscheduler(0) != SCHED_OTHER || attributes.nice < 0) return;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: yard-shim FOLDER [CONTROL_FD]\n");
    return launcher::kShimBadSpec;
  }
  AskForShortTurns();
  launcher::ShimOptions options;
  options.folder = argv[1];
  if (argc == 3) options.control_fd = atoi(argv[2]);
  return launcher::RunShim(options);
}
