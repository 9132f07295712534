#include "take.h"

#include <string.h>

#include "layout.h"
#include "of_torch.h"
#include "records.h"
#include "seen.h"

#define MOST_ROWS 5          /* of a tensor */
#define QUICK_ELEMENTS 16384 /* fewer are measured sooner than another thread could get Python's lock */

/* Where the next row goes; Python and C both write it. */
typedef struct {
  uint64_t segment; /* its address; 0: none */
  uint64_t at, end; /* bytes within it */
  uint64_t place, tensors;
  uint64_t thin;    /* the spool is nearly full: rows go aside first */
} cursor;

enum { NONE, TRUE, FALSE, INT, FLOAT, LITERALS };

typedef struct {
  cursor *to;
  const of_torch *torch;
  object *trusts;  /* asked whether versions tell of every change; NULL: they do */
  uint64_t held;   /* no tensor is taken: something asks for more than this does */
  uint64_t tells;  /* of the first value that is not finite and of each after it */
  uint64_t literals[LITERALS]; /* their layouts, as far as there are */
  memory known;
} taker;

__attribute__((visibility("default"))) const uint64_t tap_taker_bytes = sizeof(taker);

enum { LEFT, TAKEN, BAD };

static char *room(const taker *t, uint64_t rows) {
  const cursor *to = t->to;
  return to->segment && !to->thin && to->at + rows * TAP_RECORD_BYTES <= to->end ? (char *)(uintptr_t)(to->segment + to->at) : NULL;
}

static void advance(taker *t, int rows) {
  t->to->at += (uint64_t)rows * TAP_RECORD_BYTES;
  t->to->tensors++;
}

/* -Inf alone is how models mask. */
static int verdict(const taker *t, const char *rows, int count) {
  const tap_counts *counts = (const tap_counts *)(rows + TAP_RECORD_BYTES);
  if (count < 2 || !t->tells || (counts->commit & TAP_KIND_MASK) != TAP_COUNTS_KIND) return TAKEN;
  return counts->nan_count || counts->positive_infinity_count ? BAD : TAKEN;
}

static int again(taker *t, const seen_tensor *seen, const known_layout *layout, uint32_t site, uint32_t seq) {
  char *to = room(t, (uint64_t)seen->row_count);
  if (!to) return LEFT;
  rows_again(seen->rows, to, (uint64_t)seen->row_count, site, layout->call.layout, seq, (uint32_t)t->to->place);
  advance(t, seen->row_count);
  return verdict(t, to, seen->row_count);
}

static int measure(taker *t, const tensor_facts *f, const known_layout *layout, uint32_t site, uint32_t seq) {
  tap_call call = layout->call;
  call.data = f->data;
  call.rows = (void *)(uintptr_t)(t->to->segment + t->to->at);
  call.site = site;
  call.seq = seq;
  call.place = (uint32_t)t->to->place;
  if (call.count < QUICK_ELEMENTS) return tap_measure(&call);
  void *thread = PyEval_SaveThread();
  int rows = tap_measure(&call);
  PyEval_RestoreThread(thread);
  return rows;
}

static int trusts_versions(const taker *t) {
  object *answer = t->trusts ? PyObject_CallNoArgs(t->trusts) : NULL;
  int trusts = !t->trusts || (answer && PyObject_IsTrue(answer) == 1);
  if (answer) Py_DecRef(answer);
  else if (t->trusts) PyErr_Clear();
  return trusts;
}

static object *base_of(object *tensor) {
  static object *name;
  if (!name) name = PyUnicode_InternFromString("_base");
  object *base = PyObject_GetAttr(tensor, name);
  if (base) Py_DecRef(base); /* the tensor holds it */
  else PyErr_Clear();
  return base == &_Py_NoneStruct ? NULL : base;
}

/* Whether one is a view of the other, or both are of one: such share one version. */
static int are_of_one(object *tensor, object *other) {
  object *base = base_of(tensor), *others = base_of(other);
  return base ? base == other || base == others : others == tensor;
}

static int same_elements(const tap_call *a, const tap_call *b) { return a->count == b->count && a->view == b->view && a->options == b->options; }

/* What was read before with the same elements: the tensor, or one that shares its version. */
static const seen_tensor *read_before(taker *t, object *tensor, const tensor_facts *f, const known_layout *layout) {
  const seen_tensor *seen = seen_find(&t->known, tensor);
  if (seen && seen->layout == layout && seen->version == f->version && seen->data == f->data && seen_lives(seen)) return seen;
  seen = seen_at(&t->known, f->data);
  if (!seen || !same_elements(&seen->layout->call, &layout->call) || seen->version != f->version || !seen_lives(seen)) return NULL;
  if (!is_unchanged(t->torch, seen->tensor, f->data, f->version)) return NULL;
  return seen->tensor == tensor || are_of_one(tensor, seen->tensor) ? seen : NULL;
}

/* Likewise, if versions can be trusted. Python runs meanwhile, whose handlers of signals may end the step. */
static const seen_tensor *trusted_before(taker *t, object *tensor, const tensor_facts *f, const known_layout *layout) {
  uint64_t forgotten = t->known.forgotten;
  const seen_tensor *seen = read_before(t, tensor, f, layout);
  return seen && trusts_versions(t) && forgotten == t->known.forgotten ? seen : NULL;
}

static int take_new(taker *t, object *tensor, const tensor_facts *f, const known_layout *layout, uint32_t site, uint32_t seq) {
  int is_tracked = f->version >= 0;
  char *to = room(t, MOST_ROWS);
  if (!to || (is_tracked && t->known.seen_count == MOST_SEEN)) return LEFT;
  int rows = measure(t, f, layout, site, seq);
  if (!rows) return LEFT;
  advance(t, rows);
  int result = verdict(t, to, rows);
  if (is_tracked) seen_add(&t->known, tensor, f, layout, to, rows);
  return result;
}

static int take_tensor(taker *t, object *tensor, uint32_t site, uint32_t seq) {
  tensor_facts f;
  const known_layout *layout = facts_of(t->torch, tensor, &f) ? layout_find(&t->known, &f) : NULL;
  if (!layout) return LEFT;
  const seen_tensor *seen = f.version >= 0 ? trusted_before(t, tensor, &f, layout) : NULL;
  if (!seen) return take_new(t, tensor, &f, layout, site, seq);
  int result = again(t, seen, layout, site, seq);
  if (result != LEFT && seen->tensor != tensor && t->known.seen_count < MOST_SEEN)
    seen_add(&t->known, tensor, &f, layout, seen->rows, seen->row_count);
  return result;
}

static int take_number(taker *t, object *value, int which, uint32_t site, uint32_t seq) {
  long long whole = which == INT ? PyLong_AsLongLong(value) : 0;
  if (whole == -1 && PyErr_Occurred()) return PyErr_Clear(), LEFT; /* too large */
  number_row(room(t, 1), site, (uint32_t)t->literals[which], seq, (uint32_t)t->to->place, whole, which == FLOAT ? PyFloat_AsDouble(value) : 0);
  return advance(t, 1), TAKEN;
}

static int which_literal(object *value) {
  if (value == &_Py_NoneStruct) return NONE;
  if (value == &_Py_TrueStruct) return TRUE;
  if (value == &_Py_FalseStruct) return FALSE;
  object *type = PyObject_Type(value);
  Py_DecRef(type);
  return type == &PyLong_Type ? INT : type == &PyFloat_Type ? FLOAT : LITERALS;
}

static int take(taker *t, object *value, uint32_t site, uint32_t seq) {
  if (!site) return LEFT;
  int which = which_literal(value);
  if (which == LITERALS) return t->held ? LEFT : take_tensor(t, value, site, seq);
  if (!t->literals[which] || !room(t, 1)) return LEFT;
  if (which >= INT) return take_number(t, value, which, site, seq);
  literal_row(room(t, 1), site, (uint32_t)t->literals[which], seq, (uint32_t)t->to->place);
  return advance(t, 1), TAKEN;
}

/* A number; 0, where Python has an exception, too. */
static uint64_t number(object *given) { return PyLong_AsUnsignedLongLong(given); }

static taker *taker_of(object *given) { return (taker *)(uintptr_t)number(given); }

static int read_numbers(object *const *given, int count, uint32_t *numbers) {
  for (int i = 0; i < count; i++) numbers[i] = (uint32_t)number(given[i]);
  return !PyErr_Occurred();
}

/* How many of a tuple's values are taken from the first on, with their sites of a list; negative where the last has a NaN or +Inf. */
static long take_from(taker *t, object *values, object *sites, long first, uint32_t seq) {
  ptrdiff_t known = PyList_Size(sites), most = PyTuple_Size(values);
  for (; first < most && first < known; first++) {
    int result = take(t, PyTuple_GetItem(values, first), (uint32_t)number(PyList_GetItem(sites, first)), seq);
    if (result == LEFT) break;
    if (result == BAD) return -(first + 1);
  }
  return first;
}

static object *answer(long taken) { return PyErr_Occurred() ? NULL : PyLong_FromLong(taken); }

/* To be returned by a function, None is held once more. */
static object *nothing(void) {
  if (PyErr_Occurred()) return NULL;
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

object *take_values(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  uint32_t n[2];
  if (count != 5) return PyErr_BadArgument(), NULL;
  taker *t = taker_of(given[0]);
  if (!read_numbers(given + 3, 2, n)) return NULL;
  return answer(take_from(t, given[1], given[2], n[0], n[1]));
}

static void write_op(taker *t, void *current, const op_facts *op) {
  op_row(room(t, 1), current, op, (uint32_t)t->to->place);
  t->to->at += TAP_RECORD_BYTES;
}

object *open_call(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  op_facts op;
  if (count != 10) return PyErr_BadArgument(), NULL;
  taker *t = taker_of(given[0]);
  void *current = (void *)(uintptr_t)number(given[1]);
  if (!read_numbers(given + 2, 6, (uint32_t *)&op)) return NULL;
  if (!room(t, 1)) return nothing();
  write_op(t, current, &op);
  return answer(take_from(t, given[8], given[9], 0, op.seq));
}

object *close_call(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  op_facts op;
  if (count != 9) return PyErr_BadArgument(), NULL;
  taker *t = taker_of(given[0]);
  if (!read_numbers(given + 1, 6, (uint32_t *)&op)) return NULL;
  long taken = take_from(t, given[7], given[8], 0, op.seq);
  if (taken != PyTuple_Size(given[7])) return answer(taken);
  if (!room(t, 1)) return nothing();
  write_op(t, NULL, &op);
  return answer(taken);
}

object *take_one(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 4) return PyErr_BadArgument(), NULL;
  taker *t = taker_of(given[0]);
  uint32_t site = (uint32_t)number(given[2]), seq = (uint32_t)number(given[3]);
  if (PyErr_Occurred()) return NULL;
  int result = take(t, given[1], site, seq);
  return PyLong_FromLong(result == BAD ? -1 : result);
}

object *learn(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 3) return PyErr_BadArgument(), NULL;
  taker *t = taker_of(given[0]);
  const tap_call *call = (const tap_call *)(uintptr_t)number(given[2]);
  tensor_facts f;
  if (PyErr_Occurred()) return NULL;
  int is_new = facts_of(t->torch, given[1], &f) && !layout_find(&t->known, &f);
  return PyLong_FromLong(is_new && layout_add(&t->known, &f, call));
}

object *forget(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 2) return PyErr_BadArgument(), NULL;
  taker *t = taker_of(given[0]);
  uint64_t all = number(given[1]);
  if (PyErr_Occurred()) return NULL;
  if (all) layouts_clear(&t->known);
  else seen_clear(&t->known);
  return PyLong_FromLong(1);
}

static uint64_t folded(const tensor_facts *f) {
  uint64_t sum = (uint64_t)f->dtype + 31 * (uint64_t)f->requires_grad + (uint64_t)(uintptr_t)f->data + 1009 * (uint64_t)(f->version + 1);
  for (int d = 0; d < f->dim; d++) sum = sum * 31 + (uint64_t)f->sizes[d] * 7 + (uint64_t)f->strides[d];
  return sum >> 1;
}

object *facts(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 2) return PyErr_BadArgument(), NULL;
  const of_torch *torch = (const of_torch *)(uintptr_t)number(given[0]);
  tensor_facts f;
  if (PyErr_Occurred()) return NULL;
  return PyLong_FromLong(facts_of(torch, given[1], &f) ? (long)folded(&f) : 0);
}
