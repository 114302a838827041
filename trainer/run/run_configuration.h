#ifndef TRAINER_RUN_RUN_CONFIGURATION_H_
#define TRAINER_RUN_RUN_CONFIGURATION_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trainer {

// A run's configuration: a JSON object that came with the request for the trial and that its
// program may change. JSON has no numbers that are not finite, so they are stored as the strings
// "NaN", "Infinity" and "-Infinity". The store keeps compact JSON, the run's directory params.json.
// Use it on the loop's thread.

// Limit of the compact JSON, in bytes.
inline constexpr std::size_t kMaxConfiguration = 512 << 10;

// Returns `text` as compact JSON; "{}" if it is empty. InvalidArgument if it is no JSON object, or
// is too large, too deep (over 32 levels) or has too many values (over 20,000).
absl::StatusOr<std::string> ParseConfiguration(std::string_view text);

// Returns `before` with the members of `update`, each of which replaces the member of the same name
// entirely. Both are JSON objects. InvalidArgument if the result exceeds the limits of
// ParseConfiguration().
absl::StatusOr<std::string> UpdatedConfiguration(std::string_view before, std::string_view update);

// Writes params.json atomically, if the directory exists and the content differs. Blocks for the
// disk. ResourceExhausted if the disk is full.
absl::Status BringConfigurationUpToDate(const std::string& run_directory,
                                        const std::string& configuration);

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_CONFIGURATION_H_
