#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/datamanager_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using rpc::Datamanager;

nlohmann::json EntryToJson(const msg::TrashEntryT& entry) {
  return {{"name", entry.name},
          {"run", entry.run},
          {"moved", TimeToJson(entry.moved_us)},
          {"deleted", TimeToJson(entry.deleted_us)},
          {"bytes", entry.bytes},
          {"files", entry.files}};
}

class Trash : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("what", words_,
                "ls; restore RUN...; empty [RUN...]. A run is named as it was, or as in NAME.",
                OptionSet::Need::kRequired);
    options.Add("--older", older_, "Only what was removed so long ago: 7d, 12h.");
    options.Add("--name", name_, "Name of the restored run, where another one has its own.");
  }

  int Run(Context& context) override {
    const std::string what = words_.front();
    const std::vector<std::string> runs(words_.begin() + 1, words_.end());
    const auto before = Before(context);
    if (!before.ok()) return Fail(context, "trash", before.status());
    if (const absl::Status good = Check(what, runs); !good.ok())
      return Fail(context, "trash", good);
    if (what == "ls") return List(context, *before);
    if (what == "restore") return Restore(context, runs);
    return Empty(context, runs, *before);
  }

 private:
  absl::Status Check(const std::string& what, const std::vector<std::string>& runs) const {
    if (what != "ls" && what != "restore" && what != "empty") {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", what, "\" is none of ls, restore, empty"));
    }
    if (what == "ls" && !runs.empty()) {
      return absl::InvalidArgumentError("ls shows all; it takes no run");
    }
    if (what == "restore" && runs.empty()) {
      return absl::InvalidArgumentError("restore needs a run; next: yard trash ls");
    }
    if (what == "restore" && !older_.empty()) {
      return absl::InvalidArgumentError("--older is for ls and empty");
    }
    if (!name_.empty() && (what != "restore" || runs.size() > 1)) {
      return absl::InvalidArgumentError("--name is of one run that is restored");
    }
    return absl::OkStatus();
  }

  // Returns the latest time of removal, in microseconds since 1970; 0 for any time.
  absl::StatusOr<std::int64_t> Before(const Context& context) const {
    if (older_.empty()) return 0;
    const auto age = ParseTime(older_);
    if (!age.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--older: expected ", kTimeForm, ", not \"", older_, "\""));
    }
    return absl::ToUnixMicros(context.clock->Now() - *age);
  }

  static int List(Context& context, std::int64_t before) {
    msg::TrashRequestT request;
    request.before_us = before;
    const auto reply = RunReader(context, "trash").Call<Datamanager::Trash>(request);
    if (!reply.ok()) return Fail(context, "trash", reply.status());
    if (context.json) {
      for (const auto& entry : reply->entries) PrintJson(context, EntryToJson(*entry));
      return kDone;
    }
    const absl::Time now = context.clock->Now();
    Table table({"NAME", "RUN", ">ROOM", ">REMOVED", ">DELETED IN"});
    std::uint64_t bytes = 0;
    for (const auto& entry : reply->entries) {
      bytes += entry->bytes;
      table.AddRow(
          {entry->name, entry->run, ShortBytes(entry->bytes),
           absl::StrCat(ShortDuration(now - absl::FromUnixMicros(entry->moved_us)), " ago"),
           entry->deleted_us == 0 ? "never"
                                  : ShortDuration(absl::FromUnixMicros(entry->deleted_us) - now)});
    }
    if (!reply->entries.empty()) *context.out << table.ToString(context.out_width());
    *context.out << runtime::Counted(reply->entries.size(), "run") << " in "
                 << runtime::Printable(reply->directory) << ": " << ShortBytes(bytes) << "\n";
    return kDone;
  }

  int Restore(Context& context, const std::vector<std::string>& runs) const {
    int code = kDone;
    for (const std::string& run : runs) {
      msg::RestoreRunRequestT request;
      request.entry = run;
      request.run = name_;
      const auto reply = RunReader(context, "trash").Call<Datamanager::RestoreRun>(request);
      if (!reply.ok()) {
        code = Fail(context, "trash", reply.status());
      } else if (context.json) {
        PrintJson(context, {{"run", reply->run}, {"directory", reply->directory}});
      } else {
        *context.out << runtime::Printable(reply->run) << " restored to "
                     << runtime::Printable(reply->directory) << "\n";
      }
    }
    return code;
  }

  static int Empty(Context& context, std::vector<std::string> runs, std::int64_t before) {
    // A quick call first: deleting may take long, so a hanging data manager could not be told from
    // a busy one.
    const auto there = RunReader(context, "trash").Call<Datamanager::DataStatus>({});
    if (!there.ok()) return Fail(context, "trash", there.status());
    if (runs.empty()) runs.emplace_back();  // An empty name stands for all runs.
    int code = kDone;
    std::uint64_t bytes = 0, count = 0;
    for (const std::string& run : runs) {
      msg::EmptyTrashRequestT request;
      request.entry = run;
      request.before_us = before;
      const auto reply = RunReader(context, "trash").Call<Datamanager::EmptyTrash>(request);
      if (!reply.ok()) {
        code = Fail(context, "trash", reply.status());
        continue;
      }
      for (const auto& entry : reply->entries) {
        bytes += entry->bytes;
        ++count;
        if (context.json) PrintJson(context, EntryToJson(*entry));
      }
    }
    if (!context.json) {
      *context.out << runtime::Counted(count, "run") << " deleted: " << ShortBytes(bytes) << "\n";
    }
    return code;
  }

  std::vector<std::string> words_;
  std::string older_, name_;
};

}  // namespace

std::unique_ptr<Verb> MakeTrash() { return std::make_unique<Trash>(); }

}  // namespace yard
