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

// Selects the series to draw, and how.
struct SeriesQuestion {
  // (run, tag) by their whole names, or that tag of every run that matches the query.
  std::vector<std::pair<std::string, std::string>> selection = {};
  std::string query = {};
  std::string tag = {};
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();  // Both inclusive.
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::uint32_t columns = 600;  // At most, of each series.
  double smooth = 0;   // Weight of earlier values, in [0, 1); 0: the curve is not smoothed.
  std::string x = {};  // The tag on the x axis; empty: steps.
};
inline constexpr std::size_t kMostSeries = 10'000;
inline constexpr std::uint32_t kMostColumns = 4'096;
// Most columns of all series together.
inline constexpr std::size_t kMostColumnsRead = 6'000'000;

// From JSON: {"sel": [["run", "tag"], ...]} or {"q": "label:base", "tag": "loss"}, with "from",
// "to", "n", "smooth" and "x". InvalidArgument says what is wrong.
absl::StatusOr<SeriesQuestion> ParseSeriesQuestion(const std::string& body);

// Asks the data manager. Returns the body of the answer (series_format.h). Runs without such a tag
// are not in it. Smoothed curves and values of x come from all points up to the last column, for as
// many series as kMostPointsRead allows. Blocks. Errors are those of the data manager;
// ResourceExhausted over kMostColumnsRead.
absl::StatusOr<std::string> AnswerSeries(bus::Client& client, const SeriesQuestion& question);
inline constexpr std::uint64_t kMostPointsRead = 4'000'000;

}  // namespace web

#endif  // WEB_API_SERIES_READER_H_
