#ifndef BUS_JSON_ANNOTATIONS_H_
#define BUS_JSON_ANNOTATIONS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/common_generated.h"

namespace bus {

// Labels, note and display name of a run. The run's owner writes them to a JSON file in the run's
// directory: {"labels": ["base"], "note": "...", "display_name": "..."}. (W&B and MLflow store them
// in a database instead.) Any thread.
struct Annotations {
  static constexpr std::string_view kFile = "annotations.json";
  static constexpr std::size_t kMaxBytes = 256 << 10;  // Limit of the file's size.
  static constexpr std::size_t kMaxLabels = 64;
  static constexpr std::size_t kMaxLabel = 256;  // In bytes, like the next two.
  static constexpr std::size_t kMaxNote = 4096;
  static constexpr std::size_t kMaxDisplayName = 256;

  std::vector<std::string> labels = {};  // In the order in which they were added.
  std::string note = {};                 // May have several lines.
  std::string display_name = {};

  bool operator==(const Annotations&) const = default;
};

// Returns InvalidArgument, which names the label, if there are too many labels, or if one is
// repeated, empty, too long, not UTF-8, or contains a control character.
absl::Status CheckLabels(const std::vector<std::string>& labels);
// Checks labels, note and display name. Note and display name must not contain characters that
// change the direction of text either; a note may contain tabs and line ends.
absl::Status CheckAnnotations(const Annotations& annotations);

// Returns `before` with the requested change. InvalidArgument if CheckAnnotations() refuses the
// result, or if the request both adds and removes a label.
absl::StatusOr<Annotations> Annotated(Annotations before, const msg::AnnotateRequestT& request);

// Parses the file's text. InvalidArgument if it is malformed or exceeds a limit. Ignores unknown
// members.
absl::StatusOr<Annotations> ParseAnnotations(std::string_view text);

// Both block for the disk. ReadAnnotations() returns NotFound if the run has no such file, or the
// errors of ParseAnnotations(). WriteAnnotations() replaces the file atomically; FailedPrecondition
// if the directory is not writable.
absl::StatusOr<Annotations> ReadAnnotations(const std::string& run_directory);
absl::Status WriteAnnotations(const std::string& run_directory, const Annotations& annotations);

msg::AnnotateReplyT AnnotateReply(const std::string& run, const Annotations& annotations);

}  // namespace bus

#endif  // BUS_JSON_ANNOTATIONS_H_
