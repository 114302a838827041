#include "datamanager/catalog/read_loaded.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "datamanager/catalog/data_state.h"
#include "datamanager/read/run_data.h"

namespace datamanager {

std::optional<absl::Status> ReadLoaded(const RunSource::Request& request, CacheState state,
                                       RunFilesReader& reader, const RunSource::ReadFunction& use) {
  RunData& data = reader.data();
  const bool points = request.need == RunSource::Need::kPoints;
  const bool whole = points ? data.cached() : data.counted();
  const bool begun = points ? data.keeps_points() : data.read_bytes() > 0;
  const bool is_loaded = !request.whole && data.cached_bytes() > 0 &&
                         AnswerOf(state, request.cached_only) == DataAnswer::kIncomplete;
  if (!whole && !(request.take_part && begun) && !is_loaded) return std::nullopt;
  const absl::Status used = use({data, *reader.run(), state, !whole || reader.behind()});
  if (whole || request.take_part || !absl::IsNotFound(used)) return used;
  const std::string why =
      absl::StrCat("until now, as run ", request.run, " is being read: ", used.message());
  if (!request.cached_only) return absl::UnavailableError(why);
  return absl::FailedPreconditionError(
      absl::StrCat(why, "; ask again, or without cached_only, which waits"));
}

}  // namespace datamanager
