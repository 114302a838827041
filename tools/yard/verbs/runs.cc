#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/json/run_rows.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/counted.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/run/run_columns.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/run/run_view.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Runs : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("query", query_, "'loss<0.1 & label:base', or a run's name or unique prefix.");
    options.Add("--columns", columns_, "Columns of the table: config.lr,val/acc,max:loss,state.");
    options.Add("--sort", sort_, "By a column, the greatest first with a -: -val/acc.");
    options.Add("-n,--count", count_, "The newest so many; with --sort the first (default: all).");
  }

  int Run(Context& context) override {
    const auto columns = ParseColumns(columns_, sort_);
    if (!columns.ok()) return Fail(context, "runs", columns.status());
    RunReader reader(context, "runs");
    auto request = Chosen(context, reader);
    if (!request.ok()) return Fail(context, "runs", request.status());
    const absl::Status status = columns->empty()
                                    ? ShowRuns(context, reader, *std::move(request))
                                    : ShowRows(context, reader, *std::move(request), *columns);
    return status.ok() ? kDone : Fail(context, "runs", status);
  }

 private:
  // Prints JSON while the runs are still being read.
  absl::Status ShowRuns(Context& context, RunReader& reader, msg::RunsRequestT request) {
    request.limit = count_;
    msg::RunsReplyT all;
    const absl::Status status = reader.Runs(std::move(request), [&](const msg::RunsReplyT& page) {
      for (const auto& run : page.runs) {
        if (context.json) {
          PrintJson(context, RunToJson(*run));
        } else {
          all.runs.push_back(std::make_unique<msg::RunT>(*run));
        }
      }
      shown_ += page.runs.size();
      CopyFacts(page, all);
    });
    if (!status.ok()) return status;
    if (!context.json)
      *context.out << RunTable(all.runs, context.clock->Now(), context.out_width());
    Summarize(context, all);
    return absl::OkStatus();
  }

  absl::Status ShowRows(Context& context, RunReader& reader, msg::RunsRequestT request,
                        const std::vector<bus::RunColumn>& columns) {
    bus::RequestColumns(columns, request);
    request.limit = sort_.empty() ? count_ : 0;
    msg::RunsReplyT all;
    std::vector<bus::RunRow> rows;
    absl::Status status = reader.Runs(std::move(request), [&](const msg::RunsReplyT& page) {
      for (const auto& run : page.runs) rows.push_back({.run = std::make_unique<msg::RunT>(*run)});
      CopyFacts(page, all);
    });
    if (!status.ok()) return status;
    status = LookAtMissing(context, reader, rows, columns);
    if (!status.ok()) return status;
    status = AddStates(context, columns, rows);
    if (!status.ok()) return status;
    Sort(columns, rows);
    if (count_ > 0 && rows.size() > count_) rows.resize(count_);
    for (const bus::RunRow& row : rows) {
      if (!context.json) continue;
      nlohmann::json object = RunToJson(*row.run);
      object["cols"] = bus::CellsOf(row, columns);
      PrintJson(context, object);
    }
    if (!context.json)
      *context.out << ColumnsTable(rows, columns, context.clock->Now(), context.out_width());
    shown_ = rows.size();
    Summarize(context, all);
    return absl::OkStatus();
  }

  // A column that no run has is a misspelling, unless some runs have not been read yet.
  static absl::Status LookAtMissing(Context& context, RunReader& reader,
                                    const std::vector<bus::RunRow>& rows,
                                    const std::vector<bus::RunColumn>& columns) {
    const std::string query = rows.empty() ? "" : QueryForMissing(rows, columns);
    if (query.empty()) return absl::OkStatus();
    const std::vector<std::string> unknown = reader.WhatIsUnknown(query);
    const bool all_read = std::all_of(rows.begin(), rows.end(),
                                      [](const auto& row) { return bus::IsCounted(*row.run); });
    if (all_read && !unknown.empty()) return absl::NotFoundError(absl::StrJoin(unknown, "\n"));
    for (const std::string& sentence : unknown) *context.err << sentence << "\n";
    return absl::OkStatus();
  }

  static bool IsState(const bus::RunColumn& column) {
    return column.kind == bus::RunColumn::Kind::kField && column.name == "trial_state";
  }

  static absl::Status AddStates(Context& context, const std::vector<bus::RunColumn>& columns,
                                std::vector<bus::RunRow>& rows) {
    if (std::none_of(columns.begin(), columns.end(), IsState)) return absl::OkStatus();
    auto client = context.client();
    if (!client.ok()) return client.status();
    const auto trials = (*client)->Call<rpc::Trainer::Trials>({}, Patient());
    if (!trials.ok()) return trials.status();
    bus::AddTrials(*trials, rows);
    return absl::OkStatus();
  }

  void Sort(const std::vector<bus::RunColumn>& columns, std::vector<bus::RunRow>& rows) const {
    const bool falling = sort_.starts_with("-");
    const std::string by = sort_.substr(falling ? 1 : 0);
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const auto& one) { return one.text == by; });
    if (column != columns.end()) bus::SortRows(*column, falling, rows);
  }

  static void CopyFacts(const msg::RunsReplyT& page, msg::RunsReplyT& all) {
    all.logdir = page.logdir;
    all.total = page.total;
    all.undecided = page.undecided;
    all.unreadable = page.unreadable;
    all.unreadable_count = page.unreadable_count;
  }

  static bool IsQuery(const std::string& text) {
    return text.find_first_of("<>=!&|()\"':") != std::string::npos;
  }

  // Interprets the typed text: as the beginning of run names, else as a query, else as a directory
  // of runs, else as a trial. Names come first because a run may be called like a query: lr=0.1.
  absl::StatusOr<msg::RunsRequestT> Chosen(Context& context, RunReader& reader) const {
    msg::RunsRequestT request;
    if (query_.empty()) return request;
    request.pattern = RunReader::PatternOf(query_);
    request.limit = 1;
    const auto named = reader.Call<rpc::Datamanager::Runs>(request);
    if (!named.ok()) return AsLookup(named.status());
    if (!named->runs.empty()) return request;
    request.pattern.clear();
    if (IsQuery(query_)) {
      request.query = query_;
      return request;
    }
    if (const auto below = NameOfDirectory(context, named->logdir); below.has_value()) {
      if (!below->empty()) request.pattern = RunReader::PatternOf(*below) + "(/|$)";
      return request;
    }
    auto run = reader.Run(query_);
    if (!run.ok()) return Unknown(reader, run.status());
    request.run = run->name;
    return request;
  }

  // Returns the common beginning of the names of runs in the given directory; empty for the
  // directory of all runs. Nothing if the directory is outside that.
  std::optional<std::string> NameOfDirectory(const Context& context,
                                             const std::string& logdir) const {
    std::error_code error;
    const auto path = std::filesystem::canonical(
        std::filesystem::path(context.working_directory) / query_, error);
    if (error || !std::filesystem::is_directory(path, error)) return std::nullopt;
    const auto root = std::filesystem::weakly_canonical(logdir, error);
    const std::string name = path.lexically_relative(root).string();
    if (name.empty() || name == ".." || name.starts_with("../")) return std::nullopt;
    return name == "." ? "" : name;
  }

  absl::Status Unknown(RunReader& reader, const absl::Status& status) const {
    const auto all = reader.Call<rpc::Datamanager::Runs>({});
    if (!absl::IsNotFound(status) || !all.ok()) return status;
    std::vector<std::string_view> names;
    for (const auto& run : all->runs) names.push_back(run->name);
    const std::string nearest(runtime::NearestWord(query_, names));
    return absl::NotFoundError(absl::StrCat("no run ", query_,
                                            nearest.empty() ? "" : "; did you mean ", nearest,
                                            nearest.empty() ? "; `yard runs` lists them" : "?"));
  }

  void Summarize(Context& context, const msg::RunsReplyT& all) const {
    *context.err << runtime::Counted(shown_, "run")
                 << (all.total > shown_ ? absl::StrCat(" of ", all.total) : "") << " in "
                 << runtime::Printable(all.logdir) << "\n"
                 << UndecidedNotice(all.undecided);
    if (all.unreadable_count > 0) {
      *context.err << runtime::Counted(all.unreadable_count, "directory", "directories")
                   << " cannot be read, such as "
                   << runtime::Printable(absl::StrJoin(all.unreadable, ", ")) << "\n";
    }
  }

  std::string query_, columns_, sort_;
  std::uint32_t count_ = 0;
  std::size_t shown_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeRuns() { return std::make_unique<Runs>(); }

}  // namespace yard
