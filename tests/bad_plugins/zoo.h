// The zoo: every plugin with one fault, which checks catch it, and what it does to a live host. README.md is made of this.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace waybill::testing {

// What a host makes of it, seen in tests/integration/zoo_test.cpp with a receiver that says 200 to everything.
enum class Live {
  refused,         // when the plugins are loaded, by name
  waits,           // no sender can be made; its intents wait
  loses_attempts,  // and nothing else
  delivers,        // its fault does not show there, or not that day
  no_target,       // its targets are refused, or may be: it has none in that test
  kills_at_start,  // as below, and so early that a host with a target for it never starts
  kills            // it takes the process down: only the check protects a host
};

inline std::string words_for(Live live) {
  switch (live) {
    case Live::refused:
      return "refused by name when the plugins are loaded";
    case Live::waits:
      return "no sender can be made; its intents wait";
    case Live::loses_attempts:
      return "loses its own attempts, nothing else";
    case Live::delivers:
      return "delivers: the fault does not show, or not yet";
    case Live::no_target:
      return "loads; its targets are refused with the registry";
    case Live::kills_at_start:
      return "with a target, ends the process before it has started, with a word and exit code 1";
    case Live::kills:
      break;
  }
  return "takes the process down: only the check protects a host";
}

struct Creature {
  std::string name;                    // of the file; the same is its action type
  std::string fault;                   // "it ..."
  std::vector<std::string> caught_by;  // exactly these checks fail
  std::string words;                   // among what they found
  Live live;
};

inline std::ostream& operator<<(std::ostream& out, const Creature& creature) { return out << creature.name; }

// Without a fault: the check must be content with them.
inline const std::vector<std::string> kFaultless{"good", "good_mailer"};

// Every check that makes a sender, or sends something.
inline const std::vector<std::string> kSending{
    "exceptions",    "accepts",    "long_answers",  "requests",         "completes",      "completes_once",
    "refused_fetch", "verdicts",   "reasons_given", "reasons_declared", "words",          "sizes",
    "result",        "reach",      "secrets",       "payloads",         "cancel",         "given_up",
    "two_senders",   "many_calls", "arguments",     "newer_host",       "older_host",     "clock",
    "prompt",        "strand",     "destroy",       "leaves_nothing",   "leaves_process", "leaks"};
inline const std::vector<std::string> kMaking = [] {
  auto list = kSending;
  list.insert(list.end(), {"samples", "create_is_quiet", "create_refuses", "sender_table", "unknown_extension",
                           "extension_tables", "compose", "status", "probe", "failures"});
  return list;
}();

inline const std::vector<Creature> kZoo{
    {"no_symbol", "exports something, but not wb_plugin_v1", {"symbols"}, "does not export wb_plugin_v1", Live::refused},
    {"wrong_major", "is built for another major version", {"symbols"}, "wb_plugin_v2, which is another major", Live::refused},
    {"extra_symbol", "exports a function of its own", {"symbols"}, "it exports extra_symbol_of_mine", Live::delivers},
    {"slow_to_load", "waits in a constructor of a global object", {"loads"}, "loading it waited for", Live::delivers},
    {"thread_at_load", "starts a thread as soon as it is loaded", {"loads_quietly"}, "left 1 thread(s) running", Live::delivers},
    {"throws_in_entry", "throws out of wb_plugin_v1", {"entry"}, "wb_plugin_v1 threw", Live::refused},
    {"other_descriptor", "returns another descriptor each time", {"entry"}, "returned another pointer", Live::delivers},
    {"short_descriptor", "forgot the size of its descriptor", {"descriptor"}, "wb_plugin::size is 0", Live::refused},
    {"null_create", "has an action type without a create function", {"descriptor"}, "has no create function", Live::refused},
    {"newer_minor", "needs a host that does not exist yet", {"version"}, "it needs a host of ABI 1.7", Live::refused},
    {"duplicate_type", "has an action type twice", {"action_types"}, "is there twice", Live::refused},
    {"duplicate_reason", "declares a reason twice", {"reasons"}, "\"invalid_request\" twice", Live::refused},
    {"bad_schema",
     "has a destination schema that is cut off",
     {"schemas"},
     "destination schema that cannot be used",
     Live::refused},
    {"hard_to_please", "accepts no destination that can be guessed", {"samples"}, "/password: is wrong", Live::no_target},
    {"validator_crashes", "aborts when it checks what is no object", {"validators_survive"}, "killed by SIGABRT", Live::delivers},
    {"validator_miscounts",
     "returns another number than it reported",
     {"validators_count"},
     "returned 2 and reported 1",
     Live::delivers},
    {"validator_wavers",
     "finds fault every other time",
     {"validators_steady"},
     "another answer for the same bytes",
     Live::no_target},
    {"validator_reads_file",
     "looks into a file while it checks",
     {"validators_pure"},
     "called read() or write()",
     Live::delivers},
    {"create_opens_file", "opens a file in create", {"create_is_quiet"}, "create left the descriptor", Live::delivers},
    {"create_starts_thread", "starts a thread in create", {"create_is_quiet"}, "create left 1 thread(s)", Live::delivers},
    {"refuses_silently", "refuses settings without a word", {"create_refuses"}, "without telling why", Live::delivers},
    {"half_a_table", "makes a sender that cannot be cancelled", {"sender_table"}, "without all of send, cancel", Live::waits},
    {"any_extension", "has an extension for whoever asks", {"unknown_extension"}, "which does not exist", Live::delivers},
    {"hollow_extension",
     "offers a probe without its function",
     {"extension_tables"},
     "waybill.probe/1 is a table without",
     Live::delivers},
    {"throws_in_create", "throws out of create", {"exceptions"}, "create threw an exception: from create", Live::waits},
    {"throws_in_send", "throws out of send", {"exceptions"}, "send threw an exception: from send", Live::loses_attempts},
    {"throws_an_int", "throws an int when an answer comes", {"exceptions"}, "that is no std::exception", Live::loses_attempts},
    {"throws_in_cancel", "throws out of cancel", {"exceptions"}, "cancel threw an exception", Live::delivers},
    {"never_accepts", "is content with no answer", {"accepts"}, "led to transient(not_good_enough)", Live::loses_attempts},
    {"request_without_size", "forgets the size of its requests", {"requests"}, "is `size` set?", Live::loses_attempts},
    {"never_completes", "takes answers and says nothing", {"completes"}, "not completed by its deadline", Live::loses_attempts},
    {"completes_twice", "says accepted twice", {"completes_once"}, "completed 2 times", Live::delivers},
    {"silent_when_refused",
     "forgets its call when the host refuses a request",
     {"refused_fetch"},
     "the host refused a request",
     Live::delivers},
    {"garbage_enums",
     "completes with numbers that mean nothing",
     {"verdicts"},
     "there is no verdict -559038737",
     Live::loses_attempts},
    {"no_reason", "does not say why", {"reasons_given"}, "has no reason", Live::delivers},
    {"undeclared_reason",
     "rejects for a reason that it never declared",
     {"reasons_declared"},
     "\"because\", which the action does not declare",
     Live::delivers},
    {"reason_not_utf8", "has a reason that is not UTF-8", {"words"}, "the reason is not UTF-8", Live::delivers},
    {"enormous_reason", "has a reason of a megabyte", {"sizes"}, "the reason has 1048576 bytes", Live::delivers},
    {"result_not_json", "has a result that is not JSON", {"result"}, "the result is not JSON", Live::delivers},
    {"lies_about_reach",
     "says that nothing was sent when nobody knows",
     {"reach"},
     "says not sent, and the host had said maybe sent",
     Live::delivers},
    {"tells_secrets",
     "repeats a body in which the receiver repeats a secret",
     {"secrets"},
     "the detail holds a secret",
     Live::loses_attempts},
    {"wants_short_answers",
     "takes an answer that is cut off for a failure",
     {"long_answers"},
     "led to transient(cut_off)",
     Live::delivers},
    {"overstays", "blocks for longer than its deadline allows", {"deadline"}, "and the receiver never answered", Live::delivers},
    {"tells_basic_secrets",
     "repeats a header in which the receiver repeats Basic authentication",
     {"secrets"},
     "the detail holds a secret",
     Live::loses_attempts},
    {"chokes_on_payload", "aborts on an empty payload", {"payloads"}, "killed by SIGABRT", Live::delivers},
    {"ignores_cancel", "does nothing when it is cancelled", {"cancel"}, "stayed open after cancel", Live::delivers},
    {"keeps_the_job", "comes back to a job whose call has ended", {"given_up"}, "killed by SIGSEGV", Live::delivers},
    {"mixes_up_senders",
     "gives every answer to the sender that was made last",
     {"two_senders"},
     "two senders, their calls interleaved",
     Live::delivers},
    {"one_at_a_time", "remembers only the last of its calls", {"many_calls"}, "200 calls at once", Live::delivers},
    {"writes_arguments", "writes behind the payload's end", {"arguments"}, "killed by SIGSEGV", Live::delivers},
    {"reads_past_end",
     "takes the payload for a string that ends with a zero",
     {"arguments"},
     "killed by SIGSEGV",
     Live::delivers},
    {"chokes_on_longer", "aborts when a struct is longer than it knows", {"newer_host"}, "killed by SIGABRT", Live::delivers},
    {"reads_newer_field", "reads a field that the host need not have", {"older_host"}, "killed by SIGSEGV", Live::delivers},
    {"own_clock", "sends the machine's time", {"clock"}, "the header X-Time tells the machine's time", Live::delivers},
    {"sleeps_in_send", "sleeps in send", {"prompt"}, "send kept the strand waiting", Live::delivers},
    {"timer_off_strand",
     "asks for a timer from a thread of its own",
     {"strand"},
     "timer.after was called from a thread",
     Live::delivers},
    {"completes_in_destroy", "completes a call in destroy", {"destroy"}, "completed in or after destroy", Live::delivers},
    {"leaves_thread", "leaves a thread behind", {"leaves_nothing"}, "destroy left 1 thread(s)", Live::delivers},
    {"leaves_descriptor", "leaves a descriptor open", {"leaves_nothing"}, "a sender left the descriptor", Live::delivers},
    {"prints", "writes to standard output", {"leaves_process"}, "to standard output", Live::delivers},
    {"moves_away",
     "changes the working directory and the umask",
     {"leaves_process"},
     "changed the working directory",
     Live::delivers},
    {"leaks", "loses memory with every delivery", {"leaks"}, "loses about", Live::delivers},
    {"composes_nothing",
     "composes, and has nothing to show for it",
     {"compose"},
     "accepted without an artefact",
     Live::loses_attempts},
    {"status_is_silent",
     "never answers when it is asked for a status",
     {"status"},
     "not completed by its deadline",
     Live::delivers},
    {"probes_twice", "ends the call of a probe twice", {"probe"}, "completed 2 times", Live::delivers},
    {"reports_late", "reports a failure after the end of its call", {"failures"}, "after the end of its call", Live::delivers},
    {"hangs_in_send", "never comes back from send", kSending, "still running after", Live::loses_attempts},
    {"exits_in_send", "ends the process in send, as if all were well", kSending, "ended the process with exit(0)", Live::kills},
    {"exits_in_create", "ends the process in create", kMaking, "ended the process with exit(3)", Live::kills_at_start},
    {"reads_null", "reads where nothing is", kSending, "killed by SIGSEGV: Segmentation fault", Live::kills},
};

// Beside the zoo in this folder: plugins for tests of the host, good ones and such with a fault per target or action type.
inline const std::vector<std::string> kOthers{
    "bad_create",    "brittle",        "composer",      "crashes_at_load", "crashes_on_marked_payload",
    "exits_at_load", "exits_in_check", "good",          "hangs",           "hangs_at_load",
    "loops",         "mailer",         "naughty",       "newer_good",      "picky",
    "refuses_newer", "second_good",    "throws_in_cpp", "time_bomb",       "uses_secrets",
    "wild",          "writer"};

}  // namespace waybill::testing
