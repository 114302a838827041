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

// Finds the job or trial that a user's word denotes: the one with that id; otherwise the one with
// that name (a live one before ended ones, then the newest); otherwise the only one whose id begins
// with the word. Use one search per word and show it every candidate. Not thread safe.
class NameSearch {
 public:
  // `word` must outlive the search.
  explicit NameSearch(std::string_view word) : word_(word) {}

  // Considers a candidate. `created` is larger for newer ones.
  void LookAt(bool lives, std::int64_t created, std::string_view id, std::string_view name);

  // Returns the id. NotFound has the message `not_found`; FailedPrecondition lists the first
  // candidates of an ambiguous prefix.
  absl::StatusOr<std::string> Found(std::string_view not_found) const;

 private:
  const std::string_view word_;
  bool has_id_ = false;                                        // A candidate's id equals the word.
  std::string named_;                                          // Id of the best candidate with that
                                                               // name.
  std::pair<bool, std::int64_t> best_;                         // Its `lives` and `created`.
  std::vector<std::pair<std::string, std::string>> prefixed_;  // Id and name of the first few
                                                               // matches.
  std::size_t prefixed_count_ = 0;                             // Number of ids with the prefix.
};

}  // namespace runtime

#endif  // RUNTIME_TEXT_NAME_SEARCH_H_
