#include "web/api/run_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/thread.h"

namespace web {
namespace {

using bus::RunColumn;
using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr std::size_t kMostTables = 8;

template <typename M>
absl::StatusOr<typename M::ReplyT> Call(bus::Client& client, const typename M::RequestT& request) {
  return client.Call<M>(request, {.timeout = kPatience, .wait_for_service = true});
}

// The data manager can sort by every column except the state of trials; it then sends only the
// requested part.
bool IsSortedByManager(const RunsQuestion& question) {
  return !question.sort.empty() && bus::SortColumn(question.sort).name != "trial_state";
}

// Requests the metrics and parameters of the shown columns and of the sort column.
msg::RunsRequestT RequestFor(const RunsQuestion& question, std::vector<RunColumn> columns) {
  const bool sorts_itself = !question.sort.empty() && !IsSortedByManager(question);
  if (sorts_itself) columns.push_back(bus::SortColumn(question.sort));
  msg::RunsRequestT request;
  request.query = question.query;
  bus::RequestColumns(columns, request);
  if (!IsSortedByManager(question)) return request;
  request.sort = question.sort;
  request.skip = static_cast<std::uint32_t>(question.first);
  request.limit =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, std::min(question.limit, kMostRows)));
  return request;
}

}  // namespace

absl::Status RunList::ReadRuns(bus::Client& client, msg::RunsRequestT request, Table& table) {
  do {
    auto page = Call<rpc::Datamanager::Runs>(client, request);
    if (!page.ok()) return page.status();
    const std::size_t got = page->runs.size();
    const bool has_all = got == 0 || got >= request.limit || request.skip + got >= page->total;
    const bool is_last = request.sort.empty() ? page->next.empty() : has_all;
    table.rows.reserve(table.rows.size() + page->runs.size());
    for (auto& run : page->runs) table.rows.push_back({.run = std::move(run)});
    table.logdir = page->logdir;
    table.undecided = page->undecided;
    table.total = table.match = page->total;
    if (is_last) break;
    request.after = page->next;
    if (request.sort.empty()) continue;
    // A page is also limited in bytes, so several may be needed.
    request.skip += static_cast<std::uint32_t>(got);
    request.limit -= static_cast<std::uint32_t>(got);
  } while (true);
  if (request.query.empty()) return absl::OkStatus();
  // Asks for the number of runs without the query.
  msg::RunsRequestT all;
  all.limit = 1;
  auto page = Call<rpc::Datamanager::Runs>(client, all);
  if (page.ok()) table.total = page->total;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const RunList::Table>> RunList::ReadTable(
    const RunsQuestion& question) const {
  bus::Client& client = *options_.client;
  auto table = std::make_shared<Table>();
  for (const std::string& name : question.columns) table->columns.push_back(RunColumn::Parse(name));
  // Runs and trials are requested in parallel.
  absl::StatusOr<msg::TrialsReplyT> trials;
  runtime::Thread trials_thread("web-trials",
                                [&] { trials = Call<rpc::Trainer::Trials>(client, {}); });
  const absl::Status runs = ReadRuns(client, RequestFor(question, table->columns), *table);
  trials_thread.Join();
  if (!runs.ok()) return runs;
  table->has_trainer = trials.ok();
  if (trials.ok()) bus::AddTrials(*trials, table->rows);
  if (IsSortedByManager(question)) {
    table->first = question.first;
  } else if (!question.sort.empty()) {
    bus::SortRows(question.sort, table->rows);
  }
  return table;
}

absl::StatusOr<json> RunList::Read(const RunsQuestion& question) {
  std::string key = absl::StrCat(question.query, "\n", question.sort, "\n",
                                 absl::StrJoin(question.columns, "\n"));
  if (IsSortedByManager(question)) {
    absl::StrAppend(&key, "\n\n", question.first, " ", question.limit);
  }
  std::shared_ptr<const Table> table = Find(key);
  if (table == nullptr) {
    auto read = ReadTable(question);
    if (!read.ok()) return read.status();
    table = *std::move(read);
    Keep(key, table);
  }
  json text = {{"total", table->total},         {"match", table->match},
               {"undecided", table->undecided}, {"logdir", table->logdir},
               {"first", question.first},       {"rows", json::array()}};
  if (!table->has_trainer) text["missing"] = {"trainer"};
  const std::size_t first = question.first - table->first;
  const std::size_t end = std::min(table->rows.size(), first + std::min(question.limit, kMostRows));
  for (std::size_t i = first; i < end; ++i) {
    text["rows"].push_back(bus::RowToJson(table->rows[i], table->columns));
  }
  return text;
}

std::shared_ptr<const RunList::Table> RunList::Find(const std::string& key) {
  const runtime::MutexLock lock(mutex_);
  const absl::Duration now = options_.clock->Monotonic();
  while (!kept_.empty() && kept_.front().read_at + options_.keep <= now) kept_.pop_front();
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.key == key; });
  return found == kept_.end() ? nullptr : found->table;
}

void RunList::Keep(const std::string& key, std::shared_ptr<const Table> table) {
  const runtime::MutexLock lock(mutex_);
  if (kept_.size() == kMostTables) kept_.pop_front();
  kept_.push_back({key, options_.clock->Monotonic(), std::move(table)});
}

}  // namespace web
