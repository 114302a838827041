#ifndef TOOLS_YARD_TESTING_LOOKUP_H_
#define TOOLS_YARD_TESTING_LOOKUP_H_

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/yard/follow/follow.h"

namespace yard {

// Returns the index of a thing by id, unique prefix of an id, or name, with the rules and error
// texts of the services. `none` begins the NotFound error: "no trial is called ".
template <typename Things, typename Get>
absl::StatusOr<int> FindThingIn(const Things& things, const std::string& wanted, const Get& get,
                                const char* none) {
  std::vector<int> matches;
  for (std::size_t i = 0; i < things.size(); ++i) {
    const auto& thing = get(things[i]);
    if (thing.id == wanted || thing.name == wanted) return static_cast<int>(i);
    if (absl::StartsWith(thing.id, wanted)) matches.push_back(static_cast<int>(i));
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) return absl::NotFoundError(absl::StrCat(none, wanted));
  std::vector<std::string> names;
  for (const int i : matches) names.push_back(get(things[i]).id);
  return absl::FailedPreconditionError(
      absl::StrCat(wanted, " is ambiguous: ", absl::StrJoin(names, ", ")));
}

// Returns all things, oldest first, filtered as the request asks.
template <typename Thing, typename Request>
std::vector<std::unique_ptr<Thing>> ListedOf(const std::vector<const Thing*>& all,
                                             const Request& request) {
  std::vector<const Thing*> ended;
  std::copy_if(all.begin(), all.end(), std::back_inserter(ended),
               [](const Thing* thing) { return HasEnded(thing->state); });
  std::stable_sort(ended.begin(), ended.end(),
                   [](const Thing* a, const Thing* b) { return a->ended_us > b->ended_us; });
  if (request.newest_ended > 0 && ended.size() > request.newest_ended) {
    ended.resize(request.newest_ended);
  }
  if (request.live_only) ended.clear();
  const std::set<const Thing*> wanted(ended.begin(), ended.end());
  std::vector<std::unique_ptr<Thing>> list;
  for (const Thing* const thing : all) {
    if (HasEnded(thing->state) && !wanted.contains(thing)) continue;
    list.push_back(std::make_unique<Thing>(*thing));
  }
  return list;
}

}  // namespace yard

#endif  // TOOLS_YARD_TESTING_LOOKUP_H_
