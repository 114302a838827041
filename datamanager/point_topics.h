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

// The topics `m/RUN/TAG/` and the record behind them, which is the run's event files: the n-th
// point of the tag in file order is entry n of the lane that is the generation of the run (0, then
// one more each time that what had been read was replaced, or the run was made again). The file
// order of several files that grow in turns is the one in which they were read; after a restart of
// the data manager it is file by file.

constexpr std::size_t kPointsOfAnEvent = 4096;
constexpr std::size_t kPointsOfARecordedEvent = 1024;

// Publishes points that come after the first `first` ones of their tag, at most kPointsOfAnEvent in
// an event, each with its span.
using PublishEvent = std::function<absl::Status(std::string_view topic, msg::EnvelopeT event)>;
void PublishPoints(const PublishEvent& publish, const std::string& run, const std::string& tag,
                   std::uint64_t generation, std::uint64_t first, const std::vector<Point>& points);

// The answer of Common.Ends. Unavailable before the first scan has ended, and until the runs that
// are asked about are counted: an end that is told too early would be taken for the truth.
absl::StatusOr<msg::EndsReplyT> EndsOfPoints(RunCatalog& catalog, const msg::EndsRequestT& request);

// The answer of Common.Since, a page. Unavailable before the first scan has ended. Runs whose
// points are not in memory are read; while there is nothing to tell it waits for them, for at most
// kSinceWithin by `loop`, less than a subscriber waits for a page: then DeadlineExceeded, reading
// goes on, ask again. Both are not owned; `catalog` lives as long as the maker.
constexpr absl::Duration kSinceWithin = absl::Seconds(1);
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::SinceReplyT>>> MakePointsSince(
    const msg::SinceRequestT& request, RunCatalog* catalog, runtime::EventLoop* loop);

}  // namespace datamanager

#endif  // DATAMANAGER_POINT_TOPICS_H_
