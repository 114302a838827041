#ifndef LAUNCHER_TESTING_OUTPUT_STACK_DUMP_H_
#define LAUNCHER_TESTING_OUTPUT_STACK_DUMP_H_

namespace launcher::testing {

// Reports the stacks of a process when it is killed, as Python's faulthandler does for the
// original.

// From now on a signal that is this process's own fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT)
// says its name on stderr ("Segmentation fault") with the stack of the thread, and then kills as
// always. Signals for which there is a handler already, that of a sanitizer for instance, are left
// alone. Called once, by the first thread.
void ReportFatalSignals();

// From now on SIGTERM calls `asked` (in a signal handler: it may write to a pipe, and wait).
// A handler for SIGTERM that is set afterwards replaces this one.
void OnTermination(void (*asked)());

// Writes the stack of every thread of this process to the descriptor, the caller's last; each
// thread says its own, and one that does not within a second is named without. Takes no memory and
// no lock. Any thread; one call at a time. Call ReportFatalSignals() first.
void DumpAllStacks(int fd);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_STACK_DUMP_H_
