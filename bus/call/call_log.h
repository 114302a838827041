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

// The lines that a service writes to its log about its calls, and counts of them. A flood of calls
// costs so many lines a second, and the next line says how many are missing. Any thread.
class CallLog {
 public:
  static constexpr int kBuckets = 28;
  struct Counts {
    std::uint64_t count = 0, errors = 0, sum_us = 0;
    std::array<std::uint64_t, kBuckets> buckets{};  // [i]: took less than 2^i us.
  };

  // `service`: its name ("launcher").
  explicit CallLog(std::string service) : service_(std::move(service)) {}

  // A call that may change something. Writes a line, but for renewals and the like: what may be
  // done twice, belongs to nobody's command, and has been logged for its caller before.
  // `now`: monotonic.
  void OnChange(const MethodInfo& method, const CallContext& context, absl::Duration now);
  // A call that was refused or has failed. A call that its caller cancelled writes nothing.
  void OnError(std::string_view method, const CallContext& context, const absl::Status& error,
               absl::Duration now);
  // A call that was admitted has ended.
  void OnEnd(const MethodInfo& method, absl::Duration took, bool error);

  // By method.
  std::map<std::string, Counts> counts() const;

 private:
  // Lets so many lines a second through and counts the others.
  class LineLimit {
   public:
    explicit LineLimit(int a_second) : a_second_(a_second) {}
    // Null: say nothing. Else what to add to the line.
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
  // Renewals that were logged: the caller and its method.
  std::set<std::pair<pid_t, std::string_view>> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bus

#endif  // BUS_CALL_CALL_LOG_H_
