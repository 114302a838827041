#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/counted.h"
#include "runtime/printable.h"
#include "tools/yard/run_reader.h"
#include "tools/yard/run_view.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Runs : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("query", query_, "'loss<0.1 & label:base', or a run's name or unique prefix.");
    options.Add("-n,--count", count_, "The newest so many (default: all).");
  }

  int Run(Context& context) override {
    RunReader reader(context, "runs");
    msg::RunsRequestT request;
    (IsQuery(query_) ? request.query : request.run) = query_;
    request.limit = count_;
    msg::RunsReplyT all;
    const absl::Status status = reader.Runs(request, [&](const msg::RunsReplyT& page) {
      for (const auto& run : page.runs) {
        if (context.json) {
          PrintJson(context, RunToJson(*run));
        } else {
          all.runs.push_back(std::make_unique<msg::RunT>(*run));
        }
      }
      shown_ += page.runs.size();
      all.logdir = page.logdir;
      all.total = page.total;
      all.undecided = page.undecided;
      all.unreadable = page.unreadable;
      all.unreadable_count = page.unreadable_count;
    });
    if (!status.ok()) return Fail(context, "runs", status);
    if (!context.json) *context.out << RunTable(all.runs, context.clock->Now(), context.out_width());
    Summarize(context, all);
    return kDone;
  }

 private:
  // No run need be called so: then it is found by name:"...".
  static bool IsQuery(const std::string& text) {
    return text.find_first_of("<>=!&|()\"':") != std::string::npos;
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

  std::string query_;
  std::uint32_t count_ = 0;
  std::size_t shown_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeRuns() { return std::make_unique<Runs>(); }

}  // namespace yard
