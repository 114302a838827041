// The data manager of a FakeYard.

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/datamanager_methods.h"
#include "re2/re2.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using rpc::Datamanager;
using runtime::MutexLock;

constexpr std::int64_t kSomeTime = 1'700'000'000'000'000;

// Keeps the part of `things` after the one named `after`: at most `limit` (0: unlimited) and `page`
// of them. Sets `next` if there are more.
template <typename T>
void KeepPage(std::vector<T>* things, const std::string& after, std::size_t limit, std::size_t page,
              std::string* next) {
  const auto last = std::find_if(things->begin(), things->end(),
                                 [&](const T& thing) { return thing.name == after; });
  if (last != things->end()) things->erase(things->begin(), last + 1);
  const std::size_t size = std::min(limit == 0 ? page : limit, page);
  if (things->size() <= size) return;
  things->resize(size);
  *next = things->back().name;
}

std::int64_t StepOf(const FakeYard::Series& series, std::size_t point) {
  return series.steps.empty() ? static_cast<std::int64_t>(point) : series.steps[point];
}

}  // namespace

std::vector<msg::TagT> FakeYard::TagsOf(const std::string& run) const {
  std::vector<msg::TagT> tags;
  for (const Series& series : series_) {
    if (series.run != run) continue;
    msg::TagT& tag = tags.emplace_back();
    tag.name = series.tag;
    tag.plugin = "scalars";
    tag.data_class = msg::DataClass::Scalar;
    tag.points = series.values.size();
    if (!series.values.empty()) {
      tag.first_step = StepOf(series, 0);
      tag.last_step = StepOf(series, series.values.size() - 1);
      tag.min = *std::min_element(series.values.begin(), series.values.end());
      tag.max = *std::max_element(series.values.begin(), series.values.end());
      tag.last = series.values.back();
    }
    if (const auto edit = tag_edits_.find(tag.name); edit != tag_edits_.end()) edit->second(tag);
  }
  return tags;
}

bool FakeYard::IsUnread(const std::string& run) const {
  MutexLock lock(mutex_);
  return unread_.contains(run);
}

std::vector<msg::RunT> FakeYard::RunsOnDisk() const {
  std::vector<msg::RunT> runs;
  for (const Series& series : series_) {
    const bool known = std::any_of(runs.begin(), runs.end(),
                                   [&](const msg::RunT& run) { return run.name == series.run; });
    if (known || IsUnread(series.run)) continue;
    msg::RunT& run = runs.emplace_back();
    run.name = series.run;
    run.directory = logdir() + "/" + series.run;
    run.generation = 7;
    run.files = 1;
    run.update_us = kSomeTime;
    run.counted = run.intact = true;
    for (const msg::TagT& tag : TagsOf(series.run)) {
      ++run.tags;
      run.points += tag.points;
      run.last_step = std::max(run.last_step, tag.last_step);
    }
    if (const auto edit = run_edits_.find(run.name); edit != run_edits_.end()) edit->second(run);
  }
  return runs;
}

absl::StatusOr<std::vector<msg::RunT>> FakeYard::FindRuns(const std::string& name,
                                                          const std::string& query) const {
  if (scans_) return absl::UnavailableError("the first scan has seen 3 directories");
  std::vector<msg::RunT> runs = RunsOnDisk();
  const auto keep = [&](const auto& wanted) {
    runs.erase(std::remove_if(runs.begin(), runs.end(),
                              [&](const msg::RunT& run) { return !wanted(run.name); }),
               runs.end());
  };
  if (!query.empty()) {
    const auto known = queries_.find(query);
    if (known == queries_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("query, column 1: expected something else\n  ", query, "\n  ^"));
    }
    keep([&](const std::string& run) {
      return std::count(known->second.begin(), known->second.end(), run) > 0;
    });
  }
  if (name.empty()) return runs;
  const bool exact =
      std::any_of(runs.begin(), runs.end(), [&](const msg::RunT& run) { return run.name == name; });
  keep([&](const std::string& run) { return exact ? run == name : absl::StartsWith(run, name); });
  if (runs.empty()) return absl::NotFoundError(absl::StrCat("no run \"", name, "\" in ", logdir()));
  if (runs.size() == 1) return runs;
  return absl::FailedPreconditionError(
      absl::StrCat(name, " may be ", runs[0].name, " or ", runs[1].name));
}

void FakeYard::AddColumns(const msg::RunsRequestT& request, msg::RunT& run) const {
  for (const msg::TagT& tag : TagsOf(run.name)) {
    if (std::count(request.metrics.begin(), request.metrics.end(), tag.name) == 0) continue;
    auto& metric = run.metrics.emplace_back(std::make_unique<msg::MetricSummaryT>());
    metric->tag = tag.name;
    metric->last = tag.last;
    metric->min = tag.min;
    metric->max = tag.max;
  }
  for (const msg::RunHParamsT& hparams : hparams_) {
    if (hparams.run != run.name) continue;
    for (const auto& value : hparams.hparams) {
      if (std::count(request.parameters.begin(), request.parameters.end(), value->key) == 0) {
        continue;
      }
      run.parameters.push_back(std::make_unique<msg::KeyValueT>());
      run.parameters.back()->key = value->key;
      run.parameters.back()->value = value->value;
    }
  }
}

void FakeYard::ServeRuns(bus::Service* service) {
  service->Handle<Datamanager::Runs>(
      [this](const bus::CallContext&,
             const msg::RunsRequestT& request) -> absl::StatusOr<msg::RunsReplyT> {
        if (absl::Status broken = Check("datamanager"); !broken.ok()) return broken;
        auto runs = FindRuns(request.run, request.query);
        if (!runs.ok()) return runs.status();
        std::erase_if(*runs, [&](const msg::RunT& run) {
          return !request.pattern.empty() && !re2::RE2::PartialMatch(run.name, request.pattern);
        });
        msg::RunsReplyT reply;
        reply.logdir = logdir();
        reply.total = runs->size();
        reply.unreadable = unreadable_;
        reply.unreadable_count = unreadable_.size();
        reply.undecided = request.query.empty() ? 0 : undecided_;
        KeepPage(&*runs, request.after, request.limit, page_, &reply.next);
        for (msg::RunT& run : *runs) {
          AddColumns(request, run);
          reply.runs.push_back(std::make_unique<msg::RunT>(std::move(run)));
        }
        return reply;
      });
  service->Handle<Datamanager::Tags>(
      [this](const bus::CallContext&,
             const msg::TagsRequestT& request) -> absl::StatusOr<msg::TagsReplyT> {
        const auto runs = FindRuns(request.run, "");
        if (!runs.ok()) return runs.status();
        std::vector<msg::TagT> tags = TagsOf(runs->front().name);
        tags.erase(std::remove_if(tags.begin(), tags.end(),
                                  [&](const msg::TagT& tag) {
                                    return !absl::StrContains(tag.name, request.pattern);
                                  }),
                   tags.end());
        msg::TagsReplyT reply;
        reply.run = runs->front().name;
        reply.incomplete = incomplete_;
        reply.total = tags.size();
        KeepPage(&tags, request.after, request.limit, page_, &reply.next);
        for (msg::TagT& tag : tags) {
          reply.tags.push_back(std::make_unique<msg::TagT>(std::move(tag)));
        }
        return reply;
      });
  service->Handle<Datamanager::Files>(
      [this](const bus::CallContext&,
             const msg::FilesRequestT& request) -> absl::StatusOr<msg::FilesReplyT> {
        for (const msg::FilesReplyT& files : files_) {
          if (files.run != request.run) continue;
          msg::FilesReplyT reply;
          reply.run = files.run;
          std::vector<msg::RunFileT> page;
          for (const auto& file : files.files) page.push_back(*file);
          KeepPage(&page, request.after, request.limit, page_, &reply.next);
          for (msg::RunFileT& file : page) {
            reply.files.push_back(std::make_unique<msg::RunFileT>(std::move(file)));
          }
          for (const auto& fault : files.faults) {
            reply.faults.push_back(std::make_unique<msg::FaultT>(*fault));
          }
          return reply;
        }
        return absl::NotFoundError(absl::StrCat("no run \"", request.run, "\" in ", logdir()));
      });
  service->Handle<Datamanager::DataStatus>([this](const bus::CallContext&, const auto&) {
    msg::DataStatusReplyT reply;
    reply.state = scans_ ? msg::ManagerState::Init : msg::ManagerState::Done;
    return reply;
  });
  service->HandleAsync<Datamanager::Reload>([this](const auto& writer, const auto&) {
    scans_ = false;
    {
      MutexLock lock(mutex_);
      unread_.clear();
    }
    msg::ReloadReplyT reply;
    reply.joined = true;
    writer->Finish(std::move(reply));
  });
  service->Handle<Datamanager::RemoveRun>(
      [this](const bus::CallContext&,
             const msg::RemoveRunRequestT& request) -> absl::StatusOr<msg::RemoveRunReplyT> {
        MutexLock lock(mutex_);
        asked_.push_back(absl::StrCat("remove run ", request.run, " ", request.generation,
                                      request.nested ? " nested" : "",
                                      request.force ? " force" : ""));
        if (!request.force && request.run == "busy") {
          return absl::FailedPreconditionError("run busy stays: it was written to");
        }
        msg::RemoveRunReplyT reply;
        reply.run = request.run;
        reply.trash = absl::StrCat(logdir(), "/.trash/", request.run, "-01234567");
        return reply;
      });
}

// Simplification: every policy except Raw keeps the last point of each step.
msg::ScalarsReplyT FakeYard::PointsOf(const Series& series, msg::Overlap overlap) const {
  msg::ScalarsReplyT reply;
  reply.run = series.run;
  reply.tag = series.tag;
  reply.total_points = series.values.size();
  reply.incomplete = incomplete_;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const std::int64_t step = StepOf(series, i);
    if (overlap != msg::Overlap::Raw && !reply.steps.empty() && reply.steps.back() == step) {
      reply.values.back() = series.values[i];
      continue;
    }
    reply.steps.push_back(step);
    reply.values.push_back(series.values[i]);
    reply.wall_times.push_back(1000 + static_cast<double>(i) / 2);
  }
  reply.kept_points = reply.steps.size();
  return reply;
}

void FakeYard::ServePoints(bus::Service* service) {
  service->Handle<Datamanager::Scalars>(
      [this](const bus::CallContext&,
             const msg::ScalarsRequestT& request) -> absl::StatusOr<msg::ScalarsReplyT> {
        for (const Series& series : series_) {
          if (series.run != request.run || series.tag != request.tag) continue;
          msg::ScalarsReplyT reply = PointsOf(series, request.overlap);
          reply.firsts = reply.mins = reply.maxs = reply.values;
          reply.counts.assign(reply.values.size(), 1);
          reply.last_steps = reply.steps;
          reply.wall_times.clear();
          return reply;
        }
        return absl::NotFoundError(absl::StrCat("no tag ", request.tag));
      });
  service->HandleAsync<Datamanager::ReadScalars>([this](const auto& writer, const auto& request) {
    if (scans_) return writer->Finish(absl::UnavailableError("the first scan goes on"));
    const msg::SelectionT& selection = *request.selection;
    int parts = 0;
    for (const std::string& run : selection.runs) {
      for (const Series& series : series_) {
        if (series.run != run || !absl::StrContains(series.tag, selection.tag_pattern)) continue;
        if (!selection.tags.empty() &&
            std::count(selection.tags.begin(), selection.tags.end(), series.tag) == 0) {
          continue;
        }
        const msg::ScalarsReplyT all = PointsOf(series, selection.overlap);
        for (std::size_t begin = 0; begin < all.steps.size(); begin += part_) {
          auto some = std::make_unique<msg::ScalarsReplyT>();
          some->run = all.run;
          some->tag = all.tag;
          some->incomplete = all.incomplete;
          for (std::size_t i = begin; i < std::min(begin + part_, all.steps.size()); ++i) {
            if (all.steps[i] < selection.first_step || all.steps[i] > selection.last_step) continue;
            some->steps.push_back(all.steps[i]);
            some->values.push_back(all.values[i]);
            some->wall_times.push_back(all.wall_times[i]);
          }
          msg::ReadScalarsReplyT part;
          part.series.push_back(std::move(some));
          if (parts++ == goes_after_) {
            return writer->Finish(absl::UnavailableError("the data manager is gone"));
          }
          if (!writer->SendPart(std::move(part)).ok()) return;
        }
      }
    }
    writer->Finish(msg::ReadScalarsReplyT());
  });
  service->Handle<Datamanager::HParams>(
      [this](const bus::CallContext&, const msg::HParamsRequestT& request) {
        msg::HParamsReplyT reply;
        for (const msg::RunHParamsT& hparams : hparams_) {
          const auto& runs = request.selection->runs;
          if (std::count(runs.begin(), runs.end(), hparams.run) == 0) continue;
          reply.runs.push_back(std::make_unique<msg::RunHParamsT>(hparams));
        }
        return reply;
      });
}

void FakeYard::ServeDatamanager() {
  bus::Service& service = Serve("datamanager");
  ServeRuns(&service);
  ServePoints(&service);
}

}  // namespace yard
