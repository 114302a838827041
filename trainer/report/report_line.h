#ifndef TRAINER_REPORT_REPORT_LINE_H_
#define TRAINER_REPORT_REPORT_LINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/text/json_value.h"

namespace trainer {

// A parsed line of a program (docs/report-channel.md).
struct ReportLine {
  enum class Kind {
    kHello,
    kReport,
    kLog,
    kHeartbeat,
    kFail,
    kCheckpointBegin,
    kCheckpointEnd,
    kCheckpointFail,
    kConfig,
    kAnnotate,
    kUnimplemented
  };

  Kind kind = Kind::kHeartbeat;
  std::string type;            // As written: "report".
  std::string seq;             // JSON text of `seq`, to be echoed; empty without one.
  std::string metrics = "{}";  // kReport: the object `m` as compact JSON.
  // kReport: an integer `step`, from the line or else from `m`. kCheckpointBegin: `step`, at least
  // 0.
  std::optional<std::int64_t> step;
  bool done = false;  // kReport: `done` of the line or of `m`.
  // kReport: values in `m` under the names of fields that are otherwise computed.
  std::optional<std::int64_t> training_iteration;
  std::optional<double> time_this_iter_s;
  std::optional<std::int64_t> timesteps_this_iter, episodes_this_iter;  // Not negative.
  bool only_done = false;  // kReport: the line has nothing but `done`.
  std::int64_t pid = 0;    // kHello: process id of the program, if given.
  std::string text;        // kLog: its text; kFail, kCheckpointFail: the error.
  // kReport: `ckpt`, or empty; kCheckpointEnd: `path`. (A kCheckpointFail saves nothing.)
  std::string checkpoint;
  std::string failed_path;  // kCheckpointFail: `path`, or empty.
  std::string config;       // kConfig: the object `c` as compact JSON.
  // kAnnotate: `labels` to add and `remove_labels`; `note` and `name`, unset if the line has none.
  std::vector<std::string> labels, remove_labels;
  std::optional<std::string> note, name;
};

// Parses a line. InvalidArgument names the fault and its byte offset. Unknown members are ignored.
// Kinds of lines that this version knows but does not support are kUnimplemented.
absl::StatusOr<ReportLine> ParseReportLine(std::string_view line);
// Returns true if the program waits for an answer to this line.
bool WantsAnswer(const ReportLine& line);

// One leaf of a report's metrics; the names of nested ones are joined by "/".
struct Metric {
  std::string name;
  std::optional<double> number;  // Set for numbers and booleans (0 or 1).
  std::string text;  // Table text: digits as reported, the characters of a string, True,
                     // False, empty for null, an array as JSON.
};
// Returns the leaves of a JSON object in their order; if two flatten to one name, the last one
// wins. A nested empty object has no leaves. InvalidArgument if `metrics` is no JSON object.
absl::StatusOr<std::vector<Metric>> FlattenMetrics(std::string_view metrics);
// Does the same for parsed JSON; returns no leaves for anything but an object.
std::vector<Metric> FlattenObject(const runtime::JsonValue& metrics);

// Lines to the program, without a newline. `seq` is JSON text or empty; `events` holds the elements
// of that array; `path` is the committed checkpoint, if any.
std::string OkLine(std::string_view seq, std::string_view events = {}, std::string_view path = {});
// Tells the program the directory to write its checkpoint into.
std::string CheckpointDirectoryLine(std::string_view seq, std::string_view path);
std::string StopLine(std::string_view seq, std::string_view reason, double grace_s);
std::string ErrorLine(std::string_view seq, const absl::Status& error);
// `checkpoint` is the directory to start from; empty for a fresh start.
std::string WelcomeLine(std::string_view config, std::string_view checkpoint,
                        std::int64_t iteration, std::string_view trial, std::string_view name);

}  // namespace trainer

#endif  // TRAINER_REPORT_REPORT_LINE_H_
