#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tools/yard/follow.h"
#include "tools/yard/line_printer.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Logs : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", name_, "A trial, a job or a task.", OptionSet::Need::kRequired);
    options.Flag("-f,--follow", follow_, "Go on as output comes, until it ends.");
    options.Add("-n,--lines", lines_, "Only the last N lines of what is there.");
    options.Flag("--err", err_, "Standard error only.");
    options.Flag("--out", out_, "Standard output only.");
    options.Flag("--raw", raw_, "The bytes as they are: no prefix, nothing made visible.");
  }

  int Run(Context& context) override {
    auto thing = FindThing(context, name_);
    if (!thing.ok()) return Fail(context, "logs", thing.status());
    msg::LogsRequestT request;
    request.job = thing->trial.has_value() ? thing->trial->job : TaskOrJob(*thing);
    if (request.job.empty()) {
      return Fail(context, "logs",
                  absl::NotFoundError(absl::StrCat(thing->id(), " has not started yet")));
    }
    request.follow = follow_;
    request.last_lines = lines_;
    LinePrinter lines({.out = context.out, .prefix = !raw_, .printable = context.out_is_terminal});
    const absl::Status status = FollowLogs(context, std::move(request), [&](const auto& part) {
      Print(context, lines, part);
      return context.out->good();
    });
    lines.Finish();
    if (absl::IsCancelled(status)) return kDone;  // Nobody reads any more.
    return status.ok() ? kDone : Fail(context, "logs", status);
  }

 private:
  // "j-abcde/worker-0" was asked for by that name.
  std::string TaskOrJob(const Thing& thing) const {
    const std::size_t slash = name_.find('/');
    return slash == std::string::npos ? thing.id() : thing.id() + name_.substr(slash);
  }

  void Print(Context& context, LinePrinter& lines, const msg::LogsReplyT& part) const {
    const bool is_err = part.stream == msg::LogStream::Stderr;
    if ((err_ && !is_err) || (out_ && is_err)) return;
    const std::string_view bytes(reinterpret_cast<const char*>(part.data.data()), part.data.size());
    if (context.json) {
      PrintJson(context, {{"task", part.task},
                          {"attempt", part.attempt},
                          {"stream", is_err ? "stderr" : "stdout"},
                          {"offset", part.offset},
                          {"text", std::string(bytes)}});
    } else if (raw_) {
      context.out->write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    } else {
      lines.Print(part.task, bytes);
    }
  }

  std::string name_;
  bool follow_ = false, err_ = false, out_ = false, raw_ = false;
  int lines_ = -1;
};

}  // namespace

std::unique_ptr<Verb> MakeLogs() { return std::make_unique<Logs>(); }

}  // namespace yard
