// Lists the reports that the thread sanitizer suppresses. Linked into every program of
// --config=tsan.
//
// ZeroMQ is not instrumented: its threads hand over memory through atomics that the tool cannot
// see. Code of ours that runs on two threads is still checked.
//
// An absl::Status counts its references half in its header, which is instrumented, and half in
// Debian's library, which is not: the tool does not see that the last one who lets go comes last.
//
// For each line glog asks for the time zone, which the C library keeps under a lock of its own: the
// tool sees what is freed and made there, but not the lock.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libzmq.so.5\n"
         "race:absl::debian3::Status::Unref\n"
         "race:google::LogMessageTime::CalcGmtOffset\n";
}
