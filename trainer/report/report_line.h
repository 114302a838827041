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

// What a program says in one line (docs/report-channel.md).
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
  std::string seq;             // The JSON text of `seq`, to be echoed; empty without one.
  std::string metrics = "{}";  // kReport: the object `m` as compact JSON.
  // kReport: an integer `step`, of the line or else of `m`. kCheckpointBegin: `step`, not negative.
  std::optional<std::int64_t> step;
  bool done = false;  // kReport: `done` of the line or of `m`.
  // kReport: what `m` says of itself under the names of fields that are filled in otherwise.
  std::optional<std::int64_t> training_iteration;
  std::optional<double> time_this_iter_s;
  std::optional<std::int64_t> timesteps_this_iter, episodes_this_iter;  // Not negative.
  bool only_done = false;  // kReport: it has nothing but `done`.
  std::int64_t pid = 0;    // kHello: the program's, if it says so.
  std::string text;        // kLog: its text; kFail, kCheckpointFail: the error.
  // kReport: `ckpt`, empty without one; kCheckpointEnd: `path`. (A kCheckpointFail saves nothing.)
  std::string checkpoint;
  std::string failed_path;  // kCheckpointFail: `path`, or empty.
  std::string config;       // kConfig: the object `c` as compact JSON.
  // kAnnotate: `labels` to add and `remove_labels`; `note` and `name`, unset if the line has none.
  std::vector<std::string> labels, remove_labels;
  std::optional<std::string> note, name;
};

// InvalidArgument says what is wrong at which byte. Members it does not know are ignored. Kinds of
// lines that this version knows but does not serve are kUnimplemented.
absl::StatusOr<ReportLine> ParseReportLine(std::string_view line);
// True if a program waits for an answer to this line.
bool WantsAnswer(const ReportLine& line);

// One number or other leaf of a report's metrics; names of nested ones are joined by "/".
struct Metric {
  std::string name;
  std::optional<double> number;  // Numbers and truth values (0 or 1).
  std::string text;  // For a table: the digits as reported, the characters of a string, True,
                     // False, nothing for null, an array as JSON.
};
// Leaves of a JSON object, in the order they were written; of two that flatten to one name the last
// one counts. An empty object inside has no leaves. InvalidArgument if it is no JSON object.
absl::StatusOr<std::vector<Metric>> FlattenMetrics(std::string_view metrics);
// The same for what was parsed; no leaves of anything but an object.
std::vector<Metric> FlattenObject(const runtime::JsonValue& metrics);

// The lines down, without a newline. `seq` is JSON text or empty.
// `events`: the elements of that array; `path`: of the checkpoint that was committed, if any.
std::string OkLine(std::string_view seq, std::string_view events = {}, std::string_view path = {});
// The directory that a checkpoint is to be written into.
std::string CheckpointDirectoryLine(std::string_view seq, std::string_view path);
std::string StopLine(std::string_view seq, std::string_view reason, double grace_s);
std::string ErrorLine(std::string_view seq, const absl::Status& error);
// `checkpoint` is the directory to start from, empty: none.
std::string WelcomeLine(std::string_view config, std::string_view checkpoint,
                        std::int64_t iteration, std::string_view trial, std::string_view name);

}  // namespace trainer

#endif  // TRAINER_REPORT_REPORT_LINE_H_
