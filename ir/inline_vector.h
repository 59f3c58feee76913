// A vector of trivially copyable elements that keeps the first N inside itself: shapes, axes, operand lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace braze {

template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  explicit InlineVector(std::size_t count, T value = T{}) { assign(count, value); }
  InlineVector(std::initializer_list<T> values) : InlineVector(values.begin(), values.end()) {}
  template <class It>
    requires(!std::is_integral_v<It>)
  InlineVector(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  InlineVector(std::span<const T> values) : InlineVector(values.begin(), values.end()) {}
  InlineVector(const InlineVector& other) : InlineVector(other.begin(), other.end()) {}
  InlineVector(InlineVector&& other) noexcept { steal(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      clear();
      reserve(other.size());
      for (const T& v : other) push_back(v);
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }
  ~InlineVector() { release(); }

  T* data() { return heap_ ? heap_ : reinterpret_cast<T*>(storage_); }
  const T* data() const { return heap_ ? heap_ : reinterpret_cast<const T*>(storage_); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  operator std::span<const T>() const { return {data(), size_}; }

  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void reserve(std::size_t wanted) {
    if (wanted <= capacity_) return;
    const std::size_t grown = std::max<std::size_t>(wanted, 2 * std::size_t{capacity_});
    T* fresh = new T[grown];
    if (size_) std::memcpy(static_cast<void*>(fresh), data(), size_ * sizeof(T));
    delete[] heap_;
    heap_ = fresh;
    capacity_ = static_cast<std::uint32_t>(grown);
  }
  void push_back(T value) {
    reserve(size_ + std::size_t{1});
    data()[size_++] = value;
  }
  void assign(std::size_t count, T value) {
    clear();
    resize(count, value);
  }
  void resize(std::size_t count, T value = T{}) {
    reserve(count);
    for (std::size_t i = size_; i < count; ++i) data()[i] = value;
    size_ = static_cast<std::uint32_t>(count);
  }
  void insert(std::size_t at, T value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void release() {
    delete[] heap_;
    heap_ = nullptr;
    capacity_ = N;
    size_ = 0;
  }
  void steal(InlineVector& other) {
    heap_ = other.heap_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (!heap_) std::memcpy(storage_, other.storage_, sizeof(storage_));
    other.heap_ = nullptr;
    other.capacity_ = N;
    other.size_ = 0;
  }

  T* heap_ = nullptr;
  std::uint32_t size_ = 0, capacity_ = N;
  alignas(T) unsigned char storage_[N * sizeof(T)];
};

}  // namespace braze
