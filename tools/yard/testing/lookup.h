#ifndef TOOLS_YARD_TESTING_LOOKUP_H_
#define TOOLS_YARD_TESTING_LOOKUP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace yard {

// The place of a thing: by id, unique prefix of an id, or name, as the services look things up, and
// in their words.
template <typename Things, typename Get>
absl::StatusOr<int> FindThingIn(const Things& things, const std::string& wanted, const Get& get) {
  std::vector<int> matches;
  for (std::size_t i = 0; i < things.size(); ++i) {
    const auto& thing = get(things[i]);
    if (thing.id == wanted || thing.name == wanted) return static_cast<int>(i);
    if (absl::StartsWith(thing.id, wanted)) matches.push_back(static_cast<int>(i));
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) return absl::NotFoundError(absl::StrCat("nothing is called ", wanted));
  std::vector<std::string> names;
  for (const int i : matches) names.push_back(get(things[i]).id);
  return absl::FailedPreconditionError(
      absl::StrCat(wanted, " is ambiguous: ", absl::StrJoin(names, ", ")));
}

}  // namespace yard

#endif  // TOOLS_YARD_TESTING_LOOKUP_H_
