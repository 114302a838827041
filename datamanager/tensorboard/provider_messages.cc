#include "datamanager/tensorboard/provider_messages.h"

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "protozero/pbf_reader.hpp"
#include "protozero/pbf_writer.hpp"
#include "protozero/types.hpp"
#include "runtime/text/string_view.h"

namespace datamanager::tensorboard {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;
using protozero::tag_and_type;

// Tag of field `number` that contains text, bytes or a message, and of one that contains a number.
constexpr std::uint32_t Text(std::uint32_t number) {
  return tag_and_type(number, pbf_wire_type::length_delimited);
}
constexpr std::uint32_t Number(std::uint32_t number) {
  return tag_and_type(number, pbf_wire_type::varint);
}

pbf_reader Open(std::string_view bytes) { return pbf_reader(bytes.data(), bytes.size()); }

// Converts an exception of protozero to InvalidArgument: the bytes are not such a message.
template <typename Read>
absl::Status Guarded(std::string_view thing, Read read) {
  try {
    read();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("this is no ", runtime::Absl(thing), ": ", error.what()));
  }
}

void ReadNames(pbf_reader reader, NameFilter* filter) {
  filter->all = false;
  while (reader.next()) {
    if (reader.tag_and_type() == Text(1)) {
      filter->names.insert(reader.get_string());
    } else {
      reader.skip();
    }
  }
}

void ReadFilters(pbf_reader reader, SeriesRequest* request) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Text(1):
        ReadNames(reader.get_message(), &request->runs);
        break;
      case Text(2):
        ReadNames(reader.get_message(), &request->tags);
        break;
      default:
        reader.skip();
    }
  }
}

// Reads the text in field 1 of a message.
std::string ReadName(pbf_reader reader) {
  std::string name;
  while (reader.next()) {
    if (reader.tag_and_type() == Text(1)) {
      name = reader.get_string();
    } else {
      reader.skip();
    }
  }
  return name;
}

std::int64_t ReadNumPoints(pbf_reader reader) {
  std::int64_t number = 0;
  while (reader.next()) {
    if (reader.tag_and_type() == Number(1)) {
      number = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  return number;
}

void ReadSeriesRequest(pbf_reader reader, SeriesRequest* request) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Text(2):
        request->plugin = ReadName(reader.get_message());
        break;
      case Text(3):
        ReadFilters(reader.get_message(), request);
        break;
      case Text(4):
        request->num_points = ReadNumPoints(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
}

void ReadBlobKey(pbf_reader reader, BlobKey* key) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Text(1):
        key->run = reader.get_string();
        break;
      case Text(2):
        key->tag = reader.get_string();
        break;
      case Text(3):
        key->file = reader.get_string();
        break;
      case Number(4):
        key->offset = reader.get_uint64();
        break;
      case Number(5):
        key->length = reader.get_uint64();
        break;
      case Number(6):
        key->crc = reader.get_uint32();
        break;
      case Number(7):
        key->index = reader.get_uint64();
        break;
      default:
        reader.skip();
    }
  }
}

void AddText(pbf_writer& message, std::uint32_t field, std::string_view text) {
  if (!text.empty()) message.add_bytes(field, text.data(), text.size());
}

// google.protobuf.Value
std::string ValueMessage(const ConfigFacts& value) {
  std::string bytes;
  pbf_writer message(bytes);
  if (value.number.has_value()) {
    message.add_double(2, *value.number);
  } else if (!value.is_text && (value.text == "true" || value.text == "false")) {
    message.add_bool(4, value.text == "true");
  } else {
    message.add_string(3, value.text.data(), value.text.size());
  }
  return bytes;
}

}  // namespace

absl::StatusOr<SeriesRequest> ParseSeriesRequest(std::string_view bytes) {
  SeriesRequest request;
  const absl::Status read =
      Guarded("request of series", [&] { ReadSeriesRequest(Open(bytes), &request); });
  if (!read.ok()) return read;
  return request;
}

absl::StatusOr<std::string> ParseBlobKeyRequest(std::string_view bytes) {
  std::string key;
  const absl::Status read = Guarded("request of a blob", [&] { key = ReadName(Open(bytes)); });
  if (!read.ok()) return read;
  return key;
}

absl::Status CheckSeriesRequest(const SeriesRequest& request, bool reads) {
  if (request.plugin.empty()) {
    return absl::InvalidArgumentError("plugin_filter must name a plugin");
  }
  if (!reads) return absl::OkStatus();
  if (!request.num_points.has_value()) {
    return absl::InvalidArgumentError("downsample must be given");
  }
  if (*request.num_points < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_points of downsample is ", *request.num_points, ": it must not be negative"));
  }
  return absl::OkStatus();
}

std::string EncodeBlobKey(const BlobKey& key) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_string(1, key.run);
  message.add_bytes(2, key.tag);
  message.add_bytes(3, key.file);
  message.add_uint64(4, key.offset);
  message.add_uint64(5, key.length);
  message.add_uint32(6, key.crc);
  message.add_uint64(7, key.index);
  return absl::WebSafeBase64Escape(bytes);
}

absl::StatusOr<BlobKey> DecodeBlobKey(std::string_view text) {
  std::string bytes;
  BlobKey key;
  if (!absl::WebSafeBase64Unescape(runtime::Absl(text), &bytes)) {
    return absl::InvalidArgumentError("this is no blob key");
  }
  const absl::Status read = Guarded("blob key", [&] { ReadBlobKey(Open(bytes), &key); });
  if (!read.ok()) return read;
  if (key.run.empty() || key.file.empty()) return absl::InvalidArgumentError("this is no blob key");
  return key;
}

std::string ExperimentMessage(std::string_view data_location) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_string(1, data_location.data(), data_location.size());
  return bytes;
}

std::string PluginsMessage(const std::set<std::string>& names) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const std::string& name : names) {
    pbf_writer plugin(message, 1);
    plugin.add_string(1, name);
  }
  return bytes;
}

std::string RunsMessage(std::span<const RunEntry> runs) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const RunEntry& row : runs) {
    pbf_writer run(message, 1);
    run.add_string(2, row.name);
    run.add_double(3, row.start_time);
  }
  return bytes;
}

std::string BlobMessage(std::string_view data) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_bytes(1, data.data(), data.size());
  return bytes;
}

std::string BlobSequence(std::span<const std::string> keys) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const std::string& key : keys) {
    pbf_writer reference(message, 1);
    reference.add_string(1, key);
  }
  return bytes;
}

void SeriesMessage::BeginRun(std::string_view name) {
  EndRun();
  pbf_writer(run_).add_string(1, name.data(), name.size());
}

void SeriesMessage::AddInfo(std::string_view tag, const SeriesInfo& info) {
  std::string entry;
  pbf_writer message(entry);
  message.add_int64(1, info.max_step);
  message.add_double(2, info.max_wall_time);
  if (info.max_length.has_value()) message.add_int64(3, *info.max_length);
  {
    pbf_writer metadata(message, info.max_length.has_value() ? 4 : 3);
    {
      pbf_writer plugin(metadata, 1);
      AddText(plugin, 1, info.plugin);
      AddText(plugin, 2, info.content);
    }
    AddText(metadata, 2, info.display_name);
    AddText(metadata, 3, info.description);
    metadata.add_enum(4, static_cast<std::int32_t>(info.data_class));
  }
  AddTag(tag, entry);
}

std::string PointsMessage(std::span<const Point> points) {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  std::vector<float> values;
  for (const Point& point : points) {
    steps.push_back(point.step);
    wall_times.push_back(point.wall_time);
    values.push_back(static_cast<float>(point.value));
  }
  std::string entry;
  pbf_writer message(entry);
  message.add_packed_int64(1, steps.begin(), steps.end());
  message.add_packed_double(2, wall_times.begin(), wall_times.end());
  message.add_packed_float(3, values.begin(), values.end());
  return entry;
}

void SeriesMessage::AddValues(std::string_view tag, const SeriesValues& values) {
  std::string entry;
  pbf_writer message(entry);
  message.add_packed_int64(1, values.steps.begin(), values.steps.end());
  message.add_packed_double(2, values.wall_times.begin(), values.wall_times.end());
  for (const std::string& value : values.values) message.add_message(3, value);
  AddTag(tag, entry);
}

void SeriesMessage::AddTag(std::string_view tag, const std::string& entry) {
  pbf_writer run(run_);
  pbf_writer message(run, 2);
  message.add_string(1, tag.data(), tag.size());
  message.add_message(2, entry);
  has_tags_ = true;
}

void SeriesMessage::EndRun() {
  if (has_tags_) pbf_writer(message_).add_message(1, run_);
  run_.clear();
  has_tags_ = false;
}

std::string SeriesMessage::Take() && {
  EndRun();
  return std::move(message_);
}

std::string EmptyTensor() {
  constexpr std::int32_t kFloat = 1;
  const std::int64_t shape[] = {0};
  return TensorMessage(kFloat, shape, {});
}

std::string TensorMessage(std::int32_t type, std::span<const std::int64_t> shape,
                          std::string_view content) {
  std::string sizes;
  pbf_writer dimensions(sizes);
  for (const std::int64_t size : shape) {
    std::string dimension;
    pbf_writer(dimension).add_int64(1, size);
    dimensions.add_message(2, dimension);
  }
  std::string bytes;
  pbf_writer message(bytes);
  message.add_enum(1, type);
  message.add_message(2, sizes);
  AddText(message, 4, content);
  return bytes;
}

std::string SessionStartContent(std::span<const ConfigFacts> hparams, std::string_view group,
                                double start_time) {
  std::string bytes;
  std::string session_bytes;
  pbf_writer session(session_bytes);
  for (const ConfigFacts& value : hparams) {
    pbf_writer entry(session, 1);
    entry.add_string(1, value.name.data(), value.name.size());
    entry.add_message(2, ValueMessage(value));
  }
  AddText(session, 4, group);
  session.add_double(5, start_time);
  pbf_writer(bytes).add_message(3, session_bytes);
  return bytes;
}

std::string SessionEndContent(eventlog::HParamsContent::Status status, double end_time) {
  std::string bytes;
  pbf_writer plugin(bytes);
  pbf_writer session(plugin, 4);
  session.add_enum(1, static_cast<std::int32_t>(status));
  session.add_double(2, end_time);
  return bytes;
}

}  // namespace datamanager::tensorboard
