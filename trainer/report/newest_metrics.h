#ifndef TRAINER_REPORT_NEWEST_METRICS_H_
#define TRAINER_REPORT_NEWEST_METRICS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace trainer {

// The newest value of each metric of a trial whose reports have different metrics: most have a
// loss, every hundredth an accuracy. Metrics are compact JSON objects, as stored with reports. Pure
// functions; any thread.

// Returns true if two reports have the same names in the same order, nested names included.
bool HaveSameNames(std::string_view a, std::string_view b);

// Limit, in bytes, of the metrics kept from earlier reports: a program may report any number of
// names.
inline constexpr std::size_t kMostEarlierMetrics = 64 << 10;

// Returns the metrics of `newer` followed by those that only `older` has, also within nested
// objects. Returns only `newer` if either is empty or not an object, or if `older` is larger than
// kMostEarlierMetrics.
std::string MergedMetrics(std::string_view older, std::string_view newer);

}  // namespace trainer

#endif  // TRAINER_REPORT_NEWEST_METRICS_H_
