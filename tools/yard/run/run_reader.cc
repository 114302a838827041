#include "tools/yard/run/run_reader.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/datamanager_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"

namespace yard {
namespace {

constexpr absl::Duration kScan = absl::Minutes(1);
constexpr absl::Duration kNames = absl::Seconds(5);
constexpr std::uint32_t kPage = 1000;

}  // namespace

bool RunReader::JoinScan(bus::Client& client, const absl::Status& why) {
  const auto status = client.Call<rpc::Datamanager::DataStatus>({});
  if (!status.ok()) return false;  // The data manager is down or older: `why` has the cause.
  if (status->state == msg::ManagerState::Done || status->state == msg::ManagerState::Invalid) {
    return true;  // The scan has ended meanwhile.
  }
  *context_.err << "yard " << verb_ << ": "
                << runtime::Printable({why.message().data(), why.message().size()})
                << "; waiting for that\n";
  context_.err->flush();
  return Reload(client);
}

bool RunReader::Reload(bus::Client& client) {
  return client
      .Stream<rpc::Datamanager::Reload>({}, [](const auto&) { return true; }, {.timeout = kScan})
      .ok();
}

absl::Status RunReader::Runs(msg::RunsRequestT request,
                             const std::function<void(const msg::RunsReplyT& page)>& on_page) {
  const std::uint32_t limit = request.limit;
  std::uint32_t given = 0;
  for (;;) {
    request.limit = limit == 0 ? kPage : std::min(limit - given, kPage);
    auto page = Call<rpc::Datamanager::Runs>(request);
    if (!page.ok()) return AsLookup(page.status());
    // A data manager without paging returns all runs at once.
    if (limit > 0 && page->runs.size() > limit - given) page->runs.resize(limit - given);
    given += static_cast<std::uint32_t>(page->runs.size());
    on_page(*page);
    if (request.after.empty() && !request.query.empty()) {
      for (const std::string& unknown : WhatIsUnknown(request.query)) {
        *context_.err << unknown << "\n";
      }
    }
    if (page->next.empty() || page->runs.empty() || given == limit) return absl::OkStatus();
    request.after = page->next;
  }
}

std::string RunReader::PatternOf(const std::string& beginning) {
  std::string pattern = "^";
  for (const char c : beginning) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) == 0 && c != '_') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::vector<std::string> RunReader::WhatIsUnknown(const std::string& query) {
  auto client = context_.client();
  if (!client.ok()) return {};
  msg::NamesRequestT request;
  request.kind = "unknown";
  request.of = query;
  // An older data manager does not support this kind of names.
  const auto unknown =
      (*client)->Call<rpc::Common::Names>(request, {.timeout = kNames, .service = "datamanager"});
  if (!unknown.ok()) return {};
  std::vector<std::string> sentences;
  for (const auto& name : unknown->names) {
    if (name->kind != "unknown") continue;
    sentences.push_back(absl::StrCat("no run has ", runtime::Printable(name->name)));
    if (name->note.empty()) continue;
    absl::StrAppend(&sentences.back(), "; did you mean ", runtime::Printable(name->note), "?");
  }
  return sentences;
}

absl::StatusOr<msg::RunT> RunReader::Run(const std::string& name) {
  msg::RunsRequestT request;
  request.run = name;
  auto reply = Call<rpc::Datamanager::Runs>(request);
  if (absl::IsNotFound(reply.status())) {
    const auto thing = FindThing(context_, name, Prefer::kTrial);
    if (!thing.ok() || !thing->trial.has_value()) return reply.status();
    request.run = std::filesystem::path(thing->trial->log_directory).filename().string();
    reply = Call<rpc::Datamanager::Runs>(request);
    // The data manager may not have found the run of a trial that has just begun.
    const auto client = context_.client();
    if (absl::IsNotFound(reply.status()) && client.ok() && Reload(**client)) {
      reply = Call<rpc::Datamanager::Runs>(request);
    }
  }
  if (!reply.ok()) return AsLookup(reply.status());
  if (reply->runs.empty()) return absl::NotFoundError(absl::StrCat("no run ", name));
  return std::move(*reply->runs.front());
}

absl::StatusOr<std::vector<std::string>> RunReader::Names(const std::vector<std::string>& names,
                                                          const std::string& query,
                                                          std::size_t most) {
  std::vector<std::string> result;
  std::set<std::string> known;
  const auto add = [&](const std::string& name) {
    if (known.insert(name).second) result.push_back(name);
  };
  for (const std::string& name : names) {
    const auto run = Run(name);
    if (!run.ok()) return run.status();
    add(run->name);
  }
  if (!query.empty()) {
    msg::RunsRequestT request;
    request.query = query;
    std::uint64_t undecided = 0;
    auto status = Runs(request, [&](const msg::RunsReplyT& page) {
      for (const auto& run : page.runs) add(run->name);
      undecided = page.undecided;
    });
    if (!status.ok()) return status;
    *context_.err << UndecidedNotice(undecided);
    if (result.empty()) return absl::NotFoundError(absl::StrCat("no run is ", query));
  }
  if (result.size() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat(runtime::Counted(result.size(), "run"), " are selected, more than ", most));
  }
  return result;
}

absl::StatusOr<std::vector<std::string>> RunReader::Losses(const std::vector<std::string>& runs) {
  std::vector<std::string> losses;
  std::set<std::string> missing(runs.begin(), runs.end());
  msg::RunsRequestT request;
  if (runs.size() == 1) request.run = runs.front();
  const absl::Status listed = Runs(request, [&](const msg::RunsReplyT& page) {
    for (const auto& run : page.runs) {
      if (missing.erase(run->name) == 0 || run->why_failed.empty()) continue;
      losses.push_back(absl::StrCat("run ", runtime::Printable(run->name),
                                    " is not whole: ", runtime::Printable(run->why_failed)));
    }
  });
  if (!listed.ok() && !absl::IsNotFound(listed)) return listed;
  for (const std::string& run : missing) {
    losses.push_back(absl::StrCat("run ", runtime::Printable(run), " is not there any more"));
  }
  return losses;
}

absl::StatusOr<msg::TagsReplyT> RunReader::Tags(const std::string& run, const std::string& pattern,
                                                std::size_t most) {
  msg::TagsRequestT request;
  request.run = run;
  request.pattern = pattern;
  msg::TagsReplyT all;
  for (;;) {
    request.limit =
        static_cast<std::uint32_t>(std::min<std::size_t>(kPage, most - all.tags.size()));
    auto page = Call<rpc::Datamanager::Tags>(request);
    if (!page.ok()) return AsLookup(page.status());
    auto tags = std::move(all.tags);
    std::move(page->tags.begin(), page->tags.end(), std::back_inserter(tags));
    const bool is_last = page->next.empty() || page->tags.empty() || tags.size() >= most;
    request.after = page->next;
    all = *std::move(page);
    all.tags = std::move(tags);
    if (is_last) return all;
  }
}

std::string UndecidedNotice(std::uint64_t undecided) {
  if (undecided == 0) return "";
  return absl::StrCat("of ", runtime::Counted(undecided, "run"),
                      " it is not known yet: they have not been read\n");
}

std::string UnreadableNotice(const absl::Status& why) {
  return absl::StrCat(runtime::Printable(std::string(why.message())), "; it is left out\n");
}

std::string IncompleteNotice(const std::string& run) {
  return absl::StrCat("run ", runtime::Printable(run), " is still being read: there is more\n");
}

}  // namespace yard
