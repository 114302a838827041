#ifndef WEB_API_SERIES_READER_H_
#define WEB_API_SERIES_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/client.h"

namespace web {

// Selects the series to draw and their form.
struct SeriesQuestion {
  // (run, tag) pairs with full names; or `tag` of every run that matches `query`.
  std::vector<std::pair<std::string, std::string>> selection = {};
  std::string query = {};
  std::string tag = {};
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();  // Both inclusive.
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::uint32_t columns = 600;  // Limit for each series.
  double smooth = 0;            // Weight of earlier values, in [0, 1); 0 for no smoothing.
  std::string x = {};           // Tag on the x axis; empty for steps.
};
inline constexpr std::size_t kMostSeries = 10'000;
inline constexpr std::uint32_t kMostColumns = 4'096;
// Limit of columns of all series together.
inline constexpr std::size_t kMostColumnsRead = 6'000'000;

// Parses {"sel": [["run", "tag"], ...]} or {"q": "label:base", "tag": "loss"}, with "from", "to",
// "n", "smooth" and "x". InvalidArgument explains the error.
absl::StatusOr<SeriesQuestion> ParseSeriesQuestion(const std::string& body);

// Reads the series from the data manager and returns the body of the answer (series_format.h).
// Skips runs without the tag. Smoothed curves and values of x are computed from all points up to
// the last column, for as many series as kMostPointsRead allows. Blocks. Errors are those of the
// data manager; ResourceExhausted above kMostColumnsRead.
absl::StatusOr<std::string> AnswerSeries(bus::Client& client, const SeriesQuestion& question);
inline constexpr std::uint64_t kMostPointsRead = 4'000'000;

}  // namespace web

#endif  // WEB_API_SERIES_READER_H_
