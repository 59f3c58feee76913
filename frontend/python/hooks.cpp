#include "frontend/python/hooks.h"

#include <csignal>

#include <array>
#include <mutex>
#include <vector>

#include "braze/host.h"
#include "ir/graph.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

namespace braze::python {

namespace {

// ---- the line that runs ----

// A frame's code and instruction name a line; looking it up takes longer than recording an op, so that a small table remembers.
struct Known {
  PyCodeObject* code = nullptr;  // owned: an address is never another code object's
  int instruction = -1;
  Host::Line line;
  bool ours = false;  // of the package itself: the caller's line is wanted
};
std::array<Known, 2048> known_lines;
std::string package_folder;

const Known& look_up(PyCodeObject* code, int instruction) {
  Known& entry =
      known_lines[((reinterpret_cast<std::uintptr_t>(code) >> 4) * 31 + static_cast<unsigned>(instruction)) % known_lines.size()];
  if (entry.code == code && entry.instruction == instruction) return entry;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  const int line = PyCode_Addr2Line(code, instruction);
  Py_XDECREF(entry.code);
  entry = {reinterpret_cast<PyCodeObject*>(Py_NewRef(code)),
           instruction,
           {file ? intern_file(file) : nullptr, line > 0 ? static_cast<std::uint32_t>(line) : 0},
           file && !package_folder.empty() && std::string_view(file).starts_with(package_folder)};
  return entry;
}

const Known& look_up(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame owns it
  return look_up(code, PyFrame_GetLasti(frame));
}

// What the innermost frame runs; null where no frame, or where only a frame object tells, whose making takes a tenth of recording an op.
const Known* running() {
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
  const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  if (!frame) return nullptr;
  return &look_up(frame->f_code, _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT)));
#else
  return nullptr;
#endif
}

// Where warnings are errors, that error.
void warn(const char* text) {
  if (PyGILState_Check() && PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) throw PythonError{};
}

Host::Line current_line() {
  if (!PyGILState_Check()) return {};
  const Known* known = running();
  if (known && !known->ours) return known->line;
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return {};
  Py_INCREF(frame);
  Host::Line line;
  while (frame) {
    known = &look_up(frame);
    line = known->line;
    if (!known->ours) break;
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return line;
}

// ---- evaluating ----

// Python's handler only notes a signal; ours also stops what runs, and then calls Python's. Ours stays once it is there, since a
// system call takes as long as recording an op; what others have put there it replaces for the time of an evaluation only.
struct sigaction noting_handler, foreign_handler;
volatile std::sig_atomic_t evaluating = 0;  // on the main thread

bool is_ignored(const struct sigaction& handler) {
  return !(handler.sa_flags & SA_SIGINFO) && (handler.sa_handler == SIG_IGN || handler.sa_handler == SIG_DFL);
}

void call(const struct sigaction& handler, int signal, siginfo_t* info, void* context) {
  if (handler.sa_flags & SA_SIGINFO)
    handler.sa_sigaction(signal, info, context);
  else if (!is_ignored(handler))
    handler.sa_handler(signal);
}

void stop_and_note(int signal, siginfo_t* info, void* context) {
  if (evaluating) request_stop();
  call(noting_handler, signal, info, context);
}

void stop_and_pass_on(int signal, siginfo_t* info, void* context) {
  request_stop();
  call(foreign_handler, signal, info, context);
}

void install(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction ours{};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGINT, &ours, nullptr);
}

unsigned long main_thread = 0;

enum class Signals : std::uint8_t { left_alone, noted, passed_on };

Signals watch_signals() {
  struct sigaction now;
  sigaction(SIGINT, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == stop_and_note) return Signals::noted;
  if (is_ignored(now)) return Signals::left_alone;
  if (!noting_handler.sa_handler) noting_handler = now;
  if (now.sa_handler == noting_handler.sa_handler) {
    install(stop_and_note);
    return Signals::noted;
  }
  foreign_handler = now;
  install(stop_and_pass_on);
  return Signals::passed_on;
}

struct Pause {
  PyThreadState* state = nullptr;
  bool on_main_thread = false;
  Signals signals = Signals::left_alone;
};
thread_local Pause pause;

void* enter() {
  if (!PyGILState_Check()) return nullptr;  // a thread of the host's own, or an evaluation inside an evaluation
  pause.on_main_thread = PyThread_get_thread_ident() == main_thread;
  if (pause.on_main_thread) {
    pause.signals = watch_signals();
    evaluating = 1;
  }
  pause.state = PyEval_SaveThread();
  return &pause;
}

void leave(void* entered) {
  if (!entered) return;
  if (pause.on_main_thread) {
    evaluating = 0;
    if (pause.signals == Signals::passed_on) sigaction(SIGINT, &foreign_handler, nullptr);
    if (pause.signals != Signals::left_alone) clear_stop();
  }
  PyEval_RestoreThread(pause.state);
}

// ---- releasing ----

std::mutex later_mutex;
std::vector<PyObject*>* later = new std::vector<PyObject*>;  // never destroyed: threads may outlive statics

int release_now(void*) {
  std::vector<PyObject*> objects;
  {
    std::lock_guard lock(later_mutex);
    objects.swap(*later);
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

}  // namespace

void release_later(PyObject* object) {
  if (!Py_IsInitialized()) return;  // the process ends
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  bool first = false;
  {
    std::lock_guard lock(later_mutex);
    first = later->empty();
    later->push_back(object);
  }
  if (first) Py_AddPendingCall(release_now, nullptr);
}

void install_hooks() {
  static const Host host{current_line, warn, enter, leave};
  main_thread = PyThread_get_thread_ident();
  set_host(&host);
}

void set_package_folder(const std::string& folder) { package_folder = folder; }

}  // namespace braze::python
