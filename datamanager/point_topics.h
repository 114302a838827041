#ifndef DATAMANAGER_POINT_TOPICS_H_
#define DATAMANAGER_POINT_TOPICS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/series/columns.h"
#include "runtime/event_loop.h"

namespace datamanager {

// The topics `m/RUN/TAG/` and their record, which is the run's event files: the n-th point of a tag
// in file order is entry n of a lane, and the lane is the run's generation (0, then one more each
// time that read data was replaced, or the run was re-created). The file order of several files
// that grow in turns is the order in which they were read; after a restart of the data manager it
// is file by file.

constexpr std::size_t kPointsOfAnEvent = 4096;
constexpr std::size_t kPointsOfARecordedEvent = 1024;

// Publishes points that follow the first `first` points of their tag, at most kPointsOfAnEvent per
// event, each event with its span.
using PublishEvent = std::function<absl::Status(std::string_view topic, msg::EnvelopeT event)>;
void PublishPoints(const PublishEvent& publish, const std::string& run, const std::string& tag,
                   std::uint64_t generation, std::uint64_t first, const std::vector<Point>& points);

// Answers Common.Ends. Unavailable before the first scan has ended, and until the requested runs
// are counted: an end that is reported too early would be taken for final.
absl::StatusOr<msg::EndsReplyT> EndsOfPoints(RunCatalog& catalog, const msg::EndsRequestT& request);

// Answers Common.Since, one page. Unavailable before the first scan has ended. Loads runs whose
// points are not in memory. While the page is empty it waits for them, by a timer of `loop`, for at
// most kSinceWithin, which is less than a subscriber waits for a page. It then returns
// DeadlineExceeded while loading continues; ask again. Neither argument is owned; `catalog` must
// outlive the maker.
constexpr absl::Duration kSinceWithin = absl::Seconds(1);
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::SinceReplyT>>> MakePointsSince(
    const msg::SinceRequestT& request, RunCatalog* catalog, runtime::EventLoop* loop);

}  // namespace datamanager

#endif  // DATAMANAGER_POINT_TOPICS_H_
