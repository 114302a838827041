#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "runtime/clock.h"
#include "runtime/counted.h"
#include "runtime/file/file.h"
#include "runtime/mutex.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/run/overlap.h"
#include "tools/yard/run/plot_points.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/run/run_view.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/text/braille_plot.h"
#include "tools/yard/text/svg_plot.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kMostCurves = 10;  // Limit for runs that come from a query.
constexpr std::size_t kMostCharts = 50;
constexpr absl::Duration kPause = absl::Milliseconds(50);  // Between two polls of the data manager.

constexpr absl::Duration kFollowPause = absl::Seconds(1);
constexpr std::size_t kMostPoints = 4'000'000;  // Limit for one tag of a run.
constexpr int kSvgColumns = 1400;

// This long after a trial's end, the data manager has read all that the trial wrote.
constexpr absl::Duration kSettled = absl::Seconds(2);

// Returns the tag that is drawn by default: the loss, else the first scalar that a program has
// reported; empty if no program has reported one.
std::string DefaultTag(const msg::TagsReplyT& reply) {
  std::string first, loss;
  for (const auto& tag : reply.tags) {
    if (!IsScalar(*tag) || IsSystemMetric(tag->name)) continue;
    if (tag->name == "loss") return tag->name;
    if (first.empty()) first = tag->name;
    if (loss.empty() && absl::EndsWith(tag->name, "loss")) loss = tag->name;
  }
  return loss.empty() ? first : loss;
}

std::string NoScalars(const msg::TagsReplyT& reply) {
  if (reply.tags.empty()) return absl::StrCat("run ", reply.run, " has no points yet");
  std::set<std::string> plugins;
  for (const auto& tag : reply.tags) {
    if (IsSystemMetric(tag->name)) {
      return absl::StrCat("run ", reply.run, " has system metrics alone: --tags sys/ draws them");
    }
    plugins.insert(tag->plugin);
  }
  return absl::StrCat("run ", reply.run, " has no scalars, but ",
                      runtime::Counted(reply.tags.size(), "tag"), " of ",
                      absl::StrJoin(plugins, ", "));
}

// Returns ", 40 of 50 are NaN or infinite (×)", or an empty string if `count` is 0.
std::string NotFinite(std::uint64_t count, std::uint64_t points) {
  if (count == 0) return "";
  return absl::StrCat(", ", count, " of ", points, count == 1 ? " is" : " are",
                      " NaN or infinite (\u00d7)");
}

class Plot : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", names_, "Runs, trials or sweeps: names, ids or unique prefixes.");
    options.Add("--query", query_, "Also the runs it is true of: 'label:base & loss<0.1'.");
    // The flag takes one value each time, so that a run may follow it.
    options.Add("-m,--metric", tags_, "A tag; again for one more chart (default: loss).");
    options.Add("--tags", pattern_, "A chart for each tag that it finds (RE2).");
    options.Add("--smooth", smooth_, "Moving average as on the page: from 0 to below 1.");
    options.Add("--x", x_name_, "Axis: step (default), time, relative (to the first), or a tag.");
    options.Flag("--log", log_, "The vertical axis is logarithmic.");
    options.Flag("-f,--follow", follow_, "Draw again as points come, until the trials have ended.");
    options.Add("--svg", svg_, "Write the charts into this file instead.");
    options.Hidden("--overlap", overlap_name_);
    options.Add("--width", width_, "Columns (default: the terminal's, else 80).");
    options.Add("--height", height_, "Lines a chart (default: 20, or what fits).");
    options.Add("--timeout", timeout_, "Seconds to wait for a run or tag (default: 5).");
  }

  int Run(Context& context) override {
    const auto overlap = ParseOverlap(overlap_name_);
    if (!overlap.ok()) return Fail(context, "plot", overlap.status());
    overlap_ = *overlap;
    if (auto good = CheckStyle(context); !good.ok()) return Fail(context, "plot", good);
    if (names_.empty() && query_.empty()) {
      return Fail(context, "plot",
                  absl::InvalidArgumentError("name a run or a trial, or give a --query"));
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "plot", client.status());
    if (auto status = AddQueried(context); !status.ok()) return Fail(context, "plot", status);
    if (names_.empty()) {
      return Fail(context, "plot",
                  absl::InvalidArgumentError("name a run or a trial, or give a --query"));
    }
    const absl::Duration deadline =
        context.clock->Monotonic() + absl::Seconds(std::max(timeout_, 0.0));
    std::vector<msg::TagsReplyT> runs;
    if (query_.empty()) {
      const auto sweeps = SweepsNamed(context);
      if (!sweeps.ok()) return Fail(context, "plot", sweeps.status());
      if (!sweeps->empty() && (follow_ || ReadsPoints() || log_ || !svg_.empty())) {
        return Fail(context, "plot",
                    absl::InvalidArgumentError(
                        "--follow, --smooth, --x, --log and --svg are for runs, not for sweeps"));
      }
      if (!sweeps->empty()) return Done(context, DrawSweeps(context, *sweeps));
    }
    for (const std::string& name : names_) {
      auto run = WaitForRun(context, **client, name, deadline);
      if (names_.size() > 1 && absl::IsDataLoss(run.status())) {
        *context.err << UnreadableNotice(run.status());
        is_whole_ = false;
        continue;
      }
      if (!run.ok()) return Fail(context, "plot", AsLookup(run.status()));
      runs.push_back(*std::move(run));
    }
    if (runs.empty()) {
      return Fail(context, "plot", absl::NotFoundError("none of the runs can be read"));
    }
    if (auto status = AddMatched(context, runs); !status.ok()) return Fail(context, "plot", status);
    for (const msg::TagsReplyT& run : runs) {
      const std::string tag = tags_.empty() ? DefaultTag(run) : "";
      if (!tag.empty()) tags_.push_back(tag);
    }
    if (tags_.empty()) {
      return Fail(context, "plot", absl::NotFoundError(NoScalars(runs.front())));
    }
    if (const absl::Status drawn = DrawAll(context, **client, runs); !drawn.ok()) {
      return Fail(context, "plot", drawn);
    }
    if (auto status = SayWhatIsMissing(context, runs); !status.ok()) {
      return Fail(context, "plot", status);
    }
    return is_whole_ ? kDone : kFailed;
  }

 private:
  enum class X { kStep, kTime, kRelative, kTag };

  // Checks the flags about the appearance of the charts.
  absl::Status CheckStyle(const Context& context) {
    if (!(smooth_ >= 0) || smooth_ >= 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--smooth ", smooth_, " is not from 0 to below 1"));
    }
    if (follow_ && context.json) {
      return absl::InvalidArgumentError("--follow draws; yard watch --json follows in JSON");
    }
    x_ = x_name_ == "step" || x_name_.empty() ? X::kStep
         : x_name_ == "time"                  ? X::kTime
         : x_name_ == "relative"              ? X::kRelative
                                              : X::kTag;
    if (svg_.empty()) return absl::OkStatus();
    if (context.json) return absl::InvalidArgumentError("--svg and --json: which?");
    auto path = CallersPath("--svg", svg_, context.working_directory);
    if (!path.ok()) return path.status();
    svg_ = *std::move(path);
    return absl::OkStatus();
  }

  // Returns true if all points are needed, not only the data manager's columns.
  bool ReadsPoints() const { return smooth_ > 0 || x_ != X::kStep; }

  // Draws once, or with --follow repeatedly until all trials have ended or an interrupt comes.
  absl::Status DrawAll(Context& context, bus::Client& client, std::vector<msg::TagsReplyT>& runs) {
    const auto stopped = std::make_shared<Stopped>();
    if (follow_ && context.interrupt != nullptr) {
      context.interrupt->Handle([stopped] { stopped->Set(); });
    }
    absl::Status drawn;
    for (std::string shown;;) {
      const bool is_last = !follow_ || HaveEnded(context);
      std::string text;
      charts_.clear();
      for (const std::string& tag : tags_) {
        drawn = Draw(context, client, runs, tag, &text);
        if (!drawn.ok()) break;
      }
      if (drawn.ok() && text != shown) drawn = Show(context, text);
      if (!drawn.ok() || is_last || !context.out->good()) break;
      shown = std::move(text);
      if (stopped->Wait(*context.clock, kFollowPause)) break;
      for (msg::TagsReplyT& run : runs) {
        msg::TagsRequestT request;
        request.run = run.run;
        auto tags = client.Call<rpc::Datamanager::Tags>(request, Patient());
        if (tags.ok()) run = *std::move(tags);
      }
    }
    if (follow_ && context.interrupt != nullptr) context.interrupt->Handle({});
    return drawn;
  }

  absl::Status Show(Context& context, const std::string& text) const {
    if (!svg_.empty()) {
      const absl::Status written = runtime::WriteFileAtomically(svg_, DrawSvg(charts_), 0644);
      if (written.ok()) *context.err << "the charts are in " << runtime::Printable(svg_) << "\n";
      return written;
    }
    // On a terminal, each drawing replaces the one before.
    if (follow_ && context.out_is_terminal) *context.out << "\x1b[H\x1b[J";
    *context.out << text << std::flush;
    return absl::OkStatus();
  }

  // Returns true if every named run belongs to a trial that has ended, and the data manager has had
  // the time to read all of it.
  bool HaveEnded(Context& context) const {
    for (const std::string& name : names_) {
      const auto thing = FindThing(context, name, Prefer::kTrial);
      if (!thing.ok() || !thing->trial.has_value() || !HasEnded(thing->trial->state)) return false;
      const absl::Time ended = absl::FromUnixMicros(thing->trial->ended_us);
      if (context.clock->Now() < ended + kSettled) return false;
    }
    return true;
  }

  // Set by an interrupt to stop --follow. Thread-safe.
  class Stopped {
   public:
    void Set() {
      runtime::MutexLock lock(mutex_);
      is_set_ = true;
      changed_.SignalAll();
    }
    // Waits up to `timeout`; returns true if Set() was called.
    bool Wait(runtime::Clock& clock, absl::Duration timeout) {
      const absl::Duration deadline = clock.Monotonic() + timeout;
      runtime::MutexLock lock(mutex_);
      while (!is_set_ && clock.Monotonic() < deadline) clock.WaitUntil(changed_, mutex_, deadline);
      return is_set_;
    }

   private:
    runtime::Mutex mutex_;
    runtime::CondVar changed_;
    bool is_set_ ABSL_GUARDED_BY(mutex_) = false;
  };

  static int Done(Context& context, const absl::Status& status) {
    return status.ok() ? kDone : Fail(context, "plot", status);
  }

  // Returns the named sweeps; empty if the first name is none. If it is one, all others must be
  // sweeps too.
  absl::StatusOr<std::vector<msg::SweepT>> SweepsNamed(Context& context) const {
    std::vector<msg::SweepT> sweeps;
    for (const std::string& name : names_) {
      auto thing = FindThing(context, name, Prefer::kTrial);
      const bool is_sweep = thing.ok() && thing->sweep.has_value();
      if (!is_sweep && sweeps.empty()) return sweeps;
      if (!is_sweep) {
        return absl::InvalidArgumentError(absl::StrCat(name, " is no sweep, and ", names_[0],
                                                       " is one: a chart is of runs or of sweeps"));
      }
      sweeps.push_back(*std::move(thing->sweep));
    }
    return sweeps;
  }

  // Draws the Pareto front of a sweep with two metrics: the second metric over the first.
  absl::Status DrawFront(Context& context, const msg::SweepDetailsReplyT& details) const {
    const msg::SweepT& sweep = *details.sweep;
    const std::vector<const msg::SweepTrialT*> front = FrontOf(details);
    if (front.empty() && !context.json) {
      return absl::NotFoundError(
          absl::StrCat("no trial of ", sweep.name, " has values of both metrics that count yet"));
    }
    PlotCurve curve{
        .label = sweep.name, .behind = absl::StrCat("  ", SweepBest(sweep)), .columns = {}};
    nlohmann::json points = nlohmann::json::array();
    for (const auto* const trial : front) {
      const double x = trial->values[0], y = trial->values[1];
      points.push_back({{"trial", TextOrNull(trial->trial)},
                        {"name", trial->name},
                        {"values", {NumberToJson(x), NumberToJson(y)}}});
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      curve.columns.push_back(
          {.first_x = x, .last_x = x, .first = y, .last = y, .min = y, .max = y});
    }
    // The front is sorted best first, which need not be ascending.
    std::sort(curve.columns.begin(), curve.columns.end(),
              [](const auto& a, const auto& b) { return a.first_x < b.first_x; });
    const std::string &first = sweep.objectives[0]->metric, &second = sweep.objectives[1]->metric;
    if (context.json) {
      PrintJson(context, {{"sweep", sweep.id},
                          {"name", sweep.name},
                          {"metrics", {first, second}},
                          {"front", std::move(points)}});
      return absl::OkStatus();
    }
    *context.out << DrawPlot({curve},
                             Options(context, absl::StrCat("front: ", second, " over ", first)));
    return absl::OkStatus();
  }

  // Draws the best value so far over the ended trials, in the order of their ends.
  absl::Status DrawSweeps(Context& context, const std::vector<msg::SweepT>& sweeps) const {
    std::vector<PlotCurve> curves;
    for (const msg::SweepT& sweep : sweeps) {
      const auto details = SweepDetails(context, sweep.id);
      if (!details.ok()) return details.status();
      if (details->sweep->objectives.size() > 1) {
        if (auto drawn = DrawFront(context, *details); !drawn.ok()) return drawn;
        continue;
      }
      const std::vector<SweepProgress> progress = ProgressOf(*details);
      if (progress.empty() && !context.json) {
        return absl::NotFoundError(
            absl::StrCat("no trial of ", sweep.name, " has ended with a value yet"));
      }
      PlotCurve curve{.label = sweep.name,
                      .behind = absl::StrCat("  best ", SweepBest(*details->sweep), ", ",
                                             runtime::Counted(progress.size(), "trial")),
                      .columns = {}};
      nlohmann::json points = nlohmann::json::array();
      for (std::size_t i = 0; i < progress.size(); ++i) {
        const auto x = static_cast<double>(i + 1);
        const double y = progress[i].best;
        curve.columns.push_back(
            {.first_x = x, .last_x = x, .first = y, .last = y, .min = y, .max = y});
        points.push_back({{"ended", i + 1},
                          {"trial", TextOrNull(progress[i].trial->trial)},
                          {"name", progress[i].trial->name},
                          {"value", NumberToJson(progress[i].trial->value)},
                          {"best", NumberToJson(y)}});
      }
      curves.push_back(std::move(curve));
      if (context.json) {
        PrintJson(context, {{"sweep", sweep.id},
                            {"name", sweep.name},
                            {"metric", TextOrNull(sweep.metric)},
                            {"points", std::move(points)}});
      }
    }
    if (context.json || curves.empty()) return absl::OkStatus();
    const std::string metric = sweeps[0].metric.empty() ? "value" : sweeps[0].metric;
    *context.out << DrawPlot(curves,
                             Options(context, absl::StrCat("best ", metric, " over ended trials")));
    return absl::OkStatus();
  }

  // Names the parts of runs that could not be read; the rest is drawn.
  absl::Status SayWhatIsMissing(Context& context, const std::vector<msg::TagsReplyT>& runs) {
    std::vector<std::string> names;
    for (const msg::TagsReplyT& run : runs) names.push_back(run.run);
    const auto losses = RunReader(context, "plot").Losses(names);
    if (!losses.ok()) return losses.status();
    for (const std::string& loss : *losses) *context.err << loss << "\n";
    is_whole_ = is_whole_ && losses->empty();
    return absl::OkStatus();
  }

  // Adds the newest runs that match the query.
  absl::Status AddQueried(Context& context) {
    if (query_.empty()) return absl::OkStatus();
    RunReader reader(context, "plot");
    auto runs = reader.Names({}, query_, std::numeric_limits<std::size_t>::max());
    if (!runs.ok()) return runs.status();
    if (runs->size() > kMostCurves) {
      *context.err << "the newest " << kMostCurves << " of " << runs->size() << " runs\n";
      runs->resize(kMostCurves);
    }
    names_.insert(names_.end(), runs->begin(), runs->end());
    queried_.insert(runs->begin(), runs->end());
    return absl::OkStatus();
  }

  // Adds the scalars of any of the runs that match the pattern.
  absl::Status AddMatched(Context& context, const std::vector<msg::TagsReplyT>& runs) {
    if (pattern_.empty()) return absl::OkStatus();
    RunReader reader(context, "plot");
    for (const msg::TagsReplyT& run : runs) {
      const auto tags = reader.Tags(run.run, pattern_);
      if (!tags.ok()) return tags.status();
      for (const auto& tag : tags->tags) {
        if (!IsScalar(*tag)) continue;
        matched_.insert(tag->name);
        if (std::count(tags_.begin(), tags_.end(), tag->name) == 0) tags_.push_back(tag->name);
      }
    }
    if (tags_.empty()) {
      return absl::NotFoundError(absl::StrCat("no run has scalars that ", pattern_, " finds"));
    }
    if (tags_.size() > kMostCharts) {
      return absl::ResourceExhaustedError(absl::StrCat(
          pattern_, " finds ", tags_.size(), " tags; at most ", kMostCharts, " are drawn"));
    }
    return absl::OkStatus();
  }

  // Waits until the data manager has read the run, which may have just begun or just ended.
  absl::StatusOr<msg::TagsReplyT> WaitForRun(Context& context, bus::Client& client,
                                             const std::string& name,
                                             absl::Duration deadline) const {
    runtime::Mutex mutex;
    runtime::CondVar never;
    for (bool said = false;; said = true) {
      bool is_trial = false;
      auto run = FindRun(context, client, name, &is_trial);
      const bool there = run.ok() ? HasTags(*run) : !absl::IsNotFound(run.status());
      const absl::Duration now = context.clock->Monotonic();
      if (there) return run;
      if (!said && run.ok())
        deadline = std::min(deadline, now + MayComeWithin(context, *run, name));
      if (!said && !run.ok() && !is_trial) {
        const absl::Status nowhere = LookOnDisk(client, name);
        if (!nowhere.ok()) return nowhere;
      }
      if (now >= deadline) {
        if (run.ok() || is_trial) return run;
        return absl::NotFoundError(absl::StrCat("no run ", name,
                                                ": nothing of it has been read within ", timeout_,
                                                " s; `yard runs` lists what has"));
      }
      if (!said && context.err_is_terminal) {
        *context.err << "yard plot: waiting for " << runtime::Printable(name) << "\n";
      }
      runtime::MutexLock lock(mutex);
      context.clock->WaitUntil(never, mutex, std::min(deadline, now + kPause));
    }
  }
  // Returns for how long a missing tag may still appear.
  absl::Duration MayComeWithin(Context& context, const msg::TagsReplyT& run,
                               const std::string& name) const {
    if (queried_.count(name) > 0) return absl::ZeroDuration();
    const auto thing = FindThing(context, name);
    if (!thing.ok() || !thing->trial.has_value()) {
      // The run has tags, but no scalars: none is expected.
      return tags_.empty() && !run.tags.empty() ? absl::ZeroDuration() : absl::InfiniteDuration();
    }
    if (!HasEnded(thing->trial->state)) return absl::InfiniteDuration();
    const absl::Time ended = absl::FromUnixMicros(thing->trial->ended_us);
    return std::max(ended + kSettled - context.clock->Now(), absl::ZeroDuration());
  }
  // Returns true if the run has all requested tags, or some tag to draw by default.
  bool HasTags(const msg::TagsReplyT& reply) const {
    if (tags_.empty()) return !DefaultTag(reply).empty();
    return std::all_of(tags_.begin(), tags_.end(), [&](const std::string& wanted) {
      return std::any_of(reply.tags.begin(), reply.tags.end(),
                         [&](const auto& tag) { return tag->name == wanted; });
    });
  }

  // Returns OK if the run's directory, or one whose name begins so, exists and the data manager has
  // not read it yet. Otherwise returns the lookup error with the closest name.
  static absl::Status LookOnDisk(bus::Client& client, const std::string& name) {
    const auto runs = client.Call<rpc::Datamanager::Runs>(msg::RunsRequestT(), Patient());
    if (!runs.ok()) return runs.status();
    const std::filesystem::path path = std::filesystem::path(runs->logdir) / name;
    const std::string begin = path.filename();
    std::error_code error;
    auto entry = std::filesystem::directory_iterator(path.parent_path(), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      if (absl::StartsWith(entry->path().filename().string(), begin)) return absl::OkStatus();
    }
    std::vector<std::string_view> names;
    for (const auto& run : runs->runs) names.push_back(run->name);
    const std::string nearest(runtime::NearestWord(name, names));
    return absl::NotFoundError(absl::StrCat("no run ", name,
                                            nearest.empty() ? "" : "; did you mean ", nearest,
                                            nearest.empty() ? "; `yard runs` lists them" : "?"));
  }

  // Finds the run, for a trial by its directory's name. Sets `is_trial` even if no data was read
  // yet.
  static absl::StatusOr<msg::TagsReplyT> FindRun(Context& context, bus::Client& client,
                                                 const std::string& name, bool* is_trial) {
    msg::TagsRequestT request;
    request.run = name;
    auto tags = client.Call<rpc::Datamanager::Tags>(request, Patient());
    if (!absl::IsNotFound(tags.status())) return tags;
    const auto thing = FindThing(context, name, Prefer::kTrial);
    *is_trial = thing.ok() && thing->trial.has_value();
    if (!*is_trial) return tags;
    request.run = std::filesystem::path(thing->trial->log_directory).filename().string();
    return client.Call<rpc::Datamanager::Tags>(request, Patient());
  }

  PlotOptions Options(const Context& context, const std::string& tag) const {
    const int lines = context.out_is_terminal ? std::clamp(context.height - 4, 8, 20) : 20;
    return {.title = TitleOf(tag),
            .width = width_ > 0 ? width_ : context.width,
            .height = height_ > 0 ? height_ : lines,
            .color = context.color,
            .log_y = log_};
  }
  std::string TitleOf(const std::string& tag) const {
    return absl::StrCat(tag, smooth_ > 0 ? absl::StrCat(", smoothed ", smooth_) : "",
                        x_ == X::kStep ? "" : absl::StrCat(" over ", x_name_));
  }

  // Returns the formatter of the horizontal axis; empty if the axis shows plain numbers.
  std::function<std::string(double)> XText(const Context& context,
                                           const std::vector<PlotCurve>& curves) const {
    if (x_ == X::kRelative) return TextOfSeconds;
    if (x_ != X::kTime) return {};
    double from = std::numeric_limits<double>::infinity(), to = -from;
    for (const PlotCurve& curve : curves) {
      for (const PlotColumn& column : curve.columns) {
        from = std::min(from, column.first_x);
        to = std::max(to, column.last_x);
      }
    }
    return [from, to, zone = context.zone()](double x) {
      return std::isfinite(from) ? TextOfMoment(x, from, to, zone) : "";
    };
  }

  // Reads every point of a tag, in several requests.
  absl::StatusOr<PlotPoints> ReadPoints(Context& context, const std::string& run,
                                        const std::string& tag) const {
    msg::ReadScalarsRequestT request;
    request.selection = std::make_unique<msg::SelectionT>();
    request.selection->runs = {run};
    request.selection->tags = {tag};
    request.selection->whole = true;
    request.selection->overlap = overlap_;
    PlotPoints points;
    const auto take = [&](const msg::ReadScalarsReplyT& part) {
      for (const auto& series : part.series) {
        const std::size_t count =
            std::min({series->steps.size(), series->wall_times.size(), series->values.size()});
        const auto end = static_cast<std::ptrdiff_t>(count);
        points.steps.insert(points.steps.end(), series->steps.begin(), series->steps.begin() + end);
        points.wall_times.insert(points.wall_times.end(), series->wall_times.begin(),
                                 series->wall_times.begin() + end);
        points.values.insert(points.values.end(), series->values.begin(),
                             series->values.begin() + end);
      }
      return points.steps.size() <= kMostPoints;
    };
    RunReader reader(context, "plot");
    const absl::Status read = reader.Stream<rpc::Datamanager::ReadScalars>(request, take);
    if (points.steps.size() > kMostPoints) {
      return absl::ResourceExhaustedError(absl::StrCat("run ", run, " has more than ", kMostPoints,
                                                       " points of ", tag,
                                                       ": draw it without --smooth, over steps"));
    }
    if (!read.ok()) return read;
    return points;
  }

  // Reads all points of a tag and makes the columns of its curve.
  absl::StatusOr<std::vector<PlotColumn>> ColumnsOfPoints(Context& context, const std::string& run,
                                                          const std::string& tag,
                                                          std::size_t most) const {
    auto points = ReadPoints(context, run, tag);
    if (!points.ok()) return points.status();
    std::vector<double> xs;
    if (x_ == X::kTime) {
      xs = points->wall_times;
    } else if (x_ == X::kRelative) {
      xs = SecondsSinceFirst(points->wall_times);
    } else if (x_ == X::kTag) {
      const auto other = ReadPoints(context, run, x_name_);
      if (!other.ok()) return other.status();
      if (other->steps.empty()) {
        return absl::NotFoundError(absl::StrCat("run ", run, " has no points of ", x_name_));
      }
      xs = ValuesAt(points->steps, *other);
    } else {
      xs.assign(points->steps.begin(), points->steps.end());
    }
    return ColumnsOf(xs, Smoothed(points->values, smooth_), most);
  }

  absl::Status Draw(Context& context, bus::Client& client, const std::vector<msg::TagsReplyT>& runs,
                    const std::string& tag, std::string* text) {
    PlotOptions options = Options(context, tag);
    const int dots = svg_.empty() ? PlotDots(options) : kSvgColumns;
    std::vector<PlotCurve> curves;
    std::vector<std::string> without;
    absl::Status why;
    for (const msg::TagsReplyT& run : runs) {
      msg::ScalarsRequestT request;
      request.run = run.run;
      request.tag = tag;
      request.columns = static_cast<std::uint32_t>(dots);
      request.overlap = overlap_;
      auto reply = client.Call<rpc::Datamanager::Scalars>(request, Patient());
      if (absl::IsNotFound(reply.status())) {
        without.push_back(run.run);
        why.Update(reply.status());
        continue;
      }
      if (!reply.ok()) return AsLookup(reply.status());
      if (reply->incomplete) *context.err << IncompleteNotice(run.run);
      if (!follow_) SayWhatIsOdd(context, client, request, *reply);
      const std::uint64_t not_finite = NotFiniteOf(run, tag);
      if (ReadsPoints()) {
        auto columns = ColumnsOfPoints(context, reply->run, tag, static_cast<std::size_t>(dots));
        if (!columns.ok()) return AsLookup(columns.status());
        if (context.json) PrintPointColumns(context, *reply, not_finite, *columns);
        curves.push_back(CurveOf(*reply, not_finite));
        curves.back().columns = *std::move(columns);
      } else if (context.json) {
        PrintColumns(context, *reply, not_finite);
      } else {
        curves.push_back(CurveOf(*reply, not_finite));
      }
    }
    if (without.size() == runs.size()) return why;
    // A tag found by a pattern need not be in every run.
    if (!without.empty() && matched_.count(tag) == 0) {
      *context.err << "without " << runtime::Printable(tag) << ": "
                   << runtime::Printable(absl::StrJoin(without, ", ")) << "\n";
    }
    if (context.json) return absl::OkStatus();
    options.x_text = XText(context, curves);
    *text += DrawPlot(curves, options);
    if (svg_.empty()) return absl::OkStatus();
    charts_.push_back({.curves = std::move(curves),
                       .options = {.title = options.title,
                                   .x_name = x_name_.empty() ? "step" : x_name_,
                                   .log_y = log_,
                                   .x_text = options.x_text}});
    return absl::OkStatus();
  }

  static std::uint64_t NotFiniteOf(const msg::TagsReplyT& run, const std::string& name) {
    const auto tag = std::find_if(run.tags.begin(), run.tags.end(),
                                  [&](const auto& one) { return one->name == name; });
    return tag == run.tags.end() ? 0 : (*tag)->not_finite;
  }

  // Warns if the chart may mislead: all points at one step, or several points at the same step.
  void SayWhatIsOdd(Context& context, bus::Client& client, msg::ScalarsRequestT request,
                    const msg::ScalarsReplyT& reply) const {
    const std::string run = runtime::Printable(reply.run);
    if (reply.total_points < 2 || reply.steps.empty()) return;
    if (reply.steps.front() == reply.last_steps.back()) {
      *context.err << "all " << runtime::Counted(reply.total_points, "point") << " of " << run
                   << " are at step " << reply.steps.front() << "\n";
      return;
    }
    // System metrics legitimately have several points at one step.
    if (overlap_ != msg::Overlap::Raw || IsSystemMetric(reply.tag)) return;
    request.overlap = msg::Overlap::LastWrite;
    request.columns = 1;
    const auto kept = client.Call<rpc::Datamanager::Scalars>(request, Patient());
    // An older data manager does not send kept_points.
    if (!kept.ok() || kept->kept_points == 0 || kept->kept_points >= kept->total_points) return;
    const std::uint64_t twice = kept->total_points - kept->kept_points;
    *context.err << runtime::Counted(twice, "point") << " of " << run
                 << (twice == 1 ? " is at a step that is" : " are at steps that are")
                 << " there twice: --overlap last draws the newest\n";
  }

  // Returns the number of columns of a reply. All its vectors should have one length; the minimum
  // is safe if a service of another version sends otherwise.
  static std::size_t Columns(const msg::ScalarsReplyT& reply) {
    return std::min({reply.steps.size(), reply.last_steps.size(), reply.values.size(),
                     reply.firsts.size(), reply.mins.size(), reply.maxs.size(),
                     reply.counts.size()});
  }

  // Returns "3 points", or "3 of 5 points" if the overlap policy dropped some. An older data
  // manager sends no kept_points.
  static std::string KeptPoints(const msg::ScalarsReplyT& reply) {
    const bool all = reply.kept_points == 0 || reply.kept_points == reply.total_points;
    return all ? runtime::Counted(reply.total_points, "point")
               : absl::StrCat(reply.kept_points, " of ",
                              runtime::Counted(reply.total_points, "point"));
  }

  static PlotCurve CurveOf(const msg::ScalarsReplyT& reply, std::uint64_t not_finite) {
    PlotCurve curve{
        .label = reply.run,
        .behind = absl::StrCat("  ", KeptPoints(reply), NotFinite(not_finite, reply.total_points)),
        .columns = {}};
    for (std::size_t i = 0; i < Columns(reply); ++i) {
      curve.columns.push_back({.first_x = static_cast<double>(reply.steps[i]),
                               .last_x = static_cast<double>(reply.last_steps[i]),
                               .first = reply.firsts[i],
                               .last = reply.values[i],
                               .min = reply.mins[i],
                               .max = reply.maxs[i]});
    }
    return curve;
  }

  static void PrintColumns(Context& context, const msg::ScalarsReplyT& reply,
                           std::uint64_t not_finite) {
    nlohmann::json columns = nlohmann::json::array();
    for (std::size_t i = 0; i < Columns(reply); ++i) {
      columns.push_back({{"first_step", reply.steps[i]},
                         {"last_step", reply.last_steps[i]},
                         {"first", NumberToJson(reply.firsts[i])},
                         {"last", NumberToJson(reply.values[i])},
                         {"min", NumberToJson(reply.mins[i])},
                         {"max", NumberToJson(reply.maxs[i])},
                         {"points", reply.counts[i]}});
    }
    PrintJson(context, {{"run", reply.run},
                        {"tag", reply.tag},
                        {"points", reply.total_points},
                        {"kept_points", reply.kept_points},
                        {"not_finite", not_finite},
                        {"columns", std::move(columns)}});
  }

  void PrintPointColumns(Context& context, const msg::ScalarsReplyT& reply,
                         std::uint64_t not_finite, const std::vector<PlotColumn>& columns) const {
    nlohmann::json shown = nlohmann::json::array();
    for (const PlotColumn& column : columns) {
      shown.push_back({{"first_x", NumberToJson(column.first_x)},
                       {"last_x", NumberToJson(column.last_x)},
                       {"first", NumberToJson(column.first)},
                       {"last", NumberToJson(column.last)},
                       {"min", NumberToJson(column.min)},
                       {"max", NumberToJson(column.max)}});
    }
    PrintJson(context, {{"run", reply.run},
                        {"tag", reply.tag},
                        {"points", reply.total_points},
                        {"kept_points", reply.kept_points},
                        {"not_finite", not_finite},
                        {"x", x_name_.empty() ? "step" : x_name_},
                        {"smooth", smooth_},
                        {"columns", std::move(shown)}});
  }

  std::vector<std::string> names_, tags_;
  std::string x_name_, svg_;
  std::vector<SvgChart> charts_;
  X x_ = X::kStep;
  double smooth_ = 0;
  bool log_ = false, follow_ = false;
  std::string query_, pattern_, overlap_name_ = "raw";
  msg::Overlap overlap_ = msg::Overlap::Raw;
  std::set<std::string> matched_;  // Tags that match the pattern.
  std::set<std::string> queried_;  // Runs that match the query; their data was read.
  bool is_whole_ = true;           // False if unreadable parts of the runs were left out.
  int width_ = 0, height_ = 0;
  double timeout_ = 5;
};

}  // namespace

std::unique_ptr<Verb> MakePlot() { return std::make_unique<Plot>(); }

}  // namespace yard
