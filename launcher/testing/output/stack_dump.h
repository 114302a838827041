#ifndef LAUNCHER_TESTING_OUTPUT_STACK_DUMP_H_
#define LAUNCHER_TESTING_OUTPUT_STACK_DUMP_H_

namespace launcher::testing {

// Reports the stacks of a process when it is killed, like Python's faulthandler in the original.

// Makes fatal signals (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) write their name ("Segmentation
// fault") and the stack of the thread to stderr; after that they kill the process as usual. Signals
// that already have a handler, such as that of a sanitizer, are left alone. Call it once, on the
// first thread.
void ReportFatalSignals();

// Makes SIGTERM call `asked`, in a signal handler: it may write to a pipe, and block. A handler for
// SIGTERM that is set afterwards replaces this one.
void OnTermination(void (*asked)());

// Writes the stack of every thread of this process to `fd`, the caller's last. Each thread captures
// its own stack; a thread that does not do so within a second is listed without. Allocates no
// memory and takes no lock, since a stopped thread may hold any lock. Any thread may call it, one
// call at a time. Call ReportFatalSignals() first.
void DumpAllStacks(int fd);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_STACK_DUMP_H_
