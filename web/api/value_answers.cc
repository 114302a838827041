#include "web/api/value_answers.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/schema/datamanager_methods.h"
#include "runtime/text/string_view.h"

namespace web {
namespace {

using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr std::uint32_t kMostTensorValues = 100'000;
constexpr std::uint32_t kMostValues = 5'000;

// Reads unsigned numbers of the query; records the first error.
class Numbers {
 public:
  explicit Numbers(const Target& target) : target_(target) {}

  template <typename T>
  T Read(std::string_view name, T standard, T most) {
    const auto text = target_.Find(name);
    if (!text || text->empty()) return standard;
    std::uint64_t number = 0;
    if (absl::SimpleAtoi(runtime::Absl(*text), &number) && number <= most) {
      return static_cast<T>(number);
    }
    if (error_.ok()) {
      error_ = absl::InvalidArgumentError(
          absl::StrCat("\"", runtime::Absl(name), "\" is no number from 0 to ", most));
    }
    return standard;
  }
  const absl::Status& error() const { return error_; }

 private:
  const Target& target_;
  absl::Status error_;
};

std::string TextOf(const Target& target, std::string_view name) {
  return std::string(target.Find(name).value_or(""));
}

json NumbersToJson(const std::vector<double>& numbers) {
  json list = json::array();
  for (const double number : numbers) list.push_back(bus::NumberToJson(number));
  return list;
}

template <typename T>
T Take(const std::vector<std::uint8_t>& data, std::size_t place) {
  T value;
  std::memcpy(&value, data.data() + place * sizeof value, sizeof value);
  return value;
}

template <typename T>
json IntegersToJson(const std::vector<std::uint8_t>& data) {
  json list = json::array();
  for (std::size_t i = 0; i < data.size() / sizeof(T); ++i) list.push_back(Take<T>(data, i));
  return list;
}

// Returns pairs of real and imaginary part.
template <typename T>
json ComplexToJson(const std::vector<std::uint8_t>& data) {
  json list = json::array();
  for (std::size_t i = 0; i + 1 < data.size() / sizeof(T); i += 2) {
    list.push_back({bus::NumberToJson(Take<T>(data, i)), bus::NumberToJson(Take<T>(data, i + 1))});
  }
  return list;
}

// Converts elements of the types that arrive as bytes. `dtype` is TensorFlow's number of the type.
json ElementsToJson(std::int32_t dtype, const std::vector<std::uint8_t>& data) {
  constexpr std::int32_t kComplex64 = 8, kInt64 = 9, kComplex128 = 18, kUint64 = 23;
  switch (dtype) {
    case kInt64:
      return IntegersToJson<std::int64_t>(data);
    case kUint64:
      return IntegersToJson<std::uint64_t>(data);
    case kComplex64:
      return ComplexToJson<float>(data);
    case kComplex128:
      return ComplexToJson<double>(data);
    default:
      return json::array();
  }
}

json ToJson(const msg::TensorT& tensor) {
  json text = {{"kind", "tensor"},         {"step", tensor.step},
               {"time", tensor.wall_time}, {"dtype", tensor.dtype},
               {"shape", tensor.shape},    {"total", tensor.total},
               {"cut", tensor.cut},        {"not_finite", tensor.not_finite}};
  if (!tensor.strings.empty()) {
    text["strings"] = tensor.strings;
    return text;
  }
  text["min"] = bus::NumberToJson(tensor.min);
  text["max"] = bus::NumberToJson(tensor.max);
  text["mean"] = bus::NumberToJson(tensor.mean);
  text["numbers"] = tensor.data.empty() ? NumbersToJson(tensor.numbers)
                                        : ElementsToJson(tensor.dtype, tensor.data);
  return text;
}

json ToJson(const msg::HistogramValueT& histogram) {
  return {{"kind", "histogram"},
          {"step", histogram.step},
          {"time", histogram.wall_time},
          {"lefts", NumbersToJson(histogram.lefts)},
          {"rights", NumbersToJson(histogram.rights)},
          {"counts", NumbersToJson(histogram.counts)},
          {"min", bus::NumberToJson(histogram.min)},
          {"max", bus::NumberToJson(histogram.max)},
          {"sum", bus::NumberToJson(histogram.sum)},
          {"count", bus::NumberToJson(histogram.count)},
          {"not_finite", histogram.nan_count + histogram.pos_inf_count + histogram.neg_inf_count}};
}

json ToJson(const msg::BlobT& blob) {
  return {{"kind", "blob"},         {"step", blob.step},
          {"time", blob.wall_time}, {"file", blob.file},
          {"offset", blob.offset},  {"length", blob.length},
          {"crc", blob.crc},        {"type", blob.content_type},
          {"label", blob.label},    {"width", blob.width},
          {"height", blob.height},  {"rate", bus::NumberToJson(blob.sample_rate)},
          {"frames", blob.frames}};
}

json ToJson(const msg::LandscapeT& landscape) {
  const auto numbers = [](const std::unique_ptr<msg::TensorT>& tensor) {
    return tensor ? NumbersToJson(tensor->numbers) : json::array();
  };
  json path = json::array();
  for (const auto& axis : landscape.path) path.push_back(numbers(axis));
  return {{"kind", "landscape"},
          {"step", landscape.step},
          {"time", landscape.wall_time},
          {"shape", landscape.z ? json(landscape.z->shape) : json::array()},
          {"x", numbers(landscape.x)},
          {"y", numbers(landscape.y)},
          {"z", numbers(landscape.z)},
          {"path", std::move(path)},
          {"intervals", landscape.intervals},
          {"unit", landscape.unit},
          {"convergence", numbers(landscape.convergence)}};
}

// Returns the approximate size of a value's JSON text, in bytes.
std::size_t SizeOf(const json& value) {
  constexpr std::size_t kOfOne = 200, kOfNumber = 12;
  std::size_t size = kOfOne;
  for (const json& part : value) {
    if (!part.is_array()) continue;
    for (const json& element : part) {
      size += element.is_string() ? element.get_ref<const std::string&>().size() : kOfNumber;
    }
  }
  return size;
}

// Collects parts until the answer has reached its size limit.
class Values {
 public:
  // Returns false if the answer is full.
  bool Add(const msg::ReadValuesReplyT& part) {
    // Parts may still arrive after the answer is full, even the last one.
    if (is_full_) return false;
    if (part.tag.empty()) return true;  // The final part of an empty answer.
    answer_["run"] = part.run;
    answer_["tag"] = part.tag;
    answer_["plugin"] = part.plugin;
    answer_["total"] = part.total;
    if (!answer_.contains("first")) answer_["first"] = part.first_value;
    answer_["incomplete"] = part.incomplete;
    if (part.refused > 0) {
      answer_["refused"] = answer_.value("refused", std::uint64_t{0}) + part.refused;
      if (!answer_.contains("why_refused")) answer_["why_refused"] = part.why_refused;
    }
    AddAll(part.blobs);
    AddAll(part.tensors);
    AddAll(part.histograms);
    AddAll(part.landscapes);
    answer_["more"] = part.more;
    is_full_ = size_ >= kMostValueBytes && part.more;
    return !is_full_;
  }
  json Finish() {
    answer_["values"] = std::move(values_);
    return std::move(answer_);
  }
  bool IsEmpty() const { return answer_.empty(); }

 private:
  template <typename T>
  void AddAll(const std::vector<T>& list) {
    for (const auto& one : list) {
      json value = ToJson(*one);
      size_ += SizeOf(value);
      values_.push_back(std::move(value));
    }
  }

  json answer_ = json::object();
  json values_ = json::array();
  std::size_t size_ = 0;
  bool is_full_ = false;
};

json ToJson(const msg::GraphNodeT& node) {
  json attributes = json::object();
  for (const auto& one : node.attributes) attributes[one->key] = one->value;
  return {{"name", node.name},     {"op", node.op},
          {"device", node.device}, {"scope", node.scope},
          {"inputs", node.inputs}, {"outputs", node.outputs},
          {"nodes", node.nodes},   {"attributes", std::move(attributes)}};
}

// Parses the JSON text of a file; an empty text gives null.
json ObjectOf(const std::string& text) {
  if (text.empty()) return nullptr;
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_discarded() ? json(text) : object;
}

}  // namespace

std::string_view TypeOfBytes(std::string_view bytes) {
  struct Magic {
    std::string_view begin, at8, type;
  };
  using std::string_view_literals::operator""sv;
  constexpr Magic kKnown[] = {
      {"\x89PNG\r\n\x1a\n"sv, "", "image/png"},
      {"\xff\xd8\xff"sv, "", "image/jpeg"},
      {"GIF8"sv, "", "image/gif"},
      {"BM"sv, "", "image/bmp"},
      {"RIFF"sv, "WEBP", "image/webp"},
      {"RIFF"sv, "WAVE", "audio/wav"},
      {"OggS"sv, "", "audio/ogg"},
      {"fLaC"sv, "", "audio/flac"},
      {"ID3"sv, "", "audio/mpeg"},
      {"\xff\xfb"sv, "", "audio/mpeg"},
  };
  for (const Magic& one : kKnown) {
    if (!bytes.starts_with(one.begin)) continue;
    constexpr std::size_t kSecond = 8;
    if (one.at8.empty() || (bytes.size() > kSecond && bytes.substr(kSecond).starts_with(one.at8))) {
      return one.type;
    }
  }
  return "application/octet-stream";
}

absl::StatusOr<json> ValuesAnswer(bus::Client& client, const std::string& run,
                                  const Target& target) {
  const std::string tag = TextOf(target, "tag");
  if (tag.empty()) return absl::InvalidArgumentError("no tag is named: ?tag=TAG");
  Numbers numbers(target);
  msg::ReadValuesRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = {run};
  request.selection->tags = {tag};
  request.slice = TextOf(target, "slice");
  request.references = target.Find("references") == "1";
  request.selection->whole = target.Find("whole") == "1";
  request.max_values = numbers.Read("max_values", kMostTensorValues, kMostTensorValues);
  request.last = numbers.Read("last", std::uint32_t{0}, kMostValues);
  request.first_value = numbers.Read("first", std::uint64_t{0}, std::uint64_t{1} << 40);
  request.limit = numbers.Read("limit", kMostValues, kMostValues);
  if (!numbers.error().ok()) return numbers.error();
  Values values;
  const auto take = [&](const msg::ReadValuesReplyT& part) { return values.Add(part); };
  const auto end =
      client.Stream<rpc::Datamanager::ReadValues>(request, take, {.timeout = kPatience});
  // Cancelled by Values::Add(), because the answer is full.
  if (!end.ok() && !(absl::IsCancelled(end.status()) && !values.IsEmpty())) return end.status();
  if (end.ok()) take(*end);
  if (values.IsEmpty()) {
    return absl::NotFoundError(absl::StrCat("run ", run, " has no values of ", tag));
  }
  return values.Finish();
}

absl::StatusOr<Response> BlobAnswer(bus::Client& client, const std::string& run,
                                    const Target& target) {
  Numbers numbers(target);
  msg::ReadBlobRequestT request;
  request.run = run;
  request.blob = std::make_unique<msg::BlobT>();
  request.blob->file = TextOf(target, "file");
  request.blob->offset = numbers.Read("offset", std::uint64_t{0}, std::uint64_t{1} << 60);
  request.blob->length = numbers.Read("length", std::uint64_t{0}, std::uint64_t{kMostBlobBytes});
  request.blob->crc = numbers.Read("crc", std::uint32_t{0}, std::uint32_t{0xffffffff});
  if (!numbers.error().ok()) return numbers.error();
  std::string body;
  const auto take = [&](const msg::ReadBlobReplyT& part) {
    body.append(part.data.begin(), part.data.end());
    return true;
  };
  const auto end = client.Stream<rpc::Datamanager::ReadBlob>(request, take, {.timeout = kPatience});
  if (!end.ok()) return end.status();
  take(*end);
  const std::string_view type = TypeOfBytes(body);
  return Response{.type = std::string(type),
                  .headers = {{"Content-Disposition", "attachment"}},
                  .body = std::move(body)};
}

absl::StatusOr<json> GraphAnswer(bus::Client& client, const std::string& run,
                                 const Target& target) {
  Numbers numbers(target);
  msg::ReadGraphRequestT request;
  request.run = run;
  request.tag = TextOf(target, "tag");
  request.scope = TextOf(target, "scope");
  request.search = TextOf(target, "search");
  request.after = TextOf(target, "after");
  constexpr std::uint32_t kMostNodes = 1'000;
  request.limit = numbers.Read("limit", std::uint32_t{200}, kMostNodes);
  if (!numbers.error().ok()) return numbers.error();
  const auto page = client.Call<rpc::Datamanager::ReadGraph>(request, {.timeout = kPatience});
  if (!page.ok()) return page.status();
  json nodes = json::array();
  for (const auto& node : page->nodes) nodes.push_back(ToJson(*node));
  return json{{"run", page->run},
              {"tag", page->tag},
              {"nodes", std::move(nodes)},
              {"total", page->total},
              {"next", bus::TextOrNull(page->next)}};
}

absl::StatusOr<json> LineageAnswer(bus::Client& client, const std::string& run) {
  msg::LineageRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = {run};
  const auto reply = client.Call<rpc::Datamanager::Lineage>(request, {.timeout = kPatience});
  if (!reply.ok()) return reply.status();
  json answer = {{"run", run},         {"train", nullptr},        {"evaluation", nullptr},
                 {"dataset", nullptr}, {"user_defined", nullptr}, {"error", nullptr}};
  if (reply->runs.empty()) return answer;
  const msg::RunLineageT& one = *reply->runs.front();
  answer["run"] = one.run;
  answer["train"] = ObjectOf(one.train);
  answer["evaluation"] = ObjectOf(one.evaluation);
  answer["dataset"] = ObjectOf(one.dataset);
  answer["user_defined"] = ObjectOf(one.user_defined);
  answer["error"] = bus::TextOrNull(one.error);
  return answer;
}

}  // namespace web
