#ifndef EVENTLOG_HPARAMS_CONTENT_H_
#define EVENTLOG_HPARAMS_CONTENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace eventlog {

// The content that the plugin "hparams" stores in the metadata of its three tags
// (tensorboard.hparams.HParamsPluginData); the tags' values are empty tensors. Pure; any thread.
// Views point into the content.

// The tags, as in TensorBoard.
inline constexpr std::string_view kHParamsExperimentTag = "_hparams_/experiment";
inline constexpr std::string_view kHParamsStartTag = "_hparams_/session_start_info";
inline constexpr std::string_view kHParamsEndTag = "_hparams_/session_end_info";

struct HParamsContent {
  enum class Kind : std::uint8_t { kNone, kExperiment, kSessionStart, kSessionEnd };
  enum class Status : std::int32_t { kUnknown = 0, kSuccess = 1, kFailure = 2, kRunning = 3 };

  Kind kind = Kind::kNone;
  // For kExperiment: a JSON object with names as in TensorBoard's api.proto (protobuf_json.h).
  std::string experiment;
  // For kSessionStart.
  std::map<std::string, std::string> hparams;  // Name to JSON: "0.1", "\"adam\"", "true".
  std::string_view model_uri;
  std::string_view monitor_url;
  std::string_view group_name;
  double start_time = 0;  // Seconds since 1970.
  // For kSessionEnd.
  Status status = Status::kUnknown;
  double end_time = 0;
};

// Returns InvalidArgument if `content` is malformed.
absl::StatusOr<HParamsContent> ReadHParamsContent(std::string_view content);

}  // namespace eventlog

#endif  // EVENTLOG_HPARAMS_CONTENT_H_
