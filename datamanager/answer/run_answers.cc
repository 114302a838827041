#include "datamanager/answer/run_answers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/answer/graph_page.h"
#include "datamanager/answer/hparams_messages.h"
#include "datamanager/answer/run_answer_maker.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/answer/series_selection.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_lineage.h"
#include "datamanager/brief/run_parameters.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_selection.h"
#include "datamanager/read/file_bytes.h"
#include "datamanager/series/value_series.h"
#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/graph_nodes.h"
#include "eventlog/hparams_content.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/tag_table.h"
#include "runtime/file/file.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using eventlog::FaultKind;

static_assert(static_cast<int>(msg::FaultKind::NoDescriptor) ==
              static_cast<int>(FaultKind::kNoDescriptor));
static_assert(eventlog::kFaultKinds == static_cast<int>(msg::FaultKind::MAX) + 1);
static_assert(static_cast<int>(msg::FileFormat::MindSporeGraph) + 1 ==
              static_cast<int>(FileKind::kMindSporeGraph));

using FaultMessages = std::vector<std::unique_ptr<msg::FaultT>>;

void AppendFaults(const eventlog::FileFaults& faults, const std::string& about,
                  FaultMessages* messages) {
  for (const eventlog::Fault& fault : faults.all()) {
    auto message = std::make_unique<msg::FaultT>();
    message->kind = static_cast<msg::FaultKind>(fault.kind);
    message->count = fault.count;
    message->bytes = fault.bytes;
    message->first_offset = fault.first_offset;
    message->last_offset = fault.last_offset;
    message->text = absl::StrCat(about, std::string(eventlog::FaultName(fault.kind)));
    messages->push_back(std::move(message));
  }
}

// Returns the selected runs after `after`.
absl::StatusOr<std::vector<std::string>> SelectFrom(const msg::SelectionT* selection,
                                                    const std::string& after, RunSource& source) {
  SelectionRequest request = SelectionOf(selection);
  // Only runs are selected here.
  request.tags.clear();
  request.tag_pattern.clear();
  const auto made = RunSelection::Make(std::move(request));
  if (!made.ok()) return made.status();
  auto selected = SelectRuns(*made, source);
  if (!selected.ok()) return selected.status();
  std::vector<std::string>& runs = selected->runs;
  if (after.empty()) return std::move(runs);
  auto from = std::find(runs.begin(), runs.end(), after);
  // If the run `after` was removed: runs of a pattern are ordered by name.
  from = from == runs.end() ? std::upper_bound(runs.begin(), runs.end(), after) : from + 1;
  runs.erase(runs.begin(), from);
  return std::move(runs);
}

// Answers run by run, each with a table of its own, until the page is full.
template <typename Reply, typename Table>
class RunsAnswer : public RunAnswerMaker<Reply> {
 public:
  using typename RunAnswerMaker<Reply>::Part;

  RunsAnswer(std::vector<std::string> runs, std::uint32_t limit, RunSource* source)
      : RunAnswerMaker<Reply>(source), runs_(std::move(runs)), limit_(limit) {}

  absl::StatusOr<Part> Next() override {
    while (next_ < runs_.size() && bytes_ < kMaxPageBytes &&
           (limit_ == 0 || reply_.runs.size() < limit_)) {
      auto table = std::make_unique<Table>();
      table->run = runs_[next_];
      const absl::Status filled = Fill(table.get());
      // Omits a run that was removed since it was selected.
      if (!filled.ok() && !absl::IsNotFound(filled)) return filled;
      if (filled.ok()) {
        bytes_ += SizeOf(*table);
        reply_.runs.push_back(std::move(table));
      }
      ++next_;
    }
    if (next_ < runs_.size()) reply_.next = runs_[next_ - 1];
    return Part{std::move(reply_), true};
  }

 protected:
  virtual absl::Status Fill(Table* table) = 0;
  virtual std::size_t SizeOf(const Table& table) const = 0;

 private:
  const std::vector<std::string> runs_;
  const std::uint32_t limit_;
  std::size_t next_ = 0;
  std::size_t bytes_ = 0;
  Reply reply_;
};

class HParamsAnswer : public RunsAnswer<msg::HParamsReplyT, msg::RunHParamsT> {
 public:
  using RunsAnswer::RunsAnswer;

 private:
  absl::Status Fill(msg::RunHParamsT* table) override {
    const auto item = source().Brief(table->run);
    if (!item.ok()) return item.status();
    const BriefFacts brief(**item);
    RunConfig plugin;
    if (absl::Status below = ReadBelow(table->run, &plugin); !below.ok()) return below;
    HParamsSources sources;
    sources.config = brief.parameters();
    sources.of_lineage = brief.knows_only_lineage();
    if (brief.labels() != nullptr) sources.group = brief.labels()->group;
    const auto fill = [&] {
      sources.plugin = plugin.facts();
      std::string run = std::move(table->run);
      *table = HParamsMessage(sources);
      table->run = std::move(run);
      return absl::OkStatus();
    };
    const absl::Status read =
        Read({.run = table->run, .whole = true}, [&](const RunSource::View& view) {
          const auto content = [&](std::string_view tag) -> std::string_view {
            const auto id = view.data.FindTag(tag);
            if (!id.has_value()) return {};
            return view.data.tag(*id).kind->content;
          };
          const std::vector<TagFacts> tags = TagFactsOf(view.data);
          sources.experiment = content(eventlog::kHParamsExperimentTag);
          sources.session_start = content(eventlog::kHParamsStartTag);
          sources.session_end = content(eventlog::kHParamsEndTag);
          sources.tags = tags;
          RunConfig own = PluginParameters(sources.session_start);
          if (!own.facts().empty()) plugin = std::move(own);
          return fill();
        });
    // If the run's files are unreadable, its brief and the plugin's parameters of the run below it
    // are still known.
    return absl::IsDataLoss(read) ? fill() : read;
  }

  // Reads the plugin's parameters from the run below `run`; `plugin` stays empty unless exactly one
  // run below has some.
  absl::Status ReadBelow(const std::string& run, RunConfig* plugin) {
    if (names_.empty()) {
      auto names = source().Names();
      if (!names.ok()) return names.status();
      names_ = *std::move(names);
    }
    int with_some = 0;
    for (const std::string& below : RunsBelow(names_, run)) {
      const absl::Status read = Read({.run = below}, [&](const RunSource::View& view) {
        RunConfig config = PluginParameters(SessionStartOf(view.data));
        if (config.facts().empty()) return absl::OkStatus();
        ++with_some;
        *plugin = std::move(config);
        return absl::OkStatus();
      });
      if (absl::IsUnavailable(read)) return read;
    }
    if (with_some > 1) *plugin = RunConfig();
    return absl::OkStatus();
  }

  std::vector<std::string> names_;  // Names of all runs.
  std::size_t SizeOf(const msg::RunHParamsT& table) const override {
    std::size_t size = 200 + table.experiment.size();
    for (const auto& pair : table.hparams) size += pair->key.size() + pair->value.size() + 32;
    for (const auto& pair : table.metrics) size += pair->key.size() + pair->value.size() + 32;
    return size;
  }
};

class LineageAnswer : public RunsAnswer<msg::LineageReplyT, msg::RunLineageT> {
 public:
  using RunsAnswer::RunsAnswer;

 private:
  absl::Status Fill(msg::RunLineageT* table) override {
    const auto item = source().Brief(table->run);
    if (!item.ok()) return item.status();
    const auto lineage =
        (*item)->Get<RunLineage>(BriefCache::kLineage, BriefItem::Missing::kNothing);
    if (!lineage.ok()) return lineage.status();
    if (*lineage != nullptr) {
      table->train = (*lineage)->train;
      table->evaluation = (*lineage)->evaluation;
      table->dataset = (*lineage)->dataset;
      table->user_defined = (*lineage)->user_defined;
    }
    const auto failures = (*item)->Failures();
    const auto failure = failures.find(std::string(BriefCache::kLineage));
    if (failure != failures.end()) {
      table->error = runtime::LossyUtf8(std::string(failure->second.message()));
    }
    return absl::OkStatus();
  }
  std::size_t SizeOf(const msg::RunLineageT& table) const override {
    return 100 + table.train.size() + table.evaluation.size() + table.dataset.size() +
           table.user_defined.size() + table.error.size();
  }
};

class FilesAnswer : public RunAnswerMaker<msg::FilesReplyT> {
 public:
  FilesAnswer(std::string run, const msg::FilesRequestT& request, RunSource* source)
      : RunAnswerMaker(source),
        run_(std::move(run)),
        after_(request.after),
        limit_(request.limit) {}

  absl::StatusOr<Part> Next() override {
    Part part{{}, true};
    msg::FilesReplyT& reply = part.reply;
    reply.run = run_;
    absl::Status read = Read({.run = run_, .take_part = true}, [&](const RunSource::View& view) {
      reply.generation = view.data.generation();
      return Fill(view.listed, view.data, &reply);
    });
    if (!read.ok()) return read;
    return part;
  }

 private:
  absl::Status Fill(const ListedRun& listed, const RunData& data, msg::FilesReplyT* reply) const {
    std::map<std::string_view, const RunFileData*> read;
    for (const RunFileData& file : data.files()) {
      if (!file.gone) read[file.listed.name] = &file;
      if (file.gone)
        AppendFaults(file.faults, runtime::LossyUtf8(file.listed.name) + ": ", &reply->faults);
    }
    std::size_t bytes = 0;
    for (const ListedFile& file : listed.files) {
      const std::string name = runtime::LossyUtf8(file.name);
      if (name <= after_ && !after_.empty()) continue;
      if (bytes >= kMaxPageBytes || (limit_ != 0 && reply->files.size() == limit_)) {
        reply->next = reply->files.back()->name;
        break;
      }
      const auto found = read.find(file.name);
      auto message = std::make_unique<msg::RunFileT>(
          FileMessage(file, found == read.end() ? nullptr : found->second));
      if (data.tags_overflowed()) TellOverflow(message.get());
      bytes += 400 + name.size() + 100 * message->faults.size();
      reply->files.push_back(std::move(message));
    }
    return absl::OkStatus();
  }

  static void TellOverflow(msg::RunFileT* file) {
    for (const auto& fault : file->faults) {
      if (fault->kind != msg::FaultKind::TagTooLong) continue;
      fault->text = absl::StrCat("values of tags beyond the first ", eventlog::TagTable::kMaxTags,
                                 ", which are all that a run may have");
    }
  }

  const std::string run_;
  const std::string after_;
  const std::uint32_t limit_;
};

class GraphAnswer : public RunAnswerMaker<msg::ReadGraphReplyT> {
 public:
  GraphAnswer(std::string run, ListedRunPtr listed, const msg::ReadGraphRequestT& request,
              RunSource* source)
      : RunAnswerMaker(source),
        run_(std::move(run)),
        listed_(std::move(listed)),
        tag_(request.tag),
        cached_only_(request.cached_only),
        page_{.scope = request.scope,
              .search = request.search,
              .after = request.after,
              .limit = request.limit} {}

  absl::StatusOr<Part> Next() override {
    Part part{{}, true};
    part.reply.run = run_;
    absl::Status filled = tag_.empty() || tag_ == eventlog::kRunGraphTag
                              ? FromEvents(&part.reply)
                              : FromFile(tag_, &part.reply);
    if (absl::IsNotFound(filled) && tag_.empty()) {
      if (const auto file = FirstGraphFile(); file.has_value()) {
        filled = FromFile(*file, &part.reply);
      }
    }
    if (!filled.ok()) return filled;
    return part;
  }

 private:
  struct Event {
    ValuePlace place;
    std::string file;
    eventlog::EventKind kind = eventlog::EventKind::kNone;
  };

  absl::Status FromEvents(msg::ReadGraphReplyT* reply) {
    std::optional<Event> event;
    const absl::Status read = Read(
        {.run = run_, .need = RunSource::Need::kPoints, .cached_only = cached_only_, .whole = true},
        [&](const RunSource::View& view) {
          event = NewestGraph(view.data);
          return absl::OkStatus();
        });
    if (!read.ok()) return read;
    if (!event.has_value()) {
      return absl::NotFoundError(absl::StrCat("run ", run_, " has no graph"));
    }
    const ValuePlace& place = event->place;
    if (place.length > kMaxGraphBytes) return TooLarge(place.length);
    const auto bytes = ReadFileRange(
        absl::StrCat(listed_->directory, "/", event->file),
        {.offset = place.offset, .length = place.length, .crc = place.crc}, source().open_files());
    if (!bytes.ok()) return bytes.status();
    reply->tag = std::string(eventlog::kRunGraphTag);
    reply->blob = std::make_unique<msg::BlobT>();
    reply->blob->file = runtime::LossyUtf8(event->file);
    reply->blob->offset = place.offset;
    reply->blob->length = place.length;
    reply->blob->crc = place.crc;
    reply->blob->step = place.step;
    reply->blob->wall_time = place.wall_time;
    if (event->kind == eventlog::EventKind::kMindSporeGraph) {
      reply->format = msg::FileFormat::MindSpore;
      return FillGraphPage(eventlog::GraphReader::Format::kMindSpore, *bytes, page_, reply);
    }
    reply->format = msg::FileFormat::TensorBoard;
    return FillGraphPage(eventlog::GraphReader::Format::kTensorFlow, *bytes, page_, reply);
  }

  // Prefers plain graphs to those within a MetaGraphDef, which TensorFlow writes beside the graph.
  static std::optional<Event> NewestGraph(const RunData& data) {
    const auto id = data.FindTag(eventlog::kRunGraphTag);
    if (!id.has_value() || data.tag(*id).values == nullptr) return std::nullopt;
    const auto places = data.tag(*id).values->places.all();
    if (places.empty()) return std::nullopt;
    const auto itself = std::find_if(places.rbegin(), places.rend(), [](const ValuePlace& place) {
      return EventKindOf(place.form) != eventlog::EventKind::kMetaGraph;
    });
    const ValuePlace& place = itself == places.rend() ? places.back() : *itself;
    return Event{place, data.file(place.file).listed.name,
                 EventKindOf(place.form).value_or(eventlog::EventKind::kGraph)};
  }

  std::optional<std::string> FirstGraphFile() const {
    for (const ListedFile& file : listed_->files) {
      if (file.kind == FileKind::kMindSporeGraph) return runtime::LossyUtf8(file.name);
    }
    return std::nullopt;
  }

  absl::Status FromFile(const std::string& name, msg::ReadGraphReplyT* reply) const {
    const auto file =
        std::find_if(listed_->files.begin(), listed_->files.end(), [&](const ListedFile& one) {
          return one.kind == FileKind::kMindSporeGraph && runtime::LossyUtf8(one.name) == name;
        });
    if (file == listed_->files.end()) {
      return absl::NotFoundError(absl::StrCat("run ", run_, " has no graph \"", name, "\""));
    }
    if (file->state.bytes > kMaxGraphBytes) return TooLarge(file->state.bytes);
    const auto bytes =
        runtime::ReadFile(absl::StrCat(listed_->directory, "/", file->name), kMaxGraphBytes);
    if (!bytes.ok()) return bytes.status();
    const auto graph = eventlog::GraphOfModel(*bytes);
    if (!graph.ok()) return graph.status();
    reply->tag = name;
    reply->format = msg::FileFormat::MindSporeGraph;
    return FillGraphPage(eventlog::GraphReader::Format::kMindSpore, *graph, page_, reply);
  }

  static absl::Status TooLarge(std::uint64_t bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a graph of ", bytes, " bytes; over ",
                                                     kMaxGraphBytes, " it can be read as a blob"));
  }

  const std::string run_;
  const ListedRunPtr listed_;
  const std::string tag_;
  const bool cached_only_;
  const GraphPageRequest page_;
};

}  // namespace

msg::RunFileT FileMessage(const ListedFile& listed, const RunFileData* read) {
  msg::RunFileT message;
  message.name = runtime::LossyUtf8(listed.name);
  message.format = static_cast<msg::FileFormat>(static_cast<int>(listed.kind) - 1);
  message.bytes = listed.state.bytes;
  message.create_us = listed.create_us;
  message.update_us = listed.state.modified_ns / 1000;
  message.rank = listed.rank.has_value() ? static_cast<std::int32_t>(*listed.rank) : -1;
  // These kinds are written at once; whether an event file will grow is unknown.
  message.finished =
      listed.kind == FileKind::kMindSporeGraph || listed.kind == FileKind::kProfileMarker;
  if (read == nullptr) return message;
  message.read_bytes = read->DoneBytes();
  // The listing may be older than the data that was read.
  message.bytes = std::max(message.bytes, message.read_bytes);
  message.records = read->records;
  message.points = read->points;
  message.version = runtime::LossyUtf8(read->version);
  message.writer = runtime::LossyUtf8(read->writer);
  message.tail_bytes = read->faults.Of(FaultKind::kUnfinishedTail).bytes;
  AppendFaults(read->faults, "", &message.faults);
  for (const auto& fault : message.faults) {
    if (read->IsForeign() && fault->kind == msg::FaultKind::BadLength) {
      fault->text = "it does not begin with a record whose checksum is right: no event file";
    }
    if (fault->kind == msg::FaultKind::BadValue && !read->bad_tag.empty()) {
      fault->text = absl::StrCat("not what tag \"", runtime::LossyUtf8(read->bad_tag), "\" holds",
                                 fault->count > 1 ? " (the first)" : "");
    }
    const bool is_now =
        fault->kind == msg::FaultKind::Unreadable || fault->kind == msg::FaultKind::NoDescriptor;
    if (is_now && !read->problem.ok()) {
      fault->text = runtime::LossyUtf8(std::string(read->problem.message()));
    }
  }
  return message;
}

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::FilesReplyT>>> MakeFilesAnswer(
    const msg::FilesRequestT& request, RunSource* source) {
  auto run = FindRunName(request.run, *source);
  if (!run.ok()) return run.status();
  return std::make_unique<FilesAnswer>(*std::move(run), request, source);
}

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::HParamsReplyT>>> MakeHParamsAnswer(
    const msg::HParamsRequestT& request, RunSource* source) {
  auto runs = SelectFrom(request.selection.get(), request.after, *source);
  if (!runs.ok()) return runs.status();
  return std::make_unique<HParamsAnswer>(*std::move(runs), request.limit, source);
}

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::LineageReplyT>>> MakeLineageAnswer(
    const msg::LineageRequestT& request, RunSource* source) {
  auto runs = SelectFrom(request.selection.get(), request.after, *source);
  if (!runs.ok()) return runs.status();
  return std::make_unique<LineageAnswer>(*std::move(runs), request.limit, source);
}

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadGraphReplyT>>> MakeGraphAnswer(
    const msg::ReadGraphRequestT& request, RunSource* source) {
  auto run = FindRunName(request.run, *source);
  if (!run.ok()) return run.status();
  const auto item = source->Brief(*run);
  if (!item.ok()) return item.status();
  return std::make_unique<GraphAnswer>(*std::move(run), (*item)->run(), request, source);
}

}  // namespace datamanager
