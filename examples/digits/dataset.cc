#include "examples/digits/dataset.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace digits {
namespace {

using Row = std::array<int, kPixels + 1>;

std::optional<Row> ParseRow(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const char* next = line.data();
  const char* const end = next + line.size();
  Row row;
  for (int i = 0; i <= kPixels; ++i) {
    if (i > 0 && (next == end || *next++ != ',')) return std::nullopt;
    const auto [behind, error] = std::from_chars(next, end, row[i]);
    if (error != std::errc() || row[i] < 0 || row[i] > (i < kPixels ? 16 : kClasses - 1)) {
      return std::nullopt;
    }
    next = behind;
  }
  if (next != end) return std::nullopt;
  return row;
}

Examples FromRows(const std::vector<Row>& rows) {
  Examples examples;
  examples.pixels.resize(kPixels, static_cast<Eigen::Index>(rows.size()));
  for (const Row& row : rows) {
    for (int i = 0; i < kPixels; ++i) {
      examples.pixels(i, examples.size()) = static_cast<float>(row[i]) / 16;
    }
    examples.labels.push_back(row[kPixels]);
  }
  return examples;
}

}  // namespace

absl::StatusOr<Dataset> ReadDataset(std::istream& csv) {
  std::vector<Row> train, test;
  std::string line;
  for (int number = 0; std::getline(csv, line); ++number) {
    const std::optional<Row> row = ParseRow(line);
    if (!row.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number + 1, " is not ", kPixels,
                                                     " pixels (0 to 16) and a digit (0 to 9)"));
    }
    (number % 5 == 4 ? test : train).push_back(*row);
  }
  if (test.empty()) return absl::InvalidArgumentError("fewer than 5 rows");
  return Dataset{.train = FromRows(train), .test = FromRows(test)};
}

std::string FindData() {
  constexpr char kInRunfiles[] = "yard/examples/digits/digits.csv";
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::filesystem::path> places = {self.string() + ".runfiles/" + kInRunfiles};
  if (const char* runfiles = std::getenv("RUNFILES_DIR"); runfiles != nullptr) {
    places.push_back(std::filesystem::path(runfiles) / kInRunfiles);
  }
  places.push_back(self.parent_path() / "digits.csv");
  places.push_back(self.parent_path().parent_path() / "share" / kInRunfiles);
  for (const std::filesystem::path& place : places) {
    if (std::filesystem::is_regular_file(place, error)) return place.string();
  }
  return "";
}

}  // namespace digits
