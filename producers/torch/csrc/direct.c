/* What Python calls as it calls functions of its own: by ctypes a call costs more than a small tensor's statistics, and the same in
 * Python several times as much where a model has the caches. Numbers in, addresses among them; a number out. */
#include <string.h>

#include "calls.h"
#include "layout.h"
#include "log_line.h"
#include "of_python.h"
#include "records.h"
#include "take.h"

#define EXPORT __attribute__((visibility("default")))
#define MOST_ARGUMENTS 10

/* Whether these are so many numbers from 0 on; else Python has an exception. */
static int take(object *const *given, ptrdiff_t count, int wanted, uint64_t *numbers) {
  if (count != wanted) return PyErr_BadArgument();
  for (int i = 0; i < wanted; i++) {
    numbers[i] = PyLong_AsUnsignedLongLong(given[i]);
    if (numbers[i] == (uint64_t)-1 && PyErr_Occurred()) return 0;
  }
  return 1;
}

static void *at(uint64_t address) { return (void *)(uintptr_t)address; }

static tap_call *call_of(object *const *given, ptrdiff_t count) {
  uint64_t n[MOST_ARGUMENTS];
  if (!take(given, count, 6, n)) return NULL;
  tap_call *call = at(n[0]);
  call->data = at(n[1]);
  call->rows = at(n[2]);
  call->site = (uint32_t)n[3];
  call->seq = (uint32_t)n[4];
  call->place = (uint32_t)n[5];
  return call;
}

/* (call, data, rows, site, seq, place) -> records written: keeps Python's lock, which costs less than a few elements. */
static object *measure_few(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  tap_call *call = call_of(given, count);
  return call ? PyLong_FromLong(tap_measure(call)) : NULL;
}

/* The same, while other threads have Python's lock. */
static object *measure_many(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  tap_call *call = call_of(given, count);
  if (!call) return NULL;
  void *thread = PyEval_SaveThread();
  int rows = tap_measure(call);
  PyEval_RestoreThread(thread);
  return PyLong_FromLong(rows);
}

/* (record, current op in the header or 0, op, parent, seq, stack, micro step, flags, place): an op begins or ends. */
static object *write_op(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  uint64_t n[MOST_ARGUMENTS];
  if (!take(given, count, 9, n)) return NULL;
  op_facts op = {(uint32_t)n[2], (uint32_t)n[3], (uint32_t)n[4], (uint32_t)n[5], (uint32_t)n[6], (uint32_t)n[7]};
  op_row(at(n[0]), at(n[1]), &op, (uint32_t)n[8]);
  return PyLong_FromLong(1);
}

/* (from, to, rows, site, layout, seq, place): the rows of a tensor once more, for another site. */
static object *write_again(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  uint64_t n[MOST_ARGUMENTS];
  if (!take(given, count, 7, n)) return NULL;
  rows_again(at(n[0]), at(n[1]), n[2], (uint32_t)n[3], (uint32_t)n[4], (uint32_t)n[5], (uint32_t)n[6]);
  return PyLong_FromLong(1);
}

/* (record, site, layout, seq, place, whole, real): an argument that is a number. */
static object *write_number(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  uint64_t n[MOST_ARGUMENTS];
  if (count != 7) return PyErr_BadArgument(), NULL;
  if (!take(given, 5, 5, n)) return NULL;
  long long whole = PyLong_AsLongLong(given[5]);
  double real = PyFloat_AsDouble(given[6]);
  if ((whole == -1 || real == -1) && PyErr_Occurred()) return NULL;
  number_row(at(n[0]), (uint32_t)n[1], (uint32_t)n[2], (uint32_t)n[3], (uint32_t)n[4], whole, real);
  return PyLong_FromLong(1);
}

/* (lines, seconds, place, step, text, more) -> bytes of the record of logging; 0 if there is no room, or no UTF-8 of its texts. */
static object *write_line(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 6) return PyErr_BadArgument(), NULL;
  tap_lines *lines = at(PyLong_AsUnsignedLongLong(given[0]));
  double seconds = PyFloat_AsDouble(given[1]);
  long long step = PyLong_AsLongLong(given[3]);
  if ((!lines || seconds == -1 || step == -1) && PyErr_Occurred()) return NULL;
  piece texts[3];
  static const int places[] = {2, 4, 5};
  for (int i = 0; i < 3; i++) {
    texts[i].text = PyUnicode_AsUTF8AndSize(given[places[i]], &texts[i].bytes);
    if (!texts[i].text) return PyErr_Clear(), PyLong_FromLong(0);
  }
  return PyLong_FromLong((long)write_log_line(lines, (int64_t)(seconds * 1e9), texts[0], step, texts[1], texts[2]));
}

static python_method methods[] = {
    {"measure_few", measure_few, METHOD_FASTCALL, NULL}, {"measure_many", measure_many, METHOD_FASTCALL, NULL},
    {"write_op", write_op, METHOD_FASTCALL, NULL},       {"write_again", write_again, METHOD_FASTCALL, NULL},
    {"write_number", write_number, METHOD_FASTCALL, NULL}, {"write_line", write_line, METHOD_FASTCALL, NULL},
    {"facts", facts, METHOD_FASTCALL, NULL},             {"learn", learn, METHOD_FASTCALL, NULL},
    {"forget", forget, METHOD_FASTCALL, NULL},           {"open_call", open_call, METHOD_FASTCALL, NULL},
    {"close_call", close_call, METHOD_FASTCALL, NULL},   {"take", take_values, METHOD_FASTCALL, NULL},
    {"take_one", take_one, METHOD_FASTCALL, NULL},       {"hear_calls", hear_calls, METHOD_FASTCALL, NULL},
    {"of_mode", of_mode, METHOD_FASTCALL, NULL},         {"hear_no_more", hear_no_more, METHOD_FASTCALL, NULL},
    {"around", around, METHOD_FASTCALL, NULL},           {"as_method", as_method, METHOD_FASTCALL, NULL},
};

/* The function of that name, an object of Python's; NULL where there is none, or no Python. To be called with Python's lock. */
EXPORT object *tap_function(const char *name) {
  for (size_t i = 0; PyCFunction_NewEx && i < sizeof methods / sizeof *methods; i++)
    if (!strcmp(methods[i].name, name)) return PyCFunction_NewEx(&methods[i], NULL, NULL);
  if (PyErr_BadArgument) PyErr_BadArgument(); /* ctypes takes NULL without an exception for an object */
  return NULL;
}
