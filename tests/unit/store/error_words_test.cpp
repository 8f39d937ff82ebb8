// What of the database's words is passed on: no payload, no password, and what an operator needs.  N1
#include "store/pg/error_words.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

// N1
TEST(ErrorWords, ValuesOfRowsAreLeftOut) {
  const std::string first = "ERROR:  new row for relation \"submissions\" violates check constraint \"a\"";
  for (const char* sqlstate : {"23514", "22P02", ""})
    EXPECT_EQ(error_words(first + "\nDETAIL:  Failing row contains (1, payload).\n", sqlstate), first) << sqlstate;
  EXPECT_EQ(error_words(first, "23514"), first);
}

// N1
TEST(ErrorWords, WhatHelpsAnOperatorStays) {
  const std::string deadlock = "ERROR:  deadlock detected\nDETAIL:  Process 7 waits for ShareLock on transaction 8.\n",
                    guard = "ERROR:  waybill: DELETE on attempts is not allowed\nHINT:  attempts are append-only\n";
  EXPECT_EQ(error_words(deadlock, "40P01"), deadlock);
  EXPECT_EQ(error_words(guard, "23514"), guard);
}

// N1
TEST(ErrorWords, APasswordIsNotQuoted) {
  const auto told = [](const std::string& quoted, const std::string& url) {
    return connection_error_words("first \"" + quoted + "\" and \"other\"", url);
  };
  const std::string hidden = "first \"...\" and \"other\"";
  EXPECT_EQ(told("secret%zz", "postgresql://us:secret%zz@host/db"), hidden);
  EXPECT_EQ(told("postgresql://us:secret@[host", "postgresql://us:secret@[host"), hidden);
  EXPECT_EQ(told("word@host", "postgresql://us:pass@word@host/db"), hidden);
  EXPECT_EQ(told("secret", "host=x password=a secret dbname=y"), hidden);
  EXPECT_EQ(told("secret", "postgresql://host/db?password=a&secret"), hidden);
  EXPECT_EQ(told("se", "host=x password='a\"se'"), "first ");
}

// N1
TEST(ErrorWords, OtherNamesOfAnAddressAreQuoted) {
  const std::string refused = "connection to server at \"db.example.org\", port 5432 failed: role \"waybill\" does not exist";
  for (const char* url :
       {"postgresql://waybill@db.example.org/waybill", "postgresql://waybill:secret@db.example.org:5432/x",
        "host=db.example.org password=secret user=waybill", "postgresql://db.example.org/x?password=secret&user=waybill"})
    EXPECT_EQ(connection_error_words(refused, url), refused) << url;
  EXPECT_EQ(connection_error_words("an odd \" quote", "host=x"), "an odd \" quote");
}

}  // namespace
}  // namespace waybill
