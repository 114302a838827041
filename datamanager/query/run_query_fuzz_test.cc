// Feeds arbitrary bytes as a query: it is accepted, or refused with three lines that point into it.
// An accepted query has one answer for each run, and its negation has the opposite answer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_query.h"

namespace {

using datamanager::Answer;
using datamanager::CacheState;
using datamanager::ConfigFacts;
using datamanager::RunFacts;
using datamanager::RunQuery;
using datamanager::TagFacts;

constexpr std::int64_t kNow = 1'700'000'000'000'000;

void Require(bool holds) {
  if (!holds) abort();
}

RunFacts KnownRun() {
  static const std::vector<std::string> labels = {"base"};
  static const std::vector<ConfigFacts> config = {{.name = "lr", .text = "0.1", .number = 0.1},
                                                  {.name = "net", .text = "res", .number = {}}};
  static const std::vector<TagFacts> tags = {
      {.name = "loss", .plugin = "scalars", .scalar = true, .last = 0.1, .min = 0, .max = 2},
      {.name = "x", .plugin = "images"}};
  RunFacts run;
  run.name = "a/b";
  run.update_us = kNow - 1;
  run.bytes = 1000;
  run.files = 1;
  run.state = CacheState::kCached;
  run.labels = labels;
  run.config = config;
  run.counted = true;
  run.points = 10;
  run.last_step = 9;
  run.tags = tags;
  return run;
}

void MustBeThreeLines(std::string_view message) {
  Require(std::count(message.begin(), message.end(), '\n') == 2);
  Require(message.size() < 1000);
  Require(message.back() == '^');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto query = RunQuery::Parse(text);
  if (!query.ok()) {
    const auto message = query.status().message();
    MustBeThreeLines({message.data(), message.size()});
    return 0;
  }
  const RunFacts known = KnownRun();
  RunFacts unknown;
  unknown.name = known.name;
  unknown.update_us = known.update_us;
  unknown.bytes = known.bytes;
  unknown.files = known.files;
  unknown.state = known.state;
  const Answer answer = query->Ask(known, kNow);
  Require(answer != Answer::kUnknown);
  // Facts that become known later do not contradict an earlier definite answer.
  const Answer before = query->Ask(unknown, kNow);
  Require(before == Answer::kUnknown || before == answer);
  const auto denial = RunQuery::Parse("!(" + text + ")");
  // A query of the maximal size or depth cannot be negated.
  if (denial.ok()) Require(denial->Ask(known, kNow) != answer);
  return 0;
}
