#ifndef LAUNCHER_PROCESS_SCHEDULING_H_
#define LAUNCHER_PROCESS_SCHEDULING_H_

namespace launcher {

// Gives this thread short scheduling slices, so that it reacts quickly on a busy machine: the order
// in which two tasks ended is known only from the clocks of their two shims. It gets no larger
// share of the CPU. Needs Linux 6.12; does nothing before that. Programs that the thread starts do
// not inherit it.
void AskForShortTurns();

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_SCHEDULING_H_
