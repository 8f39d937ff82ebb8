// What a statement answered. Rows are read by the names of their columns: the build makes a type of a statement's `-- returns:`
// line, for which RowsOf stands below.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace waybill {

// Read by number, where there is no statement of a .sql file. A row that is not there reads as one of nulls.
class Rows {
 public:
  Rows();
  ~Rows();
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) noexcept;

  std::size_t size() const;
  bool is_null(std::size_t row, int column) const;
  std::string_view text(std::size_t row, int column) const;  // valid while the Rows live
  std::int64_t number(std::size_t row, int column) const;
  bool flag(std::size_t row, int column) const;

 private:
  friend class Connection;
  struct Data;
  std::unique_ptr<Data> data_;
};

// One row; valid while the Rows live, at their place.
class AnyRow {
 public:
  AnyRow(const Rows& rows, std::size_t at) : rows_(&rows), at_(at) {}

 protected:
  std::int64_t get_number(int column) const { return rows_->number(at_, column); }
  bool get_flag(int column) const { return rows_->flag(at_, column); }
  Timestamp get_time(int column) const { return {get_number(column)}; }  // made with micros()
  std::string_view get_text(int column) const { return rows_->text(at_, column); }
  std::optional<std::int64_t> find_number(int column) const { return found(column, &AnyRow::get_number); }
  std::optional<bool> find_flag(int column) const { return found(column, &AnyRow::get_flag); }
  std::optional<Timestamp> find_time(int column) const { return found(column, &AnyRow::get_time); }
  std::optional<std::string_view> find_text(int column) const { return found(column, &AnyRow::get_text); }

 private:
  template <class Value>
  std::optional<Value> found(int column, Value (AnyRow::*get)(int) const) const {
    return rows_->is_null(at_, column) ? std::nullopt : std::optional<Value>((this->*get)(column));
  }

  const Rows* rows_;
  std::size_t at_;
};

// The rows of one statement, as the build describes them.
template <class OneRow>
class RowsOf {
 public:
  explicit RowsOf(Rows rows) : rows_(std::move(rows)) {}

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return size() == 0; }
  OneRow operator[](std::size_t at) const { return OneRow(rows_, at); }
  OneRow front() const { return (*this)[0]; }

  class Iterator {
   public:
    Iterator(const RowsOf& rows, std::size_t at) : rows_(&rows), at_(at) {}
    OneRow operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const RowsOf* rows_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  Rows rows_;
};

// Of a column that may be null or not, as the statement has it.
inline std::string text_or_empty(std::optional<std::string_view> text) { return std::string(text.value_or("")); }
template <class Value>
Value value_or_zero(const Value& value) {
  return value;
}
template <class Value>
Value value_or_zero(const std::optional<Value>& value) {
  return value.value_or(Value{});
}

}  // namespace waybill
