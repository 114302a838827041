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
// What differs from Ray: a permanent one is always written as a temporary one first, synced, given
// a manifest (name, size and CRC-32C of every file in it) and renamed, so it is whole or not there,
// also after a power failure; the metadata is JSON and the step in the name has six digits at
// least.
//
// Nothing follows a symbolic link inside a checkpoint (file_tree.h has the bounds). Every error
// names the path; ResourceExhausted: there is no room now (on the disk, or for descriptors), so it
// may be tried again. All functions block for the disk, as long as the files are large; any thread,
// one at a time for one run.

inline constexpr std::string_view kCheckpointMarker = ".is_checkpoint";
inline constexpr std::string_view kTemporaryMarker = ".temp_marker";
inline constexpr std::string_view kNullMarker = ".null_marker";
inline constexpr std::string_view kMetadataFile = ".metadata.json";
inline constexpr std::string_view kManifestFile = ".manifest.json";
// The counters of a report that came after the commit, and that the checkpoint belongs to: they go
// before those of the metadata. In no manifest.
inline constexpr std::string_view kCountersFile = ".counters.json";
// Holds the dictionary of a checkpoint that is one.
inline constexpr std::string_view kDictionaryFile = "checkpoint";
inline constexpr std::size_t kMaxDictionary = 16 << 20;  // Bytes.

// The counters that go on from a checkpoint, and where it is from.
struct CheckpointMetadata {
  std::string experiment_id;
  std::int64_t iteration = 0;  // training_iteration.
  std::optional<std::int64_t> timesteps_total;
  std::optional<std::int64_t> episodes_total;
  std::int64_t time_total_us = 0;  // On disk: time_total, in seconds.
  bool saved_as_dict = false;
  // Where the program numbers its checkpoints itself.
  std::optional<std::int64_t> step;
  // The line of the report channel that committed it; 0: none (yet).
  int attempt = 0;
  std::int64_t line = 0;
};

// "checkpoint_000012"; "checkpoint_-1" for -1.
std::string CheckpointName(std::int64_t step);
// True for "checkpoint_tmp" and six hexadecimal digits, whatever is in it.
bool IsTemporaryName(std::string_view name);
// By their markers. A missing directory is neither.
bool IsTemporary(const std::string& directory);
bool IsNull(const std::string& directory);

// The nearest directory at or above `path` that is a checkpoint, without a slash at its end.
// NotFound if `path` does not exist or none is.
absl::StatusOr<std::string> FindCheckpointDirectory(const std::string& path);

// A new empty temporary checkpoint below the run's directory, which is made if it is missing. It
// remembers for which step it is, if that is known.
absl::StatusOr<std::string> MakeTemporaryCheckpoint(
    const std::string& run_directory, std::optional<std::int64_t> step = std::nullopt);
std::optional<std::int64_t> TemporaryStep(const std::string& directory);

// Not synced before the commit.
absl::Status WriteMetadata(const std::string& directory, const CheckpointMetadata& metadata);
// Writes the counters of a permanent checkpoint in one step, not synced. Only these counters are
// read again.
absl::Status WriteCounters(const std::string& directory, const CheckpointMetadata& metadata);
// The metadata with the counters that were written last. NotFound without metadata; DataLoss if it
// cannot be read as metadata.
absl::StatusOr<CheckpointMetadata> ReadMetadata(const std::string& directory);

// A dictionary (a JSON object) as the content of a temporary checkpoint, whose metadata then says
// `saved_as_dict`. InvalidArgument if it is no object; ResourceExhausted over kMaxDictionary.
absl::Status WriteDictionary(const std::string& directory, std::string_view json);
// DataLoss if it is damaged.
absl::StatusOr<std::string> ReadDictionary(const std::string& directory);

// The files of a checkpoint by their names, with size and CRC-32C.
struct FileSum {
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  bool operator==(const FileSum&) const = default;
};
using CheckpointManifest = std::map<std::string, FileSum>;

// Reads and syncs all that is in a temporary checkpoint, each file and each directory: the long
// part of its commit, which may be done before, on another thread. FailedPrecondition if it is
// none.
absl::StatusOr<CheckpointManifest> SyncCheckpoint(const std::string& temporary);

// Makes a temporary checkpoint permanent under `name`, in the same run directory; one of that name
// is replaced. Returns the size of its files in bytes. FailedPrecondition if `temporary` is none: a
// permanent one is not made permanent again. After any other error it may be tried again. Durable
// once it returns, with the run's directory. `synced` is what SyncCheckpoint() has returned since
// anything in it was changed; without it that is done here. `fault` is called at each named point
// between two steps.
absl::StatusOr<std::uint64_t> CommitCheckpoint(
    const std::string& temporary, const std::string& name, const CheckpointMetadata& metadata,
    const std::function<void(std::string_view point)>& fault = nullptr,
    std::optional<CheckpointManifest> synced = std::nullopt);

// Reads all of a checkpoint and compares it with its manifest. DataLoss naming the file that is
// damaged, missing or no file any more; NotFound if the directory or its manifest is not there.
// Files that the manifest does not name are not looked at.
absl::Status VerifyCheckpoint(const std::string& directory);

// Copies a directory into a new temporary checkpoint of the run. A checkpoint with a manifest is
// verified on the way (as above), one without is copied as it is; so may any other directory be.
// Not synced. It remembers for which step it is, if that is known. A copy that is larger than the
// room on the run's disk is not begun (FailedPrecondition if it is larger than that disk).
absl::StatusOr<std::string> CopyInCheckpoint(const std::string& source,
                                             const std::string& run_directory,
                                             std::optional<std::int64_t> step = std::nullopt);

// The null checkpoint of the run, made anew: all counters are 0.
absl::StatusOr<std::string> MakeNullCheckpoint(const std::string& run_directory,
                                               const std::string& experiment_id);

// Copies the temporary checkpoint that `path` lies in to a permanent one for `step`, without the
// marker, and returns the path in it: what `path` was in the temporary one. That stays, for a
// program that still reads it. FailedPrecondition if it is permanent already.
absl::StatusOr<std::string> MakePermanentCheckpoint(const std::string& path,
                                                    const std::string& run_directory,
                                                    std::int64_t step,
                                                    const CheckpointMetadata& metadata);

// Removes a checkpoint of any kind; fine if it is gone. It loses its name first, so that one half
// removed is never taken for whole. InvalidArgument if the name is not that of a checkpoint.
absl::Status RemoveCheckpoint(const std::string& directory);
// Removes what carries a temporary name below the run's directory, which may be missing; not `but`.
absl::Status RemoveTemporaryCheckpoints(const std::string& run_directory,
                                        const std::string& but = "");

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
