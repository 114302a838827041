#include "bus/json/run_json.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "bus/json/trial_and_job_json.h"

namespace bus {
namespace {

using nlohmann::json;

json FaultToJson(const msg::FaultT& fault) {
  return {{"kind", WordsOf(msg::EnumNameFaultKind(fault.kind), '_')},
          {"count", fault.count},
          {"bytes", fault.bytes},
          {"first_offset", fault.first_offset},
          {"last_offset", fault.last_offset},
          {"text", fault.text}};
}

}  // namespace

bool IsCounted(const msg::RunT& run) { return run.counted || run.tags > 0; }

bool IsSystemMetric(std::string_view tag) { return tag.starts_with("sys/"); }

bool IsScalar(const msg::TagT& tag) {
  return tag.data_class == msg::DataClass::Scalar ||
         (tag.data_class == msg::DataClass::Unknown &&
          (tag.plugin.empty() || tag.plugin == "scalars"));
}

std::string WordsOf(const char* enumerator, char between) {
  std::string words;
  for (const char* letter = enumerator; *letter != '\0'; ++letter) {
    const bool is_upper = *letter >= 'A' && *letter <= 'Z';
    if (is_upper && !words.empty()) words += between;
    words += is_upper ? static_cast<char>(*letter - 'A' + 'a') : *letter;
  }
  return words.empty() ? "unknown" : words;  // A value of a newer data manager.
}

std::string FormatName(msg::FileFormat format) {
  static constexpr const char* kNames[] = {"tensorboard",       "profile marker",
                                           "mindspore",         "mindspore lineage",
                                           "mindspore explain", "mindspore graph"};
  const auto number = static_cast<std::size_t>(format);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

json RunToJson(const msg::RunT& run) {
  json row = {{"run", run.name},
              {"directory", run.directory},
              {"created", TimeToJson(run.create_us)},
              {"updated", TimeToJson(run.update_us)},
              {"files", run.files},
              {"bytes", run.bytes},
              {"read_bytes", run.read_bytes},
              {"bad_records", run.bad_records},
              {"intact", run.intact},
              {"generation", run.generation},
              {"state", WordsOf(msg::EnumNameCacheState(run.cache), '_')},
              {"labels", run.labels},
              {"note", TextOrNull(run.note)},
              {"display_name", TextOrNull(run.display_name)},
              {"tags", nullptr},
              {"points", nullptr},
              {"last_step", nullptr}};
  if (IsCounted(run)) {
    row["tags"] = run.tags;
    row["points"] = run.points;
    if (run.points > 0) row["last_step"] = run.last_step;
  }
  for (const auto& [key, text] : {std::pair("trial", &run.trial),
                                  {"why_failed", &run.why_failed},
                                  {"profiler_directory", &run.profiler_directory}}) {
    if (!text->empty()) row[key] = *text;
  }
  return row;
}

json TagToJson(const std::string& run, const msg::TagT& tag) {
  json row = {{"kind", "run"},
              {"run", run},
              {"tag", tag.name},
              {"plugin", tag.plugin},
              {"points", tag.points},
              {"first_step", tag.first_step},
              {"last_step", tag.last_step}};
  if (IsScalar(tag)) {
    row["min"] = NumberToJson(tag.min);
    row["max"] = NumberToJson(tag.max);
    row["last"] = NumberToJson(tag.last);
  }
  return row;
}

json FaultsToJson(std::span<const std::unique_ptr<msg::FaultT>> faults) {
  json rows = json::array();
  for (const auto& fault : faults) rows.push_back(FaultToJson(*fault));
  return rows;
}

json FileToJson(const std::string& run, const msg::RunFileT& file) {
  return {{"run", run},
          {"file", file.name},
          {"format", FormatName(file.format)},
          {"bytes", file.bytes},
          {"read_bytes", file.read_bytes},
          {"records", file.records},
          {"points", file.points},
          {"created", TimeToJson(file.create_us)},
          {"updated", TimeToJson(file.update_us)},
          {"version", file.version},
          {"writer", file.writer},
          {"tail_bytes", file.tail_bytes},
          {"faults", FaultsToJson(file.faults)}};
}

}  // namespace bus
