// Other processes for tests: a fork of this one, and this executable anew under other environment variables.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// What `body`, run in a forked child, returns; 1000 + n where signal n killed it, or where it took over 60 s.
template <class F>
int in_fork(F body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(number, SIG_DFL);  // Catch's handlers would report
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// What the hidden test of this executable with `tag` prints on stderr where `environment` ("A=1 B=2") holds.
inline std::string in_new_process(const std::string& environment, const std::string& tag) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  const std::string path(self, static_cast<std::size_t>(length));
  const std::string command = "env -u BRAZE_TEST_TALLY " + environment + " '" + path + "' '" + tag + "' 2>&1 >/dev/null";
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  pclose(pipe);
  return output;
}
