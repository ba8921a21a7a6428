#include "base/output_file.h"

#include "tare/process.h"

#include "support/files/files.h"
#include "support/files/folder.h"

#include <csignal>
#include <memory>
#include <set>
#include <span>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tare::test {
namespace {

using OutputFiles = InFolder;

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST_F(OutputFiles, AppearWholeOrNotAtAll) {
  {
    OutputFile file(path("a"));
    file.append("lost");
  }
  EXPECT_EQ(file_count(), 0U);
  OutputFile file(path("a"));
  file.append("one ");
  file.append("two");
  file.write(0, std::as_bytes(std::span("ONE", 3)));
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  file.commit();
  EXPECT_EQ(bytes_of(path("a")), "ONE two");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(OutputFiles, HaveNamesThatNobodyCanGuess) {
  OutputFile first(path("a"));
  OutputFile second(path("a"));
  const auto names = names_in(folder_);
  EXPECT_EQ(names.size(), 2U);
  for (const std::string& name : names) {
    EXPECT_EQ(name.find(std::to_string(::getpid())), std::string::npos) << name;
    struct stat found {};
    ASSERT_EQ(::lstat(path(name).c_str(), &found), 0);
    EXPECT_TRUE(S_ISREG(found.st_mode));
  }
}

TEST_F(OutputFiles, AreRemovedByAHandlerOfSignals) {
  auto first = std::make_unique<OutputFile>(path("a"));
  OutputFile second(path("b"));
  second.commit();
  OutputFile third(path("c"));
  first.reset();
  OutputFile fourth(path("d"));
  EXPECT_EQ(file_count(), 3U);
  remove_unfinished_files();
  EXPECT_EQ(names_in(folder_), std::set<std::string>{"b"});
}

TEST_F(OutputFiles, KeepTheFirstErrorAndReportIt) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit few{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &few);
  {
    OutputFile file(path("a"));
    file.append(std::string(2000, 'x'));
    file.append("more");
    EXPECT_TRUE(file.failed());
    EXPECT_EQ(message_of([&] { file.require_written(); }, ErrorCode::kIo),
              "a: cannot be written: File too large");
    EXPECT_EQ(message_of([&] { file.commit(); }, ErrorCode::kIo),
              "a: cannot be written: File too large");
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(OutputFiles, GoWhereLinksLead) {
  write_bytes(path("old"), "old");
  std::filesystem::create_symlink("old", path("link"));
  std::filesystem::create_symlink("new", path("dangling"));
  std::filesystem::create_symlink("loop", path("loop"));
  for (const char* name : {"link", "dangling"}) {
    OutputFile file(path(name));
    file.append("text");
    file.commit();
  }
  EXPECT_EQ(bytes_of(path("old")), "text");
  EXPECT_EQ(bytes_of(path("new")), "text");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(message_of([&] { OutputFile file(path("loop")); }, ErrorCode::kIo),
            "loop: cannot be written: Too many levels of symbolic links");
}

TEST_F(OutputFiles, AreNoDevicesFoldersOrOpenFiles) {
  const auto fault = [&](const std::filesystem::path& target) {
    return message_of([&] { (void)output_target(target); }, ErrorCode::kIo);
  };
  std::filesystem::create_symlink("/proc/self/fd/1", path("out"));
  EXPECT_EQ(fault(path("out")), "out: leads to what a process has open, expected a file");
  EXPECT_EQ(fault("/dev/null"), "/dev/null: is a device or a pipe, expected a file");
  std::filesystem::create_directory(path("sub"));
  EXPECT_EQ(fault(path("sub")), "sub: is a folder, expected a file");
  EXPECT_EQ(fault(path(std::string(256, 'n'))),
            std::string(256, 'n') + ": cannot be written: File name too long");
}

}  // namespace
}  // namespace tare::test
