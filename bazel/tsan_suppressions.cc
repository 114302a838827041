// What the thread sanitizer is told not to report. Linked into every program of --config=tsan.
//
// ZeroMQ is not instrumented: its threads hand over memory through atomics that the tool cannot
// see. Code of ours that runs on two threads is still checked.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libzmq.so.5\n"; }
