#ifndef EVENTLOG_EVENT_H_
#define EVENTLOG_EVENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace eventlog {

// One value of an event's summary. Views point into the payload.
struct SummaryValue {
  std::string_view tag;
  std::string_view plugin;  // From its metadata; empty if it has none.
  // The value as a scalar: `simple_value`, or a tensor of rank 0 with any real number type.
  std::optional<double> scalar;
  bool simple = false;  // It came as `simple_value`, which implies the plugin "scalars".
};

// What is known of a TensorBoard event (tensorflow.Event). Views point into the payload.
struct Event {
  double wall_time = 0;  // Seconds since 1970.
  std::int64_t step = 0;
  std::string_view file_version;  // "brain.Event:2" in the first record of a file.
  std::vector<SummaryValue> values;
};

// Reads an event; `event` is reused, so that its memory is. Unknown fields are skipped.
// InvalidArgument if the payload is no event; never reads outside it.
absl::Status DecodeEvent(std::string_view payload, Event* event);

// One scalar to write.
struct Scalar {
  std::string_view tag;
  double value = 0;
};

// The first record of an event file, framed.
std::string RenderFileHeader(double wall_time);
// A record with these scalars, framed. A pure function of its arguments: the same row gives the
// same bytes, which lets an owner cut a file off and append again.
//
// They are written as `simple_value`, which every reader takes as a scalar without metadata:
// TensorBoard in Python, its Rust data server (which drops any scalar that is not a float), and
// everything older. The price is float precision.
std::string RenderScalars(double wall_time, std::int64_t step, std::span<const Scalar> scalars);

// "events.out.tfevents.<10-digit seconds>.<host>.<pid>.<number>"
std::string EventFileName(std::int64_t unix_seconds, std::string_view host, std::int64_t pid,
                          std::int64_t number);

}  // namespace eventlog

#endif  // EVENTLOG_EVENT_H_
