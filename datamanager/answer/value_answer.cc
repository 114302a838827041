#include "datamanager/answer/value_answer.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/answer/run_answer_maker.h"
#include "datamanager/answer/scalar_messages.h"
#include "datamanager/answer/series_selection.h"
#include "datamanager/answer/value_messages.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/read/file_bytes.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/value_series.h"
#include "eventlog/event.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

struct Question {
  Overlap overlap = Overlap::kRaw;
  bool cached_only = false;
  bool whole = false;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::size_t last = 0;  // 0: all.
  std::size_t first_value = 0;
  std::size_t limit = 0;  // 0: all.
  ValueOptions options;
};

// All that is needed to read a series' values without holding its run's lock.
struct Values {
  std::string run;
  std::string directory;
  std::string tag;
  std::string plugin;
  eventlog::DataClass data_class = eventlog::DataClass::kUnknown;
  std::string content;
  std::uint64_t generation = 0;
  bool incomplete = false;
  std::uint64_t total = 0;  // Number of selected values, including those not requested.
  std::vector<std::string> files;
  std::vector<ValuePlace> places;  // Places of the requested values.
  std::size_t next = 0;
};

class ValueAnswer : public RunAnswerMaker<msg::ReadValuesReplyT> {
 public:
  ValueAnswer(Question question, SeriesSelection selection, RunSource* source)
      : RunAnswerMaker(source), question_(std::move(question)), selection_(std::move(selection)) {}

  absl::StatusOr<Part> Next() override {
    if (!found_) {
      if (absl::Status found = selection_.Find(); !found.ok()) {
        WaitFor(selection_.waiting());
        return found;
      }
      found_ = true;
    }
    while (!values_.has_value() && next_ < selection_.series().size()) {
      if (absl::Status taken = TakeSeries(); !taken.ok()) return taken;
    }
    Part part;
    if (values_.has_value()) {
      if (absl::Status filled = Fill(&part.reply); !filled.ok()) return filled;
      if (!part.reply.more) {
        values_.reset();
        ++next_;
      }
    }
    part.last = next_ == selection_.series().size();
    return part;
  }

 private:
  absl::Status TakeSeries() {
    const SeriesSelection::Series& series = selection_.series()[next_];
    Values values;
    values.tag = series.tag;
    const absl::Status read =
        Read({.run = selection_.runs()[series.run],
              .need = RunSource::Need::kPoints,
              .cached_only = question_.cached_only,
              .whole = question_.whole},
             [&](const RunSource::View& view) { return Select(view, &values); });
    if (read.ok()) {
      values_ = std::move(values);
    } else if (absl::IsNotFound(read)) {
      // The run was removed since it was selected.
      ++next_;
    } else {
      return read;
    }
    return absl::OkStatus();
  }

  absl::Status Select(const RunSource::View& view, Values* values) const {
    RunData& data = view.data;
    const auto id = data.FindTag(values->tag);
    if (!id.has_value() || data.tag(*id).values == nullptr) {
      return absl::NotFoundError("the tag has gone");
    }
    const RunData::Tag& tag = data.tag(*id);
    values->run = view.listed.name;
    values->directory = view.listed.directory;
    values->plugin = std::string(tag.plugin());
    values->data_class = tag.kind->data_class;
    values->content = tag.kind->content;
    values->generation = data.generation();
    values->incomplete = view.incomplete || selection_.FoundInPart(selection_.series()[next_].run);
    for (const RunFileData& file : data.files()) values->files.push_back(file.listed.name);
    std::vector<ValuePlace> all = tag.values->places.Select(
        data.ValueMarks(*id), question_.overlap, question_.first_step, question_.last_step);
    values->total = all.size();
    if (question_.last > 0 && question_.last < all.size()) {
      all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(question_.last));
    }
    const std::size_t first = std::min(question_.first_value, all.size());
    const std::size_t left = all.size() - first;
    const std::size_t count = question_.limit == 0 ? left : std::min(left, question_.limit);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    values->places.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    return absl::OkStatus();
  }

  absl::Status Fill(msg::ReadValuesReplyT* reply) {
    Values& values = *values_;
    reply->run = values.run;
    reply->tag = values.tag;
    reply->plugin = values.plugin;
    reply->generation = values.generation;
    reply->incomplete = values.incomplete;
    reply->total = values.total;
    reply->first_value = question_.first_value + values.next;
    if (values.next == 0) reply->content.assign(values.content.begin(), values.content.end());
    std::size_t bytes = values.content.size();
    std::size_t count = 0;
    while (values.next < values.places.size() && bytes < kPartBytes && count < kPartValues &&
           reply->blobs.size() < kPartValues) {
      const auto added = Add(values.places[values.next], reply);
      // For example, no free descriptor: the same call may succeed later.
      if (absl::IsUnavailable(added.status())) return added.status();
      if (added.ok()) {
        bytes += *added;
      } else if (++reply->refused == 1) {
        reply->why_refused =
            absl::StrCat("step ", values.places[values.next].step, ": ", added.status().message());
      }
      ++values.next;
      ++count;
    }
    reply->more = values.next < values.places.size();
    return absl::OkStatus();
  }

  absl::StatusOr<std::size_t> Add(const ValuePlace& place, msg::ReadValuesReplyT* reply) const {
    const std::string& file = values_->files[place.file];
    StoredValue value;
    value.plugin = values_->plugin;
    value.data_class = values_->data_class;
    value.kind = ValueKindOf(place.form).value_or(eventlog::ValueKind::kNone);
    value.step = place.step;
    value.wall_time = place.wall_time;
    value.file = file;
    value.offset = place.offset;
    value.length = place.length;
    value.crc = place.crc;
    if (!NeedsBytes(value, question_.options)) {
      return AppendValue(value, question_.options, reply);
    }
    if (place.length > kMaxDecodedBytes && question_.options.references) {
      return AppendReference(value, reply);
    }
    if (place.length > kMaxDecodedBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a value of ", place.length, " bytes; over ", kMaxDecodedBytes,
                       " they can be read as they are, by reference"));
    }
    const auto bytes = ReadFileRange(
        absl::StrCat(values_->directory, "/", file),
        {.offset = place.offset, .length = place.length, .crc = place.crc}, source().open_files());
    if (!bytes.ok()) return bytes.status();
    value.bytes = *bytes;
    return AppendValue(value, question_.options, reply);
  }

  const Question question_;
  SeriesSelection selection_;
  bool found_ = false;
  std::size_t next_ = 0;          // Index of the next selected series.
  std::optional<Values> values_;  // Values of that series.
};

class BlobAnswer : public AnswerMaker<msg::ReadBlobReplyT> {
 public:
  BlobAnswer(FileRangeReader reader, std::uint64_t length)
      : reader_(std::move(reader)), length_(length) {}

  bool OnReady(std::function<void()>) override { return false; }

  absl::StatusOr<Part> Next() override {
    Part part;
    part.reply.offset = reader_.offset();
    part.last = reader_.offset() == length_;
    if (part.last) return part;
    const auto bytes = reader_.Next(kPartBytes);
    if (!bytes.ok()) return bytes.status();
    part.reply.data.assign(bytes->begin(), bytes->end());
    return part;
  }

 private:
  FileRangeReader reader_;
  const std::uint64_t length_;
};

// Returns the path of a file; accepts only files of the run.
absl::StatusOr<std::string> PathOf(const std::string& run, const std::string& file,
                                   RunSource& source) {
  const auto item = source.Brief(run);
  if (!item.ok()) return item.status();
  const ListedRunPtr listed = (*item)->run();
  for (const ListedFile& one : listed->files) {
    if (runtime::LossyUtf8(one.name) == file) return absl::StrCat(listed->directory, "/", one.name);
  }
  return absl::NotFoundError(absl::StrCat("run ", run, " has no file \"", file, "\""));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadValuesReplyT>>> MakeValueAnswer(
    const msg::ReadValuesRequestT& request, RunSource* source) {
  Question question;
  const msg::SelectionT everything;
  const msg::SelectionT& selection = request.selection ? *request.selection : everything;
  const auto overlap = OverlapOf(selection.overlap);
  if (!overlap.has_value()) return absl::InvalidArgumentError("an unknown overlap policy");
  question.overlap = *overlap;
  question.cached_only = selection.cached_only;
  question.whole = selection.whole;
  question.first_step = selection.first_step;
  question.last_step = selection.last_step;
  question.last = request.last;
  question.first_value = request.first_value;
  question.limit = request.limit;
  question.options = {.slice = request.slice,
                      .max_values = request.max_values,
                      .references = request.references,
                      .statistics_only = request.statistics_only,
                      .python_histograms = request.python_histograms};
  auto series = SeriesSelection::Make(&selection, SeriesSelection::Kind::kValues, source);
  if (!series.ok()) return series.status();
  return std::make_unique<ValueAnswer>(std::move(question), *std::move(series), source);
}

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadBlobReplyT>>> MakeBlobAnswer(
    const msg::ReadBlobRequestT& request, RunSource* source) {
  if (request.blob == nullptr || request.blob->file.empty()) {
    return absl::InvalidArgumentError("no file is named");
  }
  const auto run = FindRunName(request.run, *source);
  if (!run.ok()) return run.status();
  auto path = PathOf(*run, request.blob->file, *source);
  if (!path.ok()) return path.status();
  auto reader = FileRangeReader::Open(
      *std::move(path),
      {.offset = request.blob->offset, .length = request.blob->length, .crc = request.blob->crc},
      source->open_files());
  if (!reader.ok()) return reader.status();
  return std::make_unique<BlobAnswer>(*std::move(reader), request.blob->length);
}

}  // namespace datamanager
