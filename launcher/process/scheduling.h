#ifndef LAUNCHER_PROCESS_SCHEDULING_H_
#define LAUNCHER_PROCESS_SCHEDULING_H_

namespace launcher {

// This thread sees at once what it waits for, also on a busy machine: which of two tasks ended
// first is told by the clocks of two shims. It asks for no more of the processor, only for short
// turns (Linux 6.12; before that nothing changes). The programs that it starts do not inherit it.
void AskForShortTurns();

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_SCHEDULING_H_
