#ifndef DATAMANAGER_POINT_TOPICS_H_
#define DATAMANAGER_POINT_TOPICS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "datamanager/columns.h"
#include "datamanager/run_catalog.h"

namespace datamanager {

// The topics `m/RUN/TAG/` and the record behind them, which is the run's event files: the n-th
// point of the tag in file order is entry n of lane 0, there is no other lane.
//
// If a file was replaced or cut short so that a tag has fewer points than before, its entries
// begin again at 0. A subscriber is then not given what replaces the entries it has had; it goes on
// with the first entry that it has not had, once there is one. The file order of several files
// that grow in turns is the one in which they were read; after a restart of the data manager it is
// file by file.

constexpr std::size_t kPointsOfAnEvent = 4096;
constexpr std::size_t kPointsOfARecordedEvent = 1024;

// Publishes points that come after the first `first` ones of their tag, at most kPointsOfAnEvent in
// an event, each with its span.
using PublishEvent = std::function<absl::Status(std::string_view topic, msg::EnvelopeT event)>;
void PublishPoints(const PublishEvent& publish, const std::string& run, const std::string& tag,
                   std::uint64_t first, const std::vector<Point>& points);

// The answers of Common.Ends and Common.Since. Unavailable before the first scan has ended: an end
// that is told too early would be taken for the truth.
absl::StatusOr<msg::EndsReplyT> EndsOfPoints(const RunCatalog& catalog,
                                             const msg::EndsRequestT& request);
// May block on files. A page reads at most one run again that had been dropped from memory, unless
// that run turns out to have lost its points.
absl::StatusOr<msg::SinceReplyT> PointsSince(RunCatalog& catalog,
                                             const msg::SinceRequestT& request);

}  // namespace datamanager

#endif  // DATAMANAGER_POINT_TOPICS_H_
