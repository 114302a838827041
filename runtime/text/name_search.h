#ifndef RUNTIME_TEXT_NAME_SEARCH_H_
#define RUNTIME_TEXT_NAME_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace runtime {

// Finds the job or trial that a person means by a word: the one with that id, else the one with
// that name (a live one before ended ones, then the newest), else the only one whose id begins so.
// One search answers one question; every candidate is shown to it. Not thread safe.
class NameSearch {
 public:
  // `word` outlives it.
  explicit NameSearch(std::string_view word) : word_(word) {}

  // `created` is larger for newer ones.
  void LookAt(bool lives, std::int64_t created, std::string_view id, std::string_view name);

  // The id. NotFound with the message `not_found`; FailedPrecondition names the first of those that
  // an ambiguous prefix stands for.
  absl::StatusOr<std::string> Found(std::string_view not_found) const;

 private:
  const std::string_view word_;
  bool has_id_ = false;                                        // One has the word as its id.
  std::string named_;                                          // Id of the best with the name.
  std::pair<bool, std::int64_t> best_;                         // Whether it lives, when created.
  std::vector<std::pair<std::string, std::string>> prefixed_;  // Id, name; the first ones.
  std::size_t prefixed_count_ = 0;                             // All ids with the prefix.
};

}  // namespace runtime

#endif  // RUNTIME_TEXT_NAME_SEARCH_H_
