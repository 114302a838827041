#ifndef TRAINER_REPORT_NEWEST_METRICS_H_
#define TRAINER_REPORT_NEWEST_METRICS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace trainer {

// The newest value of each metric of a trial whose reports do not all have the same ones: a loss in
// most of them, an accuracy in every hundredth. Metrics are compact JSON objects, as a report is
// stored. Pure functions; any thread.

// Whether two reports have the same names, in the same order, also of what is nested.
bool HaveSameNames(std::string_view a, std::string_view b);

// Limit of the metrics kept of earlier reports, in bytes: a program may report any number of names.
inline constexpr std::size_t kMostEarlierMetrics = 64 << 10;

// The metrics of `newer`, and behind them those that `older` alone has, nested metrics likewise.
// `newer` alone if either is empty, or no object, or `older` is larger than that.
std::string MergedMetrics(std::string_view older, std::string_view newer);

}  // namespace trainer

#endif  // TRAINER_REPORT_NEWEST_METRICS_H_
