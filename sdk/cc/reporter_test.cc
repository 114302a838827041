#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sdk/cc/yard.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = Reply::State;

constexpr char kWelcome[] = R"({"t":"welcome","v":1,"config":{},"checkpoint":null,"iteration":0})";
const std::string kHello = R"({"t":"hello","v":1,"pid":)" + std::to_string(::getpid()) + '}';

// Returns the yard's reaction to one line: the bytes to send back, or "hang up".
using Answer = std::function<std::string(const std::string& line)>;
constexpr char kHangUp[] = "hang up";

// A yard that sends a welcome and answers every report with ok.
std::string Obliging(const std::string& line) {
  if (line.find(R"("t":"hello")") != std::string::npos) return kWelcome + std::string("\n");
  if (line.find(R"("t":"report")") != std::string::npos) return "{\"t\":\"ok\"}\n";
  return "";
}

// The yard's end of one connection, on its own thread. Ends when the reporter's end is closed.
class FakeYard {
 public:
  FakeYard(int fd, Answer answer) : fd_(fd), thread_([this, answer] { Serve(answer); }) {}
  ~FakeYard() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }

  // Waits until `count` lines have arrived.
  std::vector<std::string> Lines(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  void Serve(const Answer& answer) {
    std::string buffer;
    char bytes[65536];
    for (ssize_t got; (got = ::recv(fd_, bytes, sizeof(bytes), 0)) > 0;) {
      buffer.append(bytes, static_cast<std::size_t>(got));
      for (std::size_t end; (end = buffer.find('\n')) != std::string::npos;) {
        const std::string line = buffer.substr(0, end);
        buffer.erase(0, end + 1);
        const std::string reply = answer(line);
        {
          std::lock_guard lock(mutex_);
          lines_.push_back(line);
        }
        changed_.notify_all();
        if (reply == kHangUp) {
          ::shutdown(fd_, SHUT_RDWR);
          return;
        }
        std::string_view rest = reply;
        while (!rest.empty()) {
          const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
          if (sent <= 0) return;
          rest.remove_prefix(static_cast<std::size_t>(sent));
        }
      }
    }
  }

  const int fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;  // Guarded by mutex_.
  std::thread thread_;
};

ino_t Inode(int fd) {
  struct stat status = {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return status.st_ino;
}

std::string Spec(int fd) { return std::to_string(fd) + ":" + std::to_string(Inode(fd)); }

// A reporter with the test's yard at the other end of a socket pair.
class ReporterTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  void TearDown() override {
    yard_.reset();
    ::close(ends_[0]);
    if (out_ != nullptr) std::fclose(out_);
  }

  void Serve(Answer answer) { yard_.emplace(ends_[1], std::move(answer)); }
  // Answers hello with a welcome, and everything else with `answer`.
  void ServeAfterWelcome(std::string answer) {
    Serve([answer](const std::string& line) {
      return line == kHello ? kWelcome + std::string("\n") : answer;
    });
  }

  ReporterOptions Options() {
    ReporterOptions options;
    options.fd = Spec(ends_[0]);
    options.out = Out();
    return options;
  }
  std::FILE* Out() {
    if (out_ == nullptr) out_ = std::tmpfile();
    return out_;
  }
  std::string Printed() {
    std::fflush(Out());
    std::rewind(Out());
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), Out()));
    return text;
  }

  int ends_[2];
  std::optional<FakeYard> yard_;
  std::FILE* out_ = nullptr;
};

// A yard that creates `directory` and begins a checkpoint in it.
Answer Saving(const std::string& directory) {
  return [directory](const std::string& line) -> std::string {
    if (line.find("ckpt_begin") != std::string::npos) {
      ::mkdir(directory.c_str(), 0755);
      return R"({"t":"ckpt_dir","path":")" + directory + "\"}\n";
    }
    if (line.find("ckpt_end") != std::string::npos) {
      return "{\"t\":\"ok\",\"path\":\"/r/checkpoint_000007\",\"events\":[]}\n";
    }
    return Obliging(line);
  };
}

class SaveTest : public ReporterTest {
 protected:
  SaveTest() {
    char name[] = "/tmp/sv-XXXXXX";
    root_ = ::mkdtemp(name);
    temporary_ = root_ + "/checkpoint_tmp012345";
  }
  ~SaveTest() override { std::filesystem::remove_all(root_); }

  std::string root_, temporary_;
};

TEST_F(SaveTest, BeginsAndEnds) {
  Serve(Saving(temporary_));
  Reporter reporter(Options());
  std::string given;
  const Reply reply = reporter.Save(7, [&](const std::string& directory) {
    given = directory;
    std::filesystem::create_directory(directory + "/sub");
    std::ofstream(directory + "/sub/w") << "weights";
    return ::mkfifo((directory + "/pipe").c_str(), 0644) == 0;
  });
  EXPECT_TRUE(reply) << reply.message;
  EXPECT_EQ(reply.path, "/r/checkpoint_000007");
  EXPECT_EQ(given, temporary_);
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  EXPECT_THAT(yard_->Lines(4), ElementsAre(kHello, R"({"t":"ckpt_begin","step":7})",
                                           R"({"t":"ckpt_end","path":")" + temporary_ + "\"}",
                                           R"({"t":"report","m":{"loss":1},"seq":1})"));
}

TEST_F(SaveTest, WhatIsNotWrittenIsNotSaved) {
  Serve(Saving(temporary_));
  Reporter reporter(Options());
  const Reply reply = reporter.Save(std::nullopt, [](const std::string&) { return false; });
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_FALSE(std::filesystem::exists(temporary_));
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  EXPECT_THAT(yard_->Lines(3), ElementsAre(kHello, R"({"t":"ckpt_begin"})", HasSubstr("report")));
}

TEST_F(SaveTest, WhatTheYardRefusesIsTheReply) {
  const struct {
    const char* answer;
    State state;
    const char* message;
  } kCases[] = {
      {R"({"t":"error","code":"RESOURCE_EXHAUSTED","error":"full"})", State::kError, "full"},
      {R"({"t":"stop","reason":"pause","grace_s":3})", State::kStop, "pause"},
      {R"({"t":"ckpt_dir","path":7})", State::kError, "unknown kind"},
      {R"({"t":"ok","path":"/x"})", State::kError, "unknown kind"},
  };
  std::size_t next = 0;
  Serve([&](const std::string& line) -> std::string {
    if (line.find("ckpt_begin") == std::string::npos) return Obliging(line);
    return kCases[next].answer + std::string("\n");
  });
  Reporter reporter(Options());
  for (; next < std::size(kCases); ++next) {
    const Reply reply = reporter.Save(1, [](const std::string&) {
      ADD_FAILURE() << "there is nothing to write into";
      return true;
    });
    EXPECT_EQ(reply.state, kCases[next].state) << next;
    EXPECT_THAT(reply.message, HasSubstr(kCases[next].message));
    EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  }
}

using BarrierTest = ReporterTest;

TEST_F(BarrierTest, SaysWhatItWaitsForAndWhichPlaceItHas) {
  Serve([](const std::string& line) -> std::string {
    if (line.find(R"("barrier")") == std::string::npos) return Obliging(line);
    return "{\"t\":\"ok\",\"index\":2}\n";
  });
  Reporter reporter(Options());
  const Reply reply = reporter.Barrier(
      "epoch \"1\"", {.tasks = {"worker", "ps-0"}, .timeout = std::chrono::milliseconds(1500)});
  EXPECT_TRUE(reply) << reply.message;
  EXPECT_EQ(reply.index, 2);
  EXPECT_TRUE(reporter.Barrier("b"));
  EXPECT_THAT(
      yard_->Lines(3),
      ElementsAre(
          kHello,
          R"({"t":"barrier","name":"epoch \"1\"","tasks":["worker","ps-0"],"timeout_s":1.5})",
          R"({"t":"barrier","name":"b"})"));
}

TEST_F(BarrierTest, ABrokenOneIsAnErrorAndCostsOnlyItself) {
  Serve([](const std::string& line) -> std::string {
    if (line.find(R"("barrier")") == std::string::npos) return Obliging(line);
    return "{\"t\":\"error\",\"code\":\"DEADLINE_EXCEEDED\",\"error\":\"late\"}\n";
  });
  Reporter reporter(Options());
  const Reply reply = reporter.Barrier("a");
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_THAT(reply.message, HasSubstr("late"));
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
}

TEST_F(BarrierTest, WorksInATaskThatIsNoTrialAndWaitsForNobodyWithoutAYard) {
  Serve([](const std::string& line) -> std::string {
    if (line.find(R"("barrier")") != std::string::npos) return "{\"t\":\"ok\",\"index\":1}\n";
    return "{\"t\":\"error\",\"code\":\"FAILED_PRECONDITION\",\"error\":\"no trial\"}\n";
  });
  testing::internal::CaptureStderr();
  Reporter reporter(Options());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no trial"));
  EXPECT_FALSE(reporter.connected());
  EXPECT_EQ(reporter.Barrier("a").index, 1);
  Reporter alone{ReporterOptions{}};
  EXPECT_TRUE(alone.Barrier("a"));
}

using ConfigTest = ReporterTest;

TEST_F(ConfigTest, ValuesAreSentUnderTheirNames) {
  Serve([](const std::string& line) -> std::string {
    if (line.find(R"("t":"config")") == std::string::npos) return Obliging(line);
    return "{\"t\":\"ok\",\"events\":[]}\n";
  });
  Reporter reporter(Options());
  EXPECT_TRUE(reporter.ConfigUpdate({{"lr", 0.5}, {"net", {{"depth", 3}, {"kind", "mlp"}}}}));
  EXPECT_TRUE(reporter.ConfigUpdate(std::vector<Metric>{{"fast", true}}));
  EXPECT_THAT(yard_->Lines(3),
              ElementsAre(kHello, R"({"t":"config","c":{"lr":0.5,"net":{"depth":3,"kind":"mlp"}}})",
                          R"({"t":"config","c":{"fast":true}})"));
}

TEST_F(ConfigTest, OneThatIsRefusedIsAnErrorAndCostsOnlyItself) {
  Serve([](const std::string& line) -> std::string {
    if (line.find(R"("t":"config")") == std::string::npos) return Obliging(line);
    return "{\"t\":\"error\",\"code\":\"INVALID_ARGUMENT\",\"error\":\"too much\"}\n";
  });
  Reporter reporter(Options());
  const Reply reply = reporter.ConfigUpdate({{"lr", 0.5}});
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_THAT(reply.message, HasSubstr("too much"));
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
}

TEST_F(SaveTest, WithoutAYardItIsADirectoryHere) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(root_);
  ReporterOptions options;
  options.out = Out();
  Reporter reporter(options);
  reporter.Report({{"loss", 1}});
  const auto is_there = [](const std::string& directory) {
    return std::filesystem::is_directory(directory);
  };
  EXPECT_THAT(reporter.Save(std::nullopt, is_there).path, HasSubstr("/checkpoint_000001"));
  EXPECT_THAT(reporter.Save(70, is_there).path, HasSubstr("/checkpoint_000070"));
  std::filesystem::current_path(before);
}

TEST_F(ReporterTest, SaysHelloFirst) {
  Serve(Obliging);
  Reporter reporter(Options());
  EXPECT_TRUE(reporter.connected());
  EXPECT_EQ(reporter.error(), "");
  EXPECT_THAT(yard_->Lines(1), ElementsAre(kHello));
}

TEST_F(ReporterTest, KnowsWhatTheWelcomeSaid) {
  Serve([](const std::string&) {
    return R"({"t":"welcome","v":1,"config":{"lr":[0.1,NaN]},"checkpoint":"/c/7","iteration":7})"
           "\n";
  });
  Reporter reporter(Options());
  EXPECT_EQ(reporter.config(), R"({"lr":[0.1,NaN]})");
  EXPECT_EQ(reporter.checkpoint(), "/c/7");
  EXPECT_EQ(reporter.iteration(), 7);
}

TEST_F(ReporterTest, AWelcomeMaySayNothing) {
  Serve([](const std::string&) { return "{\"t\":\"welcome\",\"later\":{\"x\":1}}\n"; });
  Reporter reporter(Options());
  EXPECT_EQ(reporter.error(), "");
  EXPECT_EQ(reporter.config(), "{}");
  EXPECT_EQ(reporter.checkpoint(), "");
  EXPECT_EQ(reporter.iteration(), 0);
}

TEST_F(ReporterTest, SendsMetricsAndCountsReportsFromOne) {
  Serve(Obliging);
  Reporter reporter(Options());
  EXPECT_TRUE(reporter.Report({{"loss", 0.1}, {"accuracy", 0.9}}));
  EXPECT_TRUE(reporter.Report({{"loss", 0.05}}, {.step = 20, .done = true}));
  EXPECT_THAT(yard_->Lines(3),
              ElementsAre(kHello, R"({"t":"report","m":{"loss":0.1,"accuracy":0.9},"seq":1})",
                          R"({"t":"report","m":{"loss":0.05},"seq":2,"step":20,"done":true})"));
  EXPECT_EQ(Printed(), "");
}

TEST_F(ReporterTest, SendsNumbersThatAreNone) {
  Serve(Obliging);
  Reporter reporter(Options());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(reporter.Report({{"a", std::nan("")}, {"b", infinity}, {"c", -infinity}}));
  EXPECT_EQ(yard_->Lines(2)[1],
            R"({"t":"report","m":{"a":NaN,"b":Infinity,"c":-Infinity},"seq":1})");
}

TEST_F(ReporterTest, ReportsRowsBuiltAtRunTime) {
  Serve(Obliging);
  Reporter reporter(Options());
  const std::vector<Metric> none;
  EXPECT_TRUE(reporter.Report(none));
  const std::vector<Metric> metrics = {{"a \"b\"", 1}};
  EXPECT_TRUE(reporter.Report(metrics, {.step = 3}));
  EXPECT_EQ(yard_->Lines(3)[1], R"({"t":"report","m":{},"seq":1})");
  EXPECT_EQ(yard_->Lines(3)[2], R"({"t":"report","m":{"a \"b\"":1},"seq":2,"step":3})");
}

TEST_F(ReporterTest, SendsTextsAndNestedMetrics) {
  Serve(Obliging);
  Reporter reporter(Options());
  const std::string split = "test \"a\"";
  const std::vector<Metric> nested = {{"f1", 0.5f}};
  EXPECT_TRUE(reporter.Report(
      {{"eval", {{"split", split}, {"top", {{"1", 0.5}, {"5", 1}}}}}, {"more", nested}}));
  EXPECT_TRUE(reporter.Report({{"best", true},
                               {"last", "no"},
                               {"step", std::int64_t{9007199254740993}},
                               {"bytes", std::uint64_t{1} << 63},
                               {"none", std::vector<Metric>{}}}));
  EXPECT_THAT(
      yard_->Lines(3),
      ElementsAre(
          kHello,
          R"({"t":"report","m":{"eval":{"split":"test \"a\"","top":{"1":0.5,"5":1}},"more":{"f1":0.5}},"seq":1})",
          R"({"t":"report","m":{"best":true,"last":"no","step":9007199254740993,"bytes":9223372036854775808,"none":{}},"seq":2})"));
}

TEST_F(ReporterTest, MayBringACheckpoint) {
  ServeAfterWelcome("{\"t\":\"ok\",\"path\":\"/r/checkpoint_000003\",\"events\":[]}\n");
  Reporter reporter(Options());
  EXPECT_EQ(reporter.Report({{"loss", 1}}, {.checkpoint = "/r/mine"}).path, "/r/checkpoint_000003");
  EXPECT_TRUE(reporter.Report({{"loss", 1}}, {.checkpoint = "mine"}));
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(
      yard_->Lines(3),
      ElementsAre(kHello, R"({"t":"report","m":{"loss":1},"seq":1,"ckpt":"/r/mine"})",
                  R"({"t":"report","m":{"loss":1},"seq":2,"ckpt":")" + here + R"(/mine"})"));
}

// A signal handler that calls the reporter while the interrupted call waits for its answer.
Reporter* interrupted_reporter = nullptr;
std::vector<Reply> replies_in_handler;
std::atomic<bool> was_handled{false};
void CallAgain(int) {
  Reporter& reporter = *interrupted_reporter;
  replies_in_handler = {reporter.Report({{"loss", 1}}), reporter.Barrier("a"),
                        reporter.Save(std::nullopt, [](const std::string&) { return true; })};
  was_handled = true;
}

TEST_F(ReporterTest, ACallInsideOfACallIsAnError) {
  const auto before = std::signal(SIGUSR1, CallAgain);
  const pthread_t caller = pthread_self();
  Serve([caller](const std::string& line) {
    if (line.find(R"("seq":1)") != std::string::npos) {
      pthread_kill(caller, SIGUSR1);
      while (!was_handled) std::this_thread::yield();
    }
    return Obliging(line);
  });
  Reporter reporter(Options());
  interrupted_reporter = &reporter;
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  std::signal(SIGUSR1, before);
  ASSERT_EQ(replies_in_handler.size(), 3u);
  for (const Reply& reply : replies_in_handler) {
    EXPECT_EQ(reply.state, State::kError);
    EXPECT_THAT(reply.message, HasSubstr("a call inside of another call of the same thread"));
  }
  EXPECT_TRUE(reporter.Report({{"loss", 2}}));
  EXPECT_EQ(yard_->Lines(3).size(), 3u);
}

TEST_F(ReporterTest, AForkedChildThatReportsCostsItsParentNothing) {
  Serve(Obliging);
  Reporter reporter(Options());
  const std::string why = "that of process " + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    int refused = 0;
    for (const Reply& reply :
         {reporter.Report({{"loss", 1}}), reporter.Barrier("a"), reporter.Log("x"),
          reporter.Save(1, [](const std::string&) { return true; })}) {
      refused += reply.message.find(why) != std::string::npos ? 1 : 0;
    }
    refused += Reporter(Options()).error().find(why) != std::string::npos ? 1 : 0;
    ::_exit(refused);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  EXPECT_THAT(yard_->Lines(2), ElementsAre(kHello, HasSubstr(R"("seq":1)")));
}

TEST_F(ReporterTest, RefusesAMetricWithoutName) {
  Serve(Obliging);
  Reporter reporter(Options());
  EXPECT_THAT(reporter.Report({{"", 1}}).message, HasSubstr("no name"));
  EXPECT_TRUE(reporter.Report({{"a", 1}}));
  EXPECT_THAT(yard_->Lines(2), ElementsAre(kHello, HasSubstr(R"("seq":1)")));
}

TEST_F(ReporterTest, OkMeansGoOn) {
  ServeAfterWelcome("{\"t\":\"ok\",\"seq\":1,\"events\":[]}\n");
  Reporter reporter(Options());
  const Reply reply = reporter.Report({});
  EXPECT_TRUE(reply);
  EXPECT_EQ(reply.state, State::kContinue);
  EXPECT_EQ(reply.message, "");
  EXPECT_THAT(reply.events, IsEmpty());
}

TEST_F(ReporterTest, HandsOverTheEvents) {
  ServeAfterWelcome(R"({"t":"ok","seq":1,"events":[ {"lr":0.5}, [2, "]"],null ]})"
                    "\n");
  Reporter reporter(Options());
  const Reply reply = reporter.Report({});
  EXPECT_THAT(reply.events, ElementsAre(R"({"lr":0.5})", R"([2, "]"])", "null"));
  EXPECT_EQ(NumberIn(reply.events[0], "lr"), 0.5);
}

TEST_F(ReporterTest, StopCarriesItsReasonAndItsGrace) {
  ServeAfterWelcome("{\"t\":\"stop\",\"reason\":\"pause\",\"grace_s\":2.5}\n");
  Reporter reporter(Options());
  const Reply reply = reporter.Report({});
  EXPECT_FALSE(reply);
  EXPECT_EQ(reply.state, State::kStop);
  EXPECT_EQ(reply.message, "pause");
  EXPECT_EQ(reply.grace.count(), 2.5);
  EXPECT_EQ(reporter.error(), "");
}

TEST_F(ReporterTest, AReportAfterAStopIsSentToo) {
  ServeAfterWelcome("{\"t\":\"stop\"}\n");
  Reporter reporter(Options());
  EXPECT_EQ(reporter.Report({}).state, State::kStop);
  EXPECT_EQ(reporter.Report({}, {.done = true}).message, "stop");
  EXPECT_THAT(yard_->Lines(3)[2], HasSubstr(R"("done":true)"));
}

TEST_F(ReporterTest, AStopInPlaceOfAWelcomeIsHeardAtTheFirstReport) {
  Serve([](const std::string&) { return "{\"t\":\"stop\",\"reason\":\"stop\"}\n"; });
  Reporter reporter(Options());
  EXPECT_EQ(reporter.error(), "");
  EXPECT_EQ(reporter.Report({}).state, State::kStop);
}

TEST_F(ReporterTest, AnErrorCostsOnlyItsReport) {
  Serve([](const std::string& line) {
    if (line.find(R"("seq":1)") == std::string::npos) return Obliging(line);
    return std::string("{\"t\":\"error\",\"code\":\"INVALID_ARGUMENT\",\"error\":\"bad tag\"}\n");
  });
  Reporter reporter(Options());
  const Reply reply = reporter.Report({{"a", 1}});
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_EQ(reply.message, "INVALID_ARGUMENT: bad tag");
  EXPECT_EQ(reporter.error(), "");
  EXPECT_TRUE(reporter.Report({{"b", 1}}));
}

TEST_F(ReporterTest, AnErrorWithoutWordsIsStillOne) {
  ServeAfterWelcome("{\"t\":\"error\"}\n");
  Reporter reporter(Options());
  EXPECT_EQ(reporter.Report({}).state, State::kError);
  EXPECT_NE(reporter.Report({}).message, "");
}

TEST_F(ReporterTest, ASecondReporterHearsTheError) {
  Serve([](const std::string&) { return "{\"t\":\"error\",\"error\":\"another one reports\"}\n"; });
  Reporter reporter(Options());
  EXPECT_EQ(reporter.error(), "another one reports");
  EXPECT_EQ(reporter.Report({}).message, "another one reports");
  EXPECT_THAT(yard_->Lines(1), ElementsAre(kHello));
}

TEST_F(ReporterTest, InATaskThatIsNoTrialItPrints) {
  Serve([](const std::string&) {
    return R"({"t":"error","code":"FAILED_PRECONDITION","error":"this task is no trial"})"
           "\n";
  });
  Reporter reporter(Options());
  EXPECT_FALSE(reporter.connected());
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  EXPECT_EQ(Printed(), "loss=1\n");
  EXPECT_THAT(yard_->Lines(1), ElementsAre(kHello));
}

// A yard that knows only hello, report, log, hb and fail.
std::string FirstVersion(const std::string& line) {
  if (line == kHello)
    return R"({"t":"welcome","config":{"lr":1},"checkpoint":null})"
           "\n";
  if (line.find(R"("t":"report")") != std::string::npos)
    return R"({"t":"ok","seq":1})"
           "\n";
  return R"({"t":"error","code":"INVALID_ARGUMENT","error":"no kind of line is called that"})"
         "\n";
}

TEST_F(ReporterTest, WhatAnOlderYardDoesNotKnowIsAnErrorThatCostsOnlyItself) {
  Serve(FirstVersion);
  Reporter reporter(Options());
  EXPECT_EQ(reporter.config(), R"({"lr":1})");
  const Reply saved = reporter.Save(1, [](const std::string&) { return true; });
  EXPECT_EQ(saved.state, State::kError);
  EXPECT_THAT(saved.message, HasSubstr("no kind of line"));
  EXPECT_EQ(reporter.Barrier("a").state, State::kError);
  const Reply reply = reporter.Report({{"loss", 1}});
  EXPECT_TRUE(reply) << reply.message;
  EXPECT_TRUE(reply.events.empty());
  EXPECT_EQ(reporter.error(), "");
}

TEST_F(ReporterTest, WhatANewerYardSaysBesidesIsIgnored) {
  Serve([](const std::string& line) -> std::string {
    if (line == kHello) {
      return R"({"t":"welcome","v":9,"config":{"lr":1},"checkpoint":"/c","iteration":3,)"
             R"("cluster":{"worker":3},"advice":[null]})"
             "\n";
    }
    if (line.find(R"("seq":1)") != std::string::npos) {
      return R"({"t":"ok","seq":1,"events":[2],"stored":{"row":1}})"
             "\n";
    }
    return R"({"t":"stop","seq":2,"reason":"preempted","grace_s":5,"by":"somebody"})"
           "\n";
  });
  Reporter reporter(Options());
  EXPECT_EQ(reporter.config(), R"({"lr":1})");
  EXPECT_EQ(reporter.checkpoint(), "/c");
  EXPECT_EQ(reporter.iteration(), 3);
  EXPECT_THAT(reporter.Report({{"loss", 1}}).events, ElementsAre("2"));
  const Reply stop = reporter.Report({{"loss", 1}});
  EXPECT_EQ(stop.state, State::kStop);
  EXPECT_EQ(stop.message, "preempted");
  EXPECT_EQ(stop.grace.count(), 5);
}

// The answer to a rank of a cluster other than the reporter.
std::string NotTheReporter(const std::string&) {
  return R"({"t":"error","code":"FAILED_PRECONDITION","error":"rank 0 does","trial":true})"
         "\n";
}

TEST_F(SaveTest, AnotherRankKnowsWhatItIsToDoAndLeavesTheRestToTheReporter) {
  const std::string path = root_ + "/params.json";
  std::ofstream(path) << "{\n  \"lr\": NaN\n}\n";
  ReporterOptions options = Options();
  options.config_file = path;
  options.checkpoint = "/runs/a/checkpoint_000007";
  options.iteration = 7;
  Serve(NotTheReporter);
  Reporter reporter(options);
  EXPECT_FALSE(reporter.connected());
  EXPECT_EQ(reporter.config(), "{\n  \"lr\": NaN\n}");
  EXPECT_EQ(reporter.checkpoint(), "/runs/a/checkpoint_000007");
  EXPECT_EQ(reporter.iteration(), 7);
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  const Reply saved = reporter.Save(1, [](const std::string&) {
    ADD_FAILURE() << "there is nowhere to save";
    return true;
  });
  EXPECT_EQ(saved.state, State::kError);
  EXPECT_THAT(saved.message, HasSubstr("rank 0 does"));
  EXPECT_EQ(reporter.error(), "");
}

TEST_F(ReporterTest, LogsHeartbeatsAndFailuresAreNotAnswered) {
  Serve(Obliging);
  Reporter reporter(Options());
  EXPECT_TRUE(reporter.Log("one\ntwo"));
  EXPECT_TRUE(reporter.Heartbeat());
  EXPECT_TRUE(reporter.Fail("out of \"luck\""));
  EXPECT_THAT(yard_->Lines(4),
              ElementsAre(kHello, R"({"t":"log","text":"one\ntwo"})", R"({"t":"hb"})",
                          R"({"t":"fail","error":"out of \"luck\""})"));
}

TEST_F(ReporterTest, ALongFailureIsCut) {
  Serve(Obliging);
  Reporter reporter(Options());
  EXPECT_TRUE(reporter.Fail(std::string(3 << 20, 'x')));
  EXPECT_EQ(yard_->Lines(2)[1].size(), (64 << 10) + 23u);
}

TEST_F(ReporterTest, ALineThatIsTooLongIsRefusedAndCostsOnlyItself) {
  Serve(Obliging);
  Reporter reporter(Options());
  const std::string name(1 << 20, 'x');
  const Reply reply = reporter.Report({{name, 1}});
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_THAT(reply.message, HasSubstr("over the limit of 1048576"));
  EXPECT_EQ(reporter.Log(name).state, State::kError);
  EXPECT_TRUE(reporter.Report({{"a", 1}}));
  EXPECT_THAT(yard_->Lines(2), ElementsAre(kHello, HasSubstr(R"("seq":1)")));
}

TEST_F(ReporterTest, AYardThatHangsUpIsAnError) {
  ServeAfterWelcome(kHangUp);
  Reporter reporter(Options());
  const Reply reply = reporter.Report({});
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_EQ(reply.message, "the yard closed the report channel");
  EXPECT_EQ(reporter.error(), reply.message);
  EXPECT_EQ(reporter.Report({}).message, reply.message);
  EXPECT_EQ(reporter.Log("x").message, reply.message);
}

TEST_F(ReporterTest, AYardThatIsGoneRaisesNoSignal) {
  ::close(ends_[1]);
  Reporter reporter(Options());
  EXPECT_TRUE(reporter.connected());
  EXPECT_THAT(reporter.error(), HasSubstr("report channel"));
  EXPECT_EQ(reporter.Heartbeat().state, State::kError);
  EXPECT_EQ(reporter.Report({}).state, State::kError);
}

TEST_F(ReporterTest, GarbageBreaksTheChannel) {
  for (const char* garbage : {"what?\n", "\n", "[]\n", "{\"t\":\"ok\"\n", "\xFF\xFE\x01\n"}) {
    yard_.reset();
    ::close(ends_[0]);
    SetUp();
    ServeAfterWelcome(garbage);
    Reporter reporter(Options());
    const Reply reply = reporter.Report({});
    EXPECT_THAT(reply.message, HasSubstr("not JSON")) << garbage;
    EXPECT_EQ(reporter.Report({}).message, reply.message);
  }
}

TEST_F(ReporterTest, GarbageInPlaceOfAWelcomeBreaksTheChannel) {
  Serve([](const std::string&) { return "HTTP/1.1 400 Bad Request\n"; });
  Reporter reporter(Options());
  EXPECT_THAT(reporter.error(), HasSubstr("HTTP/1.1 400 Bad Request"));
  EXPECT_EQ(reporter.Report({}).message, reporter.error());
}

TEST_F(ReporterTest, AnAnswerThatIsTooLongBreaksTheChannel) {
  ServeAfterWelcome(std::string(2 << 20, 'x') + '\n');
  Reporter reporter(Options());
  EXPECT_THAT(reporter.Report({}).message, HasSubstr("longer than 1048576"));
  EXPECT_NE(reporter.error(), "");
}

TEST_F(ReporterTest, AnAnswerOfAnUnknownKindCostsOnlyItsReport) {
  Serve([](const std::string& line) {
    if (line.find(R"("seq":1)") == std::string::npos) return Obliging(line);
    return std::string("{\"t\":\"dance\"}\n");
  });
  Reporter reporter(Options());
  const Reply reply = reporter.Report({});
  EXPECT_EQ(reply.state, State::kError);
  EXPECT_THAT(reply.message, HasSubstr("dance"));
  EXPECT_TRUE(reporter.Report({}));
}

TEST_F(ReporterTest, TheAnswerToAnotherReportBreaksTheChannel) {
  ServeAfterWelcome("{\"t\":\"ok\",\"seq\":9}\n");
  Reporter reporter(Options());
  EXPECT_EQ(reporter.Report({}).message, "the yard answered report 9 instead of 1");
  EXPECT_NE(reporter.error(), "");
}

TEST_F(ReporterTest, WaitsForAnAnswerThatTakesItsTime) {
  std::promise<void> restarted;
  std::future<void> restart = restarted.get_future();
  Serve([&](const std::string& line) {
    if (line != kHello) restart.wait();
    return Obliging(line);
  });
  Reporter reporter(Options());
  std::future<Reply> reply = std::async(std::launch::async, [&] { return reporter.Report({}); });
  EXPECT_EQ(reply.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  restarted.set_value();
  EXPECT_TRUE(reply.get());
}

TEST_F(ReporterTest, ATimeoutBreaksTheChannel) {
  ServeAfterWelcome("");
  ReporterOptions options = Options();
  options.answer_timeout = std::chrono::milliseconds(20);
  // On a busy machine the welcome may take longer than that too; the error is the same.
  Reporter reporter(options);
  EXPECT_EQ(reporter.Report({}).message, "no answer of the yard within 20 ms");
  EXPECT_EQ(reporter.error(), "no answer of the yard within 20 ms");
}

TEST_F(ReporterTest, ThreadsTakeTurns) {
  Serve(Obliging);
  Reporter reporter(Options());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(reporter.Report({{"a", i}}));
        EXPECT_TRUE(reporter.Log("line"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = yard_->Lines(401);
  ASSERT_EQ(lines.size(), 401u);
  for (int seq = 1; seq <= 200; ++seq) {
    const std::string end = "\"seq\":" + std::to_string(seq) + "}";
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [&](const std::string& line) { return line.ends_with(end); }),
              1)
        << seq;
  }
}

TEST_F(ReporterTest, LeavesAnInheritedDescriptorOpenAndPrivate) {
  Serve(Obliging);
  { Reporter reporter(Options()); }
  EXPECT_EQ(::fcntl(ends_[0], F_GETFD), FD_CLOEXEC);
}

TEST_F(ReporterTest, WorksOnASocketThatSomebodyMadeNonBlocking) {
  Serve(Obliging);
  ASSERT_EQ(::fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  Reporter reporter(Options());
  // Larger than the socket's buffer.
  const std::string name(900 << 10, 'x');
  EXPECT_TRUE(reporter.Report({{name, 1}}));
}

TEST_F(ReporterTest, PrintsWithoutAYard) {
  ReporterOptions options;
  options.out = Out();
  Reporter reporter(options);
  EXPECT_FALSE(reporter.connected());
  EXPECT_TRUE(reporter.Report({{"loss", 0.1}, {"accuracy", std::nan("")}}, {.step = 4}));
  EXPECT_TRUE(reporter.Log("a line"));
  EXPECT_TRUE(reporter.Heartbeat());
  EXPECT_EQ(Printed(), "step=4 loss=0.1 accuracy=NaN\na line\n");
  EXPECT_EQ(reporter.config(), "{}");
  EXPECT_EQ(reporter.checkpoint(), "");
  EXPECT_EQ(reporter.error(), "");
}

TEST_F(ReporterTest, ADescriptorThatBecameAnotherFileIsNotUsed) {
  int other[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
  std::FILE* file = std::tmpfile();
  const std::string number = std::to_string(ends_[0]);
  for (const std::string& spec :
       {number + ":" + std::to_string(Inode(other[0])), Spec(fileno(file)), number, number + ":",
        number + ":x", number + ":1x", std::string("3"), std::string(":"), std::string("x:1"),
        std::string("-1:1"), std::string("1000000:1"), std::string("99999999999999999999:1")}) {
    ReporterOptions options;
    options.fd = spec;
    options.out = Out();
    Reporter reporter(options);
    EXPECT_FALSE(reporter.connected()) << spec;
    EXPECT_TRUE(reporter.Report({{"a", 1}}));
  }
  std::fclose(file);
  ::close(other[0]);
  ::close(other[1]);
  ::close(ends_[1]);
}

// The same tests with a channel that is opened by path.
class ReporterPathTest : public ReporterTest {
 protected:
  void SetUp() override {
    ReporterTest::SetUp();
    ASSERT_NE(::mkdtemp(directory_), nullptr);
    path_ = std::string(directory_) + "/s";
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, path_.size());
    ASSERT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(listener_, 1), 0);
  }
  void TearDown() override {
    if (acceptor_.joinable()) acceptor_.join();
    ::close(listener_);
    ::unlink(path_.c_str());
    ::rmdir(directory_);
    if (!yard_.has_value()) ::close(ends_[1]);
    ReporterTest::TearDown();
  }

  void Accept() {
    ::close(ends_[1]);
    acceptor_ = std::thread([this] {
      ends_[1] = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      Serve(Obliging);
    });
  }
  ReporterOptions PathOptions() {
    ReporterOptions options;
    options.socket = path_;
    options.out = Out();
    return options;
  }

  char directory_[32] = "/tmp/sdk.XXXXXX";
  std::string path_;
  int listener_ = -1;
  std::thread acceptor_;
};

TEST_F(ReporterPathTest, SpeaksTheSameProtocol) {
  Accept();
  Reporter reporter(PathOptions());
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
  acceptor_.join();
  EXPECT_THAT(yard_->Lines(2), ElementsAre(kHello, R"({"t":"report","m":{"loss":1},"seq":1})"));
}

TEST_F(ReporterPathTest, TakesTheTestedDescriptorFirst) {
  Serve(Obliging);
  ReporterOptions options = PathOptions();
  options.fd = Spec(ends_[0]);
  Reporter reporter(options);
  EXPECT_TRUE(reporter.Report({}));
  EXPECT_EQ(yard_->Lines(2).size(), 2u);
}

TEST_F(ReporterPathTest, TakesThePathWhenTheDescriptorIsAnotherFile) {
  Accept();
  ReporterOptions options = PathOptions();
  options.fd = "3:1";
  Reporter reporter(options);
  EXPECT_TRUE(reporter.connected());
  EXPECT_TRUE(reporter.Report({}));
}

TEST_F(ReporterPathTest, APathWhereNobodyListensIsAnErrorThatNamesIt) {
  for (const std::string& path : {path_ + "nobody", std::string(200, 'x')}) {
    ReporterOptions options = PathOptions();
    options.socket = path;
    Reporter reporter(options);
    EXPECT_TRUE(reporter.connected());
    EXPECT_THAT(reporter.error(), HasSubstr(path));
    EXPECT_EQ(reporter.Report({{"a", 1}}).message, reporter.error());
    EXPECT_EQ(reporter.Log("a").message, reporter.error());
    EXPECT_EQ(reporter.Fail("a").message, reporter.error());
  }
  EXPECT_THAT(Printed(), IsEmpty());
}

// Tests of what a program starts from if no trainer tells it.
class StartTest : public SaveTest {
 protected:
  // Options with a configuration file that contains `text`.
  ReporterOptions Files(std::string_view text) {
    ReporterOptions options = Options();
    options.config_file = root_ + "/params.json";
    options.checkpoint = "/r/checkpoint_000004";
    std::ofstream(options.config_file) << text;
    return options;
  }
};

TEST_F(StartTest, InATaskThatIsNoTrialItIsWhatTheFilesSay) {
  Serve([](const std::string&) {
    return R"({"t":"error","code":"FAILED_PRECONDITION","error":"this task is no trial"})"
           "\n";
  });
  Reporter reporter(Files(" {\n  \"lr\": 0.5}\n"));
  EXPECT_FALSE(reporter.connected());
  EXPECT_EQ(reporter.error(), "");
  EXPECT_EQ(reporter.config(), "{\n  \"lr\": 0.5}");
  EXPECT_EQ(reporter.checkpoint(), "/r/checkpoint_000004");
  EXPECT_EQ(reporter.iteration(), 0);
}

TEST_F(StartTest, WithoutAYardItIsWhatTheFilesSay) {
  ReporterOptions options = Files("{\"lr\":0.5}");
  options.fd = "";
  Reporter reporter(options);
  EXPECT_EQ(NumberIn(reporter.config(), "lr"), 0.5);
  EXPECT_EQ(reporter.checkpoint(), "/r/checkpoint_000004");
  EXPECT_TRUE(reporter.Report({{"loss", 1}}));
}

TEST_F(StartTest, ASecondReporterStartsFromTheSame) {
  Serve([](const std::string&) { return "{\"t\":\"error\",\"error\":\"another one reports\"}\n"; });
  Reporter reporter(Files("{\"lr\":0.5}"));
  EXPECT_EQ(reporter.error(), "another one reports");
  EXPECT_EQ(reporter.config(), "{\"lr\":0.5}");
  EXPECT_EQ(reporter.checkpoint(), "/r/checkpoint_000004");
}

TEST_F(StartTest, ATrainersWelcomeCounts) {
  Serve(Obliging);
  Reporter reporter(Files("{\"lr\":0.5}"));
  EXPECT_EQ(reporter.config(), "{}");
  EXPECT_EQ(reporter.checkpoint(), "");
}

TEST_F(StartTest, AConfigurationThatCannotBeReadIsAnErrorThatNamesIt) {
  for (const std::string& text :
       {std::string("[1]"), std::string("{\"lr\":"), std::string(), std::string(5 << 20, ' ')}) {
    ReporterOptions options = Files(text);
    options.fd = "";
    Reporter reporter(options);
    EXPECT_THAT(reporter.error(), HasSubstr(options.config_file));
    EXPECT_EQ(reporter.Report({{"loss", 1}}).message, reporter.error());
    EXPECT_EQ(reporter.config(), "{}");
  }
  ReporterOptions options = Files("");
  options.config_file = root_ + "/none.json";
  options.fd = "";
  EXPECT_THAT(Reporter(options).error(), HasSubstr("none.json: No such file"));
  ::close(ends_[1]);
}

TEST(JsonInTest, FindsWhatTheConfigurationHolds) {
  constexpr std::string_view kConfig =
      R"({"lr":0.1,"warm":true,"cold":false,"net":{"name":"mlp","a/b":2,"sizes":[1,2]},"a/b":3})";
  EXPECT_EQ(NumberIn(kConfig, "lr"), 0.1);
  EXPECT_EQ(NumberIn(kConfig, "warm"), 1);
  EXPECT_EQ(NumberIn(kConfig, "cold"), 0);
  EXPECT_EQ(NumberIn(kConfig, "net/a/b"), 2);
  EXPECT_EQ(NumberIn(kConfig, "a/b"), 3);
  EXPECT_EQ(TextIn(kConfig, "net/name"), "mlp");
  for (const char* path : {"", "l", "net", "net/sizes", "net/name", "net/", "/lr", "lr/x", "x/y"}) {
    EXPECT_EQ(NumberIn(kConfig, path), std::nullopt) << path;
  }
  EXPECT_EQ(TextIn(kConfig, "lr"), std::nullopt);
  EXPECT_EQ(NumberIn("no json", "lr"), std::nullopt);
}

TEST(ReporterOptionsTest, ComeFromTheEnvironment) {
  ::setenv("YARD_FD", "3:5", 1);
  ::setenv("YARD_SOCKET", "/tmp/s", 1);
  ::setenv("YARD_CONFIG", "/r/params.json", 1);
  ::setenv("YARD_CHECKPOINT", "/r/c", 1);
  ::setenv("YARD_ITERATION", "7", 1);
  const ReporterOptions options = ReporterOptions::FromEnvironment();
  for (const char* name :
       {"YARD_FD", "YARD_SOCKET", "YARD_CONFIG", "YARD_CHECKPOINT", "YARD_ITERATION"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(options.iteration, 7);
  EXPECT_EQ(options.config_file, "/r/params.json");
  EXPECT_EQ(options.checkpoint, "/r/c");
  EXPECT_EQ(options.fd, "3:5");
  EXPECT_EQ(options.socket, "/tmp/s");
  EXPECT_EQ(options.answer_timeout.count(), 0);
  EXPECT_EQ(ReporterOptions::FromEnvironment().fd, "");
}

}  // namespace
}  // namespace yard
