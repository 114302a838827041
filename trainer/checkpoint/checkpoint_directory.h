#ifndef TRAINER_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trainer {

// Checkpoints on disk, in the terms of Ray Tune's checkpoint utilities for functions:
//
//   RUN/checkpoint_000012/    permanent: .is_checkpoint, .metadata.json, .manifest.json, files
//   RUN/checkpoint_tmp1f90ab/ temporary: .is_checkpoint, .temp_marker, perhaps files
//   RUN/checkpoint_-1/        the null checkpoint, of a trial that has saved nothing: .null_marker
//
// Differences from Ray: a permanent checkpoint is always written as a temporary one first, synced,
// given a manifest (name, size and CRC-32C of every file in it) and renamed, so even after a power
// failure it is either complete or absent; the metadata is JSON; and the step in the name has at
// least six digits.
//
// No function follows a symbolic link inside a checkpoint (file_tree.h has the bounds). Every error
// names the path. ResourceExhausted means that room is lacking now (on the disk, or for
// descriptors), so a retry may succeed. All functions block for the disk, in proportion to the
// files' sizes. Call them on any thread, but one at a time for each run.

inline constexpr std::string_view kCheckpointMarker = ".is_checkpoint";
inline constexpr std::string_view kTemporaryMarker = ".temp_marker";
inline constexpr std::string_view kNullMarker = ".null_marker";
inline constexpr std::string_view kMetadataFile = ".metadata.json";
inline constexpr std::string_view kManifestFile = ".manifest.json";
// Counters of a report that came after the commit and to which the checkpoint belongs. They
// override the counters of the metadata. Not listed in the manifest.
inline constexpr std::string_view kCountersFile = ".counters.json";
// The values of a checkpoint that was saved as a dictionary.
inline constexpr std::string_view kDictionaryFile = "checkpoint";
inline constexpr std::size_t kMaxDictionary = 16 << 20;  // Bytes.

// The counters that continue from a checkpoint, and where the checkpoint comes from.
struct CheckpointMetadata {
  std::string experiment_id;
  std::int64_t iteration = 0;  // training_iteration.
  std::optional<std::int64_t> timesteps_total;
  std::optional<std::int64_t> episodes_total;
  std::int64_t time_total_us = 0;  // On disk: time_total, in seconds.
  bool saved_as_dict = false;
  // Step that the program gave the checkpoint, if it numbers its checkpoints itself.
  std::optional<std::int64_t> step;
  // Attempt and number of the report channel's line that committed it; 0: not committed by a line.
  int attempt = 0;
  std::int64_t line = 0;
};

// Returns "checkpoint_000012" for 12; "checkpoint_-1" for -1.
std::string CheckpointName(std::int64_t step);
// Returns true for "checkpoint_tmp" followed by six hexadecimal digits; ignores the contents.
bool IsTemporaryName(std::string_view name);
// Decide by the marker files. Both return false for a missing directory.
bool IsTemporary(const std::string& directory);
bool IsNull(const std::string& directory);

// Returns the nearest checkpoint directory at or above `path`, without a trailing slash. NotFound
// if `path` does not exist or no such directory is a checkpoint.
absl::StatusOr<std::string> FindCheckpointDirectory(const std::string& path);

// Makes an empty temporary checkpoint in the run's directory, which is created if it is missing,
// and records `step` in it if set.
absl::StatusOr<std::string> MakeTemporaryCheckpoint(
    const std::string& run_directory, std::optional<std::int64_t> step = std::nullopt);
std::optional<std::int64_t> TemporaryStep(const std::string& directory);

// Writes the metadata; the commit syncs it.
absl::Status WriteMetadata(const std::string& directory, const CheckpointMetadata& metadata);
// Replaces the counters of a permanent checkpoint atomically, without a sync. Only the counters are
// read back.
absl::Status WriteCounters(const std::string& directory, const CheckpointMetadata& metadata);
// Returns the metadata with the last written counters. NotFound without metadata; DataLoss if the
// metadata cannot be parsed.
absl::StatusOr<CheckpointMetadata> ReadMetadata(const std::string& directory);

// Writes a dictionary (a JSON object) as the content of a temporary checkpoint; its metadata then
// has `saved_as_dict`. InvalidArgument if `json` is no object; ResourceExhausted over
// kMaxDictionary.
absl::Status WriteDictionary(const std::string& directory, std::string_view json);
// Returns the dictionary; DataLoss if it is damaged.
absl::StatusOr<std::string> ReadDictionary(const std::string& directory);

// Size and CRC-32C of one file of a checkpoint. A manifest maps file names to these.
struct FileSum {
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  bool operator==(const FileSum&) const = default;
};
using CheckpointManifest = std::map<std::string, FileSum>;

// Reads and syncs every file and directory of a temporary checkpoint. This is the slow part of a
// commit, and may be done earlier and on another thread. FailedPrecondition if the directory is not
// a temporary checkpoint.
absl::StatusOr<CheckpointManifest> SyncCheckpoint(const std::string& temporary);

// Makes a temporary checkpoint permanent under `name`, in the same run directory, and replaces a
// checkpoint of that name. Returns the size of its files in bytes. Once it returns, the checkpoint
// and the run's directory are durable. FailedPrecondition if `temporary` is not a temporary
// checkpoint: a permanent one cannot be committed again. After any other error a retry is possible.
// `synced` is the result of SyncCheckpoint(), if no file has changed since; without it, this
// function syncs. `fault` is called at each named point between two steps.
absl::StatusOr<std::uint64_t> CommitCheckpoint(
    const std::string& temporary, const std::string& name, const CheckpointMetadata& metadata,
    const std::function<void(std::string_view point)>& fault = nullptr,
    std::optional<CheckpointManifest> synced = std::nullopt);

// Reads a whole checkpoint and compares it with its manifest. DataLoss names the file that is
// damaged, missing or no longer a regular file; NotFound if the directory or its manifest is
// missing. Files that the manifest does not list are ignored.
absl::Status VerifyCheckpoint(const std::string& directory);

// Copies a directory into a new temporary checkpoint of the run, without a sync, and records `step`
// in it if set. A checkpoint with a manifest is verified during the copy (as above); any other
// directory is copied as it is. If the copy is larger than the free room of the run's disk, returns
// ResourceExhausted before copying (FailedPrecondition if it is larger than the whole disk).
absl::StatusOr<std::string> CopyInCheckpoint(const std::string& source,
                                             const std::string& run_directory,
                                             std::optional<std::int64_t> step = std::nullopt);

// Makes or replaces the null checkpoint of the run, whose counters are all 0.
absl::StatusOr<std::string> MakeNullCheckpoint(const std::string& run_directory,
                                               const std::string& experiment_id);

// Copies the temporary checkpoint that contains `path` to a permanent one for `step`, without the
// marker, and returns the path in the copy that corresponds to `path`. Keeps the temporary one for
// a program that still reads it. FailedPrecondition if the checkpoint is permanent already.
absl::StatusOr<std::string> MakePermanentCheckpoint(const std::string& path,
                                                    const std::string& run_directory,
                                                    std::int64_t step,
                                                    const CheckpointMetadata& metadata);

// Removes a checkpoint of any kind; OK if it does not exist. Renames it to a temporary name first,
// so that a partly removed checkpoint never looks complete. InvalidArgument if the name is not that
// of a checkpoint.
absl::Status RemoveCheckpoint(const std::string& directory);
// Removes all checkpoints with temporary names, except `but`, from the run's directory, which may
// be missing.
absl::Status RemoveTemporaryCheckpoints(const std::string& run_directory,
                                        const std::string& but = "");

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
