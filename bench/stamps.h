#ifndef BENCH_STAMPS_H_
#define BENCH_STAMPS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"

namespace bench {

// Returns the time on the clock of the stamps.
absl::Duration MonotonicNow();

// The time at which a program was running, recorded by the program itself (stamp.cc).
struct Stamp {
  pid_t pid = 0;
  absl::Duration when;  // Monotonic.
};

// A file to which programs append their stamps. Not thread-safe.
class StampFile {
 public:
  explicit StampFile(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Returns all stamps so far.
  const std::vector<Stamp>& Read();
  // Waits for `count` stamps and returns all; DeadlineExceeded says how many there are.
  absl::StatusOr<std::vector<Stamp>> Await(std::size_t count, absl::Duration timeout);

 private:
  const std::string path_;
  std::size_t read_ = 0;
  std::string half_;
  std::vector<Stamp> stamps_;
};

// Returns when the last of them started.
absl::Duration Last(const std::vector<Stamp>& stamps);

// Processes that are about to end. Construct it while they live. Not thread-safe.
class LivingProcesses {
 public:
  explicit LivingProcesses(const std::vector<Stamp>& stamps);
  // Waits until the last one has ended; DeadlineExceeded says how many are left.
  absl::Status AwaitEnd(absl::Duration timeout);

 private:
  runtime::UniqueFd epoll_;
  std::vector<runtime::UniqueFd> pidfds_;
};

// Creates a folder in $TMPDIR (in /tmp if that path is too long for sockets); the caller removes
// it.
std::string NewFolder();

// Returns the path of the stamp program.
absl::StatusOr<std::string> StampProgram();

// Memory of a process, from /proc; 0 if the process is gone.
double ResidentKilobytes(pid_t pid);
double ProportionalKilobytes(pid_t pid);
// Processor time of a process and of all its descendants that were waited for.
absl::Duration ProcessorTime(pid_t pid);

double Median(std::vector<double> values);
// Returns the value that the fraction `share` of `values`, such as 0.99, does not exceed. 0 without
// values.
double Quantile(std::vector<double> values, double share);

}  // namespace bench

#endif  // BENCH_STAMPS_H_
