#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bus/json/point_export.h"
#include "bus/schema/datamanager_methods.h"
#include "runtime/counted.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/run/overlap.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kMostRuns = 10'000;

class Export : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", names_, "Runs, trials or sweeps: names, ids or unique prefixes.");
    options.Add("--query", query_, "Also the runs it is true of: 'label:base & loss<0.1'.");
    options.Add("-m,--metric", tags_, "A tag; again for more (default: all).");
    options.Add("--tags", pattern_, "Only tags that it finds (RE2).");
    options.Add("--format", format_, "csv or jsonl (default: csv; with --json, jsonl).");
    options.Add("--overlap", overlap_, "Steps written again: raw, last, tensorboard ... .");
    options.Add("--steps", steps_, "FIRST:LAST, each may be left out.");
  }

  int Run(Context& context) override {
    if (format_.empty()) format_ = context.json ? "jsonl" : "csv";
    const auto format = bus::ParseExportFormat(format_);
    if (!format.has_value()) {
      return Fail(context, "export",
                  absl::InvalidArgumentError(
                      absl::StrCat("--format ", format_, " is neither csv nor jsonl")));
    }
    style_ = {.format = *format, .for_terminal = context.out_is_terminal};
    if (names_.size() == 1 && query_.empty()) {
      const auto thing = FindThing(context, names_[0], Prefer::kTrial);
      if (thing.ok() && thing->sweep.has_value()) return ExportSweep(context, thing->id());
    }
    RunReader reader(context, "export");
    auto request = Request(reader);
    if (!request.ok()) return Fail(context, "export", request.status());
    const absl::Status status = reader.Stream<rpc::Datamanager::ReadScalars>(
        *request, [&](const msg::ReadScalarsReplyT& part) { return Write(context, part); });
    return Finish(context, reader, request->selection->runs, status);
  }

 private:
  // Exports a sweep, one row a trial.
  int ExportSweep(Context& context, const std::string& sweep) const {
    const auto details = SweepDetails(context, sweep);
    if (!details.ok()) return Fail(context, "export", details.status());
    if (style_.format == bus::ExportStyle::Format::kCsv) {
      *context.out << SweepCsv(*details, style_.for_terminal);
    } else {
      for (const auto& trial : details->trials) PrintJson(context, ToJson(*trial));
    }
    context.out->flush();
    if (!context.out->good()) {
      return Fail(context, "export",
                  absl::InternalError("cannot write the trials; is the disk full?"));
    }
    *context.err << runtime::Counted(details->trials.size(), "trial") << "\n";
    return kDone;
  }

  absl::StatusOr<msg::ReadScalarsRequestT> Request(RunReader& reader) const {
    msg::ReadScalarsRequestT request;
    request.selection = std::make_unique<msg::SelectionT>();
    msg::SelectionT& selection = *request.selection;
    const auto overlap = ParseOverlap(overlap_);
    if (!overlap.ok()) return overlap.status();
    selection.overlap = *overlap;
    if (auto status = ParseSteps(&selection); !status.ok()) return status;
    auto runs = reader.Names(names_, query_, kMostRuns);
    if (!runs.ok()) return runs.status();
    if (runs->empty()) return absl::InvalidArgumentError("name a run, or give a --query");
    selection.runs = *std::move(runs);
    selection.tags = tags_;
    selection.tag_pattern = pattern_;
    selection.whole = true;
    return request;
  }

  absl::Status ParseSteps(msg::SelectionT* selection) const {
    if (steps_.empty()) return absl::OkStatus();
    const std::size_t colon = steps_.find(':');
    const std::string first = steps_.substr(0, colon);
    const std::string last = colon == std::string::npos ? "x" : steps_.substr(colon + 1);
    if ((!first.empty() && !absl::SimpleAtoi(first, &selection->first_step)) ||
        (!last.empty() && !absl::SimpleAtoi(last, &selection->last_step))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--steps ", steps_, " is not FIRST:LAST, such as 100:200 or 100:"));
    }
    return absl::OkStatus();
  }

  // Returns false once the reader of stdout is gone.
  bool Write(Context& context, const msg::ReadScalarsReplyT& part) {
    if (!has_header_) *context.out << bus::ExportHeader(style_.format);
    has_header_ = true;
    unreadable_ = part.undecided_runs;  // Without a query, only unreadable runs.
    for (const auto& series : part.series) {
      std::string text;
      bus::AppendRows(style_,
                      {.run = series->run,
                       .tag = series->tag,
                       .steps = series->steps,
                       .wall_times = series->wall_times,
                       .values = series->values},
                      &text);
      *context.out << text;
      points_ += series->steps.size();
      if (series->incomplete) growing_.insert(series->run);
    }
    return context.out->good();
  }

  int Finish(Context& context, RunReader& reader, const std::vector<std::string>& runs,
             const absl::Status& status) const {
    context.out->flush();
    if (!context.out->good()) {
      return Fail(context, "export",
                  absl::InternalError("cannot write the points; is the disk full?"));
    }
    const std::string points = runtime::Counted(points_, "point");
    if (!status.ok()) {
      return Fail(
          context, "export",
          absl::Status(AsLookup(status).code(),
                       points_ == 0 ? std::string(status.message())
                                    : absl::StrCat("ends after ", points, ": ", status.message())));
    }
    for (const std::string& run : growing_) *context.err << IncompleteNotice(run);
    auto losses = reader.Losses(runs);
    if (!losses.ok()) return Fail(context, "export", losses.status());
    if (losses->empty() && unreadable_ > 0) {
      losses->push_back(runtime::Counted(unreadable_, "run") + " left out, which cannot be read");
    }
    for (const std::string& loss : *losses) *context.err << loss << "\n";
    *context.err << points << "\n";
    return growing_.empty() && losses->empty() ? kDone : kFailed;
  }

  std::vector<std::string> names_, tags_;
  std::string query_, pattern_, format_, steps_;
  std::string overlap_ = "raw";
  bus::ExportStyle style_;
  std::uint64_t points_ = 0;
  std::uint64_t unreadable_ = 0;
  bool has_header_ = false;
  // Runs that grew while they were read; their newest points may be missing.
  std::set<std::string> growing_;
};

}  // namespace

std::unique_ptr<Verb> MakeExport() { return std::make_unique<Export>(); }

}  // namespace yard
