#include "tools/yard/trial/provenance_request.h"

#include <cstddef>
#include <memory>
#include <string>

#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/trial/git_state.h"

namespace yard {
namespace {

using ::testing::SizeIs;

constexpr std::size_t kLimit = 1 << 20;

msg::RunTrialRequestT Request(std::size_t config, std::size_t argument) {
  msg::RunTrialRequestT request;
  request.argv = {"prog", std::string(argument, 'a')};
  request.config = std::string(config, ' ');
  request.seed = 7;
  request.options = std::make_unique<msg::TrialOptionsT>();
  return request;
}

Provenance Dirty(std::size_t diff) {
  Provenance provenance;
  provenance.git.found = true;
  provenance.git.dirty = true;
  provenance.git.untracked = {"new"};
  provenance.git.diff = std::string(diff, 'd');
  return provenance;
}

nlohmann::json Said(const msg::RunTrialRequestT& request) {
  return nlohmann::json::parse(request.options->provenance);
}

std::size_t BytesOf(const msg::RunTrialRequestT& request) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(msg::RunTrialRequest::Pack(builder, &request));
  return builder.GetSize();
}

TEST(ProvenanceRequestTest, WhereThereIsRoomEverythingIsSaid) {
  auto request = Request(1000, 1000);
  request.options->function = "train";
  AddProvenance(Dirty(kMaxDiff), "", &request);
  EXPECT_THAT(request.options->provenance_diff, SizeIs(kMaxDiff));
  const auto said = Said(request);
  EXPECT_EQ(said["argv"], request.argv);
  EXPECT_EQ(said["seed"], 7);
  EXPECT_EQ(said["function"], "train");
  EXPECT_EQ(said["git"]["diff_bytes"], kMaxDiff);
  EXPECT_EQ(said["git"]["diff_is_cut"], false);
  EXPECT_EQ(said["git"]["untracked"], nlohmann::json({"new"}));
}

TEST(ProvenanceRequestTest, OfManyTheFirstHasTheDifferences) {
  auto request = Request(0, 0);
  AddProvenance(Dirty(9), "t-abcde", &request);
  EXPECT_EQ(request.options->provenance_diff, "");
  const auto said = Said(request);
  EXPECT_EQ(said["git"]["diff_of"], "t-abcde");
  EXPECT_FALSE(said["git"].contains("untracked"));
}

TEST(ProvenanceRequestTest, TheDifferencesGiveWayToALargeConfiguration) {
  auto request = Request(512 << 10, 100 << 10);
  const std::size_t before = BytesOf(request);
  AddProvenance(Dirty(kMaxDiff), "", &request);
  EXPECT_LT(BytesOf(request), kLimit);
  EXPECT_GT(BytesOf(request), kLimit - (32 << 10)) << "the room is used";
  EXPECT_GT(before, 512u << 10);
  const auto said = Said(request);
  EXPECT_EQ(said["git"]["diff_bytes"], request.options->provenance_diff.size());
  EXPECT_EQ(said["git"]["diff_is_cut"], true);
  EXPECT_TRUE(said.contains("argv"));
}

TEST(ProvenanceRequestTest, SoDoTheArgumentsThatItRepeats) {
  auto request = Request(512 << 10, 200 << 10);
  AddProvenance(Dirty(kMaxDiff), "", &request);
  EXPECT_LT(BytesOf(request), kLimit);
  const auto said = Said(request);
  EXPECT_FALSE(said.contains("argv"));
  EXPECT_EQ(said["argv_words"], 2);
  EXPECT_GT(said["git"]["diff_bytes"], 200u << 10);
}

TEST(ProvenanceRequestTest, WithoutRoomThereAreNoDifferences) {
  auto request = Request(1000 << 10, 20 << 10);
  AddProvenance(Dirty(100), "", &request);
  EXPECT_EQ(request.options->provenance_diff, "");
  EXPECT_EQ(Said(request)["git"]["diff_is_cut"], true);
}

}  // namespace
}  // namespace yard
