#ifndef TOOLS_YARD_RUN_RUN_READER_H_
#define TOOLS_YARD_RUN_RUN_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/follow/follow.h"

namespace yard {

// Reads runs from the data manager for a verb. Use it on the verb's thread; every call blocks. The
// data manager answers only after its first scan of the run directory: this class waits for that
// scan, at most a minute, and reports so once on stderr. Errors are those of the data manager; an
// ambiguous name is NotFound, as everywhere.
class RunReader {
 public:
  // Notices are printed in the name of `verb`. The context must outlive the reader.
  RunReader(Context& context, const char* verb) : context_(context), verb_(verb) {}

  template <typename M>
  absl::StatusOr<typename M::ReplyT> Call(const typename M::RequestT& request) {
    return WhenScanned([&](bus::Client& client) { return client.Call<M>(request, Patient()); });
  }
  // `on_part` also receives the final part.
  template <typename M>
  absl::Status Stream(const typename M::RequestT& request,
                      const std::function<bool(const typename M::ReplyT& part)>& on_part) {
    bool has_begun = false;  // After this, no retry: parts must not repeat.
    auto end = WhenScanned(
        [&](bus::Client& client) {
          return client.Stream<M>(
              request,
              [&](const typename M::ReplyT& part) {
                has_begun = true;
                return on_part(part);
              },
              Patient());
        },
        &has_begun);
    if (!end.ok()) return end.status();
    (void)on_part(*end);
    return absl::OkStatus();
  }

  // Reads the runs that `request` selects and passes each page to `on_page`; at most
  // `request.limit` runs, unless that is 0.
  absl::Status Runs(msg::RunsRequestT request,
                    const std::function<void(const msg::RunsReplyT& page)>& on_page);
  // Returns a run by its name, a unique prefix of it, or the trial that wrote it.
  absl::StatusOr<msg::RunT> Run(const std::string& name);
  // Returns the names of the runs in `names` (each as for Run()) and of those that match `query`,
  // unless it is empty; the newest first, each once. ResourceExhausted if there are more than
  // `most`; NotFound if no run matches.
  absl::StatusOr<std::vector<std::string>> Names(const std::vector<std::string>& names,
                                                 const std::string& query, std::size_t most);
  // Returns a pattern for RunsRequest that matches names with this prefix.
  static std::string PatternOf(const std::string& beginning);
  // Returns a sentence for each name in the query that no run has, with a suggestion: "no run has
  // los; did you mean loss?". Printable. Empty if all are known, or if the data manager does not
  // answer.
  std::vector<std::string> WhatIsUnknown(const std::string& query);
  // Returns a run's tags that match `pattern` (empty: all), from all pages; only the first `most`
  // of them (`total` has their number).
  absl::StatusOr<msg::TagsReplyT> Tags(const std::string& run, const std::string& pattern = "",
                                       std::size_t most = std::numeric_limits<std::size_t>::max());
  // Returns a printable sentence for each of the runs (by their whole names) that is not entirely
  // readable: "run a is not whole: cannot open ...".
  absl::StatusOr<std::vector<std::string>> Losses(const std::vector<std::string>& runs);

 private:
  template <typename Ask>
  auto WhenScanned(const Ask& ask, const bool* has_begun = nullptr)
      -> decltype(ask(std::declval<bus::Client&>())) {
    auto client = context_.client();
    if (!client.ok()) return client.status();
    auto reply = ask(**client);
    if (!absl::IsUnavailable(reply.status()) || (has_begun != nullptr && *has_begun) ||
        !JoinScan(**client, reply.status())) {
      return reply;
    }
    return ask(**client);
  }
  // Waits for the first scan. Returns true if it was running and has ended. `why` has its progress.
  bool JoinScan(bus::Client& client, const absl::Status& why);
  // Makes the data manager look for new runs now. Returns false if it takes more than a minute.
  static bool Reload(bus::Client& client);

  Context& context_;
  const char* const verb_;
};

// Notice for stderr about runs for which a query could not be decided yet; empty for 0.
std::string UndecidedNotice(std::uint64_t undecided);
// The same about a run that cannot be read (`why`, DataLoss, names it) while others can.
std::string UnreadableNotice(const absl::Status& why);
// The same about a run that is still being read.
std::string IncompleteNotice(const std::string& run);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_READER_H_
