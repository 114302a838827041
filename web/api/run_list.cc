#include "web/api/run_list.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/json/things_json.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "web/api/run_rows.h"

namespace web {
namespace {

using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr std::size_t kMostTables = 8;

// A sorted table; never changes after it was made.
struct Table {
  std::vector<RunColumn> columns;
  std::vector<RunRow> rows;
  std::string logdir;
  std::uint64_t total = 0;
  std::uint64_t undecided = 0;
  bool has_trainer = false;
};

class Reader {
 public:
  explicit Reader(bus::Client& client) : client_(client) {}

  absl::Status Runs(const std::string& query, Table& table) {
    msg::RunsRequestT request;
    request.query = query;
    do {
      auto page = Call<rpc::Datamanager::Runs>(request);
      if (!page.ok()) return page.status();
      for (auto& run : page->runs) table.rows.emplace_back().run = std::move(*run);
      table.logdir = page->logdir;
      table.undecided = page->undecided;
      table.total = page->total;
      request.after = page->next;
    } while (!request.after.empty());
    if (query.empty()) return absl::OkStatus();
    // Number of runs without the query.
    msg::RunsRequestT all;
    all.limit = 1;
    auto page = Call<rpc::Datamanager::Runs>(all);
    if (page.ok()) table.total = page->total;
    return absl::OkStatus();
  }

  absl::StatusOr<msg::TrialsReplyT> Trials() { return Call<rpc::Trainer::Trials>({}); }

  // One column of each tag of each run.
  absl::StatusOr<std::vector<msg::ReadScalarsReplyT>> Metrics(const std::string& query,
                                                              const std::set<std::string>& tags) {
    std::vector<msg::ReadScalarsReplyT> parts;
    if (tags.empty()) return parts;
    msg::ReadScalarsRequestT request;
    request.columns = 1;
    request.selection = std::make_unique<msg::SelectionT>();
    request.selection->query = query;
    request.selection->tags = {tags.begin(), tags.end()};
    const auto take = [&parts](const msg::ReadScalarsReplyT& part) {
      parts.push_back(part);
      return true;
    };
    auto end = client_.Stream<rpc::Datamanager::ReadScalars>(
        request, take, {.timeout = kPatience, .wait_for_service = true});
    if (!end.ok()) return end.status();
    parts.push_back(*std::move(end));
    return parts;
  }

  absl::StatusOr<std::vector<msg::HParamsReplyT>> Parameters(const std::string& query,
                                                             const std::set<std::string>& names) {
    std::vector<msg::HParamsReplyT> pages;
    if (names.empty()) return pages;
    msg::HParamsRequestT request;
    request.selection = std::make_unique<msg::SelectionT>();
    request.selection->query = query;
    do {
      auto page = Call<rpc::Datamanager::HParams>(request);
      if (!page.ok()) return page.status();
      request.after = page->next;
      pages.push_back(*std::move(page));
    } while (!request.after.empty());
    return pages;
  }

 private:
  template <typename M>
  absl::StatusOr<typename M::ReplyT> Call(const typename M::RequestT& request) {
    return client_.Call<M>(request, {.timeout = kPatience, .wait_for_service = true});
  }
  bus::Client& client_;
};

using RowsByName = std::unordered_map<std::string, RunRow*>;

void AddTrials(const msg::TrialsReplyT& trials, Table& table) {
  std::unordered_map<std::string, const msg::TrialT*> by_id;
  for (const auto& trial : trials.trials) by_id[trial->id] = trial.get();
  for (RunRow& row : table.rows) {
    const auto found = by_id.find(row.run.trial);
    if (found == by_id.end()) continue;
    row.trial_state = bus::StateName(found->second->state);
    row.reason = found->second->reason;
  }
}

void AddMetrics(const std::vector<msg::ReadScalarsReplyT>& parts, const RowsByName& rows) {
  for (const auto& part : parts) {
    for (const auto& series : part.series) {
      const auto row = rows.find(series->run);
      if (row == rows.end() || series->values.empty()) continue;
      row->second->metrics[series->tag] = {
          .last = series->values.back(), .min = series->mins.back(), .max = series->maxs.back()};
    }
  }
}

void AddParameters(const std::vector<msg::HParamsReplyT>& pages, const std::set<std::string>& names,
                   const RowsByName& rows) {
  for (const auto& page : pages) {
    for (const auto& run : page.runs) {
      const auto row = rows.find(run->run);
      if (row == rows.end()) continue;
      for (const auto& parameter : run->hparams) {
        if (names.count(parameter->key) == 0) continue;
        json value = json::parse(parameter->value, nullptr, /*allow_exceptions=*/false);
        // If several sources have this parameter, the first one counts.
        row->second->parameters.try_emplace(
            parameter->key, value.is_discarded() ? json(parameter->value) : std::move(value));
      }
    }
  }
}

absl::StatusOr<std::shared_ptr<const Table>> ReadTable(bus::Client& client,
                                                       const RunsQuestion& question) {
  auto table = std::make_shared<Table>();
  std::set<std::string> tags, parameters;
  std::vector<std::string> columns = question.columns;
  if (!question.sort.empty()) {
    columns.push_back(question.sort.substr(question.sort.starts_with("-") ? 1 : 0));
  }
  for (const std::string& name : columns) {
    const RunColumn column = RunColumn::Parse(name);
    if (column.IsMetric()) tags.insert(column.name);
    if (column.kind == RunColumn::Kind::kConfig) parameters.insert(column.name);
  }
  for (const std::string& name : question.columns) table->columns.push_back(RunColumn::Parse(name));
  Reader reader(client);
  // None of the questions waits for the answer to another.
  absl::StatusOr<msg::TrialsReplyT> trials;
  absl::StatusOr<std::vector<msg::ReadScalarsReplyT>> metrics;
  absl::StatusOr<std::vector<msg::HParamsReplyT>> configs;
  runtime::Thread metrics_thread("web-metrics",
                                 [&] { metrics = reader.Metrics(question.query, tags); });
  runtime::Thread configs_thread("web-configs", [&] {
    configs = reader.Parameters(question.query, parameters);
    trials = reader.Trials();
  });
  const absl::Status runs = reader.Runs(question.query, *table);
  metrics_thread.Join();
  configs_thread.Join();
  if (!runs.ok()) return runs;
  table->has_trainer = trials.ok();
  if (trials.ok()) AddTrials(*trials, *table);
  RowsByName rows;
  for (RunRow& row : table->rows) rows[row.run.name] = &row;
  if (!rows.empty()) {
    if (!metrics.ok()) return metrics.status();
    if (!configs.ok()) return configs.status();
    AddMetrics(*metrics, rows);
    AddParameters(*configs, parameters, rows);
  }
  if (!question.sort.empty()) SortRows(question.sort, table->rows);
  return table;
}

class CachedRunList : public RunList {
 public:
  explicit CachedRunList(Options options) : options_(options) {}

  absl::StatusOr<json> Read(const RunsQuestion& question) override {
    const std::string key = absl::StrCat(question.query, "\n", question.sort, "\n",
                                         absl::StrJoin(question.columns, "\n"));
    std::shared_ptr<const Table> table = Find(key);
    if (table == nullptr) {
      auto read = ReadTable(*options_.client, question);
      if (!read.ok()) return read.status();
      table = *std::move(read);
      Keep(key, table);
    }
    json text = {{"total", table->total},         {"match", table->rows.size()},
                 {"undecided", table->undecided}, {"logdir", table->logdir},
                 {"first", question.first},       {"rows", json::array()}};
    if (!table->has_trainer) text["missing"] = {"trainer"};
    const std::size_t end =
        std::min(table->rows.size(), question.first + std::min(question.limit, kMostRows));
    for (std::size_t i = question.first; i < end; ++i) {
      text["rows"].push_back(RowToJson(table->rows[i], table->columns));
    }
    return text;
  }

 private:
  struct Kept {
    std::string key;
    absl::Duration read_at;
    std::shared_ptr<const Table> table;
  };

  std::shared_ptr<const Table> Find(const std::string& key) {
    const runtime::MutexLock lock(mutex_);
    const absl::Duration now = options_.clock->Monotonic();
    while (!kept_.empty() && kept_.front().read_at + options_.keep <= now) kept_.pop_front();
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.key == key; });
    return found == kept_.end() ? nullptr : found->table;
  }
  void Keep(const std::string& key, std::shared_ptr<const Table> table) {
    const runtime::MutexLock lock(mutex_);
    if (kept_.size() == kMostTables) kept_.pop_front();
    kept_.push_back({key, options_.clock->Monotonic(), std::move(table)});
  }

  const Options options_;
  runtime::Mutex mutex_;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
};

}  // namespace

std::unique_ptr<RunList> RunList::Create(Options options) {
  return std::make_unique<CachedRunList>(options);
}

}  // namespace web
