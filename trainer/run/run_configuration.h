#ifndef TRAINER_RUN_RUN_CONFIGURATION_H_
#define TRAINER_RUN_RUN_CONFIGURATION_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trainer {

// The configuration of a run: a JSON object that the trial was asked for with, and that its program
// may change. Its numbers are finite: others, which JSON does not have, are kept as the texts
// "NaN", "Infinity" and "-Infinity". The store has it as compact JSON, the run's directory as
// params.json. On the loop's thread.

// Bytes of the compact JSON.
inline constexpr std::size_t kMaxConfiguration = 512 << 10;

// Returns `text` as compact JSON; "{}" if it is empty. InvalidArgument: no JSON object, or larger,
// deeper (32 levels) or with more values (20,000) than is allowed.
absl::StatusOr<std::string> ParseConfiguration(std::string_view text);

// Returns `before` with the members of `update`, each of which replaces the member of its name as a
// whole. Both are JSON objects. InvalidArgument: the result is larger, deeper or with more values
// than that.
absl::StatusOr<std::string> UpdatedConfiguration(std::string_view before, std::string_view update);

// Writes params.json, in one step, if the directory exists and the file says something else. Blocks
// for the disk. ResourceExhausted: the disk is full.
absl::Status BringConfigurationUpToDate(const std::string& run_directory,
                                        const std::string& configuration);

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_CONFIGURATION_H_
