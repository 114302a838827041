#include "bus/json/point_export.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace bus {
namespace {

using Format = ExportStyle::Format;
using namespace std::string_view_literals;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Rows(const ExportStyle& style, const ExportedPoints& points) {
  std::string text;
  AppendRows(style, points, &text);
  return text;
}

// Returns the beginning of a row for a series with these names.
std::string Names(const ExportStyle& style, std::string_view run, std::string_view tag) {
  const std::vector<std::int64_t> steps = {0};
  const std::vector<double> numbers = {0};
  const std::string row = Rows(
      style, {.run = run, .tag = tag, .steps = steps, .wall_times = numbers, .values = numbers});
  const std::string end = style.format == Format::kCsv ? ",0,0,0\r\n"
                                                       : R"(,"step":0,"wall_time":0,"value":0})"
                                                         "\n";
  EXPECT_GE(row.size(), end.size());
  EXPECT_EQ(row.substr(row.size() - end.size()), end);
  return row.substr(0, row.size() - end.size());
}

TEST(PointExportTest, FormatsHaveNames) {
  EXPECT_EQ(ParseExportFormat("csv"), Format::kCsv);
  EXPECT_EQ(ParseExportFormat("jsonl"), Format::kJsonLines);
  EXPECT_EQ(ParseExportFormat("CSV"), std::nullopt);
  EXPECT_EQ(ParseExportFormat(""), std::nullopt);
}

TEST(PointExportTest, APointIsARow) {
  const std::vector<std::int64_t> steps = {-1, 0, std::numeric_limits<std::int64_t>::max()};
  const std::vector<double> wall_times = {1700000000.25, kNan, 1e-9};
  const std::vector<double> values = {0.1, -kInfinity, kInfinity};
  const ExportedPoints points = {
      .run = "sweep/a", .tag = "loss", .steps = steps, .wall_times = wall_times, .values = values};
  EXPECT_EQ(ExportHeader(Format::kCsv), "run,tag,step,wall_time,value\r\n");
  EXPECT_EQ(Rows({.format = Format::kCsv}, points),
            "sweep/a,loss,-1,1700000000.25,0.1\r\n"
            "sweep/a,loss,0,nan,-inf\r\n"
            "sweep/a,loss,9223372036854775807,1e-09,inf\r\n");
  EXPECT_EQ(ExportHeader(Format::kJsonLines), "");
  EXPECT_EQ(Rows({.format = Format::kJsonLines}, points),
            R"({"run":"sweep/a","tag":"loss","step":-1,"wall_time":1700000000.25,"value":0.1})"
            "\n"
            R"({"run":"sweep/a","tag":"loss","step":0,"wall_time":"NaN","value":"-Infinity"})"
            "\n"
            R"({"run":"sweep/a","tag":"loss","step":9223372036854775807,"wall_time":1e-09,)"
            R"("value":"Infinity"})"
            "\n");
}

TEST(PointExportTest, AppendsToWhatIsThere) {
  const std::vector<std::int64_t> steps = {1};
  const std::vector<double> numbers = {2};
  std::string text = "before\n";
  AppendRows({}, {.run = "r", .tag = "t", .steps = steps, .wall_times = numbers, .values = numbers},
             &text);
  EXPECT_EQ(text, "before\nr,t,1,2,2\r\n");
}

TEST(PointExportTest, ListsOfDifferentLengthsGiveWholeRowsOnly) {
  const std::vector<std::int64_t> steps = {1, 2};
  const std::vector<double> one = {2}, none;
  EXPECT_EQ(Rows({}, {.run = "r", .tag = "t", .steps = steps, .wall_times = one, .values = one}),
            "r,t,1,2,2\r\n");
  EXPECT_EQ(Rows({}, {.run = "r", .tag = "t", .steps = steps, .wall_times = one, .values = none}),
            "");
}

struct NameRow {
  std::string_view name;
  std::string csv;
  std::string csv_on_terminal;
  std::string json;
  std::string json_on_terminal;
};

TEST(PointExportTest, EachNameOfTheTableIsWritten) {
  const NameRow rows[] = {
      {"a", "a", "a", R"("a")", R"("a")"},
      {"train/loss", "train/loss", "train/loss", R"("train/loss")", R"("train/loss")"},
      {"", "", "", R"("")", R"("")"},
      {"a,b", R"("a,b")", R"("a,b")", R"("a,b")", R"("a,b")"},
      {"a\"b", R"("a""b")", R"("a""b")", R"("a\"b")", R"("a\"b")"},
      {"\"", R"("""")", R"("""")", R"("\"")", R"("\"")"},
      {" a", R"(" a")", R"(" a")", R"(" a")", R"(" a")"},
      {"a ", R"("a ")", R"("a ")", R"("a ")", R"("a ")"},
      {"a b", "a b", "a b", R"("a b")", R"("a b")"},
      {"a\nb", "\"a\nb\"", R"(a\x0Ab)", R"("a\nb")", R"("a\nb")"},
      {"a\r", "\"a\r\"", R"(a\x0D)", R"("a\r")", R"("a\r")"},
      {"a\tb", "a\tb", "a\tb", R"("a\tb")", R"("a\tb")"},
      {"a\\b", R"(a\b)", R"(a\b)", R"("a\\b")", R"("a\\b")"},
      {"\x1b[31m", "\x1b[31m", R"(\x1B[31m)", R"("\u001b[31m")", R"("\u001b[31m")"},
      {"a\0b"sv, std::string("a\0b", 3), R"(a\x00b)", R"("a\u0000b")", R"("a\u0000b")"},
      {"ä€😀", "ä€😀", "ä€😀", R"("ä€😀")", R"("\u00e4\u20ac\ud83d\ude00")"},
      {"a\xff\xc3", "a\uFFFD\uFFFD", R"(a\xFF\xC3)", "\"a\uFFFD\uFFFD\"", R"("a\ufffd\ufffd")"},
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", R"(\xED\xA0\x80)", "\"\uFFFD\uFFFD\uFFFD\"",
       R"("\ufffd\ufffd\ufffd")"},
  };
  for (const NameRow& row : rows) {
    EXPECT_EQ(Names({.format = Format::kCsv}, row.name, row.name), row.csv + "," + row.csv)
        << row.json;
    EXPECT_EQ(Names({.format = Format::kCsv, .for_terminal = true}, row.name, row.name),
              row.csv_on_terminal + "," + row.csv_on_terminal)
        << row.json;
    EXPECT_EQ(Names({.format = Format::kJsonLines}, row.name, row.name),
              "{\"run\":" + row.json + ",\"tag\":" + row.json);
    EXPECT_EQ(Names({.format = Format::kJsonLines, .for_terminal = true}, row.name, row.name),
              "{\"run\":" + row.json_on_terminal + ",\"tag\":" + row.json_on_terminal);
  }
}

TEST(PointExportTest, ALineOfJsonIsOne) {
  const std::vector<std::int64_t> steps = {7};
  const std::vector<double> wall_times = {1.5}, values = {static_cast<double>(0.1F)};
  const auto json =
      nlohmann::json::parse(Rows({.format = Format::kJsonLines}, {.run = "a\nb\xff",
                                                                  .tag = "\"",
                                                                  .steps = steps,
                                                                  .wall_times = wall_times,
                                                                  .values = values}));
  EXPECT_EQ(json["run"], "a\nb\uFFFD");
  EXPECT_EQ(json["tag"], "\"");
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["wall_time"], 1.5);
  EXPECT_EQ(json["value"].get<double>(), static_cast<double>(0.1F));
}

}  // namespace
}  // namespace bus
