// A two-layer network on the handwritten digits, reporting to the yard.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/digits/dataset.h"
#include "examples/digits/network.h"
#include "sdk/cc/yard.h"

namespace {

struct Arguments {
  int epochs = 30;
  std::uint64_t seed = 1;
  float learning_rate = 0.05f;
  int min_epoch_ms = 0;
  std::string data;
};

void Declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--epochs", arguments.epochs, "Passes over the training part")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", arguments.seed,
                 "Seed of the weights and the order; default $YARD_SEED or 1")
      ->envname("YARD_SEED");
  app.add_option("--learning_rate", arguments.learning_rate)->capture_default_str();
  app.add_option("--min_epoch_ms", arguments.min_epoch_ms, "Slow down to this")
      ->check(CLI::Range(0, 3600000))
      ->capture_default_str();
  app.add_option("--data", arguments.data, "digits.csv; default: the one built in or beside");
}

absl::StatusOr<digits::Dataset> Load(const std::string& argument) {
  std::filesystem::path path = argument.empty() ? digits::FindData() : argument;
  if (path.empty()) return absl::NotFoundError("there is no digits.csv: name one with --data");
  // Under `bazel run` a path is meant from where that was typed.
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller != nullptr) path = caller / path;
  std::ifstream csv(path);
  if (!csv) return absl::NotFoundError(absl::StrCat("cannot open ", path.string()));
  absl::StatusOr<digits::Dataset> dataset = digits::ReadDataset(csv);
  if (dataset.ok()) return dataset;
  return absl::Status(dataset.status().code(), absl::StrCat("cannot read ", path.string(), ": ",
                                                            dataset.status().message()));
}

// Trains, reports, and returns the exit status of the program.
int Train(const Arguments& arguments, const digits::Dataset& dataset) {
  digits::Network network({.seed = arguments.seed, .learning_rate = arguments.learning_rate});
  yard::Reporter reporter;
  double accuracy = 0;
  for (int epoch = 1; epoch <= arguments.epochs; ++epoch) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(arguments.min_epoch_ms);
    const double loss = network.TrainEpoch(dataset.train);
    accuracy = network.Accuracy(dataset.test);
    std::this_thread::sleep_until(end);
    const yard::Reply reply = reporter.Report({{"loss", loss}, {"accuracy", accuracy}},
                                              {.step = epoch, .done = epoch == arguments.epochs});
    if (reply.state == yard::Reply::State::kError) {
      std::fprintf(stderr, "digits: epoch %d: %s\n", epoch, reply.message.c_str());
      return 1;
    }
    if (reply.state == yard::Reply::State::kStop) {
      std::printf("told to stop: %s\n", reply.message.c_str());
      break;
    }
  }
  std::printf("accuracy %.4f\n", accuracy);
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Trains a two-layer network on the handwritten digits and reports to the yard.");
  Arguments arguments;
  Declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<digits::Dataset> dataset = Load(arguments.data);
  if (!dataset.ok()) {
    std::fprintf(stderr, "digits: %s\n", std::string(dataset.status().message()).c_str());
    return 1;
  }
  return Train(arguments, *dataset);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
