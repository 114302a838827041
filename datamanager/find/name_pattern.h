#ifndef DATAMANAGER_FIND_NAME_PATTERN_H_
#define DATAMANAGER_FIND_NAME_PATTERN_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace datamanager {

// A regular expression in RE2's syntax for names of runs and tags, which are UTF-8. A name matches
// if any part of it does; "^" and "$" match its ends. Matching takes time linear in the name and at
// most 1 MiB of memory, whatever the pattern is. Copies share the automaton; any thread.
class NamePattern {
 public:
  static constexpr std::size_t kMaxSize = 1024;  // In bytes.

  // Returns InvalidArgument, with the reason, for a malformed pattern.
  static absl::StatusOr<NamePattern> Compile(std::string_view pattern);

  bool Matches(std::string_view name) const;

 private:
  explicit NamePattern(std::shared_ptr<const re2::RE2> expression);

  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_NAME_PATTERN_H_
