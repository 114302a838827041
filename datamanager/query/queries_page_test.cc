// Tests that every example in docs/datamanager_queries.md is true.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_query.h"
#include "gtest/gtest.h"
#include "runtime/file/locations.h"

namespace datamanager {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000'000;
constexpr std::int64_t kMinute = 60'000'000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Page() {
  const auto path = runtime::FindDataFile("docs/datamanager_queries.md");
  EXPECT_TRUE(path.ok()) << path.status();
  if (!path.ok()) return "";
  std::ifstream file(*path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

// Returns the text after the heading, up to the next heading.
std::string Section(const std::string& page, const std::string& heading) {
  const std::vector<std::string> parts = Split(page, "\n## " + heading + "\n");
  EXPECT_EQ(parts.size(), 2U) << heading;
  return parts.size() == 2 ? Split(parts[1], "\n## ").front() : "";
}

TagFacts Loss(double last, double min, double max) {
  return {
      .name = "loss", .plugin = "scalars", .scalar = true, .last = last, .min = min, .max = max};
}

// The four runs of the page.
class Runs {
 public:
  Runs() {
    runs_.resize(4);
    Fill(&runs_[0], "base", 180, base_labels_, base_config_, base_tags_);
    Fill(&runs_[1], "sweep/a", 20, a_labels_, a_config_, a_tags_);
    Fill(&runs_[2], "sweep/b", 0, b_labels_, b_config_, b_tags_);
    Fill(&runs_[3], "copied", 2 * 24 * 60, {}, {}, {});
    runs_[2].state = CacheState::kCached;
    runs_[3].bytes = std::uint64_t{4} << 30;
    runs_[3].counted = false;
    runs_[0].last_step = 1000;
    for (const int run : {1, 2}) runs_[static_cast<std::size_t>(run)].last_step = 999;
  }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // Returns the names of the runs with that answer, in the page's format.
  std::string Answering(const RunQuery& query, Answer answer) const {
    std::string names;
    for (const RunFacts& run : runs_) {
      if (query.Ask(run, kNow) != answer) continue;
      names += (names.empty() ? "`" : " `") + std::string(run.name) + "`";
    }
    return names.empty() ? "-" : names;
  }

 private:
  static void Fill(RunFacts* run, std::string_view name, std::int64_t minutes_old,
                   std::span<const std::string> labels, std::span<const ConfigFacts> config,
                   std::span<const TagFacts> tags) {
    run->name = name;
    run->update_us = kNow - minutes_old * kMinute;
    run->bytes = 1000;
    run->files = 1;
    run->labels = labels;
    run->config = config;
    run->tags = tags;
    run->counted = true;
  }

  const std::vector<std::string> base_labels_ = {"base"};
  const std::vector<ConfigFacts> base_config_ = {
      {.name = "lr", .text = "0.1", .number = 0.1},
      {.name = "optimizer", .text = "adam", .number = {}}};
  const std::vector<TagFacts> base_tags_ = {Loss(0.42, 0.4, 2.3)};
  const std::vector<std::string> a_labels_ = {"sweep"};
  const std::vector<ConfigFacts> a_config_ = {{.name = "lr", .text = "0.01", .number = 0.01},
                                              {.name = "net/depth", .text = "3", .number = 3}};
  const std::vector<TagFacts> a_tags_ = {{.name = "input", .plugin = "images"},
                                         Loss(0.08, 0.07, 2.1)};
  const std::vector<std::string> b_labels_ = {"sweep", "night run"};
  const std::vector<ConfigFacts> b_config_ = {{.name = "lr", .text = "0.001", .number = 0.001},
                                              {.name = "net/depth", .text = "12", .number = 12}};
  const std::vector<TagFacts> b_tags_ = {
      Loss(kNan, 0.9, 8), {.name = "mean reward", .plugin = "scalars", .scalar = true, .last = 12}};
  std::vector<RunFacts> runs_;
};

// Returns the text between backquotes; in a table, "|" is escaped by a backslash.
std::string Code(std::string cell) {
  EXPECT_GE(cell.size(), 2U);
  cell = cell.substr(1, cell.size() - 2);
  for (std::size_t at = 0; (at = cell.find("\\|", at)) != std::string::npos; ++at)
    cell.erase(at, 1);
  return cell;
}

// Splits a table row at the bars that are not part of a query.
std::vector<std::string> Cells(const std::string& line) {
  return Split(line.substr(2, line.size() - 4), " | ");
}

TEST(QueriesPageTest, EveryExampleIsTrue) {
  const std::string section = Section(Page(), "Examples");
  const std::vector<std::string> parts = Split(section, "| query | selects | does not know |\n");
  ASSERT_EQ(parts.size(), 2U);
  const Runs runs;
  int examples = 0;
  for (const std::string& line : Split(parts[1], "\n")) {
    if (line.substr(0, 3) != "| `") continue;
    const std::vector<std::string> cells = Cells(line);
    ASSERT_EQ(cells.size(), 3U) << line;
    const auto query = RunQuery::Parse(Code(cells[0]));
    ASSERT_TRUE(query.ok()) << query.status();
    EXPECT_EQ(runs.Answering(*query, Answer::kYes), cells[1]) << line;
    EXPECT_EQ(runs.Answering(*query, Answer::kUnknown), cells[2]) << line;
    ++examples;
  }
  EXPECT_GE(examples, 15);
}

TEST(QueriesPageTest, EveryConditionOfTheTableIsOne) {
  const std::string page = Page();
  const std::vector<std::string> parts = Split(page, "| condition | it holds if |\n");
  ASSERT_EQ(parts.size(), 2U);
  int conditions = 0;
  for (const std::string& line : Split(parts[1], "\n")) {
    if (line.empty()) break;
    if (line.substr(0, 3) != "| `") continue;
    for (const std::string& cell : Split(Cells(line).front(), ", ")) {
      std::string query = Code(cell);
      // The names of counts are listed without an operator.
      if (query.find_first_of("<=>:") == std::string::npos) query += ">1";
      EXPECT_TRUE(RunQuery::Parse(query).ok()) << query;
      ++conditions;
    }
  }
  EXPECT_GE(conditions, 15);
}

TEST(QueriesPageTest, EveryErrorIsTheOneThatIsGiven) {
  const std::vector<std::string> blocks = Split(Section(Page(), "Errors"), "```");
  int errors = 0;
  for (std::size_t i = 1; i < blocks.size(); i += 2) {
    const std::string block = blocks[i].substr(1, blocks[i].size() - 2);  // Without the first and
                                                                          // last newline.
    const std::vector<std::string> lines = Split(block, "\n");
    ASSERT_EQ(lines.size(), 3U) << block;
    EXPECT_EQ(std::string(RunQuery::Parse(lines[1].substr(2)).status().message()), block);
    ++errors;
  }
  EXPECT_EQ(errors, 3);
}

}  // namespace
}  // namespace datamanager
