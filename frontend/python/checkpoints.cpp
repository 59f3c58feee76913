#include "frontend/python/checkpoints.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <istream>
#include <memory>
#include <ostream>
#include <streambuf>

#include "frontend/python/callbacks.h"
#include "frontend/serialization/container.h"

namespace nb = nanobind;

namespace braze::python {

namespace {

using serialization::Container;
using serialization::Storages;

// A file of Python's as a stream. What Python raises ends the stream; `rethrow` then raises it again.
class PythonFile : public std::streambuf {
 public:
  explicit PythonFile(nb::handle file) : file_(nb::borrow(file)), buffer_(std::size_t{1} << 18) {}

  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 protected:
  int_type underflow() override {
    return guard(traits_type::eof(), [&] {
      const std::size_t got = read(buffer_.data(), buffer_.size());
      setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
      return got ? traits_type::to_int_type(buffer_[0]) : traits_type::eof();
    });
  }
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    if (count < static_cast<std::streamsize>(buffer_.size())) return std::streambuf::xsgetn(to, count);
    const std::streamsize ready = std::min<std::streamsize>(count, egptr() - gptr());
    std::copy_n(gptr(), ready, to);
    setg(nullptr, nullptr, nullptr);
    return guard(ready, [&] {
      std::streamsize done = ready;
      while (done < count) {
        const std::size_t got = read(to + done, static_cast<std::size_t>(count - done));
        if (got == 0) break;
        done += static_cast<std::streamsize>(got);
      }
      return done;
    });
  }
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    if (pending_.size() + static_cast<std::size_t>(count) < buffer_.size()) {
      pending_.append(from, static_cast<std::size_t>(count));
      return count;
    }
    return guard(std::streamsize{0}, [&] {
      flush();
      write({from, static_cast<std::size_t>(count)});
      return count;
    });
  }
  int_type overflow(int_type c) override {
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override {
    return guard(-1, [&] {
      flush();
      return 0;
    });
  }
  pos_type seekoff(off_type by, std::ios::seekdir from, std::ios::openmode) override {  // of what is read
    return guard(pos_type(off_type(-1)), [&] {
      const off_type here = file_position() - (egptr() - gptr());
      if (from == std::ios::cur && by == 0) return pos_type(here);
      setg(nullptr, nullptr, nullptr);
      if (from == std::ios::end) return pos_type(nb::cast<std::int64_t>(file_.attr("seek")(by, 2)));
      return pos_type(nb::cast<std::int64_t>(file_.attr("seek")(from == std::ios::cur ? here + by : by)));
    });
  }
  pos_type seekpos(pos_type to, std::ios::openmode mode) override { return seekoff(off_type(to), std::ios::beg, mode); }

 private:
  template <class T, class F>
  T guard(T failed, F&& f) {
    if (error_) return failed;
    try {
      return f();
    } catch (...) {
      error_ = std::current_exception();
      return failed;
    }
  }
  std::int64_t file_position() const { return nb::cast<std::int64_t>(file_.attr("tell")()); }
  std::size_t read(char* to, std::size_t count) {
    const nb::bytes data(file_.attr("read")(count));
    const std::size_t got = std::min(count, data.size());
    std::copy_n(data.c_str(), got, to);
    return got;
  }
  void write(std::string_view data) {
    while (!data.empty()) {  // files without a buffer may take a part
      const nb::object taken = file_.attr("write")(view(data));
      data.remove_prefix(nb::isinstance<nb::int_>(taken) ? std::min(data.size(), nb::cast<std::size_t>(taken)) : data.size());
    }
  }
  // Of memory that is not copied: files of Python take what has a buffer.
  static nb::object view(std::string_view data) {
    return nb::steal(PyMemoryView_FromMemory(const_cast<char*>(data.data()), static_cast<Py_ssize_t>(data.size()), PyBUF_READ));
  }
  void flush() {
    if (pending_.empty()) return;
    write(pending_);
    pending_.clear();
  }

  nb::object file_;
  std::vector<char> buffer_;
  std::string pending_;
  std::exception_ptr error_;
};

void write(const Storages& storages, nb::handle file, const std::string& folder, const nb::bytes& pickle) {
  PythonFile buffer(file);
  std::ostream out(&buffer);
  try {
    storages.write(out, folder, {pickle.c_str(), pickle.size()});
  } catch (const Error&) {
    buffer.rethrow();
    throw;
  }
}

// A container and the stream that it reads from.
class OpenFile {
 public:
  explicit OpenFile(nb::handle file) : buffer_(file), in_(&buffer_) {
    guard([&] { container_ = std::make_unique<Container>(in_); });
  }
  nb::bytes pickle() {
    std::string text;
    guard([&] { text = container_->pickle(); });
    return nb::bytes(text.data(), text.size());
  }
  Tensor storage(const std::string& key, DType dtype, std::int64_t count) {
    Tensor result;
    guard([&] { result = container_->storage(key, dtype, count); });
    return result;
  }

 private:
  template <class F>
  void guard(F&& f) {
    try {
      f();
    } catch (const Error&) {
      buffer_.rethrow();
      throw;
    }
  }

  PythonFile buffer_;
  std::istream in_;
  std::unique_ptr<Container> container_;
};

// Errors become the Python classes that the tables' errors become.
template <class F>
auto translated(F&& f) {
  try {
    return f();
  } catch (const nb::python_error&) {
    throw;
  } catch (...) {
    translate_exception();
    throw nb::python_error();
  }
}

}  // namespace

void add_checkpoints(nb::module_& m) {
  nb::class_<Storages>(m, "Storages")
      .def(nb::init<>())
      .def("key_of", [](Storages& s, nb::handle tensor) { return translated([&] { return s.key_of(tensor_argument(tensor)); }); })
      .def("evaluate", [](const Storages& s) { translated([&] { s.evaluate(); }); })
      .def("write", [](const Storages& s, nb::handle file, const std::string& folder, nb::bytes pickle) {
        translated([&] { write(s, file, folder, pickle); });
      });
  nb::class_<OpenFile>(m, "Container")
      .def("__init__", [](OpenFile* self, nb::handle file) { translated([&] { new (self) OpenFile(file); }); })
      .def("pickle", [](OpenFile& c) { return translated([&] { return c.pickle(); }); })
      .def("storage", [](OpenFile& c, const std::string& key, nb::handle dtype, std::int64_t count) {
        return object([&] { return wrap(c.storage(key, to_dtype(dtype.ptr()), count)); });
      });
  m.def("container_folder", [](const std::string& path) { return serialization::folder_of(path); });
  m.def("storage_classes", [] {
    nb::dict classes;
    for (const DType dtype : surface_dtypes) classes[serialization::storage_class(dtype)] = nb::borrow(dtype_object(dtype));
    return classes;
  });
}

}  // namespace braze::python
