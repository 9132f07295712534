/* What of Python the kernel calls: a few names of its stable ABI, the same in every version, so that one library serves all.
 * Weak, since the library is loaded without Python, too. */
#ifndef TENSORTAP_OF_PYTHON_H
#define TENSORTAP_OF_PYTHON_H

#include <stddef.h>

typedef struct python_object object;
typedef object *python_function(object *, object *const *, ptrdiff_t);
typedef struct { const char *name; python_function *function; int flags; const char *text; } python_method;
enum { METHOD_FASTCALL = 0x80 };

#define OF_PYTHON extern __attribute__((weak, visibility("default")))
OF_PYTHON object *PyCFunction_NewEx(python_method *, object *self, object *module);
OF_PYTHON object *PyLong_FromLong(long);
OF_PYTHON unsigned long long PyLong_AsUnsignedLongLong(object *);
OF_PYTHON long long PyLong_AsLongLong(object *);
OF_PYTHON double PyFloat_AsDouble(object *);
OF_PYTHON const char *PyUnicode_AsUTF8AndSize(object *, ptrdiff_t *);
OF_PYTHON object *PyErr_Occurred(void);
OF_PYTHON void PyErr_Clear(void);
OF_PYTHON int PyErr_BadArgument(void);
OF_PYTHON void *PyEval_SaveThread(void);
OF_PYTHON void PyEval_RestoreThread(void *);

#endif
