#include "trainer/function/function_checkpoint.h"

#include <utility>

#include "absl/status/status.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/named_values.h"

namespace trainer {

absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path) {
  const auto directory = FindCheckpointDirectory(path);
  if (!directory.ok()) return directory.status();
  Checkpoint checkpoint{path, std::nullopt};
  const auto metadata = ReadMetadata(*directory);
  // A directory that a person marked as a checkpoint has files but no metadata.
  if (absl::IsNotFound(metadata.status())) return checkpoint;
  if (!metadata.ok()) return metadata.status();
  if (!metadata->saved_as_dict) return checkpoint;
  const auto json = ReadDictionary(*directory);
  if (!json.ok()) return json.status();
  auto values = NamedValues::FromJson(*json);
  if (!values.ok()) return values.status();
  checkpoint.values = *std::move(values);
  return checkpoint;
}

}  // namespace trainer
