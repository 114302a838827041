#ifndef BUS_CALL_CALL_LOG_H_
#define BUS_CALL_CALL_LOG_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/call/service.h"
#include "bus/schema/method.h"
#include "runtime/mutex.h"

namespace bus {

// Writes a service's log lines about its calls, and counts the calls. Writes at most 100 lines a
// second about changes and 10 about errors; the next line that is written says how many were left
// out. Any thread.
class CallLog {
 public:
  static constexpr int kBuckets = 28;
  struct Counts {
    std::uint64_t count = 0, errors = 0, sum_us = 0;
    std::array<std::uint64_t, kBuckets> buckets{};  // [i]: calls that took less than 2^i us.
  };

  // `service`: its name ("launcher").
  explicit CallLog(std::string service) : service_(std::move(service)) {}

  // Logs a call that may change something. Omits repeated renewals: an idempotent call that has no
  // parent trace and whose caller and method were logged before. `now`: monotonic.
  void OnChange(const MethodInfo& method, const CallContext& context, absl::Duration now);
  // Logs a call that was refused or failed. Writes nothing if the caller cancelled it.
  void OnError(std::string_view method, const CallContext& context, const absl::Status& error,
               absl::Duration now);
  // Counts an admitted call that has ended.
  void OnEnd(const MethodInfo& method, absl::Duration took, bool error);

  // Counts by method.
  std::map<std::string, Counts> counts() const;

 private:
  // Passes a limited number of lines per second and counts the others.
  class LineLimit {
   public:
    explicit LineLimit(int a_second) : a_second_(a_second) {}
    // Null: write no line. Otherwise a suffix for the line, perhaps empty.
    std::optional<std::string> Take(absl::Duration now);

   private:
    const int a_second_;
    absl::Duration began_ = -absl::InfiniteDuration();
    int lines_ = 0;
    std::uint64_t left_out_ = 0;
  };

  const std::string service_;
  mutable runtime::Mutex mutex_;
  std::map<std::string, Counts> counts_ ABSL_GUARDED_BY(mutex_);
  LineLimit change_lines_ ABSL_GUARDED_BY(mutex_){100};
  LineLimit error_lines_ ABSL_GUARDED_BY(mutex_){10};
  // Logged renewals, by caller's pid and method.
  std::set<std::pair<pid_t, std::string_view>> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bus

#endif  // BUS_CALL_CALL_LOG_H_
