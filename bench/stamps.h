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

// On the clock of the stamps.
absl::Duration MonotonicNow();

// When a program was running, as it has noted itself (stamp.cc).
struct Stamp {
  pid_t pid = 0;
  absl::Duration when;  // Monotonic.
};

// A file that programs append their stamps to. Not thread safe.
class StampFile {
 public:
  explicit StampFile(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // All there are.
  const std::vector<Stamp>& Read();
  // Waits until there are so many, and returns all; DeadlineExceeded says how many there are.
  absl::StatusOr<std::vector<Stamp>> Await(std::size_t count, absl::Duration timeout);

 private:
  const std::string path_;
  std::size_t read_ = 0;
  std::string half_;
  std::vector<Stamp> stamps_;
};

// When the last of them began.
absl::Duration Last(const std::vector<Stamp>& stamps);

// Processes that are going to end. Made while they live. Not thread safe.
class LivingProcesses {
 public:
  explicit LivingProcesses(const std::vector<Stamp>& stamps);
  // Until the last has; DeadlineExceeded says how many are left.
  absl::Status AwaitEnd(absl::Duration timeout);

 private:
  runtime::UniqueFd epoll_;
  std::vector<runtime::UniqueFd> pidfds_;
};

// A new one in $TMPDIR (in /tmp if that is too long for sockets); its files are the caller's.
std::string NewFolder();

// The program itself.
absl::StatusOr<std::string> StampProgram();

// Memory of a process, from /proc; 0 for one that is gone.
double ResidentKilobytes(pid_t pid);
double ProportionalKilobytes(pid_t pid);
// Processor time of a process and of the children that it has waited for, with theirs.
absl::Duration ProcessorTime(pid_t pid);

double Median(std::vector<double> values);
// The value that this share of `values`, e.g. 0.99, does not pass. 0 without values.
double Quantile(std::vector<double> values, double share);

}  // namespace bench

#endif  // BENCH_STAMPS_H_
