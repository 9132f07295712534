/* A callable "enters" is given the arguments of a call. It returns None (nothing more to do), a callable "leave", or a tuple: for a mode
 * (leave, function to call instead) or (leave, that, end), else (leave, args, kwargs). "leave" gets the result and may return another. If the
 * call raised, it gets nothing, and that exception is being handled. "end" is called as soon as the call is over, however it ended: a signal that came during the
 * call raises in the first code of Python that runs after it, which "leave" may be, and "end", a method of C, is not. */
#include "calls.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FUNCTIONS 16
#define MOST_NAMES 256
#define COUNT (~((size_t)1 << (8 * sizeof(size_t) - 1))) /* of arguments: a caller may have set the highest bit */

typedef object *vector_call(object *, object *const *, size_t, object *names);
typedef struct { object *function, *registry, *enters; vector_call **place; } heard;

static heard functions[MOST_FUNCTIONS];
static python_method named[MOST_NAMES];
static __thread int as_it_was; /* the next call of a function is not heard */

static object *none(void) { return Py_IncRef(&_Py_NoneStruct), &_Py_NoneStruct; }

static object *call(object *callable, object *const *given, size_t count, object *names) {
  if (PyObject_Vectorcall) return PyObject_Vectorcall(callable, given, count, names);
  object *args = PyTuple_New((ptrdiff_t)count), *kwargs = names ? PyDict_New() : NULL; /* before 3.11 */
  for (size_t i = 0; args && i < count; i++) Py_IncRef(given[i]), PyTuple_SetItem(args, (ptrdiff_t)i, given[i]);
  for (ptrdiff_t i = 0; kwargs && i < PyTuple_Size(names); i++) PyDict_SetItem(kwargs, PyTuple_GetItem(names, i), given[(ptrdiff_t)count + i]);
  object *result = args && (kwargs || !names) ? PyObject_Call(callable, args, kwargs) : NULL;
  if (args) Py_DecRef(args);
  if (kwargs) Py_DecRef(kwargs);
  return result;
}

static heard *heard_of(object *function) {
  for (heard *one = functions; one < functions + MOST_FUNCTIONS; one++)
    if (one->function == function) return one;
  return NULL;
}

/* The call raised: what leaves it sees that as handled, and the exception goes on as it was, whatever is raised here. */
static void leave_raised(object *leave) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
  object *kind, *error, *trace, *handled[3];
  PyErr_Fetch(&kind, &error, &trace);
  PyErr_NormalizeException(&kind, &error, &trace);
  if (trace) PyException_SetTraceback(error, trace);
  PyErr_GetExcInfo(&handled[0], &handled[1], &handled[2]);
  Py_IncRef(kind), Py_IncRef(error);
  if (trace) Py_IncRef(trace);
  PyErr_SetExcInfo(kind, error, trace);
  object *left = call(leave, NULL, 0, NULL);
  if (left) Py_DecRef(left);
  PyErr_Clear();
  PyErr_SetExcInfo(handled[0], handled[1], handled[2]);
  PyErr_Restore(kind, error, trace);
}

/* The result, or what leaves the call makes of it; both are taken. */
static object *left(object *leave, object *result) {
  if (!result) leave_raised(leave);
  object *changed = result ? call(leave, &result, 1, NULL) : NULL;
  Py_DecRef(leave);
  if (!result || changed == &_Py_NoneStruct) {
    if (changed) Py_DecRef(changed);
    return result;
  }
  Py_DecRef(result);
  return changed;
}

static int is_tuple(object *value) {
  object *kind = PyObject_Type(value);
  Py_DecRef(kind);
  return kind == (object *)&PyTuple_Type;
}

/* The first part of a tuple that was taken, which is none of the caller's any more but for its other parts. */
static object *first_of(object *tuple) {
  object *first = PyTuple_GetItem(tuple, 0);
  if (first) Py_IncRef(first);
  return first;
}

static object *called(object *function, vector_call *plain, object *const *given, size_t n, object *names, object *entered) {
  if (!entered) return NULL;
  if (entered == &_Py_NoneStruct) return Py_DecRef(entered), plain(function, given, n, names);
  if (!is_tuple(entered)) return left(entered, plain(function, given, n, names));
  object *leave = first_of(entered);
  as_it_was = 1;
  object *result = PyObject_Call(function, PyTuple_GetItem(entered, 1), PyTuple_GetItem(entered, 2));
  as_it_was = 0;
  Py_DecRef(entered);
  return left(leave, result);
}

static object *registered_call(object *function, object *const *given, size_t n, object *names) {
  heard *one = heard_of(function);
  int passes = !one || as_it_was || !(n & COUNT);
  as_it_was = 0;
  if (passes) return _PyFunction_Vectorcall(function, given, n, names);
  object *key = PyLong_FromVoidPtr(given[0]);
  object *enters = key ? PyDict_GetItemWithError(one->registry, key) : NULL;
  if (key) Py_DecRef(key);
  if (!enters) enters = one->enters;
  if (enters == &_Py_NoneStruct) return _PyFunction_Vectorcall(function, given, n, names);
  Py_IncRef(enters);
  object *entered = call(enters, given, n & COUNT, names);
  Py_DecRef(enters);
  return called(function, _PyFunction_Vectorcall, given, n, names, entered);
}

/* The result of a call that is over, and none where only its end raised. */
static object *ended(object *end, object *result) {
  object *kind, *error, *trace;
  PyErr_Fetch(&kind, &error, &trace);
  object *done = call(end, NULL, 0, NULL);
  if (!done && result) return Py_DecRef(result), NULL;
  if (done) Py_DecRef(done);
  PyErr_Restore(kind, error, trace);
  return result;
}

/* self: a mode; given: a function, types, its arguments by place, and by name. */
static object *mode_call(object *self, object *const *given, ptrdiff_t count) {
  static object *name;
  if (count < 3 || count > 4 || !is_tuple(given[2])) return PyErr_BadArgument(), NULL;
  if (!name) name = PyUnicode_InternFromString("_enter");
  object *by_name = count > 3 && given[3] != &_Py_NoneStruct ? given[3] : NULL, *enters = PyObject_GetAttr(self, name);
  object *entered = enters ? call(enters, given, (size_t)count, NULL) : NULL;
  if (enters) Py_DecRef(enters);
  if (!entered) return NULL;
  if (entered == &_Py_NoneStruct) return Py_DecRef(entered), PyObject_Call(given[0], given[2], by_name);
  if (!is_tuple(entered)) return left(entered, PyObject_Call(given[0], given[2], by_name));
  object *leave = first_of(entered), *result = PyObject_Call(PyTuple_GetItem(entered, 1), given[2], by_name);
  if (PyTuple_Size(entered) > 2) result = ended(PyTuple_GetItem(entered, 2), result);
  Py_DecRef(entered);
  return left(leave, result);
}

/* Where a function keeps what is called; NULL where this Python has it otherwise. */
static vector_call **place_in(object *function, size_t bytes) {
  if (!_PyFunction_Vectorcall || !PyErr_GetExcInfo || !PyDict_GetItemWithError) return NULL;
  vector_call **word = (vector_call **)function;
  for (size_t i = 2; i < bytes / sizeof *word; i++)
    if (word[i] == _PyFunction_Vectorcall) return word + i;
  return NULL;
}

static object *hear(object *function, object *bytes, object *registry, object *enters, vector_call *calls) {
  heard *one = heard_of(NULL);
  vector_call **place = one && !heard_of(function) ? place_in(function, PyLong_AsUnsignedLongLong(bytes)) : NULL;
  if (!place) return PyLong_FromLong(0);
  Py_IncRef(function), Py_IncRef(registry), Py_IncRef(enters);
  *one = (heard){function, registry, enters, place};
  if (PyFunction_SetVectorcall) PyFunction_SetVectorcall(function, calls); /* from 3.12 on calls are inlined, unless it is told so */
  *place = calls;
  return PyLong_FromLong(1);
}

object *hear_calls(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 4) return PyErr_BadArgument(), NULL;
  return hear(given[0], given[1], given[2], given[3], registered_call);
}

object *of_mode(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  static python_method method = {"call", mode_call, METHOD_FASTCALL, NULL};
  if (count != 1) return PyErr_BadArgument(), NULL;
  return PyCFunction_NewEx(&method, given[0], NULL);
}

object *hear_no_more(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 1) return PyErr_BadArgument(), NULL;
  heard *one = heard_of(given[0]);
  if (!one) return none();
  heard was = *one;
  *was.place = _PyFunction_Vectorcall;
  *one = (heard){NULL, NULL, NULL, NULL};
  Py_DecRef(was.function), Py_DecRef(was.registry), Py_DecRef(was.enters);
  return none();
}

/* self: (function, what enters its calls) */
static object *entered_call(object *self, object *const *given, ptrdiff_t count, object *names) {
  object *function = PyTuple_GetItem(self, 0);
  object *entered = call(PyTuple_GetItem(self, 1), given, (size_t)count, names);
  if (!entered) return NULL;
  if (entered == &_Py_NoneStruct) return Py_DecRef(entered), call(function, given, (size_t)count, names);
  return left(entered, call(function, given, (size_t)count, names));
}

/* The method of that name, made once; the last stands for all beyond the limit. */
static python_method *method_of(const char *name) {
  for (python_method *one = named; one < named + MOST_NAMES; one++) {
    if (!one->name) *one = (python_method){strdup(name), (python_function *)(void *)entered_call, METHOD_FASTCALL | METHOD_KEYWORDS, NULL};
    if (one->name && !strcmp(one->name, name)) return one;
  }
  return named + MOST_NAMES - 1;
}

object *around(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  ptrdiff_t bytes;
  const char *name = count == 3 ? PyUnicode_AsUTF8AndSize(given[0], &bytes) : NULL;
  object *both = name ? PyTuple_New(2) : NULL;
  if (!both) return PyErr_BadArgument(), NULL;
  for (int i = 0; i < 2; i++) Py_IncRef(given[i + 1]), PyTuple_SetItem(both, i, given[i + 1]);
  object *made = PyCFunction_NewEx(method_of(name), both, NULL);
  Py_DecRef(both);
  return made;
}

object *as_method(object *self, object *const *given, ptrdiff_t count) {
  (void)self;
  if (count != 1) return PyErr_BadArgument(), NULL;
  return PyInstanceMethod_New(given[0]);
}
